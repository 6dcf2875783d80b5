/* SPDX-License-Identifier: Apache-2.0 */
/* What a gang of several classes lacks, for its reason: its members are placed as far as they go,
 * those of the class with most capacity first. */
#include "core/plan/plan_impl.h"

#include "core/base/amount.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

/* Classes times nodes up to which it is worked out. */
#define LACK_STEPS 1000000u

/* The members that still have to be found: of each role, and of any (the last in use). */
struct missing {
	uint32_t roles[GANG_ROLES_MAX + 1];
	uint32_t total;
};

static struct missing missing_of(const struct gang_need *need)
{
	struct missing m = { .total = need->total };

	m.roles[need->roles_n] = need->total;
	for (uint32_t r = 0; r < need->roles_n; r++) {
		m.roles[r] = need->roles[r].quorum;
		m.roles[need->roles_n] -= m.roles[r];
	}
	return m;
}

/* The number that the member lowers; NULL: the quorum does not need it. */
static uint32_t *missing_at(struct missing *m, const struct plan *plan, uint32_t member)
{
	uint32_t role = role_at(plan, member);

	if (m->roles[role] == 0)
		role = plan->roles_n;
	return m->total > 0 && m->roles[role] > 0 ? &m->roles[role] : NULL;
}

struct lacking {
	struct plan *plan;
	struct views *vs;
	const struct gangs *gs;
	struct missing missing;
	class_id first; /* of the members that lack */
};

/* One pass over the members; true when one was placed. */
static bool place_pass(struct lacking *l)
{
	struct plan *plan = l->plan;
	const uint32_t had = plan->placed;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].closed = false;
	for (uint32_t i = 0; i < plan->set_n; i++) {
		const uint32_t member = plan->set[i];
		const class_id class = class_at(plan, l->gs, member);
		struct plan_group *g = group_of(plan, l->vs, class);
		uint32_t *missing =
			plan->nodes[member] == ID_NONE ? missing_at(&l->missing, plan, member) : NULL;

		if (!missing || g->closed)
			continue;
		g->closed = !plan_take_best(plan, l->vs, member, class);
		if (g->closed)
			continue;
		(*missing)--;
		l->missing.total--;
	}
	budget_spend(l->vs->budget, plan->set_n / 4);
	return plan->placed > had;
}

/* Counts in group.wanted the members that have to start: those placed, and the first others. */
static void count_wanted(struct lacking *l)
{
	struct plan *plan = l->plan;
	struct missing left = l->missing;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 0;
	l->first = CLASS_NONE;
	for (uint32_t i = 0; i < plan->set_n; i++) {
		const uint32_t member = plan->set[i];
		const class_id class = class_at(plan, l->gs, member);
		uint32_t *missing = NULL;

		if (plan->nodes[member] == ID_NONE) {
			missing = missing_at(&left, plan, member);
			if (!missing)
				continue;
			(*missing)--;
			left.total--;
			l->first = l->first == CLASS_NONE ? class : l->first;
		}
		group_of(plan, l->vs, class)->wanted++;
	}
}

static const struct shape *shape_of(const struct lacking *l, uint32_t group)
{
	return class_shape(l->vs->pod_counts, l->plan->groups[group].class);
}

static const struct request *request_of(const struct shape *s, uint32_t resource)
{
	for (uint32_t i = 0; i < s->sums_n; i++)
		if (s->requests[i].resource == resource && s->requests[i].group == 0)
			return &s->requests[i];
	return NULL;
}

/* The members of the group that fit by this resource alone take it from `left`, by node. */
static uint32_t take_alone(const struct lacking *l, uint32_t group, const struct request *q,
                           int64_t *left)
{
	const struct plan *plan = l->plan;
	const struct nodes *ns = l->vs->nodes;
	const struct shape *s = shape_of(l, group);
	uint32_t wanted = plan->groups[group].wanted;

	for (uint32_t rank = 0; rank < ns->count && wanted > 0; rank++) {
		const node_id id = ns->order[rank];
		uint32_t n;

		if (!shape_allows(s, id) ||
		    (plan->kept_together && !domain_has(&plan->domains, plan->closest, rank)))
			continue;
		n = amount_count(left[id], q->value, q->inverse, wanted);
		left[id] -= (int64_t)n * q->value;
		wanted -= n;
	}
	return plan->groups[group].wanted - wanted;
}

