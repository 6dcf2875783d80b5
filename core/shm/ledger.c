/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shm/ledger.h"

#include "ipc/check.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define NODES_MOST (1u << 20)
#define OBJECTS_MOST (1u << 22)
#define SHAPES_MOST (1u << 16)
#define RING_LEAST (UINT64_C(1) << 12)
#define RING_MOST (UINT64_C(1) << 30)

#define STEP (UINT64_C(64) << 10) /* bytes that are committed at once */

/* Offsets after struct ledger, each on its own cache line.  Parts that are committed as they are
 * needed come last, each on its own pages, but for the blocks of amounts, which are one array. */
struct places {
	struct ledger_places at;
	uint64_t first; /* of the parts */
	uint64_t bytes;
};

static uint64_t next_place(uint64_t at, uint64_t bytes, uint64_t align)
{
	return (at + bytes + align - 1) & ~(align - 1);
}

static void lay_out(const struct limits *l, struct places *out)
{
	const uint64_t amounts =
		(uint64_t)AMOUNT_BLOCKS(l->resources) * l->nodes * sizeof(struct node_amounts);
	struct ledger_places p = { .limits = *l };

	p.command_ring = (struct ring_place){ sizeof(struct ledger), l->command_ring_bytes };
	p.names_offset = next_place(p.command_ring.offset, l->command_ring_bytes, CACHE_LINE);
	p.nodes_offset = next_place(p.names_offset, (uint64_t)l->names * sizeof(struct name_row), PAGE);
	p.gangs_offset = next_place(p.nodes_offset, (uint64_t)l->nodes * sizeof(struct node_row), PAGE);
	p.arena_offset = next_place(p.gangs_offset, (uint64_t)l->gangs * sizeof(struct gang_row), PAGE);
	p.amounts_offset = next_place(p.arena_offset, l->name_bytes, PAGE);
	p.queues_offset = next_place(p.amounts_offset, amounts, PAGE);
	*out = (struct places){ .at = p, .first = p.nodes_offset };
	out->bytes = next_place(p.queues_offset, QUEUES_MAX * QUEUE_ROW_BYTES(l->resources), PAGE);
}

static const char *limits_fault(const struct limits *l)
{
	if (l->nodes == 0 || l->nodes > NODES_MOST)
		return "nodes: 1 to 1048576";
	if (l->pods == 0 || l->pods > OBJECTS_MOST)
		return "pods: 1 to 4194304";
	if (l->gangs == 0 || l->gangs > OBJECTS_MOST)
		return "gangs: 1 to 4194304";
	if (l->shapes == 0 || l->shapes > SHAPES_MOST)
		return "shapes: 1 to 65536";
	if (l->resources < RESOURCE_EXTENDED || l->resources > RESOURCES_MAX)
		return "resources: 4 to 64";
	if (l->names < l->resources || l->names > OBJECTS_MOST)
		return "names: at least as many as resources, at most 4194304";
	if (l->name_bytes < NAME_STEP || l->name_bytes > NAME_ARENA_MOST ||
	    l->name_bytes % NAME_STEP != 0)
		return "name bytes: 16 to 4 GiB, a multiple of 16";
	if (l->command_ring_bytes < RING_LEAST || l->command_ring_bytes > RING_MOST ||
	    (l->command_ring_bytes & (l->command_ring_bytes - 1)) != 0)
		return "command ring bytes: a power of two, 4096 to 1 GiB";
	return NULL;
}

uint64_t ledger_bytes(const struct limits *limits, const char **what)
{
	struct places p;
	const char *fault = limits_fault(limits);

	if (what)
		*what = fault;
	if (fault)
		return 0;
	lay_out(limits, &p);
	return p.bytes;
}

static void committed_set(struct ledger_view *v, uint32_t part, uint64_t committed)
{
	v->parts[part].committed = committed;
	/* Releases its pages; observers acquire. */
	atomic_store_explicit(&v->ledger->committed[part], committed, memory_order_release);
}

