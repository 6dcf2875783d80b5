/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/victims.h"

#include "core/cycle/promises.h"
#include "core/cycle/reclaim.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/retain.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NEEDED_ASKED 64u /* with more victims the plan is not asked for without each */
#define NS_PER_S UINT64_C(1000000000)

/* A question: what is released tentatively, and for whom. */
struct trial {
	struct core *c;
	uint32_t index;
	bool behind; /* it leaves out what the backfill reservation holds */
	uint64_t ticket;
	struct eviction
		*victims; /* of the answer, then of nominations that end, then others that end */
	size_t cap;
	uint32_t n, own;  /* in all; of the answer */
	pod_id *released; /* pods whose capacity is released */
	size_t released_cap;
	uint32_t released_n;
	struct nomination *taken[NOMINATIONS_MAX]; /* released, the lowest priority first */
	uint32_t taken_n;
	uint32_t evicted; /* victims that are inherited, and were */
	uint8_t *marks;   /* by pod: enum mark */
};

enum mark {
	MARK_OWN = 1u << 0,    /* a victim of the answer */
	MARK_OTHERS = 1u << 1, /* ... of a nomination */
	MARK_ASKED = 1u << 2,  /* the first member of a gang whose terms were looked at */
	MARK_LOWER = 1u << 3,  /* ... whose priority was */
};

static bool runs(const struct pod *p)
{
	return p->generation != 0 && p->node != ID_NONE && reservation_is_bound(p) &&
	       !(p->flags & POD_DELETING);
}

static void release(struct trial *t, pod_id id)
{
	const struct pod *p = &t->c->pods.slots[id];

	t->released =
		must_reach(t->released, &t->released_cap, t->released_n, 64, sizeof(*t->released));
	t->released[t->released_n++] = id;
	if (t->c->pod_counts.inventory)
		inventory_return(t->c->pod_counts.inventory, id);
	pod_counts_release(&t->c->pod_counts, p->node, p->class, p->leaving);
}

static void allocate(struct trial *t, pod_id id)
{
	const struct pod *p = &t->c->pods.slots[id];

	pod_counts_allocate(&t->c->pod_counts, p->node, p->class, p->leaving);
	if (t->c->pod_counts.inventory)
		devices_adopt(t->c, p);
}

static void victim_add(struct trial *t, const struct eviction *v)
{
	t->victims = must_reach(t->victims, &t->cap, t->n, 64, sizeof(*t->victims));
	t->victims[t->n++] = *v;
}

static void marks_make(struct trial *t)
{
	const struct nominations *ns = &t->c->nominations;

	t->marks = must_array(t->c->pods.limit, sizeof(*t->marks));
	for (uint32_t i = 0; ns->n > 0 && i < NOMINATIONS_MAX; i++)
		for (uint32_t k = 0; k < ns->all[i].victims_n; k++)
			t->marks[ns->all[i].victims[k].pod] |= MARK_OTHERS;
}

/* The lowest priority of the members that are ready; the group's own if it has one. */
static int32_t preemptor_priority(const struct core *c, const struct gang *g)
{
	int32_t priority = INT32_MAX;

	if (g->flags & GANG_PRIORITY)
		return g->parts->priority;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		if (p->readiness == MEMBER_READY && p->priority < priority)
			priority = p->priority;
	}
	return priority;
}

static bool goes_by_itself(const struct core *c, const struct pod *p)
{
	return p->gang == ID_NONE || !gang_is_group(&c->gangs, p->gang) ||
	       (c->gangs.slots[p->gang].disruption & GANG_DISRUPT_POD);
}

/* The gang's own, else the highest of its bound members. */
static int32_t unit_priority(const struct core *c, const struct gang *g)
{
	int32_t priority = INT32_MIN;

	if (g->flags & GANG_PRIORITY)
		return g->parts->priority;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next)
		if (runs(&c->pods.slots[id]) && c->pods.slots[id].priority > priority)
			priority = c->pods.slots[id].priority;
	return priority;
}

static bool facts_allow(const struct core *c, pod_id id, uint32_t generation)
{
	const struct event_pod_facts *f = &c->tickets.facts[id];
	const struct event_preemption *terms = &c->tickets.terms;
	const uint64_t now_s = c->now_ns / NS_PER_S;

	if (f->generation != generation || (f->flags & FACT_SPARED) ||
	    (!(f->flags & FACT_OURS) && !(terms->flags & PREEMPTION_ALL)))
		return false;
	if (terms->min_run_s > 0 &&
	    (f->start_s == 0 || (uint64_t)f->start_s + terms->min_run_s > now_s))
		return false;
	return f->evicted_s == 0 || (uint64_t)f->evicted_s + terms->cooldown_s <= now_s;
}