/* need and have of one resource; the largest requests first. */
static void sum_resource(struct lacking *l, uint32_t resource, int64_t *left)
{
	struct plan *plan = l->plan;
	const struct nodes *ns = l->vs->nodes;
	wide need = 0, have = 0;
	int64_t below = INT64_MAX;
	bool whole = true;

	for (node_id id = 0; id < ns->used; id++)
		left[id] = nodes_free_amount(ns, id, resource);
	for (;;) {
		int64_t most = -1;

		for (uint32_t i = 0; i < plan->groups_n; i++) {
			const struct request *q = request_of(shape_of(l, i), resource);

			if (q && plan->groups[i].wanted > 0 && q->value < below && q->value > most)
				most = q->value;
		}
		if (most < 0)
			break;
		for (uint32_t i = 0; i < plan->groups_n; i++) {
			const struct request *q = request_of(shape_of(l, i), resource);
			uint32_t fit;

			if (!q || plan->groups[i].wanted == 0 || q->value != most)
				continue;
			fit = take_alone(l, i, q, left);
			need += (wide)q->value * plan->groups[i].wanted;
			have += (wide)q->value * fit;
			whole = whole && fit == plan->groups[i].wanted;
		}
		below = most;
	}
	if (whole || plan->lacks_n == SHORTFALLS_MAX)
		return;
	plan->lacks[plan->lacks_n++] =
		(struct shortfall){ .resource = resource, .need = wide_cut(need), .have = wide_cut(have) };
}

static void sum_all(struct lacking *l)
{
	int64_t *left = must_array(l->vs->nodes->limit, sizeof(*left));

	for (uint32_t r = 0; r < l->vs->nodes->resources; r++)
		sum_resource(l, r, left);
	free(left);
	budget_spend(l->vs->budget, (uint64_t)l->plan->groups_n * l->vs->nodes->count);
}

static void place_and_sum(struct lacking *l)
{
	struct plan *plan = l->plan;
	const bool alone =
		plan->failed != CLASS_NONE && views_get(l->vs, &plan->scope, plan->failed)->capacity > 0;

	while (place_pass(l) && plan->ordered && budget_left(l->vs->budget, PLAN_STEPS) > 0)
		;
	count_wanted(l);
	/* One more of that class fits by itself: what rejects it are the members placed before. */
	if (alone && plan->counts_n == 0 && l->first != CLASS_NONE) {
		plan->failed = l->first;
		note_why(plan, l->vs, l->first);
	}
	plan->fit = plan->placed;
	undo_all(plan, l->vs, l->gs);
	plan->lacks_known = l->first != CLASS_NONE;
	if (plan->lacks_known)
		sum_all(l);
}

void plan_lack(struct plan *plan, struct views *vs, const struct gangs *gs,
               const struct gang_need *need)
{
	struct lacking l = { .plan = plan, .vs = vs, .gs = gs, .missing = missing_of(need) };

	plan->lacks_n = 0;
	if ((uint64_t)plan->groups_n * vs->nodes->count > LACK_STEPS ||
	    budget_left(vs->budget, PLAN_STEPS) == 0)
		return;
	if (plan->kept_together) {
		if (plan->closest == OUTSIDE)
			return;
		memset(plan->domains.mask, 0, (vs->nodes->count / 64 + 1) * sizeof(uint64_t));
		domains_mask_add(&plan->domains, vs->nodes, plan->closest);
		view_scope_mask(vs, &plan->scope, plan->domains.mask);
	}
	groups_look(plan, vs);
	set_most_capacity_first(plan, vs, gs);
	place_and_sum(&l);
	if (plan->kept_together)
		view_scope_mask(vs, &plan->scope, NULL);
}
