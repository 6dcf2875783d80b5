/* SPDX-License-Identifier: Apache-2.0 */
/* Members of several classes: which of them are tried together, and in what order. */
#include "core/plan/plan_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* True if a has less capacity for its members than b; classes that need others placed first come
 * last. */
static bool harder(const struct plan_group *a, const struct plan_group *b)
{
	wide left = (wide)a->capacity * b->wanted, right = (wide)b->capacity * a->wanted;

	if (a->later != b->later)
		return b->later;
	return left != right ? left < right : a < b;
}

struct sorting {
	struct plan *plan;
	const struct gangs *gs;
	const struct views *vs;
};

static int hard_first(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct plan_group *g = group_of(s->plan, s->vs, class_at(s->plan, s->gs, left));
	const struct plan_group *h = group_of(s->plan, s->vs, class_at(s->plan, s->gs, right));

	if (g != h)
		return harder(g, h) ? -1 : 1;
	if (role_at(s->plan, left) != role_at(s->plan, right))
		return role_at(s->plan, left) < role_at(s->plan, right) ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* Counts the set by class and sorts it.  True if each class by itself has enough capacity;
 * otherwise the hardest that has not is noted as the one that failed. */
static bool set_ready(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	struct sorting sorting = { .plan = plan, .gs = gs, .vs = vs };
	const struct plan_group *worst = NULL;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 0;
	for (uint32_t i = 0; i < plan->set_n; i++)
		group_of(plan, vs, class_at(plan, gs, plan->set[i]))->wanted++;
	qsort_r(plan->set, plan->set_n, sizeof(*plan->set), hard_first, &sorting);
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		const struct plan_group *g = &plan->groups[i];

		if (g->wanted > g->capacity && (!worst || harder(g, worst)))
			worst = g;
	}
	if (worst && plan->failed == CLASS_NONE) {
		plan->failed = worst->class;
		plan->failed_need = worst->wanted;
	}
	return worst == NULL;
}

/* Places the members of the set that have no node, each on its best one.  True when one was placed;
 * *stuck is the first class of which one was not. */
static bool set_pass(struct plan *plan, struct views *vs, const struct gangs *gs, class_id *stuck)
{
	const uint32_t had = plan->placed;

	*stuck = CLASS_NONE;
	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].closed = false;
	for (uint32_t i = 0; i < plan->set_n; i++) {
		class_id class = class_at(plan, gs, plan->set[i]);
		struct plan_group *g = group_of(plan, vs, class);

		if (plan->nodes[plan->set[i]] != ID_NONE || g->closed ||
		    plan_take_best(plan, vs, plan->set[i], class))
			continue;
		g->closed = true;
		*stuck = *stuck == CLASS_NONE ? class : *stuck;
		if (!plan->ordered)
			break; /* placing others does not help it */
	}
	budget_spend(vs->budget, plan->set_n / 4);
	return plan->placed > had;
}

/* Places every member of the set on its best node, or none; the first one on the node of rank
 * `start`, unless that is TREE_NONE. */
static bool set_greedy(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t start)
{
	class_id stuck = CLASS_NONE;

	if (start != TREE_NONE)
		plan_take(plan, vs, plan->set[0], start, class_at(plan, gs, plan->set[0]));
	while (plan->placed < plan->set_n && set_pass(plan, vs, gs, &stuck) &&
	       budget_left(vs->budget, PLAN_STEPS) > 0)
		if (!plan->ordered)
			break;
	if (plan->placed == plan->set_n)
		return true;
	if (plan->failed == CLASS_NONE) {
		plan->failed = stuck;
		plan->failed_need = group_of(plan, vs, stuck)->wanted;
		note_why_if_ruled(plan, vs, stuck);
	}
	plan->fit = plan->placed > plan->fit ? plan->placed : plan->fit;
	undo_all(plan, vs, gs);
	return false;
}

/* The place that the first member chose may be too small for the others: starts at other places. */
static bool set_elsewhere(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	class_id class = class_at(plan, gs, plan->set[0]);

	starts_find(plan, vs, class, 1);
	for (uint32_t i = 0; i < plan->starts_n && budget_left(vs->budget, PLAN_STEPS) > 0; i++)
		if (set_greedy(plan, vs, gs, plan->starts[i].rank))
			return true;
	return false;
}

static int most_capacity_first(const void *a, const void *b)
{
	const struct plan_group *g = a, *h = b;

	if (g->capacity != h->capacity)
		return g->capacity > h->capacity ? -1 : 1;
	return g->class < h->class ? -1 : g->class > h->class;
}

static int class_most_capacity_first(const void *a, const void *b, void *context)
{
	const struct sorting *s = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct plan_group *g = group_of(s->plan, s->vs, class_at(s->plan, s->gs, left));
	const struct plan_group *h = group_of(s->plan, s->vs, class_at(s->plan, s->gs, right));

	if (g != h)
		return g < h ? -1 : 1;
	return left < right ? -1 : left > right;
}

void set_most_capacity_first(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	struct sorting sorting = { .plan = plan, .gs = gs, .vs = vs };

	qsort(plan->groups, plan->groups_n, sizeof(*plan->groups), most_capacity_first);
	for (uint32_t i = 0; i < plan->groups_n; i++)
		vs->pod_counts->pod_classes.slots[plan->groups[i].class].mark = i;
	set_first(plan, plan->n);
	qsort_r(plan->set, plan->n, sizeof(*plan->set), class_most_capacity_first, &sorting);
}

/* Marks n more members of the set, which is all members, as far as each class by itself has
 * capacity: of one role, or of any (roles_n). */
