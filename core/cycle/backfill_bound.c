/* SPDX-License-Identifier: Apache-2.0 */
/* Upper bounds of the pods of a class that an empty cluster takes: one that all other pods have
 * left, but those that do not end by themselves. */
#include "core/cycle/backfill_impl.h"

#include "core/cluster/rule_node.h"
#include "core/filter/rule_policy.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* noderesources.Fit: fitsRequest, and the filters of the node alone, on a node where all pods that
 * end have ended. */
static uint32_t empty_count(const struct core *c, const struct lasting *lasting, node_id id,
                            const struct shape *s, uint32_t most)
{
	uint32_t least = most;

	if (!shape_allows(s, id))
		return 0;
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		int64_t amount = nodes_allocatable(&c->nodes, id, q->resource);
		uint32_t count;

		if (lasting)
			amount = lasting_leaves(lasting, id, q->resource, amount);
		count = amount_count(amount, q->value, q->inverse, most);
		least = count < least ? count : least;
	}
	return least;
}

uint32_t empty_most(const struct core *c, const struct lasting *lasting, node_id id,
                    const struct shape *s, uint32_t most)
{
	/* nodeports.NodePorts: two pods with the same host port conflict. */
	return empty_count(c, lasting, id, s, s->body->ports_n > 0 && most > 1 ? 1 : most);
}

/* What the domains of a topology could take if they were empty. */
struct reach {
	const struct lasting *lasting; /* pods that are left; NULL: none */
	uint64_t *sums;                /* by domain */
	bool *counted;                 /* by domain: it is eligible for the skew of a spread */
	uint64_t without;              /* on nodes without the key */
	uint32_t domains;
};

/* The conditions of `counted` are those of podtopologyspread: matchNodeInclusionPolicies. */
static void reach_find(const struct core *c, class_id class, topology_id topology,
                       const struct spread *spread, uint32_t most, struct reach *r)
{
	const struct topology *t = &c->pod_counts.topologies.slots[topology];
	const struct shape *s = class_shape(&c->pod_counts, class);

	memset(r->sums, 0, c->nodes.span * sizeof(*r->sums));
	memset(r->counted, 0, c->nodes.span * sizeof(*r->counted));
	r->without = 0;
	r->domains = t->domains;
	for (node_id id = 0; id < c->nodes.used; id++) {
		const struct node *n = &c->nodes.slots[id];
		uint32_t d = t->domain[id];

		if (!node_present(n))
			continue;
		if (d == DOMAIN_NONE) {
			r->without += empty_most(c, r->lasting, id, s, most);
			continue;
		}
		r->sums[d] += empty_most(c, r->lasting, id, s, most);
		if (spread && ((spread->flags & SPREAD_IGNORES_AFFINITY) || rule_affinity(s, n)) &&
		    !((spread->flags & SPREAD_HONORS_TAINTS) && rule_taint(s, n)))
			r->counted[d] = true;
	}
}

/* interpodaffinity.Filter.  Anti-affinity to pods of the class itself (satisfyPodAntiAffinity): one
 * in a domain.  Affinity to itself (satisfyPodAffinity): all in one domain; to others: the domains
 * where those are now. */
static uint64_t term_most(const struct core *c, class_id class, const struct term_link *link,
                          const struct reach *r)
{
	const struct pod_counts *cs = &c->pod_counts;
	const struct shape_links *links = class_links(cs, class);
	const struct topology *t = &cs->topologies.slots[link->topology];
	const bool near = link->term->kind == POD_TERM_AFFINITY;
	const bool self =
		class_matches(&cs->pod_classes, class, near ? links->affinity : link->selector);
	uint64_t sum = near ? 0 : r->without, biggest = 0, there = 0;
	const struct node_counts *placed;

	for (uint32_t d = 0; d < r->domains; d++) {
		sum += near || !self ? r->sums[d] : r->sums[d] > 0;
		biggest = r->sums[d] > biggest ? r->sums[d] : biggest;
	}
	if (!near)
		return sum;
	/* A domain with two of them is counted twice: this is an upper bound. */
	placed = cs->selectors.slots[links->affinity].placed;
	for (node_id id = 0, end = c->nodes.used; (id = node_counts_next(placed, id, end)) < end; id++)
		if (t->domain[id] != DOMAIN_NONE)
			there += r->sums[t->domain[id]];
	return self && biggest > there ? biggest : there;
}

