/* SPDX-License-Identifier: Apache-2.0 */
/* Inter-pod affinity and anti-affinity: sums by domain for each term. */
#include "core/filter/judge_impl.h"

#include <string.h>

enum { MARK_LACKS_KEY = 1u << 0, MARK_NOBODY = 1u << 1 };

/* The first node from `id` on that has a count. */
static node_id next_counted(const uint32_t *counts, node_id id, node_id end)
{
	uint64_t four[2];

	for (; id + 4 <= end; id += 4) {
		memcpy(four, counts + id, sizeof(four));
		if (four[0] | four[1])
			break;
	}
	while (id < end && counts[id] == 0)
		id++;
	return id;
}

/* Adds the counts, each `weight` times, to sums[domain].  Those of nodes that are there are
 * `left` in sum, or fewer.  A node without the key, or that isn't there, has no domain. */
static bool sum_add(const struct judging *j, const struct topology *t, const uint32_t *counts,
                    uint64_t left, int64_t weight)
{
	const node_id end = j->nodes->used;
	uint64_t *sums = j->scratch->sums;
	bool any = false;

	for (node_id id = 0; left > 0 && (id = next_counted(counts, id, end)) < end; id++) {
		if (t->domain[id] == DOMAIN_NONE)
			continue;
		left -= counts[id] < left ? counts[id] : left;
		sums[t->domain[id]] += (uint64_t)weight * counts[id];
		any = true;
	}
	return any;
}

static void sum_begin(const struct judging *j, const struct topology *t)
{
	memset(j->scratch->sums, 0, t->domains * sizeof(*j->scratch->sums));
}

bool judging_sum(const struct judging *j, const struct topology *t, const uint32_t *counts)
{
	sum_begin(j, t);
	return sum_add(j, t, counts, UINT64_MAX, 1);
}

static const uint32_t *placed(const struct judging *j, selector_id selector)
{
	return j->cs->selectors.slots[selector].placed;
}

/* ---- required terms of the pod itself ------------------------------------------- */

/* Marks the nodes that the term does not like; true when some pod matches on a node that has
 * its key. */
static bool mark_affinity(const struct judging *j, const struct term_link *term)
{
	const struct topology *t = judging_topology(j, term->topology);
	bool any = judging_sum(j, t, placed(j, j->links->affinity));

	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!judging_open(j, id))
			continue;
		if (t->domain[id] == DOMAIN_NONE)
			j->scratch->marks[id] |= MARK_LACKS_KEY;
		else if (j->scratch->sums[t->domain[id]] == 0)
			j->scratch->marks[id] |= MARK_NOBODY;
	}
	return any;
}

/* The first of a series may start where nobody is yet, if it matches its own terms. */
static void judge_affinity(const struct judging *j)
{
	bool any = false, first;

	if (j->links->affinity == SELECTOR_NONE)
		return;
	memset(j->scratch->marks, 0, j->nodes->used);
	for (uint32_t i = 0; i < j->links->terms_n; i++)
		if (j->links->terms[i].term->kind == POD_TERM_AFFINITY)
			any = mark_affinity(j, &j->links->terms[i]) || any;
	first = !any && kind_matches(&j->cs->kinds, j->kind, j->links->affinity);
	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!judging_open(j, id))
			continue;
		if ((j->scratch->marks[id] & MARK_LACKS_KEY) ||
		    ((j->scratch->marks[id] & MARK_NOBODY) && !first))
			j->out->whys[id] = WHY_BIT(NODE_WHY_POD_AFFINITY);
	}
}

/* Refuses every node in whose domain there is a sum. */
static void refuse_domains(const struct judging *j, const struct topology *t, enum node_why why)
{
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id) && t->domain[id] != DOMAIN_NONE &&
		    j->scratch->sums[t->domain[id]] > 0)
			j->out->whys[id] = WHY_BIT(why);
}

