/* SPDX-License-Identifier: Apache-2.0 */
/* The links of shapes: what their rules between pods refer to. */
#include "core/classes/pod_counts_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t placed_term_hash(const struct placed_term *b)
{
	uint32_t hash = id_hash(id_hash(11, b->selector), b->topology);

	return id_hash(id_hash(hash, b->kind), (uint32_t)b->weight);
}

static bool placed_term_same(const struct placed_term *a, const struct placed_term *b)
{
	return a->selector == b->selector && a->topology == b->topology && a->kind == b->kind &&
	       a->weight == b->weight;
}

/* Returns the placed term that equals `want` and adds a reference; takes the references of want
 * over. */
static placed_term_id placed_term_ref(struct pod_counts *cs, struct placed_term want)
{
	const uint32_t hash = placed_term_hash(&want);
	placed_term_id id = id_table_first(&cs->placed_term_ids, hash);

	assert(want.selector != SELECTOR_NONE);
	assert(want.topology < cs->topologies.n);
	while (id != ID_TABLE_NONE && !placed_term_same(&cs->placed_terms[id], &want))
		id = id_table_next(&cs->placed_term_ids, id);
	if (id != ID_TABLE_NONE) {
		selector_unref(&cs->selectors, want.selector);
		topology_unref(&cs->topologies, want.topology);
		cs->placed_terms[id].refs++;
		return id;
	}
	id_table_reserve(&cs->placed_term_ids, 1);
	id_table_fit(&cs->placed_term_ids, &cs->placed_terms, &cs->placed_terms_cap,
	             sizeof(*cs->placed_terms));
	want.refs = 1;
	want.holders = must_alloc(sizeof(*want.holders)); /* it stays where it is */
	id = id_table_add(&cs->placed_term_ids, hash);
	cs->placed_terms[id] = want;
	cs->placed_terms_n = cs->placed_term_ids.used;
	return id;
}

static void placed_term_unref(struct pod_counts *cs, placed_term_id id)
{
	struct placed_term *b = &cs->placed_terms[id];

	assert(id < cs->placed_terms_n);
	assert(b->refs > 0);
	if (--b->refs > 0)
		return;
	assert(b->holders_n == 0);
	selector_unref(&cs->selectors, b->selector);
	topology_unref(&cs->topologies, b->topology);
	placed_term_forget(b);
	id_table_remove(&cs->placed_term_ids, id);
}

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

static struct term_link term_link(struct pod_counts *cs, const struct shape *s,
                                  const struct pod_term *t)
{
	const struct selector_part incoming = term_part(s, t, true), placed = term_part(s, t, false);
	struct placed_term want = { .kind = t->kind, .weight = t->weight };
	struct term_link link = { .term = t, .selector = SELECTOR_NONE };

	if (t->kind != POD_TERM_AFFINITY)
		link.selector = pod_counts_selector_ref(cs, &incoming, 1);
	link.topology = topology_ref(&cs->topologies, t->topology);
	want.selector = pod_counts_selector_ref(cs, &placed, 1);
	want.topology = topology_ref(&cs->topologies, t->topology);
	link.placed_term = placed_term_ref(cs, want);
	return link;
}

static void term_unlink(struct pod_counts *cs, const struct term_link *link)
{
	if (link->selector != SELECTOR_NONE)
		selector_unref(&cs->selectors, link->selector);
	topology_unref(&cs->topologies, link->topology);
	placed_term_unref(cs, link->placed_term);
}

/* Clauses about pods of the shape's own namespace. */
static struct selector_part own_part(const struct shape *s, struct span clauses)
{
	return (struct selector_part){
		.clauses = s->parts.clauses + clauses.first,
		.clauses_n = clauses.n,
		.clause_values = s->parts.values,
		.namespaces = &s->body->namespace,
		.namespaces_n = 1,
	};
}

/* An empty selector counts no pod, though it matches the pod itself. */
static struct spread_link spread_link(struct pod_counts *cs, const struct shape *s,
                                      const struct spread *spread)
{
	const struct selector_part part = own_part(s, spread->clauses);
	const bool nothing = spread->flags & SPREAD_MATCHES_NOTHING;
	struct spread_link link = { .spread = spread,
		                        .selector = SELECTOR_NONE,
		                        .self_always = !nothing && spread->clauses.n == 0 };

	if (!nothing && spread->clauses.n > 0)
		link.selector = pod_counts_selector_ref(cs, &part, 1);
	link.topology = topology_ref(&cs->topologies, spread->topology);
	return link;
}

