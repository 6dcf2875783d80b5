/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of a shape refer to. */
#include "core/classes/census_impl.h"

#include <errno.h>
#include <stdlib.h>

/* ---- bonds -------------------------------------------------------------------------- */

static uint32_t bond_hash(const struct bond *b)
{
	uint32_t hash = chain_hash(chain_hash(11, b->selector), b->topology);

	return chain_hash(chain_hash(hash, b->kind), (uint32_t)b->weight);
}

static bool bond_same(const struct bond *a, const struct bond *b)
{
	return a->selector == b->selector && a->topology == b->topology && a->kind == b->kind &&
	       a->weight == b->weight;
}

/* The bond with the selector and topology of *want, which it takes over. */
static int bond_take(struct census *cs, struct bond want, bond_id *out)
{
	const uint32_t hash = bond_hash(&want);
	bond_id id = chains_first(&cs->bond_chains, hash);

	while (id != CHAIN_NONE && !bond_same(&cs->bonds[id], &want))
		id = chains_next(&cs->bond_chains, id);
	if (id != CHAIN_NONE) {
		selector_give(&cs->selectors, want.selector);
		topology_give(&cs->topologies, want.topology);
		cs->bonds[id].refs++;
		*out = id;
		return 0;
	}
	if (chains_reserve(&cs->bond_chains, 1) < 0 ||
	    chains_fit(&cs->bond_chains, &cs->bonds, &cs->bonds_room, sizeof(*cs->bonds)) < 0)
		return -ENOMEM;
	want.refs = 1;
	want.holders = calloc(cs->nodes->limit, sizeof(*want.holders));
	if (!want.holders)
		return -ENOMEM;
	id = chains_new(&cs->bond_chains, hash);
	cs->bonds[id] = want;
	cs->bonds_n = cs->bond_chains.used;
	*out = id;
	return 0;
}

static void bond_give(struct census *cs, bond_id id)
{
	struct bond *b = &cs->bonds[id];

	if (--b->refs > 0)
		return;
	selector_give(&cs->selectors, b->selector);
	topology_give(&cs->topologies, b->topology);
	free(b->holders);
	*b = (struct bond){ 0 };
	chains_drop(&cs->bond_chains, id);
}

/* ---- terms and spreads ---------------------------------------------------------------- */

static struct selector_part term_part(const struct shape *s, const struct pod_term *t,
                                      bool incoming)
{
	return (struct selector_part){
		.clauses = s->parts.clauses + t->clauses.first,
		.clauses_n = t->clauses.n,
		.clause_values = s->parts.values,
		.namespaces = s->parts.values + t->namespaces.first,
		.namespaces_n = t->namespaces.n,
		.namespace_clauses = s->parts.clauses + t->namespace_clauses.first,
		.namespace_clauses_n = t->namespace_clauses.n,
		.flags = t->flags,
		.incoming = incoming,
	};
}

static int term_bond(struct census *cs, const struct shape *s, const struct pod_term *t,
                     bond_id *out)
{
	struct selector_part part = term_part(s, t, false);
	struct bond want = { .kind = t->kind, .weight = t->weight };
	int rc = census_selector_take(cs, &part, 1, &want.selector);

	if (rc < 0)
		return rc;
	rc = topology_take(&cs->topologies, t->topology, &want.topology);
	if (rc < 0) {
		selector_give(&cs->selectors, want.selector);
		return rc;
	}
	rc = bond_take(cs, want, out);
	if (rc < 0) {
		selector_give(&cs->selectors, want.selector);
		topology_give(&cs->topologies, want.topology);
	}
	return rc;
}

static int term_link(struct census *cs, const struct shape *s, const struct pod_term *t,
                     struct term_link *link)
{
	struct selector_part part = term_part(s, t, true);
	int rc = 0;

	*link = (struct term_link){ .term = t, .selector = SELECTOR_NONE };
	if (t->kind != POD_TERM_AFFINITY)
		rc = census_selector_take(cs, &part, 1, &link->selector);
	if (rc < 0)
		return rc;
	rc = topology_take(&cs->topologies, t->topology, &link->topology);
	if (rc < 0)
		goto give_selector;
	rc = term_bond(cs, s, t, &link->bond);
	if (rc == 0)
		return 0;

	topology_give(&cs->topologies, link->topology);
give_selector:
	if (link->selector != SELECTOR_NONE)
		selector_give(&cs->selectors, link->selector);
	return rc;
}

static void term_unlink(struct census *cs, const struct term_link *link)
{
	if (link->selector != SELECTOR_NONE)
		selector_give(&cs->selectors, link->selector);
	topology_give(&cs->topologies, link->topology);
	bond_give(cs, link->bond);
}

/* An empty selector counts no pod, though it matches the pod itself. */
static int spread_link(struct census *cs, const struct shape *s, const struct spread *spread,
                       struct spread_link *link)
{
	const struct selector_part part = { .clauses = s->parts.clauses + spread->clauses.first,
		                                .clauses_n = spread->clauses.n,
		                                .clause_values = s->parts.values,
		                                .namespaces = &s->body->namespace,
		                                .namespaces_n = 1 };
	const bool nothing = spread->flags & SPREAD_MATCHES_NOTHING;
	int rc = 0;

