/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/base/compare.h"

struct volume_rule_object *volume_rule_add(struct arena *arena, struct pod_storage *out,
                                           enum filter_reason why)
{
	struct volume_rule_object *rule = EXTRACT_ADD(arena, out->rules, out->rules_n, out->rules_cap);

	rule->why = why;
	return rule;
}

struct node_term *volume_term_add(struct arena *arena, struct volume_rule_object *rule)
{
	return EXTRACT_ADD(arena, rule->terms, rule->n, rule->cap);
}

void volume_clause_add(struct arena *arena, struct node_term *term, struct text key,
                       enum require_op op, struct text *values, size_t values_n)
{
	*EXTRACT_ADD(arena, term->rules, term->n, term->cap) =
		(struct node_rule){ .key = key, .op = op, .values = values, .values_n = values_n };
}

static bool matches_nothing(const struct node_term *term)
{
	for (size_t i = 0; i < term->n; i++)
		if (term->rules[i].is_void)
			return true;
	return term->n == 0;
}

void volume_terms_add(struct arena *arena, struct volume_rule_object *rule,
                      const struct node_term *terms, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!matches_nothing(&terms[i]))
			*volume_term_add(arena, rule) = terms[i];
}

const struct text *volume_label(const struct pairs *labels, struct text key)
{
	for (size_t i = labels->n; i > 0; i--)
		if (text_equal(labels->at[i - 1].key, key))
			return &labels->at[i - 1].value;
	return NULL;
}

static bool is_among(const struct node_rule *r, const struct text *value)
{
	for (size_t i = 0; value && i < r->values_n; i++)
		if (text_equal(r->values[i], *value))
			return true;
	return false;
}

static bool compares(const struct node_rule *r, const struct text *value)
{
	int64_t a = value ? label_number(*value) : LABEL_NOT_A_NUMBER;
	int64_t b = r->values_n == 1 ? label_number(r->values[0]) : LABEL_NOT_A_NUMBER;

	if (a == LABEL_NOT_A_NUMBER || b == LABEL_NOT_A_NUMBER)
		return false;
	return r->op == REQUIRE_GT ? a > b : a < b;
}

static bool holds(const struct node_rule *r, const struct pairs *labels)
{
	const struct text *value = r->is_field ? NULL : volume_label(labels, r->key);

	switch (r->op) {
	case REQUIRE_IN:
		return is_among(r, value);
	case REQUIRE_NOT_IN:
		return !is_among(r, value);
	case REQUIRE_EXISTS:
		return value != NULL;
	case REQUIRE_NOT_EXISTS:
		return value == NULL;
	default:
		return compares(r, value);
	}
}

bool volume_clauses_hold(const struct node_term *term, const struct pairs *labels)
{
	for (size_t i = 0; i < term->n; i++)
		if (!holds(&term->rules[i], labels))
			return false;
	return true;
}

bool volume_terms_hold(const struct node_term *terms, size_t n, const struct pairs *labels)
{
	for (size_t i = 0; i < n; i++)
		if (!matches_nothing(&terms[i]) && volume_clauses_hold(&terms[i], labels))
			return true;
	return false;
}