static void spread_unlink(struct pod_counts *cs, const struct spread_link *link)
{
	if (link->selector != SELECTOR_NONE)
		selector_unref(&cs->selectors, link->selector);
	topology_unref(&cs->topologies, link->topology);
}

/* Without clauses it counts all pods of the namespace. */
static struct policy_link policy_link(struct pod_counts *cs, const struct shape *s)
{
	const struct policy *policy = s->parts.policies;
	const struct selector_part part = own_part(s, policy->clauses);

	return (struct policy_link){
		.policy = policy,
		.shares = s->parts.shares + policy->shares.first,
		.selector = pod_counts_selector_ref(cs, &part, 1),
		.topology = topology_ref(&cs->topologies, policy->topology),
	};
}

static void policy_unlink(struct pod_counts *cs, const struct policy_link *link)
{
	if (!link->policy)
		return;
	selector_unref(&cs->selectors, link->selector);
	topology_unref(&cs->topologies, link->topology);
}

/* One selector for all required terms; see core/classes/selectors.h. */
static selector_id affinity_ref(struct pod_counts *cs, const struct shape *s)
{
	struct selector_part *parts = must_array(s->body->pod_terms_n, sizeof(*parts));
	selector_id id = SELECTOR_NONE;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->body->pod_terms_n; i++)
		if (s->parts.pod_terms[i].kind == POD_TERM_AFFINITY)
			parts[n++] = term_part(s, &s->parts.pod_terms[i], true);
	if (n > 0)
		id = pod_counts_selector_ref(cs, parts, n);
	free(parts);
	return id;
}

static void links_free(struct pod_counts *cs, struct shape_links *links)
{
	if (!links)
		return;
	for (uint32_t i = 0; i < links->terms_n; i++)
		term_unlink(cs, &links->terms[i]);
	for (uint32_t i = 0; i < links->spreads_n; i++)
		spread_unlink(cs, &links->spreads[i]);
	policy_unlink(cs, &links->policy);
	if (links->affinity != SELECTOR_NONE)
		selector_unref(&cs->selectors, links->affinity);
	links_forget(links);
}

struct shape_links *pod_counts_links_make(struct pod_counts *cs, const struct shape *s)
{
	const struct event_shape *e = s->body;
	struct shape_links *links;

	assert(e->policies_n <= 1);
	if (e->pod_terms_n == 0 && e->spreads_n == 0 && e->policies_n == 0)
		return NULL;
	links = must_alloc(sizeof(*links));
	links->terms = must_array(e->pod_terms_n, sizeof(*links->terms));
	links->spreads = must_array(e->spreads_n, sizeof(*links->spreads));
	links->affinity = affinity_ref(cs, s);
	for (; links->terms_n < e->pod_terms_n; links->terms_n++)
		links->terms[links->terms_n] = term_link(cs, s, &s->parts.pod_terms[links->terms_n]);
	for (; links->spreads_n < e->spreads_n; links->spreads_n++)
		links->spreads[links->spreads_n] = spread_link(cs, s, &s->parts.spreads[links->spreads_n]);
	if (e->policies_n > 0)
		links->policy = policy_link(cs, s);
	return links;
}

static void eases_change(struct pod_counts *cs, const struct shape_links *links, uint32_t by)
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

void pod_counts_links_set(struct pod_counts *cs, shape_id shape, struct shape_links *links)
{
	assert(shape < cs->shapes->limit);
	assert(!cs->links[shape]);
	cs->links[shape] = links;
	cs->rules_version += links != NULL;
	eases_change(cs, links, 1);
}

void pod_counts_shape_drop(struct pod_counts *cs, shape_id shape)
{
	assert(shape < cs->shapes->limit);
	assert(cs->shapes->slots[shape].pods == 0);
	pod_classes_forget_shape(&cs->pod_classes, shape);
	cs->rules_version += cs->links[shape] != NULL;
	eases_change(cs, cs->links[shape], UINT32_MAX);
	links_free(cs, cs->links[shape]);
	cs->links[shape] = NULL;
	pod_counts_tidy(cs);
}
