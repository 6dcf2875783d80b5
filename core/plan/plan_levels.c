/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for gangs with levels (design.md, Levels); the domains are those of core/plan/domains.h.
 *
 *   one class, plain   exact: capacity by domain is a sum of counts
 *   all others         the domains that could take enough, most promising first, each tried with
 *                      all other nodes masked */
#include "core/plan/plan_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void count_classes(struct plan *plan, struct views *vs)
{
	struct domains *d = &plan->domains;

	for (uint32_t i = 0; i < plan->groups_n; i++) {
		const struct view *v = views_get(vs, &plan->scope, plan->groups[i].class);

		if (i > 0)
			domains_next_class(d);
		for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
			if (v->counts[rank] > 0)
				domains_add(d, rank, view_most_at(v, rank), view_key(v, rank));
		domains_sum(d, plan->groups[i].n);
		budget_spend(vs->budget, vs->nodes->count / 4 + d->n / 4);
	}
}

/* Places members from `first` on, on the nodes of one innermost domain. */
static void fill_share(struct plan *plan, struct views *vs, struct view *v,
                       const struct share *share, uint32_t first)
{
	struct domains *d = &plan->domains;
	const uint32_t *ranks = d->ranks + d->firsts[share->domain], n = d->at[share->domain].nodes;
	struct tree tree;

	memset(d->keys, 0, tree_bytes(n));
	tree_open(&tree, d->keys, n);
	for (uint32_t i = 0; i < n; i++)
		tree.levels[0][i] = tree_at(&v->tree, ranks[i]);
	tree_build(&tree);
	fill_levels(plan, vs, v, &(struct filling){ &tree, ranks, first, first + share->members });
	budget_spend(vs->budget, n / 16 + share->members);
}

static enum plan_answer plan_shares(struct plan *plan, struct views *vs, uint32_t need)
{
	struct domains *d = &plan->domains;
	const class_id class = plan->groups[0].class;
	const uint32_t where = domains_choose(d, need, plan->n);
	uint32_t spans[GANG_LEVELS_MAX + 1] = { 0 };

	plan->roles_n = 0; /* members of one class are interchangeable */
	plan->exact = true;
	plan->failed = class;
	plan->closest = where != OUTSIDE ? where : domains_closest(d);
	if (where == OUTSIDE) {
		plan->failed_need = need;
		plan->fit = plan->closest != OUTSIDE ? (uint32_t)d->at[plan->closest].bound : 0;
		return PLAN_IMPOSSIBLE;
	}
	domains_share(d, where, d->at[where].bound, spans, true);
	for (uint32_t i = 0; i < d->shares_n; i++) {
		fill_share(plan, vs, views_get(vs, &plan->scope, class), &d->shares[i], plan->placed);
		plan->placed += d->shares[i].members;
	}
	assert(plan->placed == d->at[where].bound); /* the sum of counts is exact */
	plan->failed_need = 1;
	return PLAN_PLACED;
}

struct trying {
	struct plan *plan;
	struct views *vs;
	const struct gangs *gs;
	struct gang_need all; /* as if all members had to start together */
	uint32_t best;        /* members placed by the best plan so far, which is in domains.kept */
	uint32_t fit;         /* most members that any try placed */
	bool gave_up;
};