uint64_t ledger_bytes_first(const struct limits *limits)
{
	struct places p;

	lay_out(limits, &p);
	return p.first;
}

void ledger_open(struct ledger_view *v, struct ledger *ledger, const struct limits *limits,
                 core_make_fn make, void *context)
{
	unsigned char *base = (unsigned char *)ledger;
	struct places p;

	lay_out(limits, &p);
	ledger->head = (struct segment_head){ .magic = LEDGER_MAGIC,
		                                  .layout_hash = abi_layout_hash(),
		                                  .bytes = p.bytes };
	ledger->limits = *limits;
	ledger->command_ring = p.at.command_ring;
	ledger->nodes_offset = p.at.nodes_offset;
	ledger->names_offset = p.at.names_offset;
	ledger->gangs_offset = p.at.gangs_offset;
	ledger->arena_offset = p.at.arena_offset;
	ledger->amounts_offset = p.at.amounts_offset;
	ledger->queues_offset = p.at.queues_offset;

	*v = (struct ledger_view){
		.ledger = ledger, .limits = *limits, .make = make, .make_context = context
	};
	v->nodes = (struct node_row *)(base + p.at.nodes_offset);
	v->names = (struct name_row *)(base + p.at.names_offset);
	v->gangs = (struct gang_row *)(base + p.at.gangs_offset);
	v->arena = (char *)(base + p.at.arena_offset);
	v->amounts = (struct node_amounts *)(base + p.at.amounts_offset);
	v->queues = (char *)(base + p.at.queues_offset);
	v->commands = base + p.at.command_ring.offset;
	for (uint32_t part = 0; part < LEDGER_PARTS; part++) {
		const struct span_bytes place = ledger_part(&p.at, part);

		v->parts[part] = (struct ledger_area){ .offset = place.offset, .bytes = place.bytes };
		if (!make)
			committed_set(v, part, place.bytes);
	}
}

void ledger_reach(struct ledger_view *v, enum ledger_part part, uint64_t bytes)
{
	struct ledger_area *area = &v->parts[part];
	uint64_t wanted, from;

	if (bytes <= area->committed)
		return;
	assert(bytes <= area->bytes);
	wanted = next_place(0, bytes, STEP);
	if (wanted > area->bytes)
		wanted = area->bytes;
	/* Whole pages: two blocks of amounts may share one. */
	from = (area->offset + area->committed) & ~(uint64_t)(PAGE - 1);
	if (v->make(v->make_context, from, next_place(area->offset, wanted, PAGE) - from) < 0)
		fatal_memory();
	committed_set(v, part, wanted);
}

static void amounts_reach(struct ledger_view *v, uint32_t block, uint32_t nodes)
{
	ledger_reach(v, PART_AMOUNTS + block, nodes * sizeof(struct node_amounts));
}

void ledger_reach_node(struct ledger_view *v, node_id node)
{
	if (node < v->nodes_used)
		return;
	v->nodes_used = node + 1;
	ledger_reach(v, PART_NODES, v->nodes_used * sizeof(struct node_row));
	for (uint32_t block = 0; block < v->blocks_used; block++)
		amounts_reach(v, block, v->nodes_used);
}

void ledger_reach_resources(struct ledger_view *v, uint32_t resources)
{
	for (; v->blocks_used < AMOUNT_BLOCKS(resources); v->blocks_used++)
		amounts_reach(v, v->blocks_used, v->nodes_used);
}

static void clear_nodes(struct ledger_view *v)
{
	for (uint32_t node = 0; node < v->nodes_used; node++) {
		struct node_row *row = &v->nodes[node];

		if (row->generation == 0)
			continue;
		row_begin(&row->version);
		row->generation = row->flags = row->pods = row->name_bytes = 0;
		row->name_offset = 0;
		for (uint64_t block = 0; block < v->blocks_used; block++)
			v->amounts[block * v->limits.nodes + node] = (struct node_amounts){ { 0 }, { 0 } };
		row_end(&row->version);
	}
}

