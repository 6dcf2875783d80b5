/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/victims.h"

#include "core/cycle/promises.h"
#include "core/cycle/victims_impl.h"
#include "core/lifecycle/retain.h"
#include "core/shm/ledger.h"
#include "ipc/plans.h"
#include "ipc/memory.h"

#include <stdlib.h>

static void marks_make(struct trial *t)
{
	const struct nominations *ns = &t->c->nominations;

	t->marks = must_array(t->c->pods.used + 1u, sizeof(*t->marks));
	for (uint32_t i = 0; ns->n > 0 && i < NOMINATIONS_MAX; i++)
		for (uint32_t k = 0; k < ns->all[i].victims_n; k++)
			t->marks[ns->all[i].victims[k].pod] |= MARK_OTHERS;
}

/* Members that do not have to start evict no pod. */
static void surplus_undo(struct core *c)
{
	struct plan *plan = &c->plan;

	for (uint32_t i = plan->n; i-- > 0 && plan->placed > c->need.total;) {
		if (plan->nodes[i] == ID_NONE || (c->need.roles_n > 0 && i < c->need.total))
			continue;
		pod_counts_release(&c->pod_counts, plan->nodes[i], c->pods.slots[plan->pods[i]].class,
		                   false);
		plan->nodes[i] = ID_NONE;
		plan->placed--;
	}
}

static bool is_planned_on(const struct core *c, node_id node)
{
	for (uint32_t i = 0; i < c->plan.n; i++)
		if (c->plan.nodes[i] == node)
			return true;
	return false;
}

static bool is_listed(const struct trial *t, pod_id id)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->victims[i].pod == id)
			return true;
	return false;
}

/* Victims of the nominations that are taken over go on, each by the command that it has or, if it
 * was not sent, by one of this ticket. */
static void victims_inherit(struct trial *t)
{
	for (uint32_t i = 0; i < t->taken_n; i++) {
		struct nomination *n = t->taken[i];

		for (uint32_t k = 0; k < n->victims_n; k++) {
			struct eviction v = n->victims[k];

			if (v.state == VICTIM_DUE)
				v.ticket = t->ticket;
			victims_add(t, &v);
		}
		n->victims_n = 0;
		t->evicted += n->evicted;
		nomination_release_finally(t->c, n);
		nomination_end(t->c, n, NOMINATION_TAKEN_OVER);
	}
}

/* True if the plan may count on what goes for the nomination: on its node, or where a gang that it
 * took over was. */
static bool is_counted_on(const struct core *c, const struct nomination *n)
{
	bool counts = is_planned_on(c, n->places->node);

	for (uint32_t k = 0; k < n->victims_n && !counts; k++)
		counts = n->victims[k].state != VICTIM_ENDING && is_planned_on(c, n->victims[k].node);
	return counts;
}

/* The slot, whose nomination ends if it has one. */
static struct nomination *slot_clear(struct trial *t, struct nomination *n)
{
	struct nomination *other = n->ticket != 0 ? nomination_new(t->c, t->index) : NULL;

	n = other ? other : n; /* what was taken over is free now */
	if (n->ticket != 0 && is_counted_on(t->c, n)) {
		t->taken[0] = n;
		t->taken_n = 1;
		nomination_release_tentatively(t->c, n);
		victims_inherit(t);
	} else if (n->ticket != 0) {
		nomination_end(t->c, n, NOMINATION_CHANGED);
	}
	return n;
}

/* What ends on the planned nodes is waited for; anywhere, if a rule between pods has to be met. */
static void victims_ending(struct trial *t, bool anywhere)
{
	struct core *c = t->c;

	for (uint32_t i = 0; i < t->released_n; i++) {
		const pod_id id = t->released[i];
		const struct pod *p = &c->pods.slots[id];

		if ((p->flags & POD_DELETING) && (anywhere || is_planned_on(c, p->node)) &&
		    !is_listed(t, id))
			victims_add(t, &(struct eviction){ .pod = id,
			                                   .generation = p->generation,
			                                   .node = p->node,
			                                   .state = VICTIM_ENDING,
			                                   .since_ns = c->now_ns });
	}
}

/* The victims are known ends from here on, and what is taken over has left: all promises that the
 * gang does not outrank hold?  Asked before any eviction. */