static void choose(struct plan *plan, const struct views *vs, const struct gangs *gs, uint32_t role,
                   uint32_t n)
{
	bool any = role == plan->roles_n;

	for (uint32_t i = 0; i < plan->n && n > 0; i++) {
		uint32_t member = plan->set[i];
		struct plan_group *g = group_of(plan, vs, class_at(plan, gs, member));

		if (plan->ranks[member] || g->wanted == 0 || (!any && role_at(plan, member) != role))
			continue;
		plan->ranks[member] = true;
		g->wanted--;
		n--;
	}
}

/* The set becomes the members of the classes with most capacity, as many as each class by itself
 * takes. True when they are as many as have to start together. */
static bool set_easiest(struct plan *plan, struct views *vs, const struct gangs *gs,
                        const struct gang_need *need)
{
	uint32_t any = need->total;

	set_most_capacity_first(plan, vs, gs);
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		struct plan_group *g = &plan->groups[i];

		g->wanted = g->capacity < g->n ? (uint32_t)g->capacity : g->n;
	}
	memset(plan->ranks, 0, plan->n * sizeof(*plan->ranks));
	for (uint32_t r = 0; r < need->roles_n; r++) {
		choose(plan, vs, gs, r, need->roles[r].quorum);
		any -= need->roles[r].quorum;
	}
	choose(plan, vs, gs, plan->roles_n, any);
	plan->set_n = 0;
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->ranks[plan->set[i]])
			plan->set[plan->set_n++] = plan->set[i];
	return plan->set_n == need->total;
}

/* Members beyond the quorum start one by one. */
void place_rest(struct plan *plan, struct views *vs, const struct gangs *gs)
{
	assert(plan->placed <= plan->n);
	plan->failed = CLASS_NONE;
	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 1; /* not failed yet */
	for (uint32_t i = 0; i < plan->n; i++) {
		class_id class = class_at(plan, gs, i);
		struct plan_group *g = group_of(plan, vs, class);

		if (plan->nodes[i] != ID_NONE || !g->wanted)
			continue;
		g->wanted = plan_take_best(plan, vs, i, class);
		if (!g->wanted && plan->failed == CLASS_NONE)
			plan->failed = class;
	}
	plan->failed_need = 1;
}

static uint64_t most_that_fit(const struct plan *plan)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		sum += plan->groups[i].capacity < plan->groups[i].n ? plan->groups[i].capacity
		                                                    : plan->groups[i].n;
	return sum;
}

/* Upper bound of the members of a role that fit: each class by itself. */
static uint64_t role_most(struct plan *plan, const struct views *vs, const struct gangs *gs,
                          uint32_t role)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < plan->groups_n; i++)
		plan->groups[i].wanted = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct plan_group *g = group_of(plan, vs, class_at(plan, gs, i));

		sum += plan->roles[i] == role && g->wanted++ < g->capacity;
	}
	return sum;
}

/* Upper bound of the members that have to start together and fit: each class by itself. */
static uint64_t most_of_need(struct plan *plan, const struct views *vs, const struct gangs *gs,
                             const struct gang_need *need)
{
	uint64_t most = most_that_fit(plan), lacks = 0, fit;

	for (uint32_t r = 0; r < need->roles_n; r++) {
		fit = role_most(plan, vs, gs, r);
		lacks += fit < need->roles[r].quorum ? need->roles[r].quorum - fit : 0;
	}
	return most < need->total - lacks ? most : need->total - lacks;
}

/* A class without which too few members remain: so many of it have to start.  Only for a plain
 * view, since with rules its capacity may depend on members of the gang itself. */
static void note_barred(struct plan *plan, struct views *vs, const struct gang_need *need)
{
	const uint32_t spare = plan->n - need->total;

	for (uint32_t i = 0; i < plan->groups_n && plan->barred == CLASS_NONE; i++) {
		const struct plan_group *g = &plan->groups[i];

		if (g->n <= spare || g->capacity >= g->n - spare ||
		    views_get(vs, &plan->scope, g->class)->mode != VIEW_PLAIN)
			continue;
		plan->barred = g->class;
		plan->barred_need = g->n - spare;
	}
}

/* design.md, A plan, 5. */
enum plan_answer plan_sets(struct plan *plan, struct views *vs, const struct gangs *gs,
                           const struct gang_need *need)
{
	enum plan_answer answer;
	uint64_t most;

	assert(plan->groups_n > 0);
	set_first(plan, need->total);
	if (set_ready(plan, vs, gs) && set_greedy(plan, vs, gs, TREE_NONE))
		return PLAN_PLACED;
	most = most_of_need(plan, vs, gs, need);
	if (most < need->total) {
		note_barred(plan, vs, need);
		plan->fit = (uint32_t)most;
		return PLAN_IMPOSSIBLE;
	}
	if (plan->n > need->total) {
		if (!set_easiest(plan, vs, gs, need))
			set_first(plan, need->total); /* roles compete for one class */
		if (set_ready(plan, vs, gs) && set_greedy(plan, vs, gs, TREE_NONE))
			return PLAN_PLACED;
	}
	if (!plan->search)
		return PLAN_GAVE_UP;
	if (plan->ordered && set_elsewhere(plan, vs, gs))
		return PLAN_PLACED;
	set_first(plan, plan->n);
	set_ready(plan, vs, gs);
	answer = set_search(plan, vs, gs, need);
	return answer == PLAN_GAVE_UP ? set_pack(plan, vs, gs, need) : answer;
}
