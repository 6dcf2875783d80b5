/* SPDX-License-Identifier: Apache-2.0 */
/* InterPodAffinity: for each term the pods that match, summed by domain. */
#include "core/filter/evaluate_impl.h"

#include <assert.h>
#include <string.h>

enum { MARK_LACKS_KEY = 1u << 0, MARK_NO_POD = 1u << 1 };

/* Adds the counts, each `weight` times, to sums[domain]; true when any is not 0.  Counts of nodes
 * that exist add up to `left` or less, so the pass ends there.  A node without the key, or that
 * does not exist, has no domain. */
static bool sum_add(const struct evaluator *e, const struct topology *t,
                    const struct node_counts *counts, uint64_t left, int64_t weight)
{
	const node_id end = e->nodes->used;
	uint64_t *sums = e->scratch->sums;
	bool any = false;

	for (node_id id = 0; left > 0 && (id = node_counts_next(counts, id, end)) < end; id++) {
		const uint32_t count = node_counts_at(counts, id);

		if (t->domain[id] == DOMAIN_NONE)
			continue;
		left -= count < left ? count : left;
		sums[t->domain[id]] += (uint64_t)weight * count;
		any = true;
	}
	return any;
}

static void sum_begin(const struct evaluator *e, const struct topology *t)
{
	memset(e->scratch->sums, 0, t->domains * sizeof(*e->scratch->sums));
}

bool sum_by_domain(const struct evaluator *e, const struct topology *t,
                   const struct node_counts *counts)
{
	assert(t->domains <= e->nodes->limit);
	sum_begin(e, t);
	return sum_add(e, t, counts, UINT64_MAX, 1);
}

static const struct node_counts *placed(const struct evaluator *e, selector_id selector)
{
	return e->cs->selectors.slots[selector].placed;
}

/* Marks the nodes that violate the term; true when a pod matches on a node that has its key. */
static bool mark_affinity(const struct evaluator *e, const struct term_link *term)
{
	const struct topology *t = topology_at(e, term->topology);
	bool any = sum_by_domain(e, t, placed(e, e->links->affinity));

	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_feasible(e, id))
			continue;
		if (t->domain[id] == DOMAIN_NONE)
			e->scratch->marks[id] |= MARK_LACKS_KEY;
		else if (e->scratch->sums[t->domain[id]] == 0)
			e->scratch->marks[id] |= MARK_NO_POD;
	}
	return any;
}

/* interpodaffinity: satisfyPodAffinity.  The first pod of a series may start where no pod matches,
 * if it matches its own terms. */
static void filter_affinity(const struct evaluator *e)
{
	bool any = false, first;

	if (e->links->affinity == SELECTOR_NONE)
		return;
	memset(e->scratch->marks, 0, e->nodes->used);
	for (uint32_t i = 0; i < e->links->terms_n; i++)
		if (e->links->terms[i].term->kind == POD_TERM_AFFINITY)
			any = mark_affinity(e, &e->links->terms[i]) || any;
	first = !any && class_matches(&e->cs->pod_classes, e->class, e->links->affinity);
	for (node_id id = 0; id < e->nodes->used; id++) {
		if (!is_feasible(e, id))
			continue;
		if ((e->scratch->marks[id] & MARK_LACKS_KEY) ||
		    ((e->scratch->marks[id] & MARK_NO_POD) && !first))
			e->out->whys[id] = FILTER_BIT(FILTER_POD_AFFINITY);
	}
}

/* Rejects all nodes of the domains with a sum above 0. */
static void reject_domains(const struct evaluator *e, const struct topology *t,
                           enum filter_reason why)
{
	for (node_id id = 0; id < e->nodes->used; id++)
		if (is_feasible(e, id) && t->domain[id] != DOMAIN_NONE &&
		    e->scratch->sums[t->domain[id]] > 0)
			e->out->whys[id] = FILTER_BIT(why);
}

/* interpodaffinity: satisfyPodAntiAffinity. */
static void filter_anti_affinity(const struct evaluator *e)
{
	for (uint32_t i = 0; i < e->links->terms_n; i++) {
		const struct term_link *term = &e->links->terms[i];
		const struct topology *t = topology_at(e, term->topology);

		if (term->term->kind == POD_TERM_ANTI_AFFINITY &&
		    sum_by_domain(e, t, placed(e, term->selector)))
			reject_domains(e, t, FILTER_ANTI_AFFINITY);
	}
}

