/* SPDX-License-Identifier: Apache-2.0 */
/* The search: every placement, up to PLAN_TRIES. */
#include "core/plan/plan_impl.h"

#include <assert.h>

static uint32_t next_rank(const struct plan *plan, struct views *vs, class_id class, uint32_t from)
{
	const struct view *v = views_get(vs, &plan->scope, class);
	uint32_t rank = from;

	while (rank < vs->nodes->count && !view_open(v, rank))
		rank++;
	budget_spend(vs->budget, (rank - from) / 16 + 1);
	return rank;
}

/* By role; the last is for members whose role has no quorum. */
struct search {
	uint32_t total;
	uint32_t lacking;                  /* members that roles still need */
	uint32_t need[GANG_ROLES_MAX + 1]; /* of the role; 0: it has enough */
	uint32_t placed[GANG_ROLES_MAX + 1];
	uint32_t spare[GANG_ROLES_MAX + 1]; /* members that may still be left out */
	uint32_t spare_total;
};

static void search_begin(struct search *s, const struct plan *plan, const struct gang_need *need)
{
	*s = (struct search){ .total = need->total, .spare_total = plan->set_n - need->total };
	for (uint32_t i = 0; i < plan->set_n; i++)
		s->spare[role_at(plan, plan->set[i])]++;
	for (uint32_t r = 0; r < need->roles_n; r++) {
		s->need[r] = need->roles[r].quorum;
		s->lacking += s->need[r];
		s->spare[r] -= s->need[r];
	}
}

static void search_take(struct search *s, uint32_t role)
{
	s->lacking -= s->placed[role]++ < s->need[role];
}

static void search_undo(struct search *s, uint32_t role)
{
	s->lacking += --s->placed[role] < s->need[role];
}

static bool search_done(const struct search *s, const struct plan *plan)
{
	return plan->placed >= s->total && s->lacking == 0;
}

static bool same_run(const struct plan *plan, const struct gangs *gs, uint32_t a, uint32_t b)
{
	return class_at(plan, gs, a) == class_at(plan, gs, b) && role_at(plan, a) == role_at(plan, b);
}

/* Depth first.  Members of one class and role are interchangeable: they take ranks in rising order,
 * and those left out (rank `end`) come last. */
static enum plan_answer search_in_order(struct plan *plan, struct views *vs, const struct gangs *gs,
                                        struct search *s)
{
	const uint32_t end = vs->nodes->count;
	uint32_t depth = 0, from = 0;

	for (uint32_t tries = 0; tries < PLAN_TRIES && budget_left(vs->budget, PLAN_STEPS) > 0;
	     tries++) {
		uint32_t member = plan->set[depth], role = role_at(plan, member);
		class_id class = class_at(plan, gs, member);
		uint32_t rank = from <= end ? next_rank(plan, vs, class, from) : end;

		if (rank < end || (from <= end && s->spare_total > 0 && s->spare[role] > 0)) {
			plan->ranks[depth] = rank;
			if (rank < end) {
				plan_take(plan, vs, member, rank, class);
				search_take(s, role);
			} else {
				s->spare_total--;
				s->spare[role]--;
			}
			if (search_done(s, plan))
				return PLAN_PLACED;
			depth++;
			from = same_run(plan, gs, plan->set[depth], member) ? rank : 0;
			continue;
		}
		if (depth == 0)
			return PLAN_IMPOSSIBLE;
		depth--;
		from = plan->ranks[depth] + 1;
		role = role_at(plan, plan->set[depth]);
		if (plan->ranks[depth] < end) {
			plan_undo(plan, vs, gs, plan->set[depth]);
			search_undo(s, role);
		} else {
			s->spare_total++;
			s->spare[role]++;
		}
	}
	while (depth-- > 0)
		if (plan->ranks[depth] < end)
			plan_undo(plan, vs, gs, plan->set[depth]);
	return PLAN_GAVE_UP;
}

/* The runs of one class and role in the set; false when there are more than PLAN_TRIES. */
static bool classes_find(struct plan *plan, const struct gangs *gs)
{
	plan->runs_n = 0;
	for (uint32_t i = 0; i < plan->set_n; i++) {
		uint32_t member = plan->set[i];

		if (i == 0 || !same_run(plan, gs, plan->set[i - 1], member)) {
			if (plan->runs_n == PLAN_TRIES)
				return false;
			plan->runs[plan->runs_n++] = (struct plan_run){ .class = class_at(plan, gs, member),
				                                            .role = role_at(plan, member),
				                                            .first = i };
		}
		plan->runs[plan->runs_n - 1].n++;
	}
	return true;
}

/* A pick is a run and a rank: run * nodes + rank.  The first possible one from `from` on, or
 * runs * nodes. */
static uint64_t next_pick(const struct plan *plan, struct views *vs, uint64_t from)
{
	const uint32_t nodes = vs->nodes->count;
	uint32_t i = (uint32_t)(from / nodes), at = (uint32_t)(from % nodes);

	for (; i < plan->runs_n; i++, at = 0) {
		const struct plan_run *k = &plan->runs[i];
		uint32_t rank = k->used < k->n ? next_rank(plan, vs, k->class, at) : nodes;

		if (rank < nodes)
			return (uint64_t)i * nodes + rank;
	}
	return (uint64_t)plan->runs_n * nodes;
}

static void pick_take(struct plan *plan, struct views *vs, uint64_t pick, struct search *s)
{
	struct plan_run *k = &plan->runs[pick / vs->nodes->count];

	plan_take(plan, vs, plan->set[k->first + k->used++], (uint32_t)(pick % vs->nodes->count),
	          k->class);
	search_take(s, k->role);
}

static void pick_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint64_t pick,
                      struct search *s)
{
	struct plan_run *k = &plan->runs[pick / vs->nodes->count];

	plan_undo(plan, vs, gs, plan->set[k->first + --k->used]);
	search_undo(s, k->role);
}

/* Any run may be next, on any node that takes one of it then. */
static enum plan_answer search_any_order(struct plan *plan, struct views *vs,
                                         const struct gangs *gs, struct search *s)
{
	const bool all = classes_find(plan, gs);
	const uint64_t end = (uint64_t)plan->runs_n * vs->nodes->count;
	uint32_t depth = 0;
	uint64_t from = 0;

	for (uint32_t tries = 0; tries < PLAN_TRIES && budget_left(vs->budget, PLAN_STEPS) > 0;
	     tries++) {
		uint64_t pick = next_pick(plan, vs, from);

		if (pick < end) {
			plan->picks[depth++] = pick;
			pick_take(plan, vs, pick, s);
			if (search_done(s, plan))
				return PLAN_PLACED;
			from = 0;
			continue;
		}
		if (depth == 0)
			return all ? PLAN_IMPOSSIBLE : PLAN_GAVE_UP;
		from = plan->picks[--depth] + 1;
		pick_undo(plan, vs, gs, plan->picks[depth], s);
	}
	while (depth > 0)
		pick_undo(plan, vs, gs, plan->picks[--depth], s);
	return PLAN_GAVE_UP;
}

enum plan_answer set_search(struct plan *plan, struct views *vs, const struct gangs *gs,
                            const struct gang_need *need)
{
	struct search s;

	assert(plan->set_n <= plan->n);
	assert(need->total <= plan->set_n);
	assert(plan->placed == 0);
	search_begin(&s, plan, need);
	return plan->ordered ? search_any_order(plan, vs, gs, &s) : search_in_order(plan, vs, gs, &s);
}
