/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/precedence.h"

#include "core/lifecycle/members.h"
#include "core/lifecycle/retain.h"
#include "ipc/units.h"

#include <assert.h>

static void first_plan_add(struct gang *g, struct pod *p)
{
	p->first_plan = true;
	g->first_plan_n++;
}

/* The quorum is that of the moment. */
static void begin(struct core *c, struct gang *g)
{
	/* Those of an earlier one, of which no member has a node any more. */
	for (pod_id id = g->first; g->first_plan_n > 0; id = c->pods.slots[id].next) {
		g->first_plan_n -= c->pods.slots[id].first_plan;
		c->pods.slots[id].first_plan = false;
	}
	g->begun = gang_total(g);
	g->precedence_ends_ns = 0;
}

void precedence_begin(struct core *c, struct gang *g, const struct plan *plan)
{
	begin(c, g);
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			first_plan_add(g, &c->pods.slots[plan->pods[i]]);
}

void precedence_lose(struct core *c, struct pod *p)
{
	struct gang *g = &c->gangs.slots[p->gang];

	assert(p->first_plan && g->first_plan_n > 0);
	p->first_plan = false;
	if (--g->first_plan_n >= g->begun)
		return;
	if (g->first_plan_n >= gang_total(g))
		g->begun = g->first_plan_n; /* the quorum is less than it was */
	else
		precedence_end(c, p->gang);
}

bool precedence_asks_more(const struct core *c, shape_id than, shape_id shape)
{
	const struct shape *old = &c->shapes.slots[than], *new = &c->shapes.slots[shape];
	uint32_t at = 0;

	for (uint32_t i = 0; i < new->requests_n; i++) {
		const struct request *r = &new->requests[i];

		while (at < old->requests_n && old->requests[at].resource < r->resource)
			at++;
		if (at == old->requests_n || old->requests[at].resource != r->resource ||
		    old->requests[at].value < r->value)
			return true;
	}
	return false;
}

void precedence_note(struct core *c, struct gang *g)
{
	if (g->precedence_ends_ns == 0 && c->config.retain_for_ns > 0 && gang_partially_bound(g))
		g->precedence_ends_ns = c->now_ns + c->config.retain_for_ns;
}

bool precedence_is_over(const struct core *c, const struct gang *g)
{
	return g->precedence_ends_ns > 0 && c->now_ns >= g->precedence_ends_ns &&
	       gang_partially_bound(g);
}

int32_t precedence_priority(const struct core *c, const struct gang *g)
{
	return gang_partially_bound(g) && !precedence_is_over(c, g) ? INT32_MAX : gang_priority(g);
}

void precedence_end(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];

	assert(index < c->gangs.groups);
	g->begun = 0;
	gang_retain_check(c, index);
	gang_requeue(c, index); /* in another band */
}

void precedence_note_listed(struct gang *g, const struct event_pod *e)
{
	if (e->node == ID_NONE || (e->flags & POD_BINDING))
		return;
	if (g->listed_s == 0 || e->scheduled_s < g->listed_s)
		g->listed_s = e->scheduled_s > 0 ? e->scheduled_s : 1; /* unknown: nothing is older */
}

static bool is_older(const struct gang *g, uint64_t created_ns)
{
	return g->listed_s == 0 || created_ns / NS_PER_S <= g->listed_s;
}

/* True if its placement began with the present quorum and was not complete since: the group's
 * object was not changed since its creation, which precedes the placement, and members enough for
 * the quorum are as old.  A member that was replaced is younger. */
static bool is_first_placement(const struct core *c, const struct gang *g)
{
	uint32_t old = 0;

	if (!(g->flags & GANG_UNCHANGED) || !is_older(g, g->created_ns))
		return false;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];

		old += p->readiness != MEMBER_OUTSIDE && is_older(g, p->created_ns);
	}
	return old >= gang_total(g);
}

void precedence_restore(struct core *c)
{
	for (gang_id id = 0; id < c->gangs.used; id++) {
		struct gang *g = &c->gangs.slots[id];

		if (g->generation == 0 || gang_have(g) == 0 || gang_enough(g, MEMBER_BOUND) ||
		    !is_first_placement(c, g))
			continue;
		begin(c, g);
		for (pod_id pod = g->first; pod != ID_NONE; pod = c->pods.slots[pod].next) {
			struct pod *p = &c->pods.slots[pod];

			if (p->readiness != MEMBER_OUTSIDE && is_older(g, p->created_ns))
				first_plan_add(g, p);
		}
		gang_requeue(c, id);
	}
}

void precedence_tick(struct core *c)
{
	if (c->pods.reservations[RESERVATION_RETAINED] == 0)
		return;
	for (gang_id id = 0; id < c->gangs.used; id++)
		if (c->gangs.slots[id].retained > 0 && precedence_is_over(c, &c->gangs.slots[id]))
			precedence_end(c, id);
}
