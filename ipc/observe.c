/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows while their writer changes them.
 *
 *   writer (core)                 reader (here)
 *   version odd                   V1  version even?
 *   fields                        F   copy the fields
 *   version even                  V2  version as in V1?
 *
 * Pairs: the writer's release store of the even version -> V1; and F -> V2:
 * each word and byte of F is loaded with acquire, so V2 can't move before one of them.
 * If the writer changed a field in between, V2 differs. */
#include "ipc/observe.h"

#include "ipc/clean.h"

#include <string.h>

#define TRIES 10000

static int observer_begin(struct observer *o, struct link_error *e)
{
	int rc = ledger_check(&o->link.ledger, &o->places);
	if (rc < 0) {
		link_close(&o->link);
		*e = (struct link_error){ .rc = rc };
		strcpy(e->text, "the ledger makes no sense");
		return rc;
	}
	o->ledger = o->link.ledger.base;
	o->segment = o->link.ledger;
	memset(o->seen, 0, sizeof(o->seen));
	return 0;
}

int observer_open(struct observer *o, const char *socket, struct link_error *e)
{
	int rc = link_connect(socket, LINK_OBSERVER, NULL, &o->link, e);

	return rc < 0 ? rc : observer_begin(o, e);
}

int observer_open_within(struct observer *o, const char *socket, uint64_t answer_ns,
                         struct link_error *e)
{
	int rc = link_connect_within(socket, LINK_OBSERVER, NULL, answer_ns, &o->link, e);

	return rc < 0 ? rc : observer_begin(o, e);
}

void observer_close(struct observer *o)
{
	link_close(&o->link);
}

void observer_own(struct observer *o, const struct ledger *ledger)
{
	o->ledger = ledger;
	o->places = (struct ledger_places){
		.limits = ledger->limits,
		.command_ring = ledger->command_ring,
		.nodes_offset = ledger->nodes_offset,
		.names_offset = ledger->names_offset,
		.gangs_offset = ledger->gangs_offset,
		.arena_offset = ledger->arena_offset,
		.amounts_offset = ledger->amounts_offset,
		.queues_offset = ledger->queues_offset,
	};
}

uint64_t observe_count(const _Atomic uint64_t *count)
{
	/* Relaxed: no other memory depends on it. */
	return atomic_load_explicit(count, memory_order_relaxed);
}

static const char *base(const struct observer *o)
{
	return (const char *)o->ledger;
}

/* True if the first bytes of the part have pages, by its writer's count and by the segment. */
static bool reach(const struct observer *o, enum ledger_part part, uint64_t bytes)
{
	const struct span_bytes place = ledger_part(&o->places, part);
	uint64_t committed;

	if (o->segment.base == NULL || bytes <= o->seen[part])
		return true;
	/* Acquire, although rows publish the bytes: the others are all zeros. */
	committed = atomic_load_explicit(&o->ledger->committed[part], memory_order_acquire);
	if (committed > place.bytes)
		committed = place.bytes;
	if (committed < bytes ||
	    !segment_see(&o->segment, place.offset + o->seen[part], committed - o->seen[part]))
		return false;
	/* A cache in an object that is const for readers. */
	((struct observer *)(uintptr_t)o)->seen[part] = committed;
	return true;
}

static uint32_t rows_there(const struct observer *o, enum ledger_part part, size_t each)
{
	const uint64_t all = ledger_part(&o->places, part).bytes;
	uint64_t committed = atomic_load_explicit(&o->ledger->committed[part], memory_order_acquire);

	if (o->segment.base == NULL)
		committed = all;
	return committed > all || !reach(o, part, committed) ? 0 : (uint32_t)(committed / each);
}

uint32_t observe_nodes_there(const struct observer *o)
{
	return rows_there(o, PART_NODES, sizeof(struct node_row));
}

uint32_t observe_gangs_there(const struct observer *o)
{
	return rows_there(o, PART_GANGS, sizeof(struct gang_row));
}

