/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of queues in the ledger: counted from the gangs, at most once a second, and more rarely
 * the more pods there are.  Nothing is decided by them. */
#include "core/cycle/queues.h"

#include "core/cycle/turns.h"
#include "core/lifecycle/queued.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_NS UINT64_C(1000000000)
#define ROWS_PODS 100000u /* a second more for each of these */

struct count {
	uint32_t waiting, placed;
	uint32_t first; /* the first gang that waits; ID_NONE */
};

struct counting {
	const struct core *c;
	struct count *counts; /* by queue */
	wide *asked;          /* by queue and resource: of those that wait */
};

static bool is_of_queue(const struct core *c, uint32_t queue)
{
	return queue < shares_set(c->turns.shares)->n;
}

/* What its members request that wait, once they are enough. */
static void asked_add(struct counting *k, const struct gang *g, uint32_t queue)
{
	const struct core *c = k->c;
	const uint32_t resources = shares_set(c->turns.shares)->resources;
	uint32_t seen = 0;

	if (!gang_enough(g, MEMBER_READY))
		return;
	for (pod_id id = g->first; seen < g->members; id = c->pods.slots[id].next, seen++) {
		const struct pod *p = &c->pods.slots[id];
		const struct shape *s = &c->shapes.slots[p->shape];

		for (uint32_t i = 0; p->readiness == MEMBER_READY && i < s->sums_n; i++)
			if (s->requests[i].resource < resources)
				k->asked[(size_t)queue * resources + s->requests[i].resource] +=
					s->requests[i].value;
	}
}

static void count_waiting(struct counting *k, const struct queue *list)
{
	const struct core *c = k->c;

	for (uint32_t i = queue_first(list); i != ID_NONE; i = queue_next(list, i)) {
		const struct gang *g = &c->gangs.slots[i];
		const uint32_t queue = queued_gang(c, i);
		struct count *n;

		if (!is_of_queue(c, queue) || gang_pending(g) == 0)
			continue;
		n = &k->counts[queue];
		asked_add(k, g, queue);
		if (gang_quorum_met(g))
			continue;
		n->waiting++;
		if (n->first == ID_NONE || gang_before(&c->gangs, i, n->first))
			n->first = i;
	}
}

static void count_placed(struct counting *k)
{
	const struct core *c = k->c;
	const uint32_t groups = c->gangs.groups;

	for (uint32_t i = 0; i < c->gangs.used; i++) {
		const struct gang *g = &c->gangs.slots[i];

		if (g->generation != 0 && g->members > 0 && gang_quorum_met(g) &&
		    is_of_queue(c, queued_gang(c, i)))
			k->counts[queued_gang(c, i)].placed++;
	}
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->generation == 0 || p->node == ID_NONE || p->gang != groups + id)
			continue;
		if (is_of_queue(c, queued_of(c, id)))
			k->counts[queued_of(c, id)].placed++;
	}
}

/* In the units of struct queue_row. */
static uint64_t share_of(const struct shares *s, uint32_t queue)
{
	struct share_ask all = { 0 };
	share_t over;

	for (uint32_t r = 0; r < shares_set(s)->resources; r++)
		share_ask_add(&all, r, shares_total(s, r));
	over = shares_over(s, queue, &all);
	if (over == SHARE_INFINITE)
		return QUEUE_SHARE_INFINITE;
	over /= SHARE_ONE / QUEUE_SHARE_ONE;
	return over < QUEUE_SHARE_INFINITE ? (uint64_t)over : QUEUE_SHARE_INFINITE - 1;
}

static void text_set(char *out, size_t room, const char *text, size_t bytes)
{
	bytes = bytes < room - 1 ? bytes : room - 1;
	memset(out, 0, room);
	memcpy(out, text, bytes);
}

