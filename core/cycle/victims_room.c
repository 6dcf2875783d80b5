/* SPDX-License-Identifier: Apache-2.0 */
/* What is away while the planner is asked: all that ends in time, victims of nominations and of the
 * answer, and the room of lower nominations that are given up. */
#include "core/cycle/victims_impl.h"

#include "core/cycle/reclaim.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

void victims_release(struct trial *t, pod_id id)
{
	const struct pod *p = &t->c->pods.slots[id];

	if (t->c->pod_counts.inventory)
		inventory_return(t->c->pod_counts.inventory, id);
	pod_counts_release(&t->c->pod_counts, p->node, p->class, p->leaving);
}

static void release(struct trial *t, pod_id id)
{
	t->released =
		must_reach(t->released, &t->released_cap, t->released_n, 64, sizeof(*t->released));
	t->released[t->released_n++] = id;
	victims_release(t, id);
}

void victims_allocate(struct trial *t, pod_id id)
{
	const struct pod *p = &t->c->pods.slots[id];

	pod_counts_allocate(&t->c->pod_counts, p->node, p->class, p->leaving);
	if (t->c->pod_counts.inventory)
		devices_adopt(t->c, p);
}

/* A pod that is being deleted is on a node, and ends in time. */
static bool is_room_to_come(const struct core *c, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];

	return p->node != ID_NONE && !facts_overdue(&c->tickets.facts[id], p->generation,
	                                            c->tickets.terms.patience_s, c->now_ns);
}

void victims_ends_release(struct trial *t)
{
	struct core *c = t->c;

	for (pod_id id = pods_ending(&c->pods, 0); id != ID_NONE; id = pods_ending(&c->pods, id + 1))
		if (is_room_to_come(c, id))
			release(t, id);
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++)
		for (uint32_t k = 0; k < c->nominations.all[i].victims_n; k++) {
			const struct pod *p = &c->pods.slots[c->nominations.all[i].victims[k].pod];

			if (p->node != ID_NONE && !(p->flags & POD_DELETING))
				release(t, c->nominations.all[i].victims[k].pod);
		}
	for (uint32_t i = 0; i < t->own; i++)
		release(t, t->victims[i].pod);
}

bool victims_fit(struct trial *t)
{
	struct core *c = t->c;

	return plan_gang(&c->plan, &c->views, t->behind, &c->gangs, &c->gangs.slots[t->index],
	                 &c->need) == PLAN_PLACED;
}

/* With reclaim a nomination is given up to gangs of its own queue alone. */
static bool of_queue(const struct core *c, const struct nomination *n, uint32_t index)
{
	return !reclaim_is_on(c) || queued_gang(c, n->gang) == queued_gang(c, index);
}

static struct nomination *lowest_nomination(struct trial *t)
{
	const int32_t priority = victims_preemptor_priority(t->c, &t->c->gangs.slots[t->index]);
	struct nomination *lowest = NULL;

	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		struct nomination *n = &t->c->nominations.all[i];
		bool taken = false;

		for (uint32_t k = 0; k < t->taken_n; k++)
			taken = taken || t->taken[k] == n;
		if (n->ticket != 0 && !taken && n->priority < priority && of_queue(t->c, n, t->index) &&
		    (!lowest || n->priority < lowest->priority))
			lowest = n;
	}
	return lowest;
}

static void taken_remove(struct trial *t, uint32_t i)
{
	t->taken_n--;
	memmove(&t->taken[i], &t->taken[i + 1], (t->taken_n - i) * sizeof(struct nomination *));
}

/* Those that are on none of the planned nodes are kept, and the plan stands. */
static void taken_keep_beside(struct trial *t)
{
	struct core *c = t->c;
	bool *planned = must_array(c->nodes.limit, sizeof(*planned));

	for (uint32_t i = 0; i < c->plan.n; i++)
		if (c->plan.nodes[i] != ID_NONE)
			planned[c->plan.nodes[i]] = true;
	for (uint32_t i = t->taken_n; i-- > 0;) {
		struct nomination *n = t->taken[i];
		bool beside = true;

		for (uint32_t k = 0; k < n->places_n; k++)
			beside = beside && !planned[n->places[k].node];
		if (beside) {
			nomination_restore(c, n);
			taken_remove(t, i);
		}
	}
	free(planned);
}

/* The lowest ones were given up whether or not their room was of use: those that it fits without
 * are kept, the highest first.  False: the plan does not stand any more. */
static bool taken_reduce(struct trial *t)
{
	struct core *c = t->c;

	/* Without the last one it did not fit. */
	if (t->taken_n > 1 && c->plan.exact && !c->pod_counts.inventory)
		taken_keep_beside(t);
	for (uint32_t i = t->taken_n > 0 ? t->taken_n - 1 : 0; i-- > 0;) {
		struct nomination *n = t->taken[i];

		undo_all(&c->plan, &c->views, &c->gangs);
		nomination_restore(c, n);
		if (victims_fit(t)) {
			taken_remove(t, i);
			continue;
		}
		nomination_release_tentatively(c, n);
		if (!victims_fit(t))
			return false;
	}
	return true;
}

bool victims_fit_by_taking_over(struct trial *t)
{
	struct nomination *n;

	while (!victims_fit(t)) {
		n = lowest_nomination(t);
		if (!n)
			return false;
		nomination_release_tentatively(t->c, n);
		t->taken[t->taken_n++] = n;
	}
	return taken_reduce(t);
}

void victims_ends_restore(struct trial *t, bool taken_too)
{
	for (uint32_t i = 0; i < t->released_n; i++)
		victims_allocate(t, t->released[i]);
	for (uint32_t i = 0; taken_too && i < t->taken_n; i++)
		nomination_restore(t->c, t->taken[i]);
}
