/* SPDX-License-Identifier: Apache-2.0 */
/* Domain constraints: made from the rules of a class and the pod counts. */
#include "core/index/constraints.h"
#include "core/index/constraints_impl.h"

#include "core/base/span.h"
#include "core/cluster/rule_node.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool has_all_keys(const struct constraints *c, const struct shape_links *links, node_id node)
{
	for (uint32_t i = 0; i < links->spreads_n; i++)
		if ((links->spreads[i].spread->flags & SPREAD_HARD) &&
		    topology_domain(&c->pod_counts->topologies, links->spreads[i].topology, node) ==
		        DOMAIN_NONE)
			return false;
	return true;
}

/* podtopologyspread: calPreFilterState counts the pods of nodes that have all keys and satisfy
 * nodeAffinityPolicy and nodeTaintsPolicy. */
static bool spread_counts(const struct constraints *c, const struct spread *spread, node_id id)
{
	const shape_id shape = c->pod_counts->pod_classes.slots[c->class].shape;
	const struct shape *s = &c->pod_counts->shapes->slots[shape];
	const struct node *n = &c->pod_counts->nodes->slots[id];

	return node_present(n) && has_all_keys(c, c->pod_counts->links[shape], id) &&
	       ((spread->flags & SPREAD_IGNORES_AFFINITY) || rule_affinity(s, n)) &&
	       !((spread->flags & SPREAD_HONORS_TAINTS) && rule_taint(s, n));
}

static uint64_t *eligible_new(const struct constraints *c, const struct spread *spread)
{
	uint64_t *eligible = must_array(span_words(c->pod_counts->nodes->span), sizeof(*eligible));

	for (uint32_t rank = 0; rank < c->nodes; rank++) {
		node_id id = constraints_node(c, rank);

		eligible[id / 64] |= (uint64_t)spread_counts(c, spread, id) << (id % 64);
	}
	return eligible;
}

bool constraints_outdated(const struct constraints *c, uint32_t rank)
{
	node_id id = constraints_node(c, rank);

	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].eligible &&
		    constraint_counts(&c->at[i], id) != spread_counts(c, c->at[i].spread, id))
			return true;
	return false;
}

/* Also of nodes that do not count: a second build decides when they do. */
static void seen_set(const struct constraints *c, struct constraint *con)
{
	const bool empty = constraint_topology(c, con)->live == 0;
	const node_id end = c->pod_counts->nodes->used;

	con->seen = empty ? NULL : must_array(c->pod_counts->nodes->span, sizeof(*con->seen));
	for (uint32_t i = 0; !empty && i < con->counters_n; i++) {
		const struct node_counts *counter = con->counters[i];

		for (node_id id = 0; (id = node_counts_next(counter, id, end)) < end; id++)
			con->seen[id] += node_counts_at(counter, id);
	}
}

static void constraint_sum(const struct constraints *c, struct constraint *con)
{
	const struct topology *t = constraint_topology(c, con);

	con->single = con->kind != CONSTRAINT_POLICY && topology_is_single(t);
	con->domains = t->domains;
	con->sums = must_array(t->domains, sizeof(*con->sums));
	con->floors = must_array(t->domains, sizeof(*con->floors));
	memset(con->floors, 0xff, t->domains * sizeof(*con->floors));
	seen_set(c, con);
	for (uint32_t rank = 0; t->live > 0 && rank < c->nodes; rank++) {
		node_id id = constraints_node(c, rank);
		uint32_t d = t->domain[id];

		if (d == DOMAIN_NONE || !node_present(&c->pod_counts->nodes->slots[id]) ||
		    !constraint_counts(con, id))
			continue;
		con->sums[d] += con->seen[id];
		con->total += con->seen[id];
		con->live += con->floors[d] == UINT32_MAX;
		con->floors[d] = con->sums[d];
	}
	if (con->kind == CONSTRAINT_SPREAD)
		constraint_least_find(con);
}

static void constraint_free(struct constraint *con)
{
	free(con->counters);
	free(con->seen);
	free(con->sums);
	free(con->floors);
	free(con->eligible);
	free(con->replicas);
	free(con->left);
}

static struct constraint *add(struct constraints *c, const struct constraint *con)
{
	c->at = must_grow(c->at, (c->n + 1) * sizeof(*c->at));
	c->at[c->n] = *con;
	return &c->at[c->n++];
}

static void counter_add(struct constraint *con, const struct node_counts *counter)
{
	const uint32_t n = con->counters_n++;

	if ((n & (n - 1)) == 0)
		con->counters = must_grow(con->counters, (n ? 2 * (size_t)n : 1) * sizeof(counter));
	con->counters[n] = counter;
}

/* One constraint for all terms of the kind over the topology: pods may have hundreds, of their own
 * and of placed pods.  Topologies without a node count as one: no domain of theirs opens or closes
 * anything. */
static struct constraint *add_pods(struct constraints *c, struct constraint con,
                                   const struct node_counts *counter)
{
	const bool empty = constraint_topology(c, &con)->live == 0;
	struct constraint *at = c->at, *end = at + c->n;

	c->rules_n++;
	while (at < end &&
	       (at->kind != con.kind ||
	        (at->topology != con.topology && !(empty && constraint_topology(c, at)->live == 0))))
		at++;
	if (at == end)
		at = add(c, &con);
	/* All terms of affinity have the same counter. */
	if (!empty && (con.kind != CONSTRAINT_AFFINITY || at->counters_n == 0))
		counter_add(at, counter);
	return at;
}

