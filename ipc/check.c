/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/check.h"
#include "ipc/ring.h"

#include <errno.h>
#include <string.h>

/* Volatile: the writer may change a word between two reads. */
static void copy_out(void *to, const volatile void *from, size_t bytes)
{
	unsigned char *out = to;
	const volatile unsigned char *in = from;

	for (size_t i = 0; i < bytes; i++)
		out[i] = in[i];
}

static int head_check(const struct segment *s, uint64_t magic)
{
	struct segment_head head;

	copy_out(&head, s->base, sizeof(head));
	if (head.magic != magic)
		return -EPROTO;
	if (head.layout_hash != abi_layout_hash())
		return -EPROTONOSUPPORT;
	/* A segment on huge pages may be longer than its content. */
	return head.bytes <= s->bytes ? 0 : -EPROTO;
}

/* True if an array of n elements at offset is aligned, after the first `from` bytes
 * and within the segment. */
static bool array_fits(const struct segment *s, uint64_t from, uint64_t offset, uint64_t n,
                       uint64_t each, uint64_t alignment)
{
	uint64_t bytes, end;

	if (offset % alignment != 0 || offset < from)
		return false;
	if (__builtin_mul_overflow(n, each, &bytes) || __builtin_add_overflow(offset, bytes, &end))
		return false;
	return end <= s->bytes;
}

static bool ring_fits(const struct segment *s, uint64_t from, struct ring_place ring,
                      uint64_t min_bytes)
{
	return ring.bytes >= min_bytes && (ring.bytes & (ring.bytes - 1)) == 0 &&
	       array_fits(s, from, ring.offset, ring.bytes, 1, CACHE_LINE);
}

int intake_check(const struct segment *s, struct intake_places *places)
{
	const struct intake *intake = s->base;
	struct intake_places copy;
	int rc;

	if (s->bytes < sizeof(*intake))
		return -EPROTO;
	rc = head_check(s, INTAKE_MAGIC);
	if (rc < 0)
		return rc;
	copy_out(&copy.event_ring, &intake->event_ring, sizeof(copy.event_ring));
	copy_out(&copy.result_ring, &intake->result_ring, sizeof(copy.result_ring));
	if (!ring_fits(s, sizeof(*intake), copy.event_ring, RING_BYTES_MIN) ||
	    !ring_fits(s, sizeof(*intake), copy.result_ring, SMALL_RING_BYTES_MIN))
		return -EPROTO;
	*places = copy;
	return 0;
}

static void ledger_copy(struct ledger_places *copy, const struct ledger *ledger)
{
	copy_out(&copy->limits, &ledger->limits, sizeof(copy->limits));
	copy_out(&copy->command_ring, &ledger->command_ring, sizeof(copy->command_ring));
	copy_out(&copy->nodes_offset, &ledger->nodes_offset, sizeof(copy->nodes_offset));
	copy_out(&copy->names_offset, &ledger->names_offset, sizeof(copy->names_offset));
	copy_out(&copy->gangs_offset, &ledger->gangs_offset, sizeof(copy->gangs_offset));
	copy_out(&copy->arena_offset, &ledger->arena_offset, sizeof(copy->arena_offset));
	copy_out(&copy->amounts_offset, &ledger->amounts_offset, sizeof(copy->amounts_offset));
	copy_out(&copy->queues_offset, &ledger->queues_offset, sizeof(copy->queues_offset));
}

static bool ledger_fits(const struct segment *s, const struct ledger_places *p)
{
	const struct limits *l = &p->limits;
	uint64_t from = sizeof(struct ledger);

	return l->resources <= RESOURCES_MAX && l->command_ring_bytes == p->command_ring.bytes &&
	       array_fits(s, from, p->nodes_offset, l->nodes, sizeof(struct node_row),
	                  alignof(struct node_row)) &&
	       array_fits(s, from, p->gangs_offset, l->gangs, sizeof(struct gang_row),
	                  alignof(struct gang_row)) &&
	       array_fits(s, from, p->names_offset, l->names, sizeof(struct name_row),
	                  alignof(struct name_row)) &&
	       array_fits(s, from, p->arena_offset, l->name_bytes, 1, 1) &&
	       array_fits(s, from, p->amounts_offset, (uint64_t)AMOUNT_BLOCKS(l->resources) * l->nodes,
	                  sizeof(struct node_amounts), alignof(struct node_amounts)) &&
	       array_fits(s, from, p->queues_offset, QUEUES_MAX, QUEUE_ROW_BYTES(l->resources),
	                  alignof(struct queue_row)) &&
	       ring_fits(s, from, p->command_ring, SMALL_RING_BYTES_MIN);
}

static struct span_bytes amounts_part(const struct ledger_places *places, uint32_t block)
{
	const uint64_t each = (uint64_t)places->limits.nodes * sizeof(struct node_amounts);
	const uint32_t blocks = AMOUNT_BLOCKS(places->limits.resources);

	if (block < blocks)
		return (struct span_bytes){ places->amounts_offset + block * each, each };
	return (struct span_bytes){ places->amounts_offset + blocks * each, 0 };
}

struct span_bytes ledger_part(const struct ledger_places *places, enum ledger_part part)
{
	const struct limits *l = &places->limits;

	switch (part) {
	case PART_NODES:
		return (struct span_bytes){ places->nodes_offset,
			                        (uint64_t)l->nodes * sizeof(struct node_row) };
	case PART_GANGS:
		return (struct span_bytes){ places->gangs_offset,
			                        (uint64_t)l->gangs * sizeof(struct gang_row) };
	case PART_ARENA:
		return (struct span_bytes){ places->arena_offset, l->name_bytes };
	case PART_QUEUES:
		return (struct span_bytes){ places->queues_offset,
			                        QUEUES_MAX * QUEUE_ROW_BYTES(l->resources) };
	default:
		return amounts_part(places, part - PART_AMOUNTS);
	}
}

/* All except the parts that are committed later. */
static bool ledger_is_there(const struct segment *s, const struct ledger_places *p)
{
	return segment_see(s, p->names_offset, (uint64_t)p->limits.names * sizeof(struct name_row)) &&
	       segment_see(s, p->command_ring.offset, p->command_ring.bytes);
}

int ledger_check(const struct segment *s, struct ledger_places *places)
{
	struct ledger_places copy;
	int rc;

	if (s->bytes < sizeof(struct ledger) || !segment_see(s, 0, sizeof(struct ledger)))
		return -EPROTO;
	rc = head_check(s, LEDGER_MAGIC);
	if (rc < 0)
		return rc;
	ledger_copy(&copy, s->base);
	if (!ledger_fits(s, &copy) || !ledger_is_there(s, &copy))
		return -EPROTO;
	*places = copy;
	return 0;
}
