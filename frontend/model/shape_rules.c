/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod asks of a node by itself: requests, labels, taints, images. */
#include "frontend/model/shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ------------------------------------------------------------------ */

static int amount_order(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	return x->resource < y->resource ? -1 : x->resource > y->resource;
}

int draft_amounts(struct draft *d, const struct pod_object *pod, const struct effective *effective)
{
	for (uint32_t i = 0; i < pod->resources.n; i++) {
		struct amount *a;
		int rc;

		if (effective->amount[i] == 0 || i == RESOURCE_PODS)
			continue;
		a = draft_more(d, SECTION_AMOUNTS);
		if (!a)
			return -ENOMEM;
		a->value = effective->amount[i];
		rc = model_intern(d->m, &d->m->columns, pod->resources.at[i], &a->resource,
		                  &d->trouble->flag);
		if (rc < 0)
			return rc;
		draft_keep(d, SECTION_AMOUNTS);
	}
	if (draft_count(d, SECTION_AMOUNTS) > 0)
		qsort(d->sections[SECTION_AMOUNTS].at, d->sections[SECTION_AMOUNTS].n,
		      sizeof(struct amount), amount_order);
	return 0;
}

/* One request of the shape is this much of that resource. */
static bool asks_amount(struct model *m, const struct event_shape *e, struct text resource,
                        int64_t value)
{
	const struct amount *amounts = (const void *)(e + 1);
	const char *flag = NULL;
	uint32_t column;
	bool found = false;

	if (!intern_has(&m->columns, resource) ||
	    model_intern(m, &m->columns, resource, &column, &flag) < 0)
		return false;
	for (uint32_t i = 0; i < e->amounts_n; i++)
		found = found || (amounts[i].resource == column && amounts[i].value == value);
	intern_give(&m->columns, column);
	return found;
}

bool shape_asks(struct model *m, uint32_t shape, const struct pod_object *pod,
                const struct effective *effective)
{
	const struct event_shape *e = (const void *)shape_at(m, shape)->body;
	uint32_t n = 0;

	for (uint32_t i = 0; i < pod->resources.n; i++) {
		if (effective->amount[i] == 0 || i == RESOURCE_PODS)
			continue;
		if (!asks_amount(m, e, pod->resources.at[i], effective->amount[i]))
			return false;
		n++;
	}
	return n == e->amounts_n;
}

/* ---- requirements --------------------------------------------------------------- */

static bool is_compare(const struct node_rule *r)
{
	return r->op == REQUIRE_GT || r->op == REQUIRE_LT;
}

bool draft_rule_is_void(const struct node_rule *r)
{
	return r->is_void || (is_compare(r) && label_number(r->values[0]) == LABEL_NOT_A_NUMBER);
}

/* Of any field but the name kube-scheduler knows no more than that it is "". */
static int add_unknown_field(struct draft *d, const struct node_rule *rule, struct requirement *r)
{
	bool is_empty = rule->values_n > 0 && rule->values[0].bytes == 0;

	r->key = LABEL_KEY_NODE_NAME;
	r->op = is_empty == (rule->op == REQUIRE_IN) ? REQUIRE_EXISTS : REQUIRE_NOT_EXISTS;
	return 0;
}

static int add_requirement(struct draft *d, enum section section, uint32_t term,
                           const struct node_rule *rule)
{
	struct requirement r = { .term = term, .op = rule->op }, *place = draft_more(d, section);
	struct span values = { 0 };
	int rc = 0;

	if (!place)
		return -ENOMEM;
	if (rule->is_field && !text_is(rule->key, "metadata.name")) {
		rc = add_unknown_field(d, rule, &r);
	} else {
		if (is_compare(rule))
			r.number = label_number(rule->values[0]);
		else
			rc = draft_add_values(d, rule->values, rule->values_n, &values);
		if (rc == 0 && !rule->is_field)
			rc = draft_key(d, rule->key, &r.key);
		else
			r.key = LABEL_KEY_NODE_NAME;
	}
	if (rc < 0)
		return rc;
	r.values_first = values.n > 0 ? values.first : 0;
	r.values_n = values.n;
	*place = r;
	draft_keep(d, section);
	return 0;
}

