/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/backfill.h"

#include "core/base/probe.h"
#include "core/cycle/backfill_impl.h"
#include "core/lifecycle/backfill_state.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/retain.h"

#include <assert.h>
#include <string.h>

/* About 0.5 ms in units of struct budget: the search of one tick. */
#define SEARCH_STEPS 50000u
#define GANG_STEPS 10u

/* A reservation lasts this long at most, and where it is not certain that the gang could fit. */
#define RESERVATION_NS (3600 * UINT64_C(1000000000))
#define UNCERTAIN_NS (600 * UINT64_C(1000000000))

/* After each reservation that ended by time the gang waits twice as long for the next one, and
 * UNCERTAIN_NS is a part of what it was. */
#define DOUBLINGS_MAX 6u

/* Whole nodes are reserved in the first WHOLE_NS / (k + 1) of the k-th WHOLE_PERIOD_NS that the
 * gang owns the reservation; see also core/cycle/backfill_nodes.c. */
#define WHOLE_NS (600 * UINT64_C(1000000000))
#define WHOLE_PERIOD_NS (2 * WHOLE_NS)

/* Its capacity is that of its promise: it needs no reservation, and no other
 * gang's reservation keeps it from it. */
static bool is_promised(const struct core *c, const struct gang *g)
{
	return c->promises.timeline && promise_of(c->promises.timeline, gangs_index(&c->gangs, g));
}

bool backfill_is_behind(const struct core *c, uint32_t index)
{
	const uint32_t owner = c->backfill.gang;

	return owner != ID_NONE && owner != index && gang_before(&c->gangs, owner, index) &&
	       !is_promised(c, &c->gangs.slots[index]);
}

bool wanted_find(const struct core *c, const struct gang *g, struct wanted *w)
{
	pod_id id = g->members > 0 ? g->first : ID_NONE;

	*w = (struct wanted){ .lasting = c->lasting.any ? &c->lasting : NULL };
	for (; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];
		uint32_t i = 0;

		if (p->readiness != MEMBER_READY)
			continue;
		while (i < w->n && w->classes[i] != p->class)
			i++;
		if (i == HOLD_CLASSES_MAX)
			return false;
		w->classes[i] = p->class;
		w->members[i]++;
		w->n += i == w->n;
	}
	return true;
}

/* How long a reservation lasts. */
static uint64_t turn_ns(const struct core *c, const struct gang *g, const struct wanted *w)
{
	const uint64_t most =
		fit_is_certain(c, g, w) ? RESERVATION_NS : UNCERTAIN_NS / (g->turns + UINT64_C(1));

	return g->timeout_ns > 0 && g->timeout_ns < most ? g->timeout_ns : most;
}

static bool reserves_what_it_wants(const struct core *c, const struct gang *g)
{
	const struct hold *hold = &c->views.hold;
	struct wanted w;

	return wanted_find(c, g, &w) && hold->version > 0 && w.n == hold->classes_n &&
	       memcmp(w.classes, hold->classes, w.n * sizeof(w.classes[0])) == 0;
}

/* Rare, so it is retained out of the code that each cycle runs. */
static __attribute__((noinline)) void owner_tried(struct core *c, const struct gang *g,
                                                  bool waits_for_capacity)
{
	assert(gangs_index(&c->gangs, g) == c->backfill.gang);
	/* A gang that wants something else may become the owner again, in the next tick. */
	if (!waits_for_capacity || gang_quorum_met(g) || !reserves_what_it_wants(c, g)) {
		backfill_end(c);
	} else if (!gang_key_is(g, &c->backfill.key)) {
		c->backfill.key = gang_key(g);
		nodes_note_freed(&c->nodes); /* for gangs that are no longer behind it */
	}
}

void backfill_gang_tried(struct core *c, uint32_t index, bool waits_for_capacity, bool placed)
{
	struct gang *g = &c->gangs.slots[index];

	g->promoted = g->promoted && !placed;
	if (placed || !waits_for_capacity) {
		g->waiting_since_ns = 0;
		g->turns = 0;
		g->unpromised = false;
	}
	if (waits_for_capacity && g->waiting_since_ns == 0)
		g->waiting_since_ns = c->now_ns ? c->now_ns : 1;
	if (waits_for_capacity)
		precedence_note(c, g);
	if (c->backfill.gang == index)
		owner_tried(c, g, waits_for_capacity);
}

/* Gangs behind it see less from now on, and no gang sees more: nothing is to be tried again. */
static void reservation_begin(struct core *c, uint32_t index, const struct wanted *w)
{
	struct gang *g = &c->gangs.slots[index];

	assert(index < c->gangs.n);
	assert(w->n <= HOLD_CLASSES_MAX);
	assert(c->backfill.gang == ID_NONE && g->queue == QUEUE_UNSCHEDULABLE && w->n > 0);
	c->backfill.gang = index;
	c->backfill.since_ns = c->now_ns;
	c->backfill.key = gang_key(g);
	PROBE(backfill_reserved, index, g->generation);
	views_hold(&c->views, w->classes, w->n, w->nodes, w->whole);
	stat_add(&c->ledger.ledger->gauges.reservations, 1);
	stat_set(&c->ledger.ledger->gauges.reserved_gang, index + UINT64_C(1));
}

/* Changes with whatever could_fit() depends on, apart from the gang. */
static uint64_t feasibility_version(const struct core *c)
{
	return c->nodes.facts_version + c->pod_counts.rules_version + c->lasting.released;
}

static bool waited_long(const struct core *c, const struct gang *g)
{
	const uint32_t doublings = g->turns < DOUBLINGS_MAX ? g->turns : DOUBLINGS_MAX;

	return g->waiting_since_ns > 0 &&
	       (c->now_ns - g->waiting_since_ns) >> doublings >= c->config.reserve_after_ns;
}