static bool placed_term_matches(const struct evaluator *e, const struct placed_term *placed_term)
{
	return placed_term->refs > 0 && placed_term->holders_n > 0 &&
	       class_matches(&e->cs->pod_classes, e->class, placed_term->selector);
}

/* interpodaffinity: satisfyExistingPodsAntiAffinity.  The terms of one topology are summed before
 * the pass over the nodes. */
static void filter_existing_anti_affinity(const struct evaluator *e)
{
	for (topology_id at = 0; at < e->cs->topologies.n; at++) {
		const struct topology *t = topology_at(e, at);
		bool any = false;

		for (placed_term_id i = 0; t->live > 0 && i < e->cs->placed_terms_n; i++) {
			const struct placed_term *placed_term = &e->cs->placed_terms[i];

			if (placed_term->topology != at || placed_term->kind != POD_TERM_ANTI_AFFINITY ||
			    !placed_term_matches(e, placed_term))
				continue;
			if (!any)
				sum_begin(e, t);
			any = true;
			sum_add(e, t, placed_term->holders, placed_term->holders_n, 1);
		}
		if (any)
			reject_domains(e, t, FILTER_EXISTING_ANTI_AFFINITY);
	}
}

/* interpodaffinity: Filter. */
void filter_pods(const struct evaluator *e)
{
	if (e->links) {
		filter_affinity(e);
		filter_anti_affinity(e);
	}
	filter_existing_anti_affinity(e);
}

/* interpodaffinity: processExistingPod, terms of the pod itself. */
static int64_t own_weight(const struct pod_term *term)
{
	if (term->kind == POD_TERM_PREFERRED)
		return term->weight;
	return term->kind == POD_TERM_PREFERRED_ANTI ? -(int64_t)term->weight : 0;
}

/* Terms of placed pods: required affinity counts 1 (hardPodAffinityWeight). */
static int64_t placed_term_weight(const struct placed_term *placed_term)
{
	switch (placed_term->kind) {
	case POD_TERM_AFFINITY:
		return 1;
	case POD_TERM_PREFERRED:
		return placed_term->weight;
	case POD_TERM_PREFERRED_ANTI:
		return -(int64_t)placed_term->weight;
	default:
		return 0;
	}
}

/* Sums the weights of the terms of one topology (interpodaffinity: processTerm); true when there
 * was any. */
static bool sum_terms(const struct evaluator *e, topology_id at)
{
	const struct topology *t = topology_at(e, at);
	bool any = false;

	sum_begin(e, t);
	for (uint32_t i = 0; e->links && i < e->links->terms_n; i++) {
		const struct term_link *term = &e->links->terms[i];
		int64_t weight = term->topology == at ? own_weight(term->term) : 0;

		if (weight != 0)
			any = sum_add(e, t, placed(e, term->selector), UINT64_MAX, weight) || any;
	}
	for (placed_term_id i = 0; i < e->cs->placed_terms_n; i++) {
		const struct placed_term *placed_term = &e->cs->placed_terms[i];
		int64_t weight = placed_term->topology == at ? placed_term_weight(placed_term) : 0;

		if (weight != 0 && placed_term_matches(e, placed_term))
			any = sum_add(e, t, placed_term->holders, placed_term->holders_n, weight) || any;
	}
	return any;
}

/* interpodaffinity: Score, the sums of topologyScore over the keys of the node. */
bool score_pods(const struct evaluator *e)
{
	const uint64_t *sums = e->scratch->sums;
	bool any = false;

	for (topology_id at = 0; at < e->cs->topologies.n; at++) {
		const struct topology *t = topology_at(e, at);

		if (t->live == 0 || !sum_terms(e, at))
			continue;
		for (node_id id = 0; id < e->nodes->used; id++)
			if (is_feasible(e, id) && t->domain[id] != DOMAIN_NONE)
				e->scratch->raw[id] += (int64_t)sums[t->domain[id]];
		any = true;
	}
	return any;
}