int draft_requirement(struct draft *d, const struct requirement *from, const uint32_t *values)
{
	struct requirement *clause = draft_more(d, SECTION_CLAUSES);
	uint32_t *value;

	if (!clause)
		return -ENOMEM;
	*clause = (struct requirement){ .op = from->op,
		                            .key = from->key,
		                            .values_first =
		                                from->values_n > 0 ? draft_count(d, SECTION_VALUES) : 0,
		                            .values_n = from->values_n };
	for (uint32_t i = 0; i < from->values_n; i++) {
		value = draft_more(d, SECTION_VALUES);
		if (!value)
			return -ENOMEM;
		*value = values[i];
		intern_hold(&d->m->values, values[i]);
		draft_keep(d, SECTION_VALUES);
	}
	intern_hold(&d->m->keys, from->key);
	draft_keep(d, SECTION_CLAUSES);
	return 0;
}

int draft_clauses(struct draft *d, const struct node_rule *rules, size_t n, struct span *out)
{
	int rc = 0;

	out->first = draft_count(d, SECTION_CLAUSES);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = draft_rule_is_void(&rules[i])
		         ? draft_fails(d, "a label selector of it can't be parsed")
		         : add_requirement(d, SECTION_CLAUSES, 0, &rules[i]);
	out->n = draft_count(d, SECTION_CLAUSES) - out->first;
	return rc;
}

/* ---- nodeSelector, required node affinity ------------------------------------------- */

#define TERMS_MAX 1024

/* kube-scheduler fails to parse the term, so it matches nothing; but the names in it
 * it has read before that. */
static int add_void_term(struct draft *d, uint32_t term, const struct node_term *t)
{
	const struct node_rule never = { .key = text_of("metadata.name"),
		                             .op = REQUIRE_NOT_EXISTS,
		                             .is_field = true };

	for (size_t i = 0; i < t->n; i++) {
		const struct node_rule *r = &t->rules[i];
		int rc;

		if (!r->is_field || r->op != REQUIRE_IN || !text_is(r->key, "metadata.name"))
			continue;
		rc = add_requirement(d, SECTION_REQUIREMENTS, term, r);
		if (rc < 0)
			return rc;
	}
	return add_requirement(d, SECTION_REQUIREMENTS, term, &never);
}

static int add_term(struct draft *d, uint32_t term, const struct node_term *t)
{
	int rc = 0;

	for (size_t i = 0; i < t->n; i++)
		if (draft_rule_is_void(&t->rules[i]))
			return add_void_term(d, term, t);
	for (size_t i = 0; rc == 0 && i < t->n; i++)
		rc = add_requirement(d, SECTION_REQUIREMENTS, term, &t->rules[i]);
	return rc;
}

static int add_requirements(struct draft *d, const struct pod_object *pod)
{
	int rc = 0;

	if (pod->terms_n > TERMS_MAX)
		return draft_fails(d, SHAPE_TOO_LONG);
	for (size_t i = 0; rc == 0 && i < pod->node_selector.n; i++) {
		struct node_rule rule = { .key = pod->node_selector.at[i].key,
			                      .op = REQUIRE_IN,
			                      .values = &pod->node_selector.at[i].value,
			                      .values_n = 1 };

		rc = add_requirement(d, SECTION_REQUIREMENTS, 0, &rule);
	}
	for (size_t t = 0; rc == 0 && t < pod->terms_n; t++)
		rc = add_term(d, (uint32_t)t + 1, &pod->terms[t]);
	if (pod->has_node_terms)
		d->head.terms_n = pod->terms_n > 0 ? (uint32_t)pod->terms_n : 1;
	return rc;
}

/* ---- preferred node affinity -------------------------------------------------------- */

/* What can't be parsed here makes kube-scheduler fail with an error. */
static int check_preference(struct draft *d, const struct node_term *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct node_rule *r = &t->rules[i];
		const char *text;

		if (!draft_rule_is_void(r))
			continue;
		if (is_compare(r) && r->values_n == 1)
			text = arena_printf(
				d->arena,
				"preferred node affinity, key %.*s: Invalid value: \"%.*s\": for 'Gt', "
				"'Lt' operators, the value must be an integer",
				(int)r->key.bytes, r->key.at, (int)r->values[0].bytes, r->values[0].at);
		else
			text =
				arena_printf(d->arena,
			                 "preferred node affinity, key %.*s: an operator with values that it "
			                 "can't have",
			                 (int)r->key.bytes, r->key.at);
		return text ? draft_fails(d, text) : -ENOMEM;
	}
	return 0;
}