/* No pod goes twice. */
static bool victim_holds(const struct trial *t, const struct answer_pod *v)
{
	const struct core *c = t->c;
	const struct pod *p = pods_find(&c->pods, v->pod);

	return p && p->generation == v->generation && runs(p) && p->node == v->node &&
	       c->nodes.slots[v->node].generation == v->node_generation &&
	       facts_allow(c, v->pod, v->generation) && t->marks[v->pod] == 0;
}

static int by_pod(const void *a, const void *b)
{
	const struct eviction *left = a, *right = b;

	return left->pod < right->pod ? -1 : left->pod > right->pod;
}

/* Bound members of the gang, and of the role if it is one's; those that stay: no victims of the
 * answer, nor of a nomination. */
static void members_count(const struct trial *t, const struct gang *g, uint32_t role,
                          uint32_t *bound, uint32_t *left)
{
	*bound = *left = 0;
	for (pod_id id = g->first; id != ID_NONE; id = t->c->pods.slots[id].next) {
		const struct pod *p = &t->c->pods.slots[id];

		if (!runs(p) || (role != ID_NONE && p->role != role))
			continue;
		*bound += 1;
		*left += !(t->marks[id] & (MARK_OWN | MARK_OTHERS));
	}
}

/* True if the gang's mode allows those of its members that go. */
static bool mode_allows(const struct trial *t, const struct gang *g)
{
	uint32_t bound, left, of_role;

	members_count(t, g, ID_NONE, &bound, &left);
	if (left == 0)
		return true;
	if ((g->disruption & GANG_DISRUPT_WHOLE) || left + g->succeeded < g->declared)
		return false;
	for (uint32_t r = 0; r < gang_roles_n(g); r++) {
		members_count(t, g, g->parts->roles[r].role, &bound, &of_role);
		if (of_role < g->parts->roles[r].quorum)
			return false;
	}
	return true;
}

/* True if the gang is of the preemptor's queue, of no higher priority, and keeps its quorum: with
 * reclaim it gives what it has beyond it. */
static bool gives_extras(const struct trial *t, const struct gang *g, int32_t priority)
{
	const struct core *c = t->c;
	const uint32_t gang = (uint32_t)(g - c->gangs.slots);
	uint32_t bound, left;

	if (!reclaim_is_on(c) || queued_gang(c, gang) != queued_gang(c, t->index) ||
	    unit_priority(c, g) > priority)
		return false;
	members_count(t, g, ID_NONE, &bound, &left);
	return left > 0;
}

/* True if the victim is lower or of another queue, and may go by the terms of its gang, which are
 * looked at once. */
static bool terms_allow(struct trial *t, pod_id id, int32_t priority)
{
	const struct core *c = t->c;
	const struct pod *p = &c->pods.slots[id];
	const bool other = reclaim_is_other(c, t->index, id); /* then reclaim_holds() says */
	const struct gang *g;

	if (p->gang == ID_NONE || !gang_is_group(&c->gangs, p->gang))
		return other || p->priority < priority;
	g = &c->gangs.slots[p->gang];
	if (p->gang == t->index || (g->disruption & GANG_DISRUPT_NEVER))
		return false;
	if (goes_by_itself(c, p))
		return other || p->priority < priority;
	/* Its members may be of several queues. */
	if (!other && !(t->marks[g->first] & MARK_LOWER)) {
		if (unit_priority(c, g) >= priority && !gives_extras(t, g, priority))
			return false;
		t->marks[g->first] |= MARK_LOWER;
	}
	if (t->marks[g->first] & MARK_ASKED)
		return true;
	t->marks[g->first] |= MARK_ASKED;
	return mode_allows(t, g);
}

static bool victims_hold(struct trial *t, const struct answer_record *a)
{
	const int32_t priority = preemptor_priority(t->c, &t->c->gangs.slots[t->index]);

	for (uint32_t i = 0; i < a->body->victims_n; i++) {
		const struct answer_pod *v = &a->victims[i];

		if (!victim_holds(t, v))
			return false;
		t->marks[v->pod] |= MARK_OWN;
		victim_add(t, &(struct eviction){ .pod = v->pod,
		                                  .generation = v->generation,
		                                  .node = v->node,
		                                  .state = VICTIM_DUE,
		                                  .ticket = t->ticket });
	}
	t->own = t->n;
	if (t->n > 1)
		qsort(t->victims, t->n, sizeof(*t->victims), by_pod);
	for (uint32_t i = 0; i < t->own; i++)
		if (!terms_allow(t, t->victims[i].pod, priority))
			return false;
	return reclaim_holds(t->c, t->index, t->victims, t->own);
}

/* A pod that ends, and does in time. */
static bool is_room_to_come(const struct core *c, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];
	const struct event_pod_facts *f = &c->tickets.facts[id];

	if (p->generation == 0 || p->node == ID_NONE || !(p->flags & POD_DELETING))
		return false;
	return f->generation != p->generation || f->ends_s == 0 ||
	       c->now_ns <= (f->ends_s + (uint64_t)c->tickets.terms.patience_s) * NS_PER_S;
}

