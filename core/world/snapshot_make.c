/* SPDX-License-Identifier: Apache-2.0 */
/* The whole core is walked each time, and snapshots_publish() finds the chunks that did not change:
 * so no hook of the core can forget one. */
#include "core/world/snapshot.h"

#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "ipc/memory.h"

#include <stdlib.h>

static uint32_t requests_count(const struct core *c)
{
	uint32_t n = 0;

	for (shape_id id = 0; id < c->shapes.used; id++)
		if (shapes_find(&c->shapes, id))
			n += c->shapes.slots[id].sums_n;
	return n;
}

static void shapes_fill(const struct core *c, struct snapshot *s)
{
	uint32_t row = 0, n = 0;

	for (shape_id id = 0; id < c->shapes.used; id++) {
		const struct shape *shape = shapes_find(&c->shapes, id);

		if (!shape)
			continue;
		for (uint32_t i = 0; i < shape->sums_n; i++)
			s->requests[n++] = (struct snapshot_request){ .shape = row,
				                                          .resource = shape->requests[i].resource,
				                                          .value = shape->requests[i].value };
		s->shapes[row++] = id;
	}
}

/* Pods by chunk, counted: at[chunk]: those that hold capacity there. */
static void pods_count(const struct core *c, uint32_t *at)
{
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = pods_find(&c->pods, id);

		if (p && p->node != ID_NONE)
			at[p->node / CHUNK_NODES]++;
	}
}

static uint16_t pod_flags(const struct pod *p)
{
	const uint32_t bound = RESERVATION_BIT(BOUND) | RESERVATION_BIT(CONFIRMED);

	return (uint16_t)((p->leaving ? SNAPSHOT_POD_LEAVING : 0u) |
	                  (reservation_in(p, bound) ? SNAPSHOT_POD_BOUND : 0u));
}

static int64_t *row_of(struct snapshot_chunk *chunk, uint32_t row)
{
	return (int64_t *)(void *)(chunk + 1) + (size_t)row * CHUNK_NODES;
}

static void chunk_fill(const struct core *c, const struct snapshot *s, uint32_t index,
                       struct snapshot_chunk *chunk)
{
	uint64_t *allowed = (uint64_t *)(void *)row_of(chunk, 2 * chunk->resources);
	const node_id first = index * CHUNK_NODES;

	for (uint32_t k = 0; k < CHUNK_NODES && first + k < s->nodes_n; k++) {
		if (!node_present(&c->nodes.slots[first + k]))
			continue;
		chunk->present |= UINT64_C(1) << k;
		for (uint32_t r = 0; r < chunk->resources; r++) {
			row_of(chunk, r)[k] = nodes_free_amount(&c->nodes, first + k, r);
			row_of(chunk, chunk->resources + r)[k] = nodes_allocatable(&c->nodes, first + k, r);
		}
	}
	for (uint32_t i = 0; i < s->shapes_n; i++)
		allowed[i] = c->shapes.slots[s->shapes[i]].allowed[index];
}

static struct snapshot_pod *pods_of(struct snapshot_chunk *chunk)
{
	uint64_t *allowed = (uint64_t *)(void *)row_of(chunk, 2 * chunk->resources);

	return (struct snapshot_pod *)(void *)(allowed + chunk->shapes_n);
}

static int by_node(const void *left, const void *right)
{
	const struct snapshot_pod *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->pod < b->pod ? -1 : a->pod > b->pod;
}

/* at[chunk]: 0, then how many are written. */
static void pods_fill(const struct core *c, const struct snapshot *s, uint32_t *at)
{
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = pods_find(&c->pods, id);
		uint32_t chunk;

		if (!p || p->node == ID_NONE)
			continue;
		chunk = p->node / CHUNK_NODES;
		pods_of(s->chunks[chunk])[at[chunk]++] =
			(struct snapshot_pod){ .pod = id,
			                       .generation = p->generation,
			                       .shape = p->shape,
			                       .priority = p->priority,
			                       .gang = p->gang,
			                       .flags = pod_flags(p),
			                       .node = (uint8_t)(p->node % CHUNK_NODES) };
	}
	for (uint32_t i = 0; i < s->chunks_n; i++)
		qsort(pods_of(s->chunks[i]), at[i], sizeof(struct snapshot_pod), by_node);
}

static void gang_fill(const struct core *c, uint32_t index, struct snapshot_gang *out)
{
	const struct gang *g = &c->gangs.slots[index];

	*out = (struct snapshot_gang){ .gang = index,
		                           .generation = g->generation,
		                           .priority = g->queued.priority,
		                           .missing = gang_missing(g),
		                           .age_ns = g->queued.age_ns,
		                           .band = (uint8_t)g->queued.band,
		                           .waiting = g->queue == QUEUE_UNSCHEDULABLE };
}

/* Both queues, merged. */
static void gangs_fill(const struct core *c, struct snapshot *s)
{
	const struct queue *active = &c->queue.active, *waiting = &c->queue.unschedulable;
	uint32_t a = queue_first(active), w = queue_first(waiting);

	for (uint32_t i = 0; i < s->gangs_n; i++) {
		const bool take_active =
			w == ID_NONE || (a != ID_NONE && gang_queued_before(&c->gangs, a, w));

		gang_fill(c, take_active ? a : w, &s->gangs[i]);
		if (take_active)
			a = queue_next(active, a);
		else
			w = queue_next(waiting, w);
	}
}

struct snapshot *snapshot_make(const struct core *c, uint64_t position)
{
	struct snapshot *s = snapshot_new(c->nodes.used, c->shapes.count, requests_count(c),
	                                  c->queue.active.n + c->queue.unschedulable.n);
	uint32_t *at = must_array(s->chunks_n, sizeof(*at));

	s->position = position;
	s->epoch = c->epoch;
	s->now_ns = c->now_ns;
	s->resources = c->nodes.columns;
	s->backfill_gang = c->backfill.gang;
	s->exact = !c->nodes.wide_sums;
	shapes_fill(c, s);
	pods_count(c, at);
	for (uint32_t i = 0; i < s->chunks_n; i++) {
		s->chunks[i] = snapshot_chunk_new(s->resources, s->shapes_n, at[i]);
		chunk_fill(c, s, i, s->chunks[i]);
		at[i] = 0;
	}
	pods_fill(c, s, at);
	gangs_fill(c, s);
	free(at);
	return s;
}