/* podtopologyspread.Filter with maxSkew over the least domain, which is 0 below minDomains. */
static uint64_t spread_most(const struct core *c, class_id class, const struct spread_link *link,
                            const struct reach *r)
{
	const bool self =
		link->self_always || (link->selector != SELECTOR_NONE &&
	                          class_matches(&c->pod_counts.pod_classes, class, link->selector));
	uint64_t sum = 0, least = UINT64_MAX;
	uint32_t live = 0;

	for (uint32_t d = 0; d < r->domains; d++) {
		live += r->counted[d];
		least = r->counted[d] && r->sums[d] < least ? r->sums[d] : least;
	}
	if (live < link->spread->min_domains || live == 0)
		least = 0;
	for (uint32_t d = 0; d < r->domains; d++)
		sum += self && r->sums[d] > least + link->spread->max_skew ? least + link->spread->max_skew
		                                                           : r->sums[d];
	return sum;
}

/* A WorkloadPolicy: design.md, decision 021. */
static uint64_t policy_most(const struct core *c, class_id class, const struct policy_link *link,
                            const struct reach *r)
{
	const struct topology *t = &c->pod_counts.topologies.slots[link->topology];
	const bool bounds = policy_bounds(&c->pod_counts, class, link);
	uint64_t sum = 0;

	for (uint32_t d = 0; d < r->domains; d++) {
		uint32_t replicas = policy_replicas(link, t, d);

		if (policy_filter(link, d, replicas, 0) == FILTER_PASSED)
			sum += bounds && replicas < r->sums[d] ? replicas : r->sums[d];
	}
	return sum;
}

/* The least of what each rule allows by itself. */
static uint64_t rules_most(const struct core *c, const struct lasting *lasting, class_id class,
                           uint32_t most)
{
	const struct shape_links *links = class_links(&c->pod_counts, class);
	struct reach r = { .lasting = lasting,
		               .sums = must_array(c->nodes.span, sizeof(*r.sums)),
		               .counted = must_array(c->nodes.span, sizeof(*r.counted)) };
	uint64_t least = most, now;

	for (uint32_t i = 0; least > 0 && i < links->terms_n; i++) {
		const uint32_t kind_of_term = links->terms[i].term->kind;

		if (kind_of_term != POD_TERM_AFFINITY && kind_of_term != POD_TERM_ANTI_AFFINITY)
			continue;
		reach_find(c, class, links->terms[i].topology, NULL, most, &r);
		now = term_most(c, class, &links->terms[i], &r);
		least = now < least ? now : least;
	}
	for (uint32_t i = 0; least > 0 && i < links->spreads_n; i++) {
		if (!(links->spreads[i].spread->flags & SPREAD_HARD))
			continue;
		reach_find(c, class, links->spreads[i].topology, links->spreads[i].spread, most, &r);
		now = spread_most(c, class, &links->spreads[i], &r);
		least = now < least ? now : least;
	}
	if (least > 0 && links->policy.policy) {
		reach_find(c, class, links->policy.topology, NULL, most, &r);
		now = policy_most(c, class, &links->policy, &r);
		least = now < least ? now : least;
	}
	free(r.sums);
	free(r.counted);
	return least;
}

bool class_has_rules(const struct core *c, class_id class)
{
	assert(class < pod_classes_used(&c->pod_counts.pod_classes));
	return class_links(&c->pod_counts, class) != NULL;
}

uint32_t ruled_most(struct core *c, const struct lasting *lasting, class_id class, uint32_t most)
{
	const struct shape_links *links = class_links(&c->pod_counts, class);

	assert(class < pod_classes_used(&c->pod_counts.pod_classes));
	if (most == 0 || !links)
		return most;
	budget_spend(&c->budget,
	             (links->terms_n + links->spreads_n + UINT64_C(1)) * c->nodes.used * NODE_STEPS);
	return (uint32_t)rules_most(c, lasting, class, most);
}
