/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod asks of other pods: affinity, spread, and ports that it won't share. */
#include "frontend/model/shape.h"

#include <errno.h>
#include <stdlib.h>

/* Of terms and of constraints; for each the core counts pods on every node. */
#define POD_RULES_MAX 256

/* ---- affinity ------------------------------------------------------------------- */

static int number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The values of the span, which is the last one, sorted and each once. */
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
	int rc;

	if (from->namespaces.n == 0 && !from->namespace_selector.is_given)
		return draft_add_values(d, &pod->meta.namespace, 1, &t->namespaces);
	rc = draft_add_values(d, from->namespaces.at, from->namespaces.n, &t->namespaces);
	if (rc < 0)
		return rc;
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
	struct pod_term t = { .kind = from->kind, .weight = from->weight },
					*place = draft_more(d, SECTION_POD_TERMS);
	int rc;

	if (!place)
		return -ENOMEM;
	if (from->weight < 0 || from->weight > SHAPE_WEIGHT_MAX)
		return draft_fails(d, "a weight of its preferred pod affinity is not in 1 to 100");
	if (!from->selector.is_given)
		t.flags |= TERM_MATCHES_NOTHING;
	rc = draft_clauses(d, from->selector.rules.rules, from->selector.rules.n, &t.clauses);
	if (rc == 0)
		rc = add_namespaces(d, pod, from, &t);
	if (rc == 0)
		rc = draft_key(d, from->topology, &t.topology);
	if (rc < 0)
		return rc;
	*place = t;
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

/* ---- spread ----------------------------------------------------------------------- */

#define HOSTNAME_KEY "kubernetes.io/hostname"
#define ZONE_KEY "topology.kubernetes.io/zone"

static int add_spread(struct draft *d, const struct spread_object *from)
{
	struct spread s = { .flags = from->flags,
		                .min_domains = from->min_domains > 0 ? (uint32_t)from->min_domains : 1 };
	struct spread *place = draft_more(d, SECTION_SPREADS);
	int rc;

	if (!place)
		return -ENOMEM;
	if (from->max_skew < 1)
		return draft_fails(d, "a maxSkew of its topology spread constraints is less than 1");
	s.max_skew = (uint32_t)from->max_skew;
	if (!from->selector.is_given)
		s.flags |= SPREAD_MATCHES_NOTHING;
	if (text_is(from->topology, HOSTNAME_KEY))
		s.flags |= SPREAD_BY_NODE;
	rc = draft_clauses(d, from->selector.rules.rules, from->selector.rules.n, &s.clauses);
	if (rc == 0)
		rc = draft_key(d, from->topology, &s.topology);
	if (rc < 0)
		return rc;
	*place = s;
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

static int add_default_spread(struct draft *d, const char *topology, uint32_t max_skew,
                              uint32_t flags, struct span clauses)
{
	struct spread *s = draft_more(d, SECTION_SPREADS);
	int rc;

	if (!s)
		return -ENOMEM;
	*s = (struct spread){
		.flags = flags | SPREAD_DEFAULT, .max_skew = max_skew, .min_domains = 1, .clauses = clauses
	};
	rc = draft_key(d, text_of(topology), &s->topology);
	if (rc == 0)
		draft_keep(d, SECTION_SPREADS);
	return rc;
}

int draft_default_spreads(struct draft *d, const struct spread_cause *cause)
{
	struct span clauses;
	int rc = owner_clauses(d, cause, &clauses);

	if (rc < 0 || clauses.n == 0)
		return rc;
	rc = add_default_spread(d, HOSTNAME_KEY, 3, SPREAD_BY_NODE, clauses);
	return rc < 0 ? rc : add_default_spread(d, ZONE_KEY, 5, 0, clauses);
}

void draft_cut_clauses(struct draft *d, uint32_t n)
{
	const struct requirement *clauses = (const void *)d->sections[SECTION_CLAUSES].at;
	uint32_t values = 0;

	for (uint32_t i = 0; i < n; i++)
		values += clauses[draft_count(d, SECTION_CLAUSES) - 1 - i].values_n;
	draft_cut(d, SECTION_VALUES, values);
	draft_cut(d, SECTION_CLAUSES, n);
}

void draft_strip_default_spreads(struct draft *d)
{
	const struct spread *spreads = (const void *)d->sections[SECTION_SPREADS].at;
	uint32_t n = draft_count(d, SECTION_SPREADS), clauses;

	if (n == 0 || !(spreads[n - 1].flags & SPREAD_DEFAULT))
		return;
	clauses = spreads[n - 1].clauses.n; /* of both of them */
	draft_cut(d, SECTION_SPREADS, n);
	draft_cut_clauses(d, clauses);
}

/* ---- ports -------------------------------------------------------------------------- */

static int add_port(struct draft *d, const struct port_object *from)
{
	struct host_port *p = draft_more(d, SECTION_PORTS);
	bool is_every = from->address.bytes == 0 || text_is(from->address, "0.0.0.0");
	int rc = 0;

	if (!p)
		return -ENOMEM;
	p->port = from->port;
	p->address = PORT_EVERY_ADDRESS;
	if (!is_every)
		rc = draft_value(d, from->address, &p->address);
	if (rc < 0)
		return rc;
	rc = draft_value(d, from->protocol, &p->protocol);
	if (rc == 0)
		draft_keep(d, SECTION_PORTS);
	else if (!is_every)
		intern_give(&d->m->values, p->address);
	return rc;
}

int draft_ports(struct draft *d, const struct pod_object *pod)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < pod->ports_n; i++)
		rc = add_port(d, &pod->ports[i]);
	return rc;
}
