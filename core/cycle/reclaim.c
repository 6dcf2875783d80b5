/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/reclaim.h"

#include "core/cycle/promises.h"
#include "core/cycle/turn_asks.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <stdlib.h>

bool reclaim_is_on(const struct core *c)
{
	return c->turns.shares && (c->tickets.terms.flags & PREEMPTION_RECLAIM);
}

bool reclaim_is_other(const struct core *c, uint32_t index, pod_id id)
{
	uint32_t n, queue, of;

	if (!reclaim_is_on(c))
		return false;
	n = shares_set(c->turns.shares)->n;
	queue = queued_gang(c, index);
	of = queued_of(c, id);
	return queue < n && of < n && of != queue;
}

static void suppose(const struct core *c, pod_id id, uint32_t queue, bool gone)
{
	const struct shape *s = &c->shapes.slots[c->pods.slots[id].shape];

	for (uint32_t i = 0; i < s->sums_n; i++)
		shares_suppose(c->turns.shares, queue, s->requests[i].resource,
		               gone ? -(wide)s->requests[i].value : (wide)s->requests[i].value);
}

void reclaim_suppose(const struct core *c, pod_id id, bool gone)
{
	if (c->turns.counted[id] > 0)
		suppose(c, id, c->turns.counted[id] - 1, gone);
}

void reclaim_suppose_start(const struct core *c, pod_id id, bool starts)
{
	const uint32_t queue = queued_of(c, id);

	if (queue < shares_set(c->turns.shares)->n)
		suppose(c, id, queue, !starts);
}

void reclaim_suppose_ending(const struct core *c, bool gone)
{
	for (pod_id id = pods_ending(&c->pods, 0); id != ID_NONE; id = pods_ending(&c->pods, id + 1))
		reclaim_suppose(c, id, gone);
	for (uint32_t i = 0; c->nominations.n > 0 && i < NOMINATIONS_MAX; i++)
		for (uint32_t k = 0; k < c->nominations.all[i].victims_n; k++) {
			const pod_id id = c->nominations.all[i].victims[k].pod;

			if (!(c->pods.slots[id].flags & POD_DELETING))
				reclaim_suppose(c, id, gone);
		}
}

/* A gang that was reclaimed, and nothing has changed since. */
static bool is_taken(const struct core *c, uint32_t index)
{
	return index != ID_NONE && gang_is_group(&c->gangs, index) && taken_is(&c->taken, index);
}

bool reclaim_allows(const struct core *c, uint32_t index, const struct share_ask *ask, pod_id id)
{
	struct share_ask frees = { 0 };

	if (c->turns.counted[id] == 0 || is_taken(c, index) || is_taken(c, c->pods.slots[id].gang))
		return false;
	ask_add(c, &c->pods.slots[id], &frees);
	return shares_reclaim(c->turns.shares, queued_gang(c, index), c->turns.counted[id] - 1, ask,
	                      &frees, c->tickets.terms.flags & PREEMPTION_FAIR);
}

uint32_t reclaim_min_run_s(const struct core *c, uint32_t index, pod_id id)
{
	if (c->turns.counted[id] == 0)
		return 0;
	return shares_min_run(c->turns.shares, queued_gang(c, index), c->turns.counted[id] - 1);
}

bool reclaim_has_run(const struct core *c, uint32_t start_s, uint32_t min_run_s)
{
	return min_run_s == 0 || (start_s > 0 && (uint64_t)start_s + min_run_s <= c->now_ns / NS_PER_S);
}

static uint32_t pod_start_s(const struct core *c, pod_id id)
{
	const struct event_pod_facts *f = &c->tickets.facts[id].sent;

	return f->generation == c->pods.slots[id].generation ? f->start_s : 0;
}

/* The victim, or any member of its gang, has run for long enough. */
static bool victim_has_run(const struct core *c, uint32_t index, pod_id id)
{
	const uint32_t gang = c->pods.slots[id].gang, min_run_s = reclaim_min_run_s(c, index, id);
	bool has_run = reclaim_has_run(c, pod_start_s(c, id), min_run_s);

	if (has_run || gang == ID_NONE || !gang_is_group(&c->gangs, gang) ||
	    (c->gangs.slots[gang].disruption & GANG_DISRUPT_POD))
		return has_run;
	for (pod_id m = c->gangs.slots[gang].first; m != ID_NONE && !has_run; m = c->pods.slots[m].next)
		has_run = c->pods.slots[m].node != ID_NONE && reservation_is_bound(&c->pods.slots[m]) &&
		          reclaim_has_run(c, pod_start_s(c, m), min_run_s);
	return has_run;
}

static wide asked_of(const struct share_ask *ask, uint32_t resource)
{
	uint32_t i = 0;

	while (ask->wants[i].resource != resource)
		i++;
	return ask->wants[i].value;
}