static void clear_queues(struct ledger_view *v)
{
	const uint64_t each = QUEUE_ROW_BYTES(v->limits.resources);

	for (uint32_t queue = 0; queue < v->queues_used; queue++) {
		struct queue_row *row = ledger_queue(v, queue);

		if (row->there == 0)
			continue;
		row_begin(&row->version);
		memset((char *)row + sizeof(row->version), 0, each - sizeof(row->version));
		row_end(&row->version);
	}
}

void ledger_clear(struct ledger_view *v)
{
	const uint64_t gangs = v->parts[PART_GANGS].committed / sizeof(struct gang_row);

	clear_nodes(v);
	clear_queues(v);
	for (uint64_t gang = 0; gang < gangs && gang < v->limits.gangs; gang++) {
		struct gang_row *row = &v->gangs[gang];
		uint32_t version = atomic_load_explicit(&row->version, memory_order_relaxed);

		if (row->generation == 0)
			continue;
		row_begin(&row->version);
		memset((char *)row + sizeof(version), 0, sizeof(*row) - sizeof(version));
		row_end(&row->version);
	}
	memset(v->names, 0, v->limits.names * sizeof(*v->names));
	memset(v->arena_free, 0, sizeof(v->arena_free));
	v->arena_used = 0;
}

static uint32_t steps_of(uint32_t bytes)
{
	return (bytes + NAME_STEP - 1) / NAME_STEP;
}

/* The first bytes of a free piece are the link of the list of its size. */
static void piece_free(struct ledger_view *v, uint64_t offset, uint32_t steps)
{
	memcpy(v->arena + offset, &v->arena_free[steps], sizeof(uint64_t));
	v->arena_free[steps] = offset + 1;
}

static bool piece_allocate(struct ledger_view *v, uint32_t steps, uint64_t *offset)
{
	for (uint32_t size = steps; size < NAME_CLASSES; size++) {
		if (v->arena_free[size] == 0)
			continue;
		*offset = v->arena_free[size] - 1;
		memcpy(&v->arena_free[size], v->arena + *offset, sizeof(uint64_t));
		if (size > steps)
			piece_free(v, *offset + (uint64_t)steps * NAME_STEP, size - steps);
		return true;
	}
	return false;
}

int name_add(struct ledger_view *v, const char *text, uint32_t bytes, struct name *out)
{
	uint32_t steps = steps_of(bytes);
	uint64_t offset;

	assert(bytes > 0 && bytes <= NAME_BYTES_MAX);
	/* Unused space first: larger free pieces are split only if there is none. */
	if (v->arena_free[steps] == 0 &&
	    v->limits.name_bytes - v->arena_used >= (uint64_t)steps * NAME_STEP) {
		offset = v->arena_used;
		ledger_reach(v, PART_ARENA, offset + (uint64_t)steps * NAME_STEP);
		v->arena_used += (uint64_t)steps * NAME_STEP;
	} else if (!piece_allocate(v, steps, &offset)) {
		return -ENOSPC;
	}
	memcpy(v->arena + offset, text, bytes);
	*out = (struct name){ .offset = offset, .bytes = bytes };
	return 0;
}

void name_drop(struct ledger_view *v, struct name *name)
{
	assert(name->bytes <= NAME_BYTES_MAX);
	if (name->bytes > 0)
		piece_free(v, name->offset, steps_of(name->bytes));
	*name = (struct name){ 0 };
}

void row_begin(_Atomic uint32_t *version)
{
	/* Relaxed: only this thread stores versions. */
	uint32_t now = atomic_load_explicit(version, memory_order_relaxed);

	atomic_store_explicit(version, now + 1, memory_order_relaxed);
	/* The fields of the row are not atomic: only a fence keeps their stores after the odd version.
	 * Observers pair with an acquire fence. */
	atomic_thread_fence(memory_order_release);
}

void row_end(_Atomic uint32_t *version)
{
	uint32_t now = atomic_load_explicit(version, memory_order_relaxed);

	/* Releases the fields; observers load the version with acquire. */
	atomic_store_explicit(version, now + 1, memory_order_release);
}
