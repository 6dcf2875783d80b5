/* SPDX-License-Identifier: Apache-2.0 */
/* PodTopologySpread: how evenly pods are spread over the domains of a key. */
#include "core/filter/evaluate_impl.h"

#include <math.h>
#include <string.h>

static bool is_hard(const struct spread_link *link)
{
	return link->spread->flags & SPREAD_HARD;
}

/* Sets marks[id]: the node has the keys of all hard, or of all soft, constraints
 * (podtopologyspread: nodeLabelsMatchSpreadConstraints). */
static void mark_keys(const struct evaluator *e, bool hard)
{
	uint8_t *marks = e->scratch->marks;

	memset(marks, 1, e->nodes->used);
	for (uint32_t i = 0; i < e->links->spreads_n; i++) {
		const struct spread_link *link = &e->links->spreads[i];
		const struct topology *t = topology_at(e, link->topology);

		for (node_id id = 0; is_hard(link) == hard && id < e->nodes->used; id++)
			if (t->domain[id] == DOMAIN_NONE)
				marks[id] = 0;
	}
}

/* podtopologyspread: nodeAffinityPolicy and nodeTaintsPolicy (matchNodeInclusionPolicies). */
static bool policies_hold(const struct evaluator *e, const struct spread *spread, node_id id)
{
	uint8_t facts = e->scratch->facts[id];

	if (!(spread->flags & SPREAD_IGNORES_AFFINITY) && !(facts & FACT_AFFINITY))
		return false;
	return !(spread->flags & SPREAD_HONORS_TAINTS) || (facts & FACT_TAINTS);
}

/* podtopologyspread: countPodsMatchSelector, of one node. */
static uint64_t staying(const struct evaluator *e, const struct spread_link *link, node_id id)
{
	return link->selector == SELECTOR_NONE
	           ? 0
	           : node_counts_at(e->cs->selectors.slots[link->selector].staying, id);
}

/* Sets sums[] and counted[] by domain over the nodes that count; `keys`: of those only marked
 * ones. */
static void sum_domains(const struct evaluator *e, const struct spread_link *link, bool keys)
{
	const struct topology *t = topology_at(e, link->topology);
	struct evaluate_scratch *scratch = e->scratch;

	memset(scratch->sums, 0, t->domains * sizeof(*scratch->sums));
	memset(scratch->counted, 0, t->domains * sizeof(*scratch->counted));
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!node_present(&e->nodes->slots[id]) || (keys && !scratch->marks[id]) ||
		    t->domain[id] == DOMAIN_NONE || !policies_hold(e, link->spread, id))
			continue;
		scratch->counted[t->domain[id]] = true;
		scratch->sums[t->domain[id]] += staying(e, link, id);
	}
}

/* podtopologyspread: minMatchNum. */
static uint64_t least_sum(const struct evaluator *e, const struct spread_link *link)
{
	const struct topology *t = topology_at(e, link->topology);
	uint64_t least = UINT64_MAX;
	uint32_t domains = 0;

	for (uint32_t d = 0; d < t->domains; d++) {
		if (!e->scratch->counted[d])
			continue;
		domains++;
		least = e->scratch->sums[d] < least ? e->scratch->sums[d] : least;
	}
	return domains < link->spread->min_domains ? 0 : least;
}

/* podtopologyspread: selfMatchNum of Filter. */
static bool matches_itself(const struct evaluator *e, const struct spread_link *link)
{
	return link->self_always || (link->selector != SELECTOR_NONE &&
	                             class_matches(&e->cs->pod_classes, e->class, link->selector));
}

