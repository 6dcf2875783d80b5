/* SPDX-License-Identifier: Apache-2.0 */
/* Topology spread: how evenly pods stand over the domains of a key. */
#include "core/filter/judge_impl.h"

#include <math.h>
#include <string.h>

/* ---- which nodes count ------------------------------------------------------------ */

static bool is_hard(const struct spread_link *link)
{
	return link->spread->flags & SPREAD_HARD;
}

/* marks[id]: the node has the keys of all constraints that are (not) hard. */
static void mark_keys(const struct judging *j, bool hard)
{
	uint8_t *marks = j->scratch->marks;

	memset(marks, 1, j->nodes->used);
	for (uint32_t i = 0; i < j->links->spreads_n; i++) {
		const struct spread_link *link = &j->links->spreads[i];
		const struct topology *t = judging_topology(j, link->topology);

		for (node_id id = 0; is_hard(link) == hard && id < j->nodes->used; id++)
			if (t->domain[id] == DOMAIN_NONE)
				marks[id] = 0;
	}
}

static bool policies_hold(const struct judging *j, const struct spread *spread, node_id id)
{
	uint8_t facts = j->scratch->facts[id];

	if (!(spread->flags & SPREAD_IGNORES_AFFINITY) && !(facts & FACT_AFFINITY))
		return false;
	return !(spread->flags & SPREAD_HONORS_TAINTS) || (facts & FACT_TAINTS);
}

static uint64_t staying(const struct judging *j, const struct spread_link *link, node_id id)
{
	return link->selector == SELECTOR_NONE ? 0 : j->cs->selectors.slots[link->selector].staying[id];
}

/* sums[] and counted[] by domain, over the nodes that count; `keys`: only those with marks. */
static void sum_domains(const struct judging *j, const struct spread_link *link, bool keys)
{
	const struct topology *t = judging_topology(j, link->topology);
	struct judge_scratch *scratch = j->scratch;

	memset(scratch->sums, 0, t->domains * sizeof(*scratch->sums));
	memset(scratch->counted, 0, t->domains * sizeof(*scratch->counted));
	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!node_present(&j->nodes->slots[id]) || (keys && !scratch->marks[id]) ||
		    t->domain[id] == DOMAIN_NONE || !policies_hold(j, link->spread, id))
			continue;
		scratch->counted[t->domain[id]] = true;
		scratch->sums[t->domain[id]] += staying(j, link, id);
	}
}

/* ---- hard constraints ----------------------------------------------------------------- */

static uint64_t least_sum(const struct judging *j, const struct spread_link *link)
{
	const struct topology *t = judging_topology(j, link->topology);
	uint64_t least = UINT64_MAX;
	uint32_t domains = 0;

	for (uint32_t d = 0; d < t->domains; d++) {
		if (!j->scratch->counted[d])
			continue;
		domains++;
		least = j->scratch->sums[d] < least ? j->scratch->sums[d] : least;
	}
	return domains < link->spread->min_domains ? 0 : least;
}

static bool matches_itself(const struct judging *j, const struct spread_link *link)
{
	return link->self_always || (link->selector != SELECTOR_NONE &&
	                             kind_matches(&j->cs->kinds, j->kind, link->selector));
}

static void judge_constraint(const struct judging *j, const struct spread_link *link)
{
	const struct topology *t = judging_topology(j, link->topology);
	uint64_t most, self = matches_itself(j, link);

	sum_domains(j, link, true);
	/* The sums are far below 2^63, and so is max_skew. */
	most = least_sum(j, link) + link->spread->max_skew;
	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!judging_open(j, id))
			continue;
		if (t->domain[id] == DOMAIN_NONE)
			j->out->whys[id] = WHY_BIT(NODE_WHY_SPREAD_LABEL);
		else if (j->scratch->sums[t->domain[id]] + self > most)
			j->out->whys[id] = WHY_BIT(NODE_WHY_SPREAD);
	}
}

void judge_spread(const struct judging *j)
{
	if (!j->links || j->links->spreads_n == 0)
		return;
	mark_keys(j, true);
	for (uint32_t i = 0; i < j->links->spreads_n; i++)
		if (is_hard(&j->links->spreads[i]))
			judge_constraint(j, &j->links->spreads[i]);
}

/* ---- scores ------------------------------------------------------------------------- */

static bool is_scored(const struct judging *j, node_id id)
{
	return judging_open(j, id) && j->scratch->marks[id];
}

/* How many domains the scored nodes lie in; those without the key, which only the default
 * constraints let in, are one more. */
static uint32_t scored_domains(const struct judging *j, const struct spread_link *link)
{
	const struct topology *t = judging_topology(j, link->topology);
	bool *counted = j->scratch->counted;
	bool keyless = false;
	uint32_t domains = 0;

	memset(counted, 0, t->domains * sizeof(*counted));
	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!is_scored(j, id))
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

/* One constraint's share, in the order and with the roundings of kube-scheduler. */
static void add_constraint(const struct judging *j, const struct spread_link *link)
{
	const struct topology *t = judging_topology(j, link->topology);
	const bool by_node = link->spread->flags & SPREAD_BY_NODE;
	const double weight = log((double)scored_domains(j, link) + 2);
	const double start = (double)link->spread->max_skew - 1;

	sum_domains(j, link, !(link->spread->flags & SPREAD_DEFAULT));
	for (node_id id = 0; id < j->nodes->used; id++) {
		uint64_t count;

		if (!is_scored(j, id) || t->domain[id] == DOMAIN_NONE)
			continue;
		count = by_node ? staying(j, link, id) : j->scratch->sums[t->domain[id]];
		j->scratch->real[id] += (double)count * weight + start;
	}
}

/* The first soft constraint, or NULL. */
static const struct spread_link *first_soft(const struct judging *j)
{
	for (uint32_t i = 0; j->links && i < j->links->spreads_n; i++)
		if (!is_hard(&j->links->spreads[i]))
			return &j->links->spreads[i];
	return NULL;
}

bool score_spread(const struct judging *j)
{
	const struct spread_link *soft = first_soft(j);
	struct judge_scratch *scratch = j->scratch;

	if (!soft)
		return false;
	/* The defaults of the cluster score nodes that lack a key as well. */
	if (soft->spread->flags & SPREAD_DEFAULT)
		memset(scratch->marks, 1, j->nodes->used);
	else
		mark_keys(j, false);
	for (node_id id = 0; id < j->nodes->used; id++)
		scratch->real[id] = 0;
	for (uint32_t i = 0; i < j->links->spreads_n; i++)
		if (!is_hard(&j->links->spreads[i]))
			add_constraint(j, &j->links->spreads[i]);
	for (node_id id = 0; id < j->nodes->used; id++)
		scratch->raw[id] = is_scored(j, id) ? (int64_t)round(scratch->real[id]) : -1;
	return true;
}
