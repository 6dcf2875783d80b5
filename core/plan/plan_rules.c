/* SPDX-License-Identifier: Apache-2.0 */
/* What rules between pods (podtopologyspread, interpodaffinity, WorkloadPolicy) mean for the order
 * of a plan. */
#include "core/plan/plan_impl.h"
#include "core/filter/rule_policy.h"

#include <assert.h>
#include <stdlib.h>

static const struct shape_links *links_of(const struct pod_counts *cs, class_id class)
{
	return class_links(cs, class);
}

static bool is_hard(const struct spread_link *t)
{
	return t->spread->flags & SPREAD_HARD;
}

bool rules_ordered(const struct pod_counts *cs, class_id class)
{
	const struct shape_links *links = links_of(cs, class);

	/* What is left for a node depends on the nodes that others took their devices on before. */
	if (pod_counts_commons(cs, class_shape(cs, class)))
		return true;
	for (uint32_t i = 0; links && i < links->spreads_n; i++)
		if (is_hard(&links->spreads[i]))
			return true;
	/* Pods that a share counts and does not limit have to be placed after those that it limits. */
	if (links && links->policy.policy && (links->policy.policy->flags & POLICY_REQUIRED))
		return true;
	return links && links->affinity != SELECTOR_NONE;
}

static bool topology_wide(const struct topology *t)
{
	for (uint32_t d = 0; d < t->domains; d++)
		if (t->present[d] > 1)
			return true;
	return false;
}

/* True if pods of the class itself change what the term allows. */
static bool term_moves(const struct pod_counts *cs, class_id class, const struct shape_links *links,
                       const struct term_link *t)
{
	if (t->term->kind == POD_TERM_AFFINITY)
		return class_matches(&cs->pod_classes, class, links->affinity);
	return t->term->kind == POD_TERM_ANTI_AFFINITY &&
	       class_matches(&cs->pod_classes, class, t->selector);
}

/* True for a second topology with more than one node in a domain; the first is stored in *seen. */
static bool topology_other(const struct pod_counts *cs, topology_id id, uint32_t *seen)
{
	if (id == *seen || !topology_wide(&cs->topologies.slots[id]))
		return false;
	if (*seen != UINT32_MAX)
		return true;
	*seen = id;
	return false;
}

/* A share limits like a node's capacity, but a spread over other domains depends on which domains
 * are filled. */
static bool policy_crosses(const struct pod_counts *cs, class_id class,
                           const struct shape_links *links, uint32_t *seen)
{
	const struct policy_link *policy = &links->policy;

	if (!policy->policy || !policy_bounds(cs, class, policy) ||
	    !topology_wide(&cs->topologies.slots[policy->topology]))
		return false;
	for (uint32_t i = 0; i < links->spreads_n; i++)
		if (is_hard(&links->spreads[i]) && links->spreads[i].topology != policy->topology)
			return true;
	return topology_other(cs, policy->topology, seen);
}

/* One topology, apart from those with single nodes: what is open depends on how many pods are in
 * each domain, not on their order; and no devices of several nodes or of one claim. */
bool rules_simple(const struct pod_counts *cs, class_id class)
{
	const struct shape_links *links = links_of(cs, class);
	uint32_t seen = UINT32_MAX, spreads = 0;

	assert(class < pod_classes_used(&cs->pod_classes));
	if (pod_counts_commons(cs, class_shape(cs, class)))
		return false;
	for (uint32_t i = 0; links && i < links->terms_n; i++)
		if (term_moves(cs, class, links, &links->terms[i]) &&
		    topology_other(cs, links->terms[i].topology, &seen))
			return false;
	for (uint32_t i = 0; links && i < links->spreads_n; i++)
		if (is_hard(&links->spreads[i]) &&
		    (++spreads > 1 || topology_other(cs, links->spreads[i].topology, &seen)))
			return false;
	return !(links && policy_crosses(cs, class, links, &seen));
}

struct binding {
	topology_id at[PLAN_BINDINGS];
	uint32_t n;
};

/* The topologies of required affinity of all classes in the plan. */
static void binding_find(const struct plan *plan, const struct pod_counts *cs, struct binding *b)
{
	b->n = 0;
	for (uint32_t i = 0; i < plan->groups_n; i++) {
		const struct shape_links *links = links_of(cs, plan->groups[i].class);

		for (uint32_t k = 0; links && k < links->terms_n; k++) {
			uint32_t at = 0;

			if (links->terms[k].term->kind != POD_TERM_AFFINITY)
				continue;
			while (at < b->n && b->at[at] != links->terms[k].topology)
				at++;
			if (at == b->n && b->n < PLAN_BINDINGS)
				b->at[b->n++] = links->terms[k].topology;
		}
	}
}

static bool same_place(const struct pod_counts *cs, const struct binding *b, node_id x, node_id y)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (topology_domain(&cs->topologies, b->at[i], x) !=
		    topology_domain(&cs->topologies, b->at[i], y))
			return false;
	return true;
}

/* The place of the node; NULL when there are too many. */
static struct plan_start *start_of(struct plan *plan, struct views *vs, const struct binding *b,
                                   uint32_t rank)
{
	const node_id *order = vs->nodes->order;
	uint32_t i = 0;

	while (i < plan->starts_n &&
	       !same_place(vs->pod_counts, b, order[plan->starts[i].rank], order[rank]))
		i++;
	budget_spend(vs->budget, i / 4);
	if (i == PLAN_DOMAINS) {
		plan->starts_cut = true;
		return NULL;
	}
	if (i == plan->starts_n)
		plan->starts[plan->starts_n++] = (struct plan_start){ .rank = rank };
	return &plan->starts[i];
}

static int best_first(const void *a, const void *b)
{
	const struct plan_start *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* One claim binds to a node: those that may take all. */
static void starts_of_one(struct plan *plan, const struct view *v, uint32_t nodes, uint32_t need)
{
	for (uint32_t rank = 0; rank < nodes && plan->starts_n < PLAN_DOMAINS; rank++)
		if (view_open(v, rank) && v->counts[rank] >= need)
			plan->starts[plan->starts_n++] = (struct plan_start){ .rank = rank,
				                                                  .capacity = v->counts[rank],
				                                                  .key = view_key(v, rank) };
	plan->starts_cut = plan->starts_n == PLAN_DOMAINS;
}

void starts_find(struct plan *plan, struct views *vs, class_id class, uint32_t need)
{
	const struct view *v = views_get(vs, &plan->scope, class);
	struct binding b = { .n = 0 };
	uint32_t kept = 0;

	assert(need > 0);
	plan->starts_n = 0;
	plan->starts_cut = false;
	if (pod_counts_one(vs->pod_counts, class_shape(vs->pod_counts, class)))
		starts_of_one(plan, v, vs->nodes->count, need);
	else
		binding_find(plan, vs->pod_counts, &b);
	for (uint32_t rank = 0; b.n > 0 && rank < vs->nodes->count; rank++) {
		struct plan_start *start = view_open(v, rank) ? start_of(plan, vs, &b, rank) : NULL;

		if (!start)
			continue;
		start->capacity += v->counts[rank];
		if (view_key(v, rank) <= start->key)
			continue;
		start->key = view_key(v, rank);
		start->rank = rank;
	}
	budget_spend(vs->budget, vs->nodes->count / 4);
	for (uint32_t i = 0; i < plan->starts_n; i++)
		if (plan->starts[i].capacity >= need)
			plan->starts[kept++] = plan->starts[i];
	plan->starts_n = kept;
	qsort(plan->starts, plan->starts_n, sizeof(plan->starts[0]), best_first);
}