/* podtopologyspread: Filter. */
static void filter_constraint(const struct evaluator *e, const struct spread_link *link)
{
	const struct topology *t = topology_at(e, link->topology);
	uint64_t most, self = matches_itself(e, link);

	sum_domains(e, link, true);
	/* No overflow: the sums and max_skew are far below 2^63. */
	most = least_sum(e, link) + link->spread->max_skew;
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_feasible(e, id))
			continue;
		if (t->domain[id] == DOMAIN_NONE)
			e->out->whys[id] = FILTER_BIT(FILTER_SPREAD_LABEL);
		else if (e->scratch->sums[t->domain[id]] + self > most)
			e->out->whys[id] = FILTER_BIT(FILTER_SPREAD);
	}
}

void filter_spread(const struct evaluator *e)
{
	if (!e->links || e->links->spreads_n == 0)
		return;
	mark_keys(e, true);
	for (uint32_t i = 0; i < e->links->spreads_n; i++)
		if (is_hard(&e->links->spreads[i]))
			filter_constraint(e, &e->links->spreads[i]);
}

/* podtopologyspread: Score gives none to IgnoredNodes of initPreScoreState. */
static bool is_scored(const struct evaluator *e, node_id id)
{
	return is_feasible(e, id) && e->scratch->marks[id];
}

/* Number of domains of the scored nodes (podtopologyspread: initPreScoreState).  Nodes without the
 * key, which only default constraints score, are one more. */
static uint32_t scored_domains(const struct evaluator *e, const struct spread_link *link)
{
	const struct topology *t = topology_at(e, link->topology);
	bool *counted = e->scratch->counted;
	bool keyless = false;
	uint32_t domains = 0;

	memset(counted, 0, t->domains * sizeof(*counted));
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_scored(e, id))
			continue;
		if (link->spread->flags & SPREAD_BY_NODE) {
			domains++;
		} else if (t->domain[id] == DOMAIN_NONE) {
			keyless = true;
		} else if (!counted[t->domain[id]]) {
			counted[t->domain[id]] = true;
			domains++;
		}
	}
	return domains + keyless;
}

/* podtopologyspread: Score and scoreForCount, in the same order of operations and with the same
 * rounding; the weight is topologyNormalizingWeight. */
static void add_constraint(const struct evaluator *e, const struct spread_link *link)
{
	const struct topology *t = topology_at(e, link->topology);
	const bool by_node = link->spread->flags & SPREAD_BY_NODE;
	const double weight = log((double)scored_domains(e, link) + 2);
	const double start = (double)link->spread->max_skew - 1;

	sum_domains(e, link, !(link->spread->flags & SPREAD_DEFAULT));
	for (node_id id = 0; id < e->nodes->used; id++) {
		uint64_t count;

		if (!is_scored(e, id) || t->domain[id] == DOMAIN_NONE)
			continue;
		count = by_node ? staying(e, link, id) : e->scratch->sums[t->domain[id]];
		e->scratch->real[id] += (double)count * weight + start;
	}
}

/* The first soft constraint, or NULL. */
static const struct spread_link *first_soft(const struct evaluator *e)
{
	for (uint32_t i = 0; e->links && i < e->links->spreads_n; i++)
		if (!is_hard(&e->links->spreads[i]))
			return &e->links->spreads[i];
	return NULL;
}

bool score_spread(const struct evaluator *e)
{
	const struct spread_link *soft = first_soft(e);
	struct evaluate_scratch *scratch = e->scratch;

	if (!soft)
		return false;
	/* Default constraints of the cluster score nodes without a key as well. */
	if (soft->spread->flags & SPREAD_DEFAULT)
		memset(scratch->marks, 1, e->nodes->used);
	else
		mark_keys(e, false);
	for (node_id id = 0; id < e->nodes->used; id++)
		scratch->real[id] = 0;
	for (uint32_t i = 0; i < e->links->spreads_n; i++)
		if (!is_hard(&e->links->spreads[i]))
			add_constraint(e, &e->links->spreads[i]);
	for (node_id id = 0; id < e->nodes->used; id++)
		scratch->raw[id] = is_scored(e, id) ? (int64_t)round(scratch->real[id]) : -1;
	return true;
}