/* design.md, Order: gangs of BAND_LAST that have waited long enough join BAND_NORMAL. */
static void promote(struct core *c)
{
	uint32_t index = queue_first_of_last_band(&c->queue.unschedulable), next;

	for (; index != ID_NONE; index = next) {
		struct gang *g = &c->gangs.slots[index];

		next = queue_next(&c->queue.unschedulable, index);
		if (!waited_long(c, g))
			continue;
		gang_dequeue(c, index);
		g->promoted = true;
		gang_requeue(c, index); /* it may be before the owner now */
	}
}

/* Capacity of a partially bound gang is of no use while it waits, so it needs not wait first. */
static bool may_own(const struct core *c, const struct gang *g)
{
	return !is_promised(c, g) && !gang_quorum_met(g) &&
	       (waited_long(c, g) || gang_partially_bound(g));
}

/* After another reserve_after_ns, for a share of time that shrinks: pods on whole nodes may last.
 * *period counts from 1. */
static bool reserves_whole_nodes(const struct core *c, const struct gang *g, uint32_t *period)
{
	const uint64_t owned_ns = c->now_ns - c->backfill.since_ns,
				   after_ns = c->config.reserve_after_ns;
	uint64_t of_wait_ns;

	if (owned_ns < after_ns)
		return false;
	of_wait_ns = owned_ns - after_ns + g->turns * RESERVATION_NS;
	*period = (uint32_t)(of_wait_ns / WHOLE_PERIOD_NS) + 1;
	return of_wait_ns % WHOLE_PERIOD_NS < WHOLE_NS / *period;
}

/* The owner's time is over: it waits as others do before the next reservation. */
static void expire(struct core *c, struct gang *g)
{
	const uint32_t index = c->backfill.gang;

	assert(gangs_index(&c->gangs, g) == c->backfill.gang);
	g->waiting_since_ns = c->now_ns;
	g->turns += g->turns < UINT8_MAX;
	backfill_end(c);
	if (gang_partially_bound(g))
		precedence_end(c, index);
}

/* Ends the reservation if the owner can't use it or its time is over; otherwise brings the reserved
 * nodes up to date. */
static void review(struct core *c)
{
	struct wanted w;
	struct gang *g;
	uint32_t period;

	if (c->backfill.gang == ID_NONE)
		return;
	g = &c->gangs.slots[c->backfill.gang];
	if (is_promised(c, g)) {
		backfill_end(c);
		return;
	}
	if (c->views.hold.version == 0 || !wanted_find(c, g, &w) || w.n == 0 || !could_fit(c, g, &w)) {
		backfill_end(c);
		return;
	}
	if (c->now_ns - c->backfill.since_ns >= turn_ns(c, g, &w) || precedence_is_over(c, g)) {
		expire(c, g);
		return;
	}
	if (reserves_whole_nodes(c, g, &period))
		whole_nodes_find(c, &w, gang_missing(g), period);
	if (views_holds_within(&c->views, w.nodes, w.whole))
		return;
	/* Labels of nodes or levels changed, or whole nodes are reserved now or no longer. */
	views_hold(&c->views, w.classes, w.n, w.nodes, w.whole);
	nodes_note_freed(&c->nodes);
}

/* True if there is no reservation, or one that gives way to the gang. */
static bool may_replace_owner(const struct core *c, const struct gang *g)
{
	return c->backfill.gang == ID_NONE ||
	       (gang_partially_bound(g) && !gang_partially_bound(&c->gangs.slots[c->backfill.gang]));
}

/* The reason of the gang states it from now on. */
static void unpromised_set(struct core *c, uint32_t index, bool unpromised)
{
	struct gang *g = &c->gangs.slots[index];

	if (g->unpromised == unpromised)
		return;
	g->unpromised = unpromised;
	gang_requeue(c, index);
}

/* Reserves for the gang if it has waited long enough and could fit. */
static bool try_reserve(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	struct wanted w;

	budget_spend(&c->budget, GANG_STEPS);
	if (precedence_is_over(c, g)) {
		precedence_end(c, index);
		return false;
	}
	if (!may_own(c, g) || g->infeasible_version == feasibility_version(c))
		return false;
	budget_spend(&c->budget, g->members);
	if (!wanted_find(c, g, &w) || w.n == 0 || !could_fit(c, g, &w)) {
		g->infeasible_version = feasibility_version(c);
		gang_retain_untried(c, index);
		unpromised_set(c, index, lasting_pods_bar(c, g));
		return false;
	}
	g->unpromised = false;
	backfill_end(c);
	reservation_begin(c, index, &w);
	return true;
}

/* The first gang of the queue that may own the reservation.  A search that runs out of steps
 * continues in the next tick: each change of a node makes all infeasible gangs candidates again,
 * and from the first one on each time the search would never get past them. */
static void owner_search(struct core *c)
{
	uint32_t index = c->backfill.search_next, next;

	if (index == ID_NONE || c->gangs.slots[index].queue != QUEUE_UNSCHEDULABLE)
		index = queue_first(&c->queue.unschedulable);
	c->backfill.search_next = ID_NONE;
	budget_reset(&c->budget);
	for (; index != ID_NONE && may_replace_owner(c, &c->gangs.slots[index]); index = next) {
		next = queue_next(&c->queue.unschedulable, index); /* it may leave the queue */
		if (try_reserve(c, index))
			return;
		if (budget_left(&c->budget, SEARCH_STEPS) > 0)
			continue;
		c->backfill.search_next = next;
		return;
	}
}

void backfill_tick(struct core *c)
{
	precedence_tick(c);
	if (c->config.reserve_after_ns == 0)
		return;
	promote(c);
	review(c);
	owner_search(c);
}
