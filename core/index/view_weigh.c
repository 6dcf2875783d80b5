/* SPDX-License-Identifier: Apache-2.0 */
/* Scores that are normalised over all nodes: in closed form (core/index/soft.h), or by a pass over
 * the nodes; and evaluations of all filters and scores. */
#include "core/filter/evaluate.h"
#include "core/index/views_impl.h"

#include "core/cluster/rule_node.h"
#include "core/filter/rule_policy.h"

#include <assert.h>

/* kube-scheduler's total: weights 1, 1, 1, 3, 2, 2, 2, each score up to SCORE_MOST. */
#define TOTAL_MOST (12 * SCORE_MOST)
static_assert(TOTAL_MOST + 1 <= TREE_KEY_MOST, "a key has 15 bits");
static_assert(TOTAL_MOST < POLICY_TIER_SCORE, "a tier exceeds every total");

/* Tiers of a policy that a key can distinguish. */
#define KEY_TIERS (TREE_KEY_MOST / (TOTAL_MOST + 1))

/* Filter reasons that placing another member of the same gang can clear. */
#define MAY_OPEN (FILTER_BIT(FILTER_SPREAD) | FILTER_BIT(FILTER_POD_AFFINITY))

/* The highest tiers of a policy that occur in the evaluation have a number each, all others share
 * 0. Without a policy all are 0. */
struct tiers {
	uint8_t number[POLICY_TIERS];
};

static struct tiers tiers_find(const struct views *vs, const struct shape *s)
{
	const struct evaluation *e = &vs->evaluation;
	bool occurs[POLICY_TIERS] = { false };
	struct tiers tiers = { 0 };
	uint8_t next = KEY_TIERS - 1;

	for (node_id id = 0; s->body->policies_n > 0 && id < vs->nodes->used; id++)
		if (e->whys[id] == 0)
			occurs[e->scores[id] / POLICY_TIER_SCORE] = true;
	for (uint32_t tier = POLICY_TIERS; tier-- > 0 && next > 0;)
		if (occurs[tier])
			tiers.number[tier] = next--;
	return tiers;
}

/* Of a feasible node. */
static tree_key evaluated_key(const struct views *vs, const struct tiers *tiers, node_id id)
{
	uint32_t score = vs->evaluation.scores[id];

	return (tree_key)(tiers->number[score / POLICY_TIER_SCORE] * (TOTAL_MOST + 1) +
	                  score % POLICY_TIER_SCORE + 1);
}

/* Devices that several nodes have are counted once, and pods of one claim on one node. */
static void capacity_bound(const struct views *vs, struct view *v, const struct shape *s)
{
	const struct nodes *ns = vs->nodes;
	struct common_bound bound = { 0 };
	uint64_t pods;

	if (pod_counts_one(vs->pod_counts, s)) {
		v->capacity = 0;
		for (uint32_t rank = 0; rank < ns->count; rank++)
			v->capacity = v->counts[rank] > v->capacity ? v->counts[rank] : v->capacity;
		return;
	}
	for (uint32_t rank = 0; rank < ns->count; rank++)
		if (v->counts[rank] > 0)
			inventory_bound(vs->pod_counts->inventory, ns->order[rank], s->body->devices - 1,
			                v->counts[rank], &bound);
	pods = common_bound_pods(&bound);
	v->capacity = pods < v->capacity ? pods : v->capacity;
}

/* VIEW_EVALUATED: all filters and scores again. */
void view_reevaluate(struct views *vs, struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = shape_of(vs, v->class);
	struct tiers tiers;

	evaluate(vs->pod_counts, v->class, vs->score, &vs->evaluation);
	tiers = tiers_find(vs, s);
	v->capacity = 0;
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];
		uint32_t count = 0, whys = vs->evaluation.whys[id];

		if (node_present(&ns->slots[id]) && !(whys & ~MAY_OPEN))
			count = v->hold > 0 ? node_count_behind(vs, id, s) : node_count(ns, id, s, vs->most);
		/* The hook chooses for one pod at a time. */
		if (s->body->devices > 0)
			count =
				vs->pod_counts->devices ? !whys : pod_counts_devices(vs->pod_counts, id, s, count);
		v->capacity += count;
		v->counts[rank] = count;
		v->tree.levels[0][rank] = count > 0 && !whys ? evaluated_key(vs, &tiers, id) : 0;
	}
	if (pod_counts_commons(vs->pod_counts, s))
		capacity_bound(vs, v, s);
	v->masked = 0;
	budget_spend(vs->budget, 8 * (uint64_t)ns->count);
}

/* Groups take more memory than the view: some SOFT_NODE_BYTES a node.  Beyond the memory of all
 * views once more, those of the view that was not used for longest are freed. */