/* All that ends anyway, and the victims of the answer and of nominations. */
static void ends_release(struct trial *t)
{
	struct core *c = t->c;

	for (pod_id id = 0; id < c->pods.used; id++)
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

static bool fits(struct trial *t)
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
	const int32_t priority = preemptor_priority(t->c, &t->c->gangs.slots[t->index]);
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

/* Lower nominations are given up one by one, only as many as it needs. */
static bool fits_by_taking_over(struct trial *t)
{
	struct nomination *n;

	while (!fits(t)) {
		n = lowest_nomination(t);
		if (!n)
			return false;
		nomination_release_tentatively(t->c, n);
		t->taken[t->taken_n++] = n;
	}
	return true;
}

/* The gang that goes whole with victim i; ID_NONE: it goes alone. */
static uint32_t unit_of(const struct trial *t, uint32_t i)
{
	const struct pod *p = &t->c->pods.slots[t->victims[i].pod];
	uint32_t bound, left;

	if (goes_by_itself(t->c, p))
		return ID_NONE;
	members_count(t, &t->c->gangs.slots[p->gang], ID_NONE, &bound, &left);
	return left == 0 ? p->gang : ID_NONE;
}

/* Victim i and those that go with it stay, or go after all. */
static void unit_move(struct trial *t, uint32_t i, uint32_t unit, bool stays)
{
	for (uint32_t k = 0; k < t->own; k++) {
		const struct pod *p = &t->c->pods.slots[t->victims[k].pod];

		if (k != i && (unit == ID_NONE || p->gang != unit))
			continue;
		if (stays)
			allocate(t, t->victims[k].pod);
		else
			pod_counts_release(&t->c->pod_counts, p->node, p->class, p->leaving);
	}
}

static bool is_first_of_unit(const struct trial *t, uint32_t i, uint32_t unit)
{
	for (uint32_t k = 0; unit != ID_NONE && k < i; k++)
		if (t->c->pods.slots[t->victims[k].pod].gang == unit)
			return false;
	return true;
}

/* The plan stands; false if it would without one of the victims, or a gang that goes whole, and
 * then it is undone. */
static bool all_needed(struct trial *t)
{
	struct core *c = t->c;
	bool needless = false;

	if (t->own == 0 || t->own > NEEDED_ASKED)
		return true;
	undo_all(&c->plan, &c->views, &c->gangs);
	for (uint32_t i = 0; !needless && i < t->own; i++) {
		const uint32_t unit = unit_of(t, i);

		if (!is_first_of_unit(t, i, unit))
			continue;
		unit_move(t, i, unit, true);
		needless = fits(t);
		if (needless)
			undo_all(&c->plan, &c->views, &c->gangs);
		unit_move(t, i, unit, false);
	}
	return !needless && fits(t);
}

static void restore(struct trial *t, bool taken_too)
{
	for (uint32_t i = 0; i < t->released_n; i++)
		allocate(t, t->released[i]);
	for (uint32_t i = 0; taken_too && i < t->taken_n; i++)
		nomination_restore(t->c, t->taken[i]);
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
			victim_add(t, &v);
		}
		n->victims_n = 0;
		t->evicted += n->evicted;
		nomination_release_finally(t->c, n);
		nomination_end(t->c, n, NOMINATION_TAKEN_OVER);
	}
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
			victim_add(t, &(struct eviction){ .pod = id,
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
	ends_release(t);
	if (!fits_by_taking_over(t) || !all_needed(t)) {
		restore(t, true);
		return false;
	}
	surplus_undo(t->c);
	restore(t, false);
	if (!t->c->promises.timeline || promises_allow(t))
		return true;
	undo_all(&t->c->plan, &t->c->views, &t->c->gangs);
	for (uint32_t i = 0; i < t->taken_n; i++)
		nomination_restore(t->c, t->taken[i]);
	return false;
}

bool victims_commit(struct core *c, uint32_t index, bool behind, const struct answer_record *a)
{
	struct trial t = { .c = c, .index = index, .behind = behind, .ticket = a->body->ticket };
	struct nomination *n = nomination_new(c, index);
	bool holds = n != NULL && try_out(&t, a);

	if (holds) {
		gang_release_finally(c, &c->gangs.slots[index]);
		victims_inherit(&t);
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

	if (!n)
		return;
	ends_release(&t);
	holds = plan_fixed(&c->plan, &c->views, false, &c->gangs, &c->gangs.slots[index], &c->need,
	                   places, places_n) == PLAN_PLACED;
	if (holds)
		surplus_undo(c);
	restore(&t, false);
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