/* Copies 8-byte words that another process may be writing; F above. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	const uint64_t *words = from;
	char *out = to;

	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
		uint64_t word = __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);

		memcpy(out + i * sizeof(word), &word, sizeof(word));
	}
}

/* Names may begin at any byte: their place in a row is not trusted. */
static void copy_bytes(char *to, const char *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

static void copy_name(const struct observer *o, uint64_t offset, uint64_t bytes,
                      char out[OBSERVE_NAME_MAX])
{
	uint64_t room = o->places.limits.name_bytes;

	if (offset > room || bytes > room - offset || !reach(o, PART_ARENA, offset + bytes))
		bytes = 0;
	if (bytes >= OBSERVE_NAME_MAX)
		bytes = OBSERVE_NAME_MAX - 1;
	copy_bytes(out, base(o) + o->places.arena_offset + offset, bytes);
	out[bytes] = '\0';
	clean_text(out); /* for terminals */
}

const char *observe_text(const struct observer *o, uint64_t offset, uint64_t bytes,
                         char out[OBSERVE_NAME_MAX])
{
	copy_name(o, offset, bytes, out);
	return out;
}

const char *observe_name(const struct observer *o, name_id id, char out[OBSERVE_NAME_MAX])
{
	const struct name_row *rows;
	struct name_row row;

	out[0] = '\0';
	if (id >= o->places.limits.names)
		return out;
	rows = (const struct name_row *)(const void *)(base(o) + o->places.names_offset);
	copy_words(&row, &rows[id], sizeof(row));
	if (row.kind != NAME_ROW_EMPTY)
		copy_name(o, row.offset, row.bytes, out);
	return out;
}

/* 0 for a resource whose block is not committed there. */
static void copy_amounts(const struct observer *o, node_id id, uint32_t resources,
                         struct node_view *out)
{
	const struct node_amounts *rows =
		(const struct node_amounts *)(const void *)(base(o) + o->places.amounts_offset);
	const uint64_t nodes = o->places.limits.nodes;
	struct node_amounts a;

	static_assert(RESOURCES_MAX % AMOUNTS_BLOCK == 0, "whole blocks fit into a view");
	for (uint32_t block = 0; block < AMOUNT_BLOCKS(resources); block++) {
		const uint32_t r = block * AMOUNTS_BLOCK;

		if (reach(o, PART_AMOUNTS + block, (id + UINT64_C(1)) * sizeof(a)))
			copy_words(&a, &rows[block * nodes + id], sizeof(a));
		else
			a = (struct node_amounts){ { 0 }, { 0 } };
		memcpy(&out->allocatable[r], a.allocatable, sizeof(a.allocatable));
		memcpy(&out->used[r], a.used, sizeof(a.used));
	}
}

uint32_t observe_resources_there(const struct observer *o)
{
	const uint32_t resources = o->places.limits.resources;
	uint32_t n = 0;

	while (n < resources && reach(o, PART_AMOUNTS + n / AMOUNTS_BLOCK, sizeof(struct node_amounts)))
		n += AMOUNTS_BLOCK;
	return n < resources ? n : resources;
}

static bool node_read(const struct observer *o, node_id id, uint32_t resources, bool named,
                      struct node_view *out)
{
	const struct node_row *rows =
		(const struct node_row *)(const void *)(base(o) + o->places.nodes_offset);
	struct node_row row;

	if (id >= o->places.limits.nodes || !reach(o, PART_NODES, (id + UINT64_C(1)) * sizeof(row)))
		return false;
	for (int i = 0; i < TRIES; i++) {
		uint32_t version = atomic_load_explicit(&rows[id].version, memory_order_acquire); /* V1 */

		if (version % 2 != 0)
			continue;
		copy_words(&row, &rows[id], sizeof(row));
		if (row.generation == 0)
			return false;
		copy_amounts(o, id, resources, out);
		if (named)
			copy_name(o, row.name_offset, row.name_bytes, out->name);
		/* V2; relaxed: the loads before it acquire. */
		if (atomic_load_explicit(&rows[id].version, memory_order_relaxed) != version)
			continue;
		out->generation = row.generation;
		out->flags = row.flags;
		out->pods = row.pods;
		return true;
	}
	return false;
}

bool observe_node(const struct observer *o, node_id id, struct node_view *out)
{
	return node_read(o, id, o->places.limits.resources, true, out);
}

bool observe_node_amounts(const struct observer *o, node_id id, uint32_t resources,
                          struct node_view *out)
{
	return node_read(o, id, resources, false, out);
}

void observe_reason_check(struct reason *r)
{
	if (r->counts_n > FILTER_COUNTS_MAX)
		r->counts_n = FILTER_COUNTS_MAX;
	if (r->shortfalls_n > SHORTFALLS_MAX)
		r->shortfalls_n = SHORTFALLS_MAX;
	if (r->lacks_n > DEVICE_LACKS_MAX)
		r->lacks_n = DEVICE_LACKS_MAX;
	if (r->promised.moves_n > PROMISE_MOVES_MAX)
		r->promised.moves_n = PROMISE_MOVES_MAX;
	if (r->promised.waits_n > PROMISE_WAITS_MAX)
		r->promised.waits_n = PROMISE_WAITS_MAX;
}

void observe_victims_check(struct victims_row *row)
{
	row->gangs_n = row->gangs_n < VICTIMS_GANGS ? row->gangs_n : VICTIMS_GANGS;
	row->text_bytes = row->text_bytes < VICTIMS_TEXT ? row->text_bytes : VICTIMS_TEXT - 1;
	row->text[row->text_bytes] = '\0';
	clean_lines(row->text); /* for terminals */
}

bool observe_gang(const struct observer *o, gang_id id, struct gang_copy *out)
{
	const struct gang_row *rows =
		(const struct gang_row *)(const void *)(base(o) + o->places.gangs_offset);

	if (id >= o->places.limits.gangs || !reach(o, PART_GANGS, (id + UINT64_C(1)) * sizeof(*rows)))
		return false;
	for (int i = 0; i < TRIES; i++) {
		uint32_t version = atomic_load_explicit(&rows[id].version, memory_order_acquire); /* V1 */

		if (version % 2 != 0)
			continue;
		/* Most slots are empty; their rows are long. */
		if (__atomic_load_n(&rows[id].generation, __ATOMIC_RELAXED) == 0)
			return false;
		copy_words(&out->row, &rows[id], sizeof(out->row));
		if (out->row.generation == 0)
			return false;
		copy_name(o, out->row.name_offset, out->row.name_bytes, out->name);
		/* V2; relaxed: the loads before it acquire. */
		if (atomic_load_explicit(&rows[id].version, memory_order_relaxed) != version)
			continue;
		observe_reason_check(&out->row.reason);
		return true;
	}
	return false;
}

static bool queue_copy(const struct observer *o, uint32_t id, struct queue_copy *out)
{
	const uint64_t each = QUEUE_ROW_BYTES(o->places.limits.resources);
	const char *at = base(o) + o->places.queues_offset + id * each;
	const struct queue_row *row = (const struct queue_row *)(const void *)at;

	for (int i = 0; i < TRIES; i++) {
		uint32_t version = atomic_load_explicit(&row->version, memory_order_acquire); /* V1 */

		if (version % 2 != 0)
			continue;
		if (__atomic_load_n(&row->there, __ATOMIC_RELAXED) == 0)
			return false;
		copy_words(&out->row, row, sizeof(*row));
		copy_words(out->amounts, row + 1, each - sizeof(*row));
		/* V2; relaxed: the loads before it acquire. */
		if (atomic_load_explicit(&row->version, memory_order_relaxed) == version)
			return out->row.there != 0;
	}
	return false;
}

bool observe_queue(const struct observer *o, uint32_t id, struct queue_copy *out)
{
	const uint64_t each = QUEUE_ROW_BYTES(o->places.limits.resources);

	if (id >= QUEUES_MAX || !reach(o, PART_QUEUES, (id + 1) * each) || !queue_copy(o, id, out))
		return false;
	out->row.name[QUEUE_NAME_MAX - 1] = out->row.first[QUEUE_FIRST_MAX - 1] = '\0';
	clean_text(out->row.name); /* for terminals */
	clean_text(out->row.first);
	return true;
}

uint32_t observe_queues_there(const struct observer *o)
{
	uint64_t committed =
		atomic_load_explicit(&o->ledger->committed[PART_QUEUES], memory_order_acquire);

	if (o->segment.base == NULL)
		return QUEUES_MAX;
	if (committed > ledger_part(&o->places, PART_QUEUES).bytes || !reach(o, PART_QUEUES, committed))
		return 0;
	return (uint32_t)(committed / QUEUE_ROW_BYTES(o->places.limits.resources));
}

uint32_t observe_node_share(const struct node_view *n, uint32_t resources, uint32_t *scarcest)
{
	uint32_t most = 0;

	*scarcest = RESOURCE_PODS;
	for (uint32_t r = 0; r < resources; r++) {
		double all = (double)n->allocatable[r], used = (double)n->used[r];
		uint32_t share;

		if (used <= 0)
			continue;
		share = used < all ? (uint32_t)(used * 1000 / all) : 1000;
		if (share > most) {
			most = share;
			*scarcest = r;
		}
	}
	return most;
}

bool observe_victims(const struct observer *o, uint32_t index, struct victims_row *out)
{
	const struct victims_row *row = &o->ledger->victims[index];

	for (int i = 0; i < TRIES; i++) {
		uint32_t version = atomic_load_explicit(&row->version, memory_order_acquire); /* V1 */

		if (version % 2 != 0)
			continue;
		copy_words(out, row, sizeof(*out));
		/* V2; relaxed: the loads before it acquire. */
		if (atomic_load_explicit(&row->version, memory_order_relaxed) != version)
			continue;
		observe_victims_check(out);
		return out->generation != 0;
	}
	return false;
}