static void judge_anti_affinity(const struct judging *j)
{
	for (uint32_t i = 0; i < j->links->terms_n; i++) {
		const struct term_link *term = &j->links->terms[i];
		const struct topology *t = judging_topology(j, term->topology);

		if (term->term->kind == POD_TERM_ANTI_AFFINITY &&
		    judging_sum(j, t, placed(j, term->selector)))
			refuse_domains(j, t, NODE_WHY_ANTI_AFFINITY);
	}
}

/* ---- terms of pods that are placed -------------------------------------------------- */

static bool bond_bears(const struct judging *j, const struct bond *bond)
{
	return bond->refs > 0 && bond->holders_n > 0 &&
	       kind_matches(&j->cs->kinds, j->kind, bond->selector);
}

/* Many pods hold much the same terms: those of one topology are added up before nodes are
 * looked at. */
static void judge_bonds(const struct judging *j)
{
	for (topology_id at = 0; at < j->cs->topologies.n; at++) {
		const struct topology *t = judging_topology(j, at);
		bool any = false;

		for (bond_id i = 0; t->refs > 0 && i < j->cs->bonds_n; i++) {
			const struct bond *bond = &j->cs->bonds[i];

			if (bond->topology != at || bond->kind != POD_TERM_ANTI_AFFINITY ||
			    !bond_bears(j, bond))
				continue;
			if (!any)
				sum_begin(j, t);
			any = true;
			sum_add(j, t, bond->holders, bond->holders_n, 1);
		}
		if (any)
			refuse_domains(j, t, NODE_WHY_EXISTING_ANTI_AFFINITY);
	}
}

void judge_pods(const struct judging *j)
{
	if (j->links) {
		judge_affinity(j);
		judge_anti_affinity(j);
	}
	judge_bonds(j);
}

/* ---- scores ----------------------------------------------------------------------- */

static int64_t own_weight(const struct pod_term *term)
{
	if (term->kind == POD_TERM_PREFERRED)
		return term->weight;
	return term->kind == POD_TERM_PREFERRED_ANTI ? -(int64_t)term->weight : 0;
}

/* Required affinity of a placed pod counts 1 (hardPodAffinityWeight). */
static int64_t bond_weight(const struct bond *bond)
{
	switch (bond->kind) {
	case POD_TERM_AFFINITY:
		return 1;
	case POD_TERM_PREFERRED:
		return bond->weight;
	case POD_TERM_PREFERRED_ANTI:
		return -(int64_t)bond->weight;
	default:
		return 0;
	}
}

/* Of the terms of one topology, added up; true when there was anything to add. */
static bool sum_terms(const struct judging *j, topology_id at)
{
	const struct topology *t = judging_topology(j, at);
	bool any = false;

	sum_begin(j, t);
	for (uint32_t i = 0; j->links && i < j->links->terms_n; i++) {
		const struct term_link *term = &j->links->terms[i];
		int64_t weight = term->topology == at ? own_weight(term->term) : 0;

		if (weight != 0)
			any = sum_add(j, t, placed(j, term->selector), UINT64_MAX, weight) || any;
	}
	for (bond_id i = 0; i < j->cs->bonds_n; i++) {
		const struct bond *bond = &j->cs->bonds[i];
		int64_t weight = bond->topology == at ? bond_weight(bond) : 0;

		if (weight != 0 && bond_bears(j, bond))
			any = sum_add(j, t, bond->holders, bond->holders_n, weight) || any;
	}
	return any;
}

bool score_pods(const struct judging *j)
{
	const uint64_t *sums = j->scratch->sums;
	bool any = false;

	for (topology_id at = 0; at < j->cs->topologies.n; at++) {
		const struct topology *t = judging_topology(j, at);

		if (t->refs == 0 || !sum_terms(j, at))
			continue;
		for (node_id id = 0; id < j->nodes->used; id++)
			if (judging_open(j, id) && t->domain[id] != DOMAIN_NONE)
				j->scratch->raw[id] += (int64_t)sums[t->domain[id]];
		any = true;
	}
	return any;
}