static void softs_limit(struct views *vs)
{
	const uint64_t most = VIEWS_BYTES / (SOFT_NODE_BYTES * (uint64_t)vs->nodes->count + 1);
	uint32_t n = 0, oldest = NO_NODE;

	for (uint32_t i = 0; i < vs->slots_n; i++) {
		if (!vs->slots[i].soft)
			continue;
		n++;
		if (oldest == NO_NODE || vs->last_used[i] < vs->last_used[oldest])
			oldest = i;
	}
	if (n < VIEWS_LEAST || n < most)
		return;
	soft_free(vs->slots[oldest].soft);
	vs->slots[oldest].soft = NULL;
	vs->slots[oldest].stale = true;
}

/* In closed form: groups of nodes are scored, not nodes. */
static void weigh_groups(struct views *vs, const struct view_scope *scope, struct view *v)
{
	const struct soft_known known = { .points = v->points,
		                              .facts = v->facts_of,
		                              .preferred = v->preferred,
		                              .rules = v->constraints };

	if (!v->soft) {
		softs_limit(vs);
		v->soft = soft_new(vs->pod_counts, v->class, &known);
		budget_spend(vs->budget, 4 * (uint64_t)vs->nodes->count);
	}
	if (soft_mask(v->soft, v->masked, scope->mask))
		budget_spend(vs->budget, 4 * (uint64_t)vs->nodes->count);
	soft_score(v->soft);
	v->capacity = v->counted;
	v->stale = false;
	budget_spend(vs->budget, soft_cost(v->soft));
}

/* By a pass over all nodes: rules between pods and normalised scores again; what each node is by
 * itself is kept. */
static void weigh_nodes(struct views *vs, const struct view_scope *scope, struct view *v)
{
	const struct known_nodes known = { .points = v->points,
		                               .facts = v->facts_of,
		                               .preferred = v->preferred };
	const struct nodes *ns = vs->nodes;
	const struct evaluation *e = &vs->evaluation;
	struct tiers tiers;

	evaluate_known(vs->pod_counts, v->class, &known, &vs->evaluation);
	tiers = tiers_find(vs, shape_of(vs, v->class));
	v->capacity = v->counted;
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];

		if (view_hidden(scope, v, rank)) {
			v->tree.levels[0][rank] = 0;
			continue;
		}
		v->tree.levels[0][rank] = e->whys[id] ? 0 : evaluated_key(vs, &tiers, id);
		if (v->points[rank] > 0 && (e->whys[id] & ~MAY_OPEN))
			v->capacity -= v->counts[rank];
	}
	tree_build(&v->tree);
	v->stale = false;
	budget_spend(vs->budget, 4 * (uint64_t)ns->count);
}

void view_weigh(struct views *vs, const struct view_scope *scope, struct view *v)
{
	assert(v->mode == VIEW_WEIGHED && v->stale);
	if (v->closed_form)
		weigh_groups(vs, scope, v);
	else
		weigh_nodes(vs, scope, v);
}

void view_weighed_follow(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	view_facts_set(vs, v, s, rank);
	if (!v->soft || !soft_outdated(v->soft, rank))
		return;
	soft_free(v->soft);
	v->soft = NULL;
}

void view_facts_set(struct views *vs, struct view *v, const struct shape *s, uint32_t rank)
{
	node_id id = vs->nodes->order[rank];
	const struct node *n = &vs->nodes->slots[id];

	v->facts_of[rank] = FACT_AFFINITY | FACT_TAINTS;
	if (!shape_allows(s, id))
		v->facts_of[rank] = (uint8_t)((rule_affinity(s, n) ? FACT_AFFINITY : 0) |
		                              (rule_taint(s, n) ? 0 : FACT_TAINTS));
	if (v->preferred)
		v->preferred[rank] = (int32_t)rule_preferred(s, n);
}

bool view_evaluated_check(struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	struct tiers tiers;

	evaluate(vs->pod_counts, v->class, vs->score, &vs->evaluation);
	tiers = tiers_find(vs, shape_of(vs, v->class));
	for (uint32_t rank = 0; rank < ns->count; rank++) {
		node_id id = ns->order[rank];
		bool feasible = node_present(&ns->slots[id]) && vs->evaluation.whys[id] == 0;

		if (v->hold == 0 && view_open(v, rank) != feasible)
			return false;
		if (v->mode >= VIEW_WEIGHED && view_open(v, rank) &&
		    view_key(v, rank) != (uint32_t)evaluated_key(vs, &tiers, id))
			return false;
	}
	return true;
}

bool view_best_check(const struct views *vs, const struct view *v)
{
	uint32_t best = TREE_NONE, most = 0;

	for (uint32_t rank = 0; rank < vs->nodes->count; rank++) {
		node_id id = vs->nodes->order[rank];

		if (!view_open(v, rank) || (best != TREE_NONE && vs->evaluation.scores[id] <= most))
			continue;
		best = rank;
		most = vs->evaluation.scores[id];
	}
	return best == view_best(v);
}