	*link = (struct spread_link){ .spread = spread,
		                          .selector = SELECTOR_NONE,
		                          .self_always = !nothing && spread->clauses.n == 0 };
	if (!nothing && spread->clauses.n > 0)
		rc = census_selector_take(cs, &part, 1, &link->selector);
	if (rc < 0)
		return rc;
	rc = topology_take(&cs->topologies, spread->topology, &link->topology);
	if (rc < 0 && link->selector != SELECTOR_NONE)
		selector_give(&cs->selectors, link->selector);
	return rc;
}

static void spread_unlink(struct census *cs, const struct spread_link *link)
{
	if (link->selector != SELECTOR_NONE)
		selector_give(&cs->selectors, link->selector);
	topology_give(&cs->topologies, link->topology);
}

/* Without clauses it counts all pods of the namespace. */
static int policy_link(struct census *cs, const struct shape *s, struct policy_link *link)
{
	const struct policy *policy = s->parts.policies;
	const struct selector_part part = { .clauses = s->parts.clauses + policy->clauses.first,
		                                .clauses_n = policy->clauses.n,
		                                .clause_values = s->parts.values,
		                                .namespaces = &s->body->namespace,
		                                .namespaces_n = 1 };
	struct policy_link made = { .policy = policy,
		                        .shares = s->parts.shares + policy->shares.first };
	int rc = census_selector_take(cs, &part, 1, &made.selector);

	if (rc < 0)
		return rc;
	rc = topology_take(&cs->topologies, policy->topology, &made.topology);
	if (rc < 0) {
		selector_give(&cs->selectors, made.selector);
		return rc;
	}
	*link = made;
	return 0;
}

static void policy_unlink(struct census *cs, const struct policy_link *link)
{
	if (!link->policy)
		return;
	selector_give(&cs->selectors, link->selector);
	topology_give(&cs->topologies, link->topology);
}

/* One existing pod has to match all required terms at once. */
static int affinity_take(struct census *cs, const struct shape *s, selector_id *out)
{
	struct selector_part *parts;
	uint32_t n = 0;
	int rc;

	*out = SELECTOR_NONE;
	parts = calloc(s->body->pod_terms_n + 1u, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->body->pod_terms_n; i++)
		if (s->parts.pod_terms[i].kind == POD_TERM_AFFINITY)
			parts[n++] = term_part(s, &s->parts.pod_terms[i], true);
	rc = n > 0 ? census_selector_take(cs, parts, n, out) : 0;
	free(parts);
	return rc;
}

/* ---- the links of a shape ---------------------------------------------------------------- */

void links_forget(struct shape_links *links)
{
	if (!links)
		return;
	free(links->terms);
	free(links->spreads);
	free(links);
}

void census_links_free(struct census *cs, struct shape_links *links)
{
	if (!links)
		return;
	for (uint32_t i = 0; i < links->terms_n; i++)
		term_unlink(cs, &links->terms[i]);
	for (uint32_t i = 0; i < links->spreads_n; i++)
		spread_unlink(cs, &links->spreads[i]);
	policy_unlink(cs, &links->policy);
	if (links->affinity != SELECTOR_NONE)
		selector_give(&cs->selectors, links->affinity);
	links_forget(links);
}

int census_links_make(struct census *cs, const struct shape *s, struct shape_links **out)
{
	const struct event_shape *e = s->body;
	struct shape_links *links;
	int rc;

	*out = NULL;
	if (e->pod_terms_n == 0 && e->spreads_n == 0 && e->policies_n == 0)
		return 0;
	links = calloc(1, sizeof(*links));
	if (!links)
		return -ENOMEM;
	links->terms = calloc(e->pod_terms_n + 1u, sizeof(*links->terms));
	links->spreads = calloc(e->spreads_n + 1u, sizeof(*links->spreads));
	links->affinity = SELECTOR_NONE;
	rc = links->terms && links->spreads ? affinity_take(cs, s, &links->affinity) : -ENOMEM;
	while (rc == 0 && links->terms_n < e->pod_terms_n) {
		rc = term_link(cs, s, &s->parts.pod_terms[links->terms_n], &links->terms[links->terms_n]);
		links->terms_n += rc == 0;
	}
	while (rc == 0 && links->spreads_n < e->spreads_n) {
		rc = spread_link(cs, s, &s->parts.spreads[links->spreads_n],
		                 &links->spreads[links->spreads_n]);
		links->spreads_n += rc == 0;
	}
	if (rc == 0 && e->policies_n > 0)
		rc = policy_link(cs, s, &links->policy);
	if (rc < 0) {
		census_links_free(cs, links);
		return rc;
	}
	*out = links;
	return 0;
}

static void eases_change(struct census *cs, const struct shape_links *links, uint32_t by)
{
	if (!links)
		return;
	if (links->affinity != SELECTOR_NONE)
		cs->selectors.slots[links->affinity].eases += by;
	for (uint32_t i = 0; i < links->spreads_n; i++)
		if ((links->spreads[i].spread->flags & SPREAD_HARD) &&
		    links->spreads[i].selector != SELECTOR_NONE)
			cs->selectors.slots[links->spreads[i].selector].eases += by;
}

void census_links_put(struct census *cs, shape_id shape, struct shape_links *links)
{
	cs->links[shape] = links;
	cs->rules_version += links != NULL;
	eases_change(cs, links, 1);
}

void census_shape_drop(struct census *cs, shape_id shape)
{
	kinds_forget_shape(&cs->kinds, shape);
	cs->rules_version += cs->links[shape] != NULL;
	eases_change(cs, cs->links[shape], UINT32_MAX);
	census_links_free(cs, cs->links[shape]);
	cs->links[shape] = NULL;
	census_tidy(cs);
}
