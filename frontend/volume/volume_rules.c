/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/model/model_impl.h"

/* ---- making -------------------------------------------------------------------------- */

struct volume_rule_object *volume_rule_add(struct volume_join *j, struct pod_storage *out,
                                           enum node_why why)
{
	struct volume_rule_object *rules =
		volume_more(j, out->rules, out->rules_n, &out->rules_room, sizeof(*rules));

	if (!rules)
		return NULL;
	out->rules = rules;
	rules += out->rules_n++;
	rules->why = why;
	return rules;
}

struct node_term *volume_term_add(struct volume_join *j, struct volume_rule_object *rule)
{
	struct node_term *terms =
		rule ? volume_more(j, rule->terms, rule->n, &rule->room, sizeof(*terms)) : NULL;

	if (!terms)
		return NULL;
	rule->terms = terms;
	return terms + rule->n++;
}

void volume_clause_add(struct volume_join *j, struct node_term *term, struct text key,
                       enum require_op op, struct text *values, size_t values_n)
{
	struct node_rule *rules =
		term ? volume_more(j, term->rules, term->n, &term->room, sizeof(*rules)) : NULL;

	if (!rules)
		return;
	term->rules = rules;
	rules[term->n++] =
		(struct node_rule){ .key = key, .op = op, .values = values, .values_n = values_n };
}

static bool is_hopeless(const struct node_term *term)
{
	for (size_t i = 0; i < term->n; i++)
		if (term->rules[i].is_void)
			return true;
	return term->n == 0;
}

void volume_terms_add(struct volume_join *j, struct volume_rule_object *rule,
                      const struct node_term *terms, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct node_term *term = is_hopeless(&terms[i]) ? NULL : volume_term_add(j, rule);

		if (term)
			*term = terms[i];
	}
}

/* ---- asking -------------------------------------------------------------------------- */

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
		if (!is_hopeless(&terms[i]) && volume_clauses_hold(&terms[i], labels))
			return true;
	return false;
}
