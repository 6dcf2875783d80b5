/* SPDX-License-Identifier: Apache-2.0 */
/* Places the collected members of a gang: of one class here, of several in plan_sets.c. */
#include "core/plan/plan_impl.h"

#include <assert.h>

/* Places members from `member` on until one does not fit; rules between pods are evaluated after
 * each. */
static void fill_each(struct plan *plan, struct views *vs, uint32_t member, class_id class)
{
	while (member < plan->n && plan_take_best(plan, vs, member, class))
		member++;
}

/* True if the first member decides where all others go (interpodaffinity: satisfyPodAffinity, the
 * case of the first pod of a series): pods that match their affinity are on no node with the
 * topology key.  Or they share a claim that is not allocated. */
static bool first_binds(const struct views *vs, class_id class)
{
	const struct pod_counts *cs = vs->pod_counts;
	const struct shape_links *links = class_links(cs, class);
	const struct node_counts *placed;

	if (pod_counts_one(cs, class_shape(cs, class)))
		return true;
	if (!links || links->affinity == SELECTOR_NONE ||
	    !class_matches(&cs->pod_classes, class, links->affinity))
		return false;
	placed = cs->selectors.slots[links->affinity].placed;
	for (uint32_t i = 0; i < links->terms_n; i++) {
		const struct topology *t = &cs->topologies.slots[links->terms[i].topology];

		if (links->terms[i].term->kind != POD_TERM_AFFINITY)
			continue;
		for (node_id id = 0, end = cs->nodes->used; (id = node_counts_next(placed, id, end)) < end;
		     id++)
			if (t->domain[id] != DOMAIN_NONE)
				return false;
	}
	return true;
}

static bool fill_from_starts(struct plan *plan, struct views *vs, const struct gangs *gs,
                             class_id class, uint32_t need)
{
	starts_find(plan, vs, class, need);
	for (uint32_t i = 0; i < plan->starts_n && budget_left(vs->budget, PLAN_STEPS) > 0; i++) {
		plan_take(plan, vs, 0, plan->starts[i].rank, class);
		fill_each(plan, vs, 1, class);
		if (plan->placed >= need)
			return true;
		plan->fit = plan->placed > plan->fit ? plan->placed : plan->fit;
		undo_all(plan, vs, gs);
	}
	return false;
}

/* The best node for each failed: IMPOSSIBLE if that is a proof, otherwise a search. */
static enum plan_answer search_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                                     uint32_t need)
{
	class_id class = plan->groups[0].class;
	enum plan_answer answer;

	assert(plan->placed == 0);
	if (rules_simple(vs->pod_counts, class) && !plan->starts_cut)
		return budget_left(vs->budget, PLAN_STEPS) > 0 ? PLAN_IMPOSSIBLE : PLAN_GAVE_UP;
	if (!plan->search)
		return PLAN_GAVE_UP;
	set_first(plan, plan->n);
	answer = set_search(plan, vs, gs, &(struct gang_need){ .total = need });
	plan->counts_n = answer == PLAN_PLACED ? 0 : plan->counts_n;
	for (uint32_t i = 0; answer == PLAN_PLACED && i < plan->n; i++)
		if (plan->nodes[i] == ID_NONE && !plan_take_best(plan, vs, i, class))
			break;
	return answer;
}

/* Members of one class with rules between pods, or scored against all nodes. */
static enum plan_answer plan_ruled(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   uint32_t need)
{
	class_id class = plan->groups[0].class;
	enum plan_answer answer;
	bool binds = first_binds(vs, class);

	assert(plan->placed == 0);
	fill_each(plan, vs, 0, class);
	plan->failed = class;
	plan->failed_need = need;
	plan->fit = plan->placed;
	plan->starts_cut = false;
	if (plan->placed > 0 && plan->placed < plan->n)
		note_why(plan, vs, class);
	if (plan->placed < need) {
		undo_all(plan, vs, gs);
		if (!binds || need == 1 || !fill_from_starts(plan, vs, gs, class, need)) {
			answer = need > 1 ? search_alike(plan, vs, gs, need) : PLAN_IMPOSSIBLE;
			if (answer != PLAN_PLACED)
				return answer;
		}
	}
	plan->failed_need = 1;
	return PLAN_PLACED;
}

bool alike_refused(struct plan *plan, const struct view *v, uint32_t need)
{
	plan_nothing(plan);
	plan->roles_n = 0; /* members of one class are interchangeable */
	plan->exact = v->mode == VIEW_PLAIN;
	plan->failed = v->class;
	if (v->capacity >= need)
		return false;
	plan->failed_need = need;
	plan->fit = (uint32_t)v->capacity;
	return true;
}

enum plan_answer place_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                             struct view *v, uint32_t need)
{
	const uint32_t most = v->capacity < plan->n ? (uint32_t)v->capacity : plan->n;

	assert(need > 0 && need <= plan->n);
	if (!plan->exact)
		return plan_ruled(plan, vs, gs, need);
	fill_levels(plan, vs, v, &(struct filling){ &v->tree, NULL, 0, most });
	budget_spend(vs->budget, most);
	plan->placed = most;
	assert(plan->nodes[most - 1] != ID_NONE); /* the sum of counts is exact */
	plan->failed_need = 1;
	return PLAN_PLACED;
}

enum plan_answer plan_members(struct plan *plan, struct views *vs, const struct gangs *gs,
                              const struct gang_need *need)
{
	enum plan_answer answer;

	assert(need->total > 0 && need->total <= plan->n);
	if (plan->alike) {
		struct view *v = views_get(vs, &plan->scope, plan->groups[0].class);

		return alike_refused(plan, v, need->total) ? PLAN_IMPOSSIBLE
		                                           : place_alike(plan, vs, gs, v, need->total);
	}
	plan_nothing(plan);
	answer = plan_sets(plan, vs, gs, need);
	assert(answer == PLAN_PLACED ? plan->placed >= need->total : plan->placed == 0);
	if (answer == PLAN_PLACED && plan->placed < plan->n)
		place_rest(plan, vs, gs);
	return answer;
}
