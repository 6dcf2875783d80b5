/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/scheduling_queue.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

/* A walk that begins again before it reached the end does so this often; then it continues to the
 * end. Otherwise, in a busy cluster, a few gangs at the head that are expensive to plan would
 * starve all others. */
#define WALK_RESTARTS_MAX 16u

/* With more classes than these it is not checked after each gang whether the walk can end. */
#define CUT_CLASSES_MAX 64u

void squeue_init(struct scheduling_queue *q, const struct limits *limits, struct gangs *gangs,
                 bool ask_all)
{
	*q = (struct scheduling_queue){ .gangs = gangs };
	q->links = must_array(gangs->n, sizeof(*q->links));
	hints_init(&q->hints, limits, ask_all);
	queue_init(&q->active, gangs, q->links, QUEUE_ACTIVE);
	queue_init(&q->unschedulable, gangs, q->links, QUEUE_UNSCHEDULABLE);
	squeue_clear(q);
}

void squeue_free(struct scheduling_queue *q)
{
	hints_free(&q->hints);
	free(q->links);
}

void squeue_clear(struct scheduling_queue *q)
{
	queue_clear(&q->active);
	queue_clear(&q->unschedulable);
	hints_clear(&q->hints);
	q->cursor = q->in_cycle = ID_NONE;
	q->walking = q->walk_refreshes = false;
}

void squeue_remove(struct scheduling_queue *q, uint32_t index)
{
	struct gang *g = &q->gangs->slots[index];

	if (g->queue == QUEUE_ACTIVE) {
		queue_remove(&q->active, index);
	} else if (g->queue == QUEUE_UNSCHEDULABLE) {
		if (q->cursor == index)
			q->cursor = queue_next(&q->unschedulable, index);
		queue_remove(&q->unschedulable, index);
		hints_remove(&q->hints, g);
	}
}

void squeue_activate(struct scheduling_queue *q, uint32_t index)
{
	struct gang *g = &q->gangs->slots[index];
	const bool wanted = gang_is_group(q->gangs, index) || gang_pending(g) > 0;

	if (index == q->in_cycle || (g->queue == QUEUE_ACTIVE && wanted && gang_queued_right(g)))
		return;
	squeue_remove(q, index);
	if (wanted)
		queue_insert(&q->active, index);
}

void squeue_add_unschedulable(struct scheduling_queue *q, struct views *vs, uint32_t index)
{
	assert(index != q->in_cycle);
	hints_add(&q->hints, vs, &q->gangs->slots[index]);
	queue_insert(&q->unschedulable, index);
}

void squeue_walk_begin(struct scheduling_queue *q, struct views *vs, uint32_t round)
{
	const uint64_t version = vs->nodes->freed_version;
	const bool due = q->walk_round != round;

	if (q->walking && q->cursor == ID_NONE) {
		q->walking = q->walk_refreshes = false;
		hints_walk_end(&q->hints);
	}
	if (q->walked_version == version)
		return;
	if (!due && !hints_any_may_fit(&q->hints, vs)) {
		q->walked_version = version; /* a walk that is under way continues */
		return;
	}
	if (q->cursor == ID_NONE)
		q->walk_restarts = 0;
	else if (q->walk_restarts++ >= WALK_RESTARTS_MAX)
		return;
	q->walked_version = version;
	q->walk_round = round;
	q->walk_refreshes = q->walk_refreshes || due;
	q->walking = true;
	q->cursor = queue_first(&q->unschedulable);
	hints_walk_begin(&q->hints);
}

void squeue_walk_cut(struct scheduling_queue *q, struct views *vs)
{
	if (q->cursor == ID_NONE || q->walk_refreshes || q->hints.classes > CUT_CLASSES_MAX ||
	    hints_any_may_fit(&q->hints, vs))
		return;
	q->walking = false; /* it did not pass all gangs, so the hints' least needs stay */
	q->cursor = ID_NONE;
}

/* True if it is certain that the gang is still infeasible and its reason is of this round. */
static bool can_skip(struct scheduling_queue *q, struct views *vs, struct gang *g, uint32_t round)
{
	if (g->refresh != round)
		return false;
	if (g->freed_version == vs->nodes->freed_version)
		return true;
	if (hints_may_fit(&q->hints, vs, g))
		return false;
	g->freed_version = vs->nodes->freed_version;
	return true;
}

static uint32_t next_unschedulable(struct scheduling_queue *q, struct views *vs, uint32_t round,
                                   uint64_t most_steps)
{
	while (q->cursor != ID_NONE && budget_left(vs->budget, most_steps) > 0) {
		struct gang *g = &q->gangs->slots[q->cursor];

		if (!can_skip(q, vs, g, round))
			return q->cursor;
		hints_walk_pass(&q->hints, g);
		q->cursor = queue_next(&q->unschedulable, q->cursor);
		budget_spend(vs->budget, 1);
	}
	return ID_NONE;
}

/* The first active gang, after its key was brought up to date. */
static uint32_t next_active(struct scheduling_queue *q, struct views *vs)
{
	for (;;) {
		uint32_t index = queue_first(&q->active);
		struct gang *g;

		if (index == ID_NONE)
			return ID_NONE;
		g = &q->gangs->slots[index];
		if (!g->key_old)
			return index;
		queue_remove(&q->active, index);
		gang_rekey(q->gangs, g);
		budget_spend(vs->budget, g->members / 4);
		queue_insert(&q->active, index);
	}
}

uint32_t squeue_pop(struct scheduling_queue *q, struct views *vs, uint32_t round,
                    uint64_t most_steps)
{
	uint32_t active = next_active(q, vs), waiting = next_unschedulable(q, vs, round, most_steps),
			 index;

	assert(q->in_cycle == ID_NONE);
	assert(q->cursor == ID_NONE || q->gangs->slots[q->cursor].queue == QUEUE_UNSCHEDULABLE);
	if (waiting == ID_NONE || (active != ID_NONE && gang_before(q->gangs, active, waiting)))
		index = active;
	else
		index = waiting;
	/* The walk ran out of steps: what it would have found may be first. */
	if (waiting == ID_NONE && q->cursor != ID_NONE &&
	    (active == ID_NONE || !gang_before(q->gangs, active, q->cursor)))
		return ID_NONE;
	if (index != ID_NONE)
		squeue_remove(q, index);
	return index;
}
