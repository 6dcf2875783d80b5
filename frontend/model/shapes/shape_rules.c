/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a pod that depend on the node alone: labels, taints, images. */
#include "frontend/base/compare.h"
#include "frontend/model/nodes/images.h"
#include "frontend/model/shapes/shape_draft.h"

#include <stdlib.h>

static bool is_compare(const struct node_rule *r)
{
	return r->op == REQUIRE_GT || r->op == REQUIRE_LT;
}

bool draft_rule_is_void(const struct node_rule *r)
{
	return r->is_void || (is_compare(r) && label_number(r->values[0]) == LABEL_NOT_A_NUMBER);
}

/* Of any field but metadata.name kube-scheduler sees the value "" only. */
static void set_unknown_field(const struct node_rule *rule, struct requirement *r)
{
	bool is_empty = rule->values_n > 0 && rule->values[0].bytes == 0;

	r->key = LABEL_KEY_NODE_NAME;
	r->op = is_empty == (rule->op == REQUIRE_IN) ? REQUIRE_EXISTS : REQUIRE_NOT_EXISTS;
}

static void add_requirement(struct draft *d, enum section section, uint32_t term,
                            const struct node_rule *rule)
{
	struct requirement *r = draft_more(d, section);
	struct span values = { 0 };

	r->term = term;
	r->op = rule->op;
	if (rule->is_field && !text_is(rule->key, "metadata.name")) {
		set_unknown_field(rule, r);
	} else {
		if (is_compare(rule))
			r->number = label_number(rule->values[0]);
		else
			values = draft_add_values(d, rule->values, rule->values_n);
		r->key = rule->is_field ? LABEL_KEY_NODE_NAME : model_number(&d->m->keys, rule->key);
	}
	r->values_first = values.n > 0 ? values.first : 0;
	r->values_n = values.n;
	draft_keep(d, section);
}

void draft_requirement(struct draft *d, const struct requirement *from, const uint32_t *values)
{
	struct requirement *clause = draft_more(d, SECTION_CLAUSES);

	*clause = (struct requirement){ .op = from->op, .key = from->key, .values_n = from->values_n };
	if (from->values_n > 0)
		clause->values_first = draft_count(d, SECTION_VALUES);
	for (uint32_t i = 0; i < from->values_n; i++) {
		*(uint32_t *)draft_more(d, SECTION_VALUES) = values[i];
		intern_hold(&d->m->values, values[i]);
		draft_keep(d, SECTION_VALUES);
	}
	intern_hold(&d->m->keys, from->key);
	draft_keep(d, SECTION_CLAUSES);
}

int draft_clauses(struct draft *d, const struct node_rule *rules, size_t n, struct span *out)
{
	out->first = draft_count(d, SECTION_CLAUSES);
	for (size_t i = 0; i < n; i++) {
		if (draft_rule_is_void(&rules[i]))
			return draft_fails(d, "a label selector of it can't be parsed");
		add_requirement(d, SECTION_CLAUSES, 0, &rules[i]);
	}
	out->n = draft_count(d, SECTION_CLAUSES) - out->first;
	return 0;
}

#define TERMS_MAX 1024

/* kube-scheduler (nodeaffinity.newNodeSelectorTerm) fails to parse the term, so it matches nothing;
 * but NodeAffinity.PreFilter has collected the node names in it before that. */
static void add_void_term(struct draft *d, uint32_t term, const struct node_term *t)
{
	const struct node_rule never = { .key = text_of("metadata.name"),
		                             .op = REQUIRE_NOT_EXISTS,
		                             .is_field = true };

	for (size_t i = 0; i < t->n; i++) {
		const struct node_rule *r = &t->rules[i];

		if (r->is_field && r->op == REQUIRE_IN && text_is(r->key, "metadata.name"))
			add_requirement(d, SECTION_REQUIREMENTS, term, r);
	}
	add_requirement(d, SECTION_REQUIREMENTS, term, &never);
}

static void add_term(struct draft *d, uint32_t term, const struct node_term *t)
{
	for (size_t i = 0; i < t->n; i++) {
		if (draft_rule_is_void(&t->rules[i])) {
			add_void_term(d, term, t);
			return;
		}
	}
	for (size_t i = 0; i < t->n; i++)
		add_requirement(d, SECTION_REQUIREMENTS, term, &t->rules[i]);
}