static void add_term(struct constraints *c, const struct shape_links *links,
                     const struct term_link *t)
{
	const bool affinity = t->term->kind == POD_TERM_AFFINITY;
	/* A pod must match all affinity terms to count for any (interpodaffinity:
	 * podMatchesAllAffinityTerms). */
	const selector_id selector = affinity ? links->affinity : t->selector;
	struct constraint *con;

	if (!affinity && t->term->kind != POD_TERM_ANTI_AFFINITY)
		return;
	c->affine = c->affine || affinity;
	con = add_pods(c,
	               (struct constraint){ .kind = affinity ? CONSTRAINT_AFFINITY : CONSTRAINT_ANTI,
	                                    .topology = t->topology },
	               c->pod_counts->selectors.slots[selector].placed);
	con->self = con->self || class_matches(&c->pod_counts->pod_classes, c->class, selector);
}

static void add_spread(struct constraints *c, const struct spread_link *t)
{
	struct constraint *con;

	if (!(t->spread->flags & SPREAD_HARD))
		return;
	c->rules_n++;
	con = add(c, &(struct constraint){ .kind = CONSTRAINT_SPREAD,
	                                   .topology = t->topology,
	                                   .spread = t->spread,
	                                   .self = t->self_always });
	if (t->selector != SELECTOR_NONE) {
		counter_add(con, c->pod_counts->selectors.slots[t->selector].staying);
		con->self = con->self || class_matches(&c->pod_counts->pod_classes, c->class, t->selector);
	}
	con->eligible = eligible_new(c, t->spread);
}

/* Anti-affinity terms of placed pods that match the class (interpodaffinity:
 * satisfyExistingPodsAntiAffinity). */
static void add_existing(struct constraints *c)
{
	for (placed_term_id id = 0; id < c->pod_counts->placed_terms_n; id++) {
		const struct placed_term *b = &c->pod_counts->placed_terms[id];

		if (b->refs > 0 && b->kind == POD_TERM_ANTI_AFFINITY &&
		    class_matches(&c->pod_counts->pod_classes, c->class, b->selector))
			add_pods(c, (struct constraint){ .kind = CONSTRAINT_ANTI, .topology = b->topology },
			         b->holders);
	}
}

static void add_policy(struct constraints *c, const struct policy_link *link)
{
	const struct topology *t = &c->pod_counts->topologies.slots[link->topology];
	struct constraint *con =
		add(c, &(struct constraint){
				   .kind = CONSTRAINT_POLICY,
				   .topology = link->topology,
				   .policy = link,
				   .self = class_matches(&c->pod_counts->pod_classes, c->class, link->selector) });

	c->rules_n++;
	counter_add(con, c->pod_counts->selectors.slots[link->selector].staying);
	con->replicas = must_array(t->domains, sizeof(*con->replicas));
	con->left = must_array(t->domains, sizeof(*con->left));
	for (uint32_t d = 0; d < t->domains; d++)
		con->replicas[d] = policy_replicas(link, t, d);
	c->tiered = true;
}

static void add_all(struct constraints *c, const struct shape_links *links)
{
	for (uint32_t i = 0; links && i < links->terms_n; i++)
		add_term(c, links, &links->terms[i]);
	for (uint32_t i = 0; links && i < links->spreads_n; i++)
		add_spread(c, &links->spreads[i]);
	add_existing(c);
	/* The last one: struct constraints.tiered. */
	if (links && links->policy.policy)
		add_policy(c, &links->policy);
}

struct constraints *constraints_new(const struct pod_counts *pod_counts, class_id class,
                                    const tree_key *base)
{
	struct constraints *c = must_alloc(sizeof(*c));

	assert(class < pod_classes_used(&pod_counts->pod_classes));
	c->pod_counts = pod_counts;
	c->class = class;
	c->nodes = pod_counts->nodes->count;
	add_all(c, class_links(pod_counts, class));
	if (c->n == 0) {
		free(c);
		return NULL;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		constraint_sum(c, &c->at[i]);
		c->wide += !c->at[i].single;
	}
	c->base = must_array(c->nodes, sizeof(*c->base));
	c->segment = must_array(c->nodes, sizeof(*c->segment));
	c->place = must_array(c->nodes, sizeof(*c->place));
	c->ranks = must_array(c->nodes, sizeof(*c->ranks));
	segments_build(c);
	c->first = constraints_are_first(c);
	constraints_rebase(c, base);
	segments_set(c);
	return c;
}

void constraints_free(struct constraints *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++)
		constraint_free(&c->at[i]);
	free(c->at);
	free(c->base);
	free(c->segment);
	free(c->place);
	free(c->ranks);
	free(c->segments);
	free(c->trees);
	free(c);
}

static bool constraint_check(const struct constraints *c, const struct constraint *con)
{
	struct constraint fresh = *con;
	bool same;

	fresh.total = 0;
	fresh.live = 0;
	constraint_sum(c, &fresh);
	same = fresh.total == con->total && fresh.domains == con->domains &&
	       memcmp(fresh.sums, con->sums, con->domains * sizeof(*con->sums)) == 0 &&
	       (con->kind != CONSTRAINT_SPREAD ||
	        (fresh.least == con->least && fresh.live == con->live &&
	         memcmp(fresh.floors, con->floors, con->domains * sizeof(*con->floors)) == 0));
	free(fresh.seen);
	free(fresh.sums);
	free(fresh.floors);
	return same;
}

bool constraints_check(const struct constraints *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!constraint_check(c, &c->at[i]))
			return false;
	return constraints_are_first(c) == c->first && segments_check(c);
}