/* Of a victim that the gang may have. */
static struct evict_cause cause_of(const struct core *c, uint32_t index,
                                   const struct share_ask *ask, pod_id id)
{
	const struct shares *s = c->turns.shares;
	const uint32_t queue = queued_gang(c, index), victim = c->turns.counted[id] - 1;
	struct share_ask frees = { 0 };
	struct share_taking t;

	ask_add(c, &c->pods.slots[id], &frees);
	t = shares_taking(s, queue, victim, ask, &frees);
	return (struct evict_cause){
		.rule = t.fair ? EVICT_FAIR : EVICT_GUARANTEE,
		.resource = t.resource,
		.taker = queued_id(c, queue),
		.giver = queued_id(c, victim),
		.taker_branch = queued_id(c, t.a),
		.giver_branch = queued_id(c, t.b),
		.taker_used = wide_cut(shares_used(s, t.a, t.resource) + asked_of(ask, t.resource)),
		.taker_guarantee = shares_guarantee(s, t.a, t.resource),
		.giver_used = wide_cut(shares_used(s, t.b, t.resource)),
		.giver_guarantee = shares_guarantee(s, t.b, t.resource),
	};
}

bool reclaim_holds(const struct core *c, uint32_t index, struct eviction *victims, uint32_t n)
{
	struct share_ask ask;
	bool holds = true;

	if (!reclaim_is_on(c))
		return true;
	ask_find(c, index, &ask);
	reclaim_suppose_ending(c, true);
	for (uint32_t i = 0; i < n; i++)
		reclaim_suppose(c, victims[i].pod, true);
	for (uint32_t i = 0; i < n && holds; i++) {
		if (!reclaim_is_other(c, index, victims[i].pod))
			continue;
		holds = victim_has_run(c, index, victims[i].pod) &&
		        reclaim_allows(c, index, &ask, victims[i].pod);
		if (holds)
			victims[i].cause = cause_of(c, index, &ask, victims[i].pod);
	}
	for (uint32_t i = 0; i < n; i++)
		reclaim_suppose(c, victims[i].pod, false);
	reclaim_suppose_ending(c, false);
	return holds;
}

static void promise_suppose(const struct core *c, const struct promise *p, bool starts)
{
	const uint32_t queue = queued_gang(c, p->ask.gang);

	for (uint32_t i = 0; i < p->ask.wants_n; i++) {
		const struct shape *s = &c->shapes.slots[p->ask.wants[i].shape];
		const wide members =
			starts ? (wide)p->ask.wants[i].members : -(wide)p->ask.wants[i].members;

		for (uint32_t k = 0; k < s->sums_n; k++)
			shares_suppose(c->turns.shares, queue, s->requests[k].resource,
			               members * s->requests[k].value);
	}
}

bool reclaim_is_firm(const struct core *c, const struct timeline_ask *of)
{
	const struct timeline *t = c->promises.timeline;
	struct share_ask ask;
	bool firm = false;

	if (!reclaim_is_on(c))
		return false;
	ask.n = 0;
	if (of->wants_n > 0)
		ask_promised(c, of, &ask);
	else
		ask_find(c, of->gang, &ask);
	for (int starts = 1; starts >= 0; starts--) {
		for (uint32_t i = 0; i < promises_n(t); i++) {
			const struct promise *p = promise_at(t, i);

			if (promise_is_to_come(c, p) && p->ask.priority >= of->priority &&
			    p->ask.gang != of->gang)
				promise_suppose(c, p, starts);
		}
		if (starts)
			firm = shares_owed(c->turns.shares, queued_gang(c, of->gang), &ask);
	}
	return firm;
}

static int by_priority(const void *a, const void *b, void *context)
{
	const struct promise *x = promise_at(context, *(const uint32_t *)a),
						 *y = promise_at(context, *(const uint32_t *)b);

	if (x->ask.priority != y->ask.priority)
		return x->ask.priority > y->ask.priority ? -1 : 1;
	return x->serial < y->serial ? -1 : 1;
}

bool reclaim_rank_promises(struct core *c)
{
	struct timeline *t = c->promises.timeline;
	const uint32_t n = promises_n(t);
	uint32_t *order;
	bool changed = false;

	if (n == 0 || !reclaim_is_on(c)) {
		for (uint32_t i = 0; i < n; i++)
			changed = promise_set_firm(t, i, QUEUE_MISSING, false, c->turns.edited) || changed;
		return changed;
	}
	order = must_array(n, sizeof(*order));
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_priority, t);
	for (uint32_t i = 0; i < n; i++) {
		const struct promise *p = promise_at(t, order[i]);
		struct share_ask ask = { 0 };
		uint32_t queue;

		if (!promise_is_to_come(c, p))
			continue;
		ask_promised(c, &p->ask, &ask);
		queue = queued_gang(c, p->ask.gang);
		if (promise_set_firm(t, order[i], queued_id(c, queue),
		                     shares_owed(c->turns.shares, queue, &ask), c->turns.edited))
			changed = true;
		promise_suppose(c, p, true);
	}
	for (uint32_t i = 0; i < n; i++)
		if (promise_is_to_come(c, promise_at(t, i)))
			promise_suppose(c, promise_at(t, i), false);
	free(order);
	return changed;
}