static __attribute__((noinline, cold)) bool promises_allow(struct trial *t)
{
	struct core *c = t->c;
	struct timeline *timeline = c->promises.timeline;
	uint64_t start_ns = victims_gone_ns(c, t->victims, t->own); /* they may be on other nodes */
	bool allowed;

	for (uint32_t i = 0; i < t->released_n; i++) {
		const struct pod *p = &c->pods.slots[t->released[i]];
		const struct eviction v = { .pod = t->released[i],
			                        .generation = p->generation,
			                        .state = p->flags & POD_DELETING ? VICTIM_ENDING : VICTIM_DUE };
		const uint64_t gone_ns = victim_gone_ns(c, &v);

		/* Victims of nominations are known ends already. */
		if (!(p->flags & POD_DELETING) && !(t->marks[v.pod] & MARK_OWN))
			continue;
		timeline_pod_evict(timeline, v.pod, gone_ns);
		if (is_planned_on(c, p->node) && gone_ns > start_ns)
			start_ns = gone_ns;
	}
	for (uint32_t i = 0; i < t->taken_n; i++) {
		start_ns = t->taken[i]->start_ns > start_ns ? t->taken[i]->start_ns : start_ns;
		nomination_timeline_leave(c, t->taken[i]);
	}
	allowed = promises_accept_from(c, start_ns);
	if (allowed)
		return true;
	for (uint32_t i = 0; i < t->own; i++)
		timeline_pod_evict(timeline, t->victims[i].pod, 0);
	for (uint32_t i = 0; i < t->taken_n; i++)
		nomination_timeline_enter(c, t->taken[i]);
	return false;
}

static bool try_out(struct trial *t, const struct answer_record *a)
{
	marks_make(t);
	if (!victims_hold(t, a))
		return false;
	victims_ends_release(t);
	if (!victims_fit_by_taking_over(t) || !victims_all_needed(t)) {
		victims_ends_restore(t, true);
		return false;
	}
	surplus_undo(t->c);
	victims_ends_restore(t, false);
	if (!t->c->promises.timeline || promises_allow(t))
		return true;
	undo_all(&t->c->plan, &t->c->views, &t->c->gangs);
	for (uint32_t i = 0; i < t->taken_n; i++)
		nomination_restore(t->c, t->taken[i]);
	return false;
}

static void counts_add(struct victims_counts *counts, uint32_t n)
{
	stat_add(&counts->n[victims_bucket(n)], 1);
	stat_add(&counts->sum, n);
}

/* The victims of the answer are going to be evicted. */
static void victims_count(struct trial *t)
{
	struct core_preemption *p = &t->c->ledger.ledger->preemption;

	if (t->own == 0)
		return;
	counts_add(&p->victims, t->own);
	counts_add(&p->broken, victims_broken(t));
}

bool victims_commit(struct core *c, uint32_t index, bool behind, const struct answer_record *a)
{
	struct trial t = { .c = c, .index = index, .behind = behind, .ticket = a->body->ticket };
	struct nomination *n = nomination_new(c, index);
	bool holds = n != NULL && try_out(&t, a);

	if (holds) {
		victims_count(&t);
		victims_leave(&t);
		victims_break(&t);
		gang_release_finally(c, &c->gangs.slots[index]);
		victims_inherit(&t);
		n = slot_clear(&t, n);
		victims_ending(&t, false);
		if (t.n == 0)
			victims_ending(&t, true);
		nomination_make(c, n, index, t.ticket, t.victims, t.n);
		n->evicted = t.evicted;
		if (c->promises.timeline)
			promises_outranked(c->promises.timeline, &c->promises.ask, c->now_ns);
		if (t.n == 0)
			refresh_defer(&c->refresh, index); /* it can be placed with its next plan */
		t.victims = NULL;
	}
	free(t.victims);
	free(t.released);
	free(t.marks);
	return holds;
}

void victims_renominate(struct core *c, uint32_t index, const struct answer_pod *places,
                        uint32_t places_n)
{
	struct trial t = { .c = c, .index = index };
	struct nomination *n = nomination_new(c, index);
	bool holds;

	if (!n || n->ticket != 0)
		return;
	victims_ends_release(&t);
	holds = plan_fixed(&c->plan, &c->views, false, &c->gangs, &c->gangs.slots[index], &c->need,
	                   places, places_n) == PLAN_PLACED;
	if (holds)
		surplus_undo(c);
	victims_ends_restore(&t, false);
	if (holds)
		victims_ending(&t, false);
	if (t.n > 0)
		nomination_make(c, n, index, ++c->tickets.last, t.victims, t.n);
	else if (holds)
		undo_all(&c->plan, &c->views, &c->gangs);
	if (t.n == 0)
		free(t.victims);
	free(t.released);
}
