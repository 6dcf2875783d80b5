/* SPDX-License-Identifier: Apache-2.0 */
/* May the victims of an answer go, as things are now?  Their facts, their gangs' terms, and with
 * reclaim their queues. */
#include "core/cycle/victims_impl.h"

#include "core/cycle/reclaim.h"
#include "core/lifecycle/queued.h"
#include "core/lifecycle/reservation.h"
#include "ipc/memory.h"

#include <stdlib.h>

static bool runs(const struct pod *p)
{
	return p->generation != 0 && p->node != ID_NONE && reservation_is_bound(p) &&
	       !(p->flags & POD_DELETING);
}

void victims_add(struct trial *t, const struct eviction *v)
{
	t->victims = must_reach(t->victims, &t->cap, t->n, 64, sizeof(*t->victims));
	t->victims[t->n++] = *v;
}

int32_t victims_preemptor_priority(const struct core *c, const struct gang *g)
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
	const struct event_pod_facts *f = &c->tickets.facts[id].sent;
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

/* False if a member must not preempt; its facts may have come after the search. */
static bool may_preempt(const struct core *c, const struct gang *g)
{
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct event_pod_facts *f = &c->tickets.facts[id].sent;
		const struct pod *p = &c->pods.slots[id];

		if (p->readiness == MEMBER_READY && f->generation == p->generation &&
		    (f->flags & FACT_NEVER))
			return false;
	}
	return true;
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

/* Bound members of the gang, or of that role, without those that have one of the marks. */
static uint32_t members_left(const struct trial *t, const struct gang *g, uint32_t role,
                             uint8_t marks)
{
	uint32_t left = 0;

	for (pod_id id = g->first; id != ID_NONE; id = t->c->pods.slots[id].next) {
		const struct pod *p = &t->c->pods.slots[id];

		left += runs(p) && (role == ID_NONE || p->role == role) && !(t->marks[id] & marks);
	}
	return left;
}

/* ... are enough for its quorum, and that of each role. */
static bool has_quorum(const struct trial *t, const struct gang *g, uint8_t marks)
{
	if (members_left(t, g, ID_NONE, marks) + g->succeeded < g->declared)
		return false;
	for (uint32_t r = 0; r < gang_roles_n(g); r++)
		if (members_left(t, g, g->parts->roles[r].role, marks) < g->parts->roles[r].quorum)
			return false;
	return true;
}

/* True if the gang's mode allows those of its members that go. */
static bool mode_allows(const struct trial *t, const struct gang *g)
{
	/* Members whose Bindings are in flight would start without the others. */
	if (members_left(t, g, ID_NONE, MARKS_GO) == 0)
		return g->counts[MEMBER_BINDING] == 0;
	return !(g->disruption & GANG_DISRUPT_WHOLE) && has_quorum(t, g, MARKS_GO);
}

/* True if the gang is of the preemptor's queue, of no higher priority, and keeps its quorum: with
 * reclaim it gives what it has beyond it. */
static bool gives_extras(const struct trial *t, const struct gang *g, int32_t priority)
{
	const struct core *c = t->c;
	const uint32_t gang = (uint32_t)(g - c->gangs.slots);

	if (!reclaim_is_on(c) || queued_gang(c, gang) != queued_gang(c, t->index) ||
	    unit_priority(c, g) > priority)
		return false;
	return members_left(t, g, ID_NONE, MARKS_GO) > 0;
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

bool victims_hold(struct trial *t, const struct answer_record *a)
{
	const struct gang *g = &t->c->gangs.slots[t->index];
	const int32_t priority = victims_preemptor_priority(t->c, g);

	if (a->body->victims_n > 0 && !may_preempt(t->c, g))
		return false;
	for (uint32_t i = 0; i < a->body->victims_n; i++) {
		const struct answer_pod *v = &a->victims[i];

		if (!victim_holds(t, v))
			return false;
		t->marks[v->pod] |= MARK_OWN;
		victims_add(t, &(struct eviction){ .pod = v->pod,
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

uint32_t victims_unit(const struct trial *t, uint32_t i)
{
	const struct pod *p = &t->c->pods.slots[t->victims[i].pod];

	if (goes_by_itself(t->c, p))
		return ID_NONE;
	return members_left(t, &t->c->gangs.slots[p->gang], ID_NONE, MARKS_GO) == 0 ? p->gang : ID_NONE;
}

uint32_t victims_broken(struct trial *t)
{
	const struct core *c = t->c;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->own; i++) {
		const struct pod *p = &c->pods.slots[t->victims[i].pod];
		const struct gang *g;

		if (p->gang == ID_NONE || !gang_is_group(&c->gangs, p->gang))
			continue;
		g = &c->gangs.slots[p->gang];
		if (t->marks[g->first] & MARK_COUNTED)
			continue;
		t->marks[g->first] |= MARK_COUNTED;
		n += has_quorum(t, g, MARK_OTHERS) && !has_quorum(t, g, MARKS_GO);
	}
	return n;
}

/* So many of its bound members are beyond its quorum, or those of its roles. */
static uint32_t members_spare(const struct trial *t, const struct gang *g)
{
	uint32_t left = members_left(t, g, ID_NONE, MARK_OTHERS) + g->succeeded;
	uint32_t least = left > g->declared ? left - g->declared : 0;

	for (uint32_t r = 0; r < gang_roles_n(g) && least > 0; r++) {
		const struct gang_role *role = &g->parts->roles[r];

		left = members_left(t, g, role->role, MARK_OTHERS);
		if (left < role->quorum + least)
			least = left > role->quorum ? left - role->quorum : 0;
	}
	return least;
}

void victims_break(struct trial *t)
{
	const struct core *c = t->c;

	for (uint32_t i = 0; i < t->own; i++) {
		const uint32_t gang = c->pods.slots[t->victims[i].pod].gang;
		uint8_t *marks;
		uint32_t breaks_at;

		if (gang == ID_NONE || !gang_is_group(&c->gangs, gang))
			continue;
		marks = &t->marks[c->gangs.slots[gang].first];
		if (*marks & MARK_BREAKS)
			continue;
		*marks |= MARK_BREAKS;
		if (victims_unit(t, i) == ID_NONE)
			continue;
		breaks_at = members_spare(t, &c->gangs.slots[gang]) + 1;
		for (uint32_t k = i; k < t->own; k++)
			if (c->pods.slots[t->victims[k].pod].gang == gang)
				t->victims[k].cause.breaks_at = breaks_at;
	}
}

void victims_leave(struct trial *t)
{
	struct core *c = t->c;
	struct taken_by by = { .at_ns = c->now_ns };

	if (!reclaim_is_on(c))
		return;
	by.queue = queued_id(c, queued_gang(c, t->index));
	for (uint32_t i = 0; i < t->own; i++) {
		const pod_id id = t->victims[i].pod;
		const uint32_t gang = c->pods.slots[id].gang;
		const bool other = reclaim_is_other(c, t->index, id);
		const struct gang *g;

		if (gang == ID_NONE || !gang_is_group(&c->gangs, gang))
			continue;
		g = &c->gangs.slots[gang];
		if (!(t->marks[g->first] & MARK_KEEPS) &&
		    !(taken_is_away(&c->taken, gang) && (!other || taken_is(&c->taken, gang)))) {
			if (has_quorum(t, g, MARKS_GO))
				t->marks[g->first] |= MARK_KEEPS;
			else
				taken_evict(&c->taken, c->gangs.groups, gang, other ? &by : NULL);
		}
		t->victims[i].cause.extra =
			(t->marks[g->first] & MARK_KEEPS) && !(g->disruption & GANG_DISRUPT_POD);
	}
}
