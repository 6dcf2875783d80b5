/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a pod about other pods: affinity, topology spread, host ports. */
#include "frontend/model/shapes/shape_draft.h"

#include <errno.h>
#include <stdlib.h>

/* Of terms, and of constraints: for each the core counts pods on every node. */
#define POD_RULES_MAX 256

static int number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sort the values of the span, which is the last one, and keep each once. */
static void sort_values(struct draft *d, struct span *span)
{
	uint32_t *values = (uint32_t *)(void *)d->sections[SECTION_VALUES].at + span->first, kept = 1;

	if (span->n < 2)
		return;
	qsort(values, span->n, sizeof(*values), number_order);
	for (uint32_t i = 1; i < span->n; i++) {
		if (values[i] == values[kept - 1])
			intern_give(&d->m->values, values[i]);
		else
			values[kept++] = values[i];
	}
	d->sections[SECTION_VALUES].n -= span->n - kept;
	span->n = kept;
}

static int add_namespaces(struct draft *d, const struct pod_object *pod,
                          const struct pod_term_object *from, struct pod_term *t)
{
	if (from->namespaces.n == 0 && !from->namespace_selector.is_given) {
		t->namespaces = draft_add_values(d, &pod->meta.namespace, 1);
		return 0;
	}
	t->namespaces = draft_add_values(d, from->namespaces.at, from->namespaces.n);
	sort_values(d, &t->namespaces);
	if (!from->namespace_selector.is_given)
		return 0;
	if (from->namespace_selector.rules.n == 0) {
		t->flags |= TERM_EVERY_NAMESPACE;
		return 0;
	}
	t->flags |= TERM_NAMESPACES_CHOSEN;
	return draft_clauses(d, from->namespace_selector.rules.rules, from->namespace_selector.rules.n,
	                     &t->namespace_clauses);
}

static int add_pod_term(struct draft *d, const struct pod_object *pod,
                        const struct pod_term_object *from)
{
	struct pod_term *t = draft_more(d, SECTION_POD_TERMS);
	int rc;

	*t = (struct pod_term){ .kind = from->kind, .weight = from->weight };
	if (from->weight < 0 || from->weight > SHAPE_WEIGHT_MAX)
		return draft_fails(d, "a weight of its preferred pod affinity is not in 1 to 100");
	if (!from->selector.is_given)
		t->flags |= TERM_MATCHES_NOTHING;
	rc = draft_clauses(d, from->selector.rules.rules, from->selector.rules.n, &t->clauses);
	if (rc == 0)
		rc = add_namespaces(d, pod, from, t);
	if (rc < 0)
		return rc;
	t->topology = model_number(&d->m->keys, from->topology);
	draft_keep(d, SECTION_POD_TERMS);
	return 0;
}

int draft_pod_terms(struct draft *d, const struct pod_object *pod, bool strict)
{
	if (pod->pod_terms_n > POD_RULES_MAX)
		return draft_fails(d, SHAPE_TOO_LONG);
	for (size_t i = 0; i < pod->pod_terms_n; i++) {
		uint32_t clauses = draft_count(d, SECTION_CLAUSES), values = draft_count(d, SECTION_VALUES);
		int rc = add_pod_term(d, pod, &pod->pod_terms[i]);

		if (rc == -EINVAL && !strict) {
			draft_cut(d, SECTION_CLAUSES, draft_count(d, SECTION_CLAUSES) - clauses);
			draft_cut(d, SECTION_VALUES, draft_count(d, SECTION_VALUES) - values);
		} else if (rc < 0) {
			return rc;
		}
	}
	return 0;
}

static int add_spread(struct draft *d, const struct spread_object *from)
{
	struct spread *s = draft_more(d, SECTION_SPREADS);
	int rc;

	if (from->max_skew < 1)
		return draft_fails(d, "a maxSkew of its topology spread constraints is less than 1");
	*s = (struct spread){ .flags = from->flags,
		                  .max_skew = (uint32_t)from->max_skew,
		                  .min_domains = from->min_domains > 0 ? (uint32_t)from->min_domains : 1 };
	if (!from->selector.is_given)
		s->flags |= SPREAD_MATCHES_NOTHING;
	if (text_is(from->topology, HOSTNAME_KEY))
		s->flags |= SPREAD_BY_NODE;
	rc = draft_clauses(d, from->selector.rules.rules, from->selector.rules.n, &s->clauses);
	if (rc < 0)
		return rc;
	s->topology = model_number(&d->m->keys, from->topology);
	draft_keep(d, SECTION_SPREADS);
	return 0;
}

int draft_spreads(struct draft *d, const struct pod_object *pod)
{
	int rc = 0;

	if (pod->spreads_n > POD_RULES_MAX)
		return draft_fails(d, SHAPE_TOO_LONG);
	for (size_t i = 0; rc == 0 && i < pod->spreads_n; i++)
		rc = add_spread(d, &pod->spreads[i]);
	return rc;
}

void draft_ports(struct draft *d, const struct pod_object *pod)
{
	for (size_t i = 0; i < pod->ports_n; i++) {
		const struct port_object *from = &pod->ports[i];
		struct host_port *p = draft_more(d, SECTION_PORTS);

		p->port = from->port;
		p->address = PORT_EVERY_ADDRESS;
		if (from->address.bytes > 0 && !text_is(from->address, "0.0.0.0"))
			p->address = model_number(&d->m->values, from->address);
		p->protocol = model_number(&d->m->values, from->protocol);
		draft_keep(d, SECTION_PORTS);
	}
}