static int promising_first(const void *a, const void *b, void *context)
{
	return domain_compare(context, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* Appends to the list the domains of that depth, within another one, that may take so many members;
 * most promising first. */
static uint32_t list_domains(struct domains *d, uint32_t in, uint32_t depth, uint64_t least)
{
	const uint32_t first = d->list_n;

	for (uint32_t i = in; i < d->n; i++) {
		uint32_t above = i;

		if (d->at[i].depth != depth || d->at[i].bound < least ||
		    (depth == d->required && !domain_eligible(d, i)))
			continue;
		while (above != OUTSIDE && above != in)
			above = d->at[above].parent;
		if (above == in)
			d->list[d->list_n++] = i;
	}
	qsort_r(d->list + first, d->list_n - first, sizeof(*d->list), promising_first, d);
	return d->list_n - first;
}

static void mask_clear(const struct trying *t)
{
	memset(t->plan->domains.mask, 0, (t->vs->nodes->count / 64 + 1) * sizeof(uint64_t));
}

static void mask_add(const struct trying *t, uint32_t domain)
{
	domains_mask_add(&t->plan->domains, t->vs->nodes, domain);
	budget_spend(t->vs->budget, t->vs->nodes->count / 8);
}

/* Plans on the nodes of the mask.  True when all members are placed; a plan that places fewer is
 * undone, and stored if it is the best so far. */
static bool try_mask(struct trying *t, const struct gang_need *need)
{
	struct plan *plan = t->plan;
	enum plan_answer answer;

	view_scope_mask(t->vs, &plan->scope, plan->domains.mask);
	groups_look(plan, t->vs);
	answer = plan_members(plan, t->vs, t->gs, need);
	if (answer == PLAN_PLACED && plan->placed == plan->n)
		return true;
	t->gave_up = t->gave_up || answer == PLAN_GAVE_UP;
	t->fit = plan->fit > t->fit ? plan->fit : t->fit;
	if (answer != PLAN_PLACED)
		return false;
	t->fit = plan->placed > t->fit ? plan->placed : t->fit;
	if (plan->placed > t->best) {
		t->best = plan->placed;
		memcpy(plan->domains.kept, plan->nodes, plan->n * sizeof(*plan->nodes));
	}
	undo_all(plan, t->vs, t->gs);
	return false;
}

/* All members in one domain of a preferred level; the deepest level first. */
static bool try_one_domain(struct trying *t, uint32_t in)
{
	struct domains *d = &t->plan->domains;
	const uint32_t first = d->list_n;
	bool placed = false;

	for (uint32_t depth = d->depth; depth > d->required && !placed; depth--) {
		uint32_t n = list_domains(d, in, depth, t->plan->n);

		for (uint32_t i = 0; i < n && !placed && budget_left(t->vs->budget, PLAN_STEPS / 2) > 0;
		     i++) {
			mask_clear(t);
			mask_add(t, d->list[first + i]);
			placed = try_mask(t, &t->all);
		}
		d->list_n = first;
	}
	return placed;
}

/* All members in some domains of the widest preferred level: as few as could have capacity, then
 * more. */
static bool try_some_domains(struct trying *t, uint32_t in)
{
	struct domains *d = &t->plan->domains;
	const uint32_t first = d->list_n, n = list_domains(d, in, d->required + 1, 1);
	uint64_t sum = 0;
	bool placed = false;

	mask_clear(t);
	for (uint32_t i = 0, more = 1, next = 0;
	     i + 1 < n && !placed && budget_left(t->vs->budget, PLAN_STEPS / 2) > 0; i++) {
		mask_add(t, d->list[first + i]);
		sum += d->at[d->list[first + i]].bound;
		if (i == 0 || sum < t->plan->n || i < next)
			continue;
		placed = try_mask(t, &t->all);
		next = i + more;
		more *= 2;
	}
	d->list_n = first;
	return placed;
}

/* A preference that can't be met proves nothing, so it is tried without a search. */
static bool try_preferred(struct trying *t, uint32_t in)
{
	const bool search = t->plan->search, gave_up = t->gave_up;
	bool placed;

	if (t->plan->domains.depth == t->plan->domains.required)
		return false;
	t->plan->search = false;
	placed = try_one_domain(t, in) || try_some_domains(t, in);
	t->plan->search = search;
	t->gave_up = gave_up;
	return placed;
}

static void take_kept(struct trying *t)
{
	struct plan *plan = t->plan;

	plan->failed = CLASS_NONE;
	plan->failed_need = 1;
	plan->counts_n = 0;
	plan->placed = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		class_id class = class_at(plan, t->gs, i);

		plan->nodes[i] = plan->domains.kept[i];
		if (plan->nodes[i] != ID_NONE) {
			pod_counts_allocate(t->vs->pod_counts, plan->nodes[i], class, false);
			plan->placed++;
		} else if (plan->failed == CLASS_NONE) {
			plan->failed = class;
		}
	}
}

/* No domain could be tried: notes a class of which the closest one takes too few. */
static void note_closest(struct plan *plan, struct views *vs, uint32_t need)
{
	const struct domains *d = &plan->domains;

	for (uint32_t i = 0; i < plan->groups_n; i++) {
		const struct plan_group *g = &plan->groups[i];
		const struct view *v = views_get(vs, &plan->scope, g->class);
		uint64_t capacity = 0;

		for (uint32_t rank = 0; rank < vs->nodes->count; rank++)
			capacity += domain_has(d, plan->closest, rank) ? view_most_at(v, rank) : 0;
		plan->failed = g->class;
		plan->failed_need = g->n < need ? g->n : need;
		if (capacity < plan->failed_need)
			break;
	}
	plan->fit = plan->closest != OUTSIDE ? (uint32_t)d->at[plan->closest].bound : 0;
	budget_spend(vs->budget, plan->groups_n * (uint64_t)vs->nodes->count / 4);
}

static enum plan_answer plan_tried(struct plan *plan, struct views *vs, const struct gangs *gs,
                                   const struct gang_need *need)
{
	struct domains *d = &plan->domains;
	struct trying t = { .plan = plan, .vs = vs, .gs = gs, .all = *need };
	const uint32_t n = list_domains(d, 0, d->required, need->total);

	t.all.total = plan->n;
	plan->closest = domains_closest(d);
	if (n == 0) {
		note_closest(plan, vs, need->total);
		return PLAN_IMPOSSIBLE;
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t where = d->list[i], best = t.best, fit = t.fit;

		if (d->at[where].bound <= t.best)
			break;
		t.gave_up = t.gave_up || (i > 0 && budget_left(vs->budget, PLAN_STEPS) == 0);
		if (i > 0 && budget_left(vs->budget, PLAN_STEPS) == 0)
			break;
		plan->closest = fit == 0 ? where : plan->closest;
		if (try_preferred(&t, where))
			return PLAN_PLACED;
		mask_clear(&t);
		mask_add(&t, where);
		if (try_mask(&t, need))
			return PLAN_PLACED;
		plan->closest = t.best > best || (t.best == 0 && t.fit > fit) ? where : plan->closest;
	}
	if (t.best > 0) {
		take_kept(&t);
		return PLAN_PLACED;
	}
	plan->fit = t.fit;
	return t.gave_up ? PLAN_GAVE_UP : PLAN_IMPOSSIBLE;
}

enum plan_answer plan_levels(struct plan *plan, struct views *vs, const struct gangs *gs,
                             const struct gang *g, const struct gang_need *need)
{
	enum plan_answer answer;

	plan_nothing(plan);
	domains_find(&plan->domains, vs->pod_counts, g);
	budget_spend(vs->budget, vs->nodes->count / 4 * (plan->domains.depth + 1));
	count_classes(plan, vs);
	if (plan->alike && views_get(vs, &plan->scope, plan->groups[0].class)->mode == VIEW_PLAIN) {
		answer = plan_shares(plan, vs, need->total);
	} else {
		answer = plan_tried(plan, vs, gs, need);
		view_scope_mask(vs, &plan->scope, NULL);
	}
	plan->kept_together = plan->domains.required > 0;
	return answer;
}
