/* Inter-pod affinity and anti-affinity: sums by domain for each term. */
#include "core/judge_impl.h"

#include <string.h>

enum { MARK_LACKS_KEY = 1u << 0, MARK_NOBODY = 1u << 1 };

bool judging_sum(const struct judging *j, const struct topology *t, const uint32_t *counts)
{
	uint64_t *sums = j->scratch->sums;
	uint64_t all = 0;

	memset(sums, 0, t->domains * sizeof(*sums));
	for (node_id id = 0; id < j->nodes->used; id++) {
		if (!node_present(&j->nodes->slots[id]) || t->domain[id] == DOMAIN_NONE)
			continue;
		sums[t->domain[id]] += counts[id];
		all += counts[id];
	}
	return all > 0;
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
		if ((j->scratch->marks[id] & MARK_LACKS_KEY) || ((j->scratch->marks[id] & MARK_NOBODY) && !first))
			j->out->whys[id] = WHY_BIT(NODE_WHY_POD_AFFINITY);
	}
}

/* Refuses every node in whose domain there is a count. */
static void refuse_domains(const struct judging *j, const struct topology *t, const uint32_t *counts, enum node_why why)
{
	if (!judging_sum(j, t, counts))
		return;
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id) && t->domain[id] != DOMAIN_NONE && j->scratch->sums[t->domain[id]] > 0)
			j->out->whys[id] = WHY_BIT(why);
}

static void judge_anti_affinity(const struct judging *j)
{
	for (uint32_t i = 0; i < j->links->terms_n; i++) {
		const struct term_link *term = &j->links->terms[i];

		if (term->term->kind == POD_TERM_ANTI_AFFINITY)
			refuse_domains(j, judging_topology(j, term->topology), placed(j, term->selector),
			               NODE_WHY_ANTI_AFFINITY);
	}
}

/* ---- terms of pods that are placed -------------------------------------------------- */

static bool bond_bears(const struct judging *j, const struct bond *bond)
{
	return bond->refs > 0 && bond->holders_n > 0 && kind_matches(&j->cs->kinds, j->kind, bond->selector);
}

static void judge_bonds(const struct judging *j)
{
	for (bond_id i = 0; i < j->cs->bonds_n; i++) {
		const struct bond *bond = &j->cs->bonds[i];

		if (bond->kind == POD_TERM_ANTI_AFFINITY && bond_bears(j, bond))
			refuse_domains(j, judging_topology(j, bond->topology), bond->holders,
			               NODE_WHY_EXISTING_ANTI_AFFINITY);
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

/* True when there was anything to add. */
static bool add_domains(const struct judging *j, const struct topology *t, const uint32_t *counts, int64_t weight)
{
	if (weight == 0 || !judging_sum(j, t, counts))
		return false;
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id) && t->domain[id] != DOMAIN_NONE)
			j->scratch->raw[id] += weight * (int64_t)j->scratch->sums[t->domain[id]];
	return true;
}

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

bool score_pods(const struct judging *j)
{
	bool any = false;

	for (uint32_t i = 0; j->links && i < j->links->terms_n; i++) {
		const struct term_link *term = &j->links->terms[i];
		int64_t weight = own_weight(term->term);

		if (weight != 0)
			any = add_domains(j, judging_topology(j, term->topology), placed(j, term->selector), weight) || any;
	}
	for (bond_id i = 0; i < j->cs->bonds_n; i++) {
		const struct bond *bond = &j->cs->bonds[i];
		int64_t weight = bond_weight(bond);

		if (weight != 0 && bond_bears(j, bond))
			any = add_domains(j, judging_topology(j, bond->topology), bond->holders, weight) || any;
	}
	return any;
}