/* nodeSelector is term 0, the terms of required node affinity follow. */
static int add_requirements(struct draft *d, const struct pod_object *pod)
{
	if (pod->terms_n > TERMS_MAX)
		return draft_fails(d, SHAPE_TOO_LONG);
	for (size_t i = 0; i < pod->node_selector.n; i++) {
		struct node_rule rule = { .key = pod->node_selector.at[i].key,
			                      .op = REQUIRE_IN,
			                      .values = &pod->node_selector.at[i].value,
			                      .values_n = 1 };

		add_requirement(d, SECTION_REQUIREMENTS, 0, &rule);
	}
	for (size_t t = 0; t < pod->terms_n; t++)
		add_term(d, (uint32_t)t + 1, &pod->terms[t]);
	if (pod->has_node_terms)
		d->head.terms_n = pod->terms_n > 0 ? (uint32_t)pod->terms_n : 1;
	return 0;
}

/* A preferred term that cannot be parsed makes kube-scheduler fail with an error. */
static int check_preference(struct draft *d, const struct node_term *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct node_rule *r = &t->rules[i];

		if (!draft_rule_is_void(r))
			continue;
		if (is_compare(r) && r->values_n == 1)
			return draft_fails(
				d, arena_printf(
					   d->arena,
					   "preferred node affinity, key %.*s: Invalid value: \"%.*s\": for 'Gt', "
					   "'Lt' operators, the value must be an integer",
					   (int)r->key.bytes, r->key.at, (int)r->values[0].bytes, r->values[0].at));
		return draft_fails(
			d, arena_printf(
				   d->arena,
				   "preferred node affinity, key %.*s: an operator with values that it can't have",
				   (int)r->key.bytes, r->key.at));
	}
	return 0;
}

static int add_preference(struct draft *d, const struct preference_object *from)
{
	int rc = check_preference(d, &from->term);
	struct preference *p = draft_more(d, SECTION_PREFERENCES);

	if (rc < 0)
		return rc;
	if (from->weight < 1 || from->weight > SHAPE_WEIGHT_MAX)
		return draft_fails(d, "a weight of its preferred node affinity is not in 1 to 100");
	p->weight = from->weight;
	rc = draft_clauses(d, from->term.rules, from->term.n, &p->clauses);
	if (rc == 0)
		draft_keep(d, SECTION_PREFERENCES);
	return rc;
}

static void add_toleration(struct draft *d, const struct toleration_object *from)
{
	struct toleration *t = draft_more(d, SECTION_TOLERATIONS);

	*t = (struct toleration){ .key = TOLERATE_EVERY_KEY,
		                      .any_value = from->exists,
		                      .effect = from->effect };
	if (from->key.bytes > 0)
		t->key = model_number(&d->m->keys, from->key);
	if (!from->exists)
		t->value = model_number(&d->m->values, from->value);
	draft_keep(d, SECTION_TOLERATIONS);
}

/* True if it tolerates the taint of a cordoned node: node.kubernetes.io/unschedulable:NoSchedule
 * (NodeUnschedulable.Filter). */
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
		add_toleration(d, &pod->tolerations[i]);
		if (tolerates_cordon(&pod->tolerations[i]))
			d->head.flags |= SHAPE_TOLERATES_CORDON;
	}
	for (size_t i = 0; rc == 0 && i < pod->preferences_n; i++)
		rc = add_preference(d, &pod->preferences[i]);
	return rc;
}

/* As kube-scheduler's imagelocality.normalizedImageName(): without a tag or digest it is the
 * latest. */
static const char *normal_name(struct arena *arena, struct text name)
{
	const char *colon = memrchr(name.at, ':', name.bytes);
	const char *slash = memrchr(name.at, '/', name.bytes);

	if (colon && (!slash || colon > slash))
		return arena_copy(arena, name);
	return arena_printf(arena, "%.*s:latest", (int)name.bytes, name.at);
}

static int number_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void draft_images(struct draft *d, const struct pod_object *pod)
{
	d->head.image_containers = pod->image_containers;
	for (size_t i = 0; i < pod->images_n; i++) {
		struct text name = pod->images[i];

		if (name.bytes == 0)
			continue;
		*(uint32_t *)draft_more(d, SECTION_IMAGES) =
			image_take(d->m, text_of(normal_name(d->arena, name)));
		draft_keep(d, SECTION_IMAGES);
	}
	/* The score is a sum: their order in the pod does not matter. */
	if (draft_count(d, SECTION_IMAGES) > 0)
		qsort(d->sections[SECTION_IMAGES].at, d->sections[SECTION_IMAGES].n, sizeof(uint32_t),
		      number_order);
}
