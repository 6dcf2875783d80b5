/* SPDX-License-Identifier: Apache-2.0 */
/* The default topology spread constraints of a pod in its shape. */
#include "frontend/model/pods/owners.h"
#include "frontend/model/shapes/shape_draft.h"

#include <assert.h>
#include <stdlib.h>

/* Pairs of selectors, each key once. */
struct pair_list {
	struct arena *arena;
	struct pod_label *at;
	size_t n, cap;
};

/* A later value of a key replaces the former. */
static void list_set(struct pair_list *l, uint32_t key, uint32_t value)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->at[i].key == key) {
			l->at[i].value = value;
			return;
		}
	}
	l->at = arena_grow(l->arena, l->at, l->n, &l->cap, sizeof(*l->at));
	l->at[l->n++] = (struct pod_label){ key, value };
}

static bool is_pair(const struct requirement *q)
{
	return q->op == REQUIRE_IN && q->values_n == 1;
}

static void list_set_all(struct pair_list *l, const struct label_rules *r)
{
	for (uint32_t i = 0; r && i < r->n; i++)
		if (is_pair(&r->at[i]))
			list_set(l, r->at[i].key, r->values[r->at[i].values_first]);
}

static void list_services(const struct model *m, struct pair_list *l, const struct spread_cause *c)
{
	for (uint32_t i = 0; i < c->labels_n; i++) {
		uint32_t s = service_first(m, c->namespace, &c->labels[i]);

		for (; s != SLOT_NONE; s = owner_at(m, s)->pair_next)
			if (service_selects(owner_at(m, s)->rules, c->labels, c->labels_n))
				list_set_all(l, owner_at(m, s)->rules);
	}
}

static int pair_order(const void *a, const void *b)
{
	const struct pod_label *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static bool is_among(const struct pair_list *l, const struct requirement *q, const uint32_t *values)
{
	for (size_t i = 0; i < l->n; i++)
		if (is_pair(q) && l->at[i].key == q->key && l->at[i].value == values[0])
			return true;
	return false;
}

/* As helper.DefaultSelector of kube-scheduler: a ReplicationController's selector is merged with
 * those of services, the selectors of the others are requirements on top. */
static void default_clauses(struct draft *d, const struct spread_cause *c, struct span *out)
{
	struct pair_list l = { .arena = d->arena };
	const struct named_key key = { c->owner_kind, c->namespace, c->owner };
	const struct label_rules *rules = NULL;
	uint32_t owner = SLOT_NONE;

	list_services(d->m, &l, c);
	if (c->owner_kind != OWNER_NONE)
		owner = named_find(d->m, &d->m->owners, &key);
	if (owner != SLOT_NONE)
		rules = owner_at(d->m, owner)->rules;
	if (c->owner_kind == OWNER_REPLICATION_CONTROLLER) {
		list_set_all(&l, rules);
		rules = NULL;
	}
	if (l.n > 1)
		qsort(l.at, l.n, sizeof(*l.at), pair_order);
	out->first = draft_count(d, SECTION_CLAUSES);
	for (size_t i = 0; i < l.n; i++)
		draft_requirement(
			d, &(struct requirement){ .op = REQUIRE_IN, .key = l.at[i].key, .values_n = 1 },
			&l.at[i].value);
	for (uint32_t i = 0; rules && i < rules->n; i++)
		if (!is_among(&l, &rules->at[i], rules->values + rules->at[i].values_first))
			draft_requirement(d, &rules->at[i], rules->values + rules->at[i].values_first);
	out->n = draft_count(d, SECTION_CLAUSES) - out->first;
}

#define ZONE_KEY "topology.kubernetes.io/zone"

static void add_default_spread(struct draft *d, const char *topology, uint32_t max_skew,
                               uint32_t flags, struct span clauses)
{
	struct spread *s = draft_more(d, SECTION_SPREADS);

	*s = (struct spread){
		.flags = flags | SPREAD_DEFAULT, .max_skew = max_skew, .min_domains = 1, .clauses = clauses
	};
	s->topology = model_number(&d->m->keys, text_of(topology));
	draft_keep(d, SECTION_SPREADS);
}

/* kube-scheduler's systemDefaultConstraints. */
void draft_default_spreads(struct draft *d, const struct spread_cause *cause)
{
	struct span clauses;

	default_clauses(d, cause, &clauses);
	if (clauses.n == 0)
		return;
	add_default_spread(d, HOSTNAME_KEY, 3, SPREAD_BY_NODE, clauses);
	add_default_spread(d, ZONE_KEY, 5, 0, clauses);
}

/* A pod has constraints of its own, or the default ones. */
static bool spreads_by_default(const struct draft *d)
{
	const struct spread *spreads = (const void *)d->sections[SECTION_SPREADS].at;
	const uint32_t n = draft_count(d, SECTION_SPREADS);

	return n > 0 && (spreads[n - 1].flags & SPREAD_DEFAULT);
}

uint32_t draft_terms(const struct draft *d)
{
	return draft_count(d, SECTION_POD_TERMS) +
	       (spreads_by_default(d) ? 0 : draft_count(d, SECTION_SPREADS));
}

void draft_strip_default_spreads(struct draft *d)
{
	const struct spread *spreads = (const void *)d->sections[SECTION_SPREADS].at;
	uint32_t n = draft_count(d, SECTION_SPREADS), clauses;

	if (!spreads_by_default(d))
		return;
	clauses = spreads[n - 1].clauses.n; /* of both of them */
	assert(clauses <= draft_count(d, SECTION_CLAUSES));
	draft_cut(d, SECTION_SPREADS, n);
	draft_cut_clauses(d, clauses);
}