static int add_preference(struct draft *d, const struct preference_object *from)
{
	int rc = check_preference(d, &from->term);
	struct preference *p = draft_more(d, SECTION_PREFERENCES);

	if (rc < 0)
		return rc;
	if (!p)
		return -ENOMEM;
	if (from->weight < 1 || from->weight > SHAPE_WEIGHT_MAX)
		return draft_fails(d, "a weight of its preferred node affinity is not in 1 to 100");
	p->weight = from->weight;
	rc = draft_clauses(d, from->term.rules, from->term.n, &p->clauses);
	if (rc == 0)
		draft_keep(d, SECTION_PREFERENCES);
	return rc;
}

/* ---- tolerations ------------------------------------------------------------------------ */

static int add_toleration(struct draft *d, const struct toleration_object *from)
{
	struct toleration *t = draft_more(d, SECTION_TOLERATIONS);
	int rc;

	if (!t)
		return -ENOMEM;
	*t = (struct toleration){ .key = TOLERATE_EVERY_KEY,
		                      .any_value = from->exists,
		                      .effect = from->effect };
	if (from->key.bytes > 0) {
		rc = draft_key(d, from->key, &t->key);
		if (rc < 0)
			return rc;
	}
	if (!from->exists) {
		rc = draft_value(d, from->value, &t->value);
		if (rc < 0) {
			if (from->key.bytes > 0)
				intern_give(&d->m->keys, t->key);
			return rc;
		}
	}
	draft_keep(d, SECTION_TOLERATIONS);
	return 0;
}

/* The taint that a cordon stands for: node.kubernetes.io/unschedulable:NoSchedule. */
static bool tolerates_cordon(const struct toleration_object *t)
{
	if (t->effect != EFFECT_ANY && t->effect != EFFECT_NO_SCHEDULE)
		return false;
	if (t->key.bytes > 0 && !text_is(t->key, "node.kubernetes.io/unschedulable"))
		return false;
	return t->exists || t->value.bytes == 0;
}

int draft_node_rules(struct draft *d, const struct pod_object *pod)
{
	int rc = add_requirements(d, pod);

	for (size_t i = 0; rc == 0 && i < pod->tolerations_n; i++) {
		rc = add_toleration(d, &pod->tolerations[i]);
		if (tolerates_cordon(&pod->tolerations[i]))
			d->head.flags |= SHAPE_TOLERATES_CORDON;
	}
	for (size_t i = 0; rc == 0 && i < pod->preferences_n; i++)
		rc = add_preference(d, &pod->preferences[i]);
	return rc;
}

/* ---- images ------------------------------------------------------------------------------ */

/* As kube-scheduler has it: without a tag or digest it is the latest. */
static const char *normal_name(struct arena *arena, struct text name)
{
	const char *colon = memrchr(name.at, ':', name.bytes),
			   *slash = memrchr(name.at, '/', name.bytes);

	if (colon && (!slash || colon > slash))
		return arena_copy(arena, name);
	return arena_printf(arena, "%.*s:latest", (int)name.bytes, name.at);
}

static int number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int draft_images(struct draft *d, const struct pod_object *pod)
{
	d->head.image_containers = pod->image_containers;
	for (size_t i = 0; i < pod->images_n; i++) {
		uint32_t *number = draft_more(d, SECTION_IMAGES);
		const char *name;
		int rc;

		if (pod->images[i].bytes == 0)
			continue;
		name = normal_name(d->arena, pod->images[i]);
		if (!number || !name)
			return -ENOMEM;
		rc = image_take(d->m, text_of(name), number, &d->trouble->flag);
		if (rc < 0)
			return rc;
		draft_keep(d, SECTION_IMAGES);
	}
	/* Sums don't ask for an order. */
	if (draft_count(d, SECTION_IMAGES) > 0)
		qsort(d->sections[SECTION_IMAGES].at, d->sections[SECTION_IMAGES].n, sizeof(uint32_t),
		      number_order);
	return 0;
}