static void first_set(struct queue_row *row, const struct core *c, uint32_t first)
{
	struct share_block block = { .by = QUEUE_BY_NONE };
	const struct gang *g;

	row->by = QUEUE_BY_NONE;
	row->at = QUEUE_MISSING;
	row->resource = UINT32_MAX;
	row->why = WAIT_NONE;
	row->need = row->have = 0;
	memset(row->first, 0, sizeof(row->first));
	if (first == ID_NONE)
		return;
	g = &c->gangs.slots[first];
	text_set(row->first, sizeof(row->first), g->name, g->name_bytes);
	row->why = g->published_why;
	if (!turns_blocked(c, first, &block))
		return;
	row->why = WAIT_QUEUE;
	row->by = block.by;
	row->at = queued_id(c, block.at);
	row->resource = block.resource;
	row->need = wide_cut(block.need);
	row->have = wide_cut(block.have);
}

static wide asked_of(const struct counting *k, uint32_t queue, uint32_t resource)
{
	const uint32_t resources = shares_set(k->c->turns.shares)->resources;

	return resource < resources ? k->asked[(size_t)queue * resources + resource] : 0;
}

static void row_write(const struct counting *k, uint32_t queue)
{
	struct core *c = (struct core *)(uintptr_t)k->c;
	const struct shares *s = c->turns.shares;
	const struct share_def *d = &shares_set(s)->defs[queue];
	const uint32_t id = queued_id(c, queue);
	struct queue_row *row;
	struct queue_amounts *amounts;

	ledger_reach_queue(&c->ledger, id);
	row = ledger_queue(&c->ledger, id);
	amounts = (struct queue_amounts *)(row + 1);
	row_begin(&row->version);
	row->there = 1;
	row->parent = queued_id(c, d->parent);
	row->flags = (d->fifo ? QUEUE_ROW_FIFO : 0) | (shares_scaled(s, queue) ? QUEUE_ROW_SCALED : 0) |
	             (d->parked ? QUEUE_ROW_PARKED : 0) |
	             (shares_is_leaf(s, queue) ? 0 : QUEUE_ROW_INNER);
	row->priority = d->priority;
	row->min_run_s = d->min_run_s;
	row->max_run_s = d->max_run_s;
	row->state = d->state;
	row->source = c->turns.set ? c->turns.set->about[queue].source : QUEUES_CONFIG;
	row->waiting = k->counts[queue].waiting;
	row->placed = k->counts[queue].placed;
	row->share = share_of(s, queue);
	text_set(row->name, sizeof(row->name), d->name, strlen(d->name));
	first_set(row, c, k->counts[queue].first);
	for (uint32_t r = 0; r < c->ledger.limits.resources; r++)
		amounts[r] = (struct queue_amounts){
			.guarantee = queue == 0 ? 0 : shares_guarantee(s, queue, r),
			.reserved = shares_reserved(s, queue, r),
			.limit = shares_limit(s, queue, r),
			.used = wide_cut(shares_used(s, queue, r)),
			.asked = wide_cut(shares_used(s, queue, r) + asked_of(k, queue, r)),
			.history = wide_cut(shares_history(s, queue, r) / QUEUE_PAST_ONE),
			.history_part = (uint32_t)(shares_history(s, queue, r) % QUEUE_PAST_ONE),
		};
	row_end(&row->version);
}

void turns_show(struct core *c)
{
	const uint64_t wait_ns = ROWS_NS * (1 + c->pods.used / ROWS_PODS);
	struct counting k = { .c = c };
	uint32_t n, resources;

	if (c->turns.shown && c->now_ns - c->turns.shown_ns < wait_ns)
		return;
	c->turns.shown_ns = c->now_ns;
	c->turns.shown = true;
	n = shares_set(c->turns.shares)->n;
	resources = shares_set(c->turns.shares)->resources;
	k.counts = must_array(n, sizeof(*k.counts));
	k.asked = must_array((size_t)n * resources + 1, sizeof(*k.asked));
	for (uint32_t q = 0; q < n; q++)
		k.counts[q].first = ID_NONE;
	count_waiting(&k, &c->queue.active);
	count_waiting(&k, &c->queue.unschedulable);
	count_placed(&k);
	for (uint32_t q = n; q-- > 1;)
		for (uint32_t r = 0; r < resources; r++)
			k.asked[(size_t)shares_set(c->turns.shares)->defs[q].parent * resources + r] +=
				k.asked[(size_t)q * resources + r];
	for (uint32_t q = 0; q < n; q++)
		row_write(&k, q);
	free(k.counts);
	free(k.asked);
}
