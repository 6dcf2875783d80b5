/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements about labels: terms of node selectors, and label selectors. */
#include "frontend/decode/fields.h"

#include "frontend/base/compare.h"
#include "frontend/decode/extract_label.h"

static void extract_text(struct json *j, void *texts)
{
	struct texts *out = texts;
	struct text *t = EXTRACT_ADD(j->arena, out->at, out->n, out->cap);

	*t = TEXT_NONE;
	json_string(j, t);
}

void extract_texts(struct json *j, void *texts)
{
	((struct texts *)texts)->n = 0;
	json_items(j, extract_text, texts);
}

static bool operator_of(struct text t, uint32_t *out)
{
	static const struct {
		const char *name;
		enum require_op op;
	} known[] = {
		{ "In", REQUIRE_IN },         { "NotIn", REQUIRE_NOT_IN },
		{ "Exists", REQUIRE_EXISTS }, { "DoesNotExist", REQUIRE_NOT_EXISTS },
		{ "Gt", REQUIRE_GT },         { "Lt", REQUIRE_LT },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (text_is(t, known[i].name)) {
			*out = known[i].op;
			return true;
		}
	}
	return false;
}

struct rule_read {
	struct text key, operator;
	struct texts values;
};

static const struct json_field rule_fields[] = {
	JSON_FIELD("key", json_field_text, struct rule_read, key),
	JSON_FIELD("operator", json_field_text, struct rule_read, operator),
	JSON_FIELD("values", extract_texts, struct rule_read, values),
};

/* Reads key, operator and values: false if the operator is unknown. */
static bool rule_read(struct json *j, struct node_rule *rule, struct text *operator)
{
	struct rule_read r = { .key = TEXT_NONE, .operator= TEXT_NONE };

	json_fields(j, rule_fields, &r);
	rule->key = r.key;
	rule->values = r.values.at;
	rule->values_n = r.values.n;
	*operator= r.operator;
	return operator_of(r.operator, & rule->op);
}

static struct node_rule *rule_more(struct json *j, struct node_term *term)
{
	return EXTRACT_ADD(j->arena, term->rules, term->n, term->cap);
}

/* True if a text of it is invalid in a label, which kube-scheduler can't parse. */
static bool rule_is_no_label(const struct node_rule *r)
{
	if (!label_key_is_valid(r->key))
		return true;
	for (size_t i = 0; i < r->values_n; i++)
		if (!label_value_is_valid(r->values[i]))
			return true;
	return false;
}

/* True if kube-scheduler can't parse it (nodeaffinity.nodeSelectorRequirementsAsSelector); the
 * whole term then matches no node. */
static bool rule_is_void(const struct node_rule *r)
{
	int64_t number;

	if (r->is_field)
		return r->op > REQUIRE_NOT_IN || r->values_n != 1;
	if (rule_is_no_label(r))
		return true;
	switch (r->op) {
	case REQUIRE_IN:
	case REQUIRE_NOT_IN:
		return r->values_n == 0;
	case REQUIRE_EXISTS:
	case REQUIRE_NOT_EXISTS:
		return r->values_n != 0;
	default:
		return r->values_n != 1 || !int64_parse(r->values[0], &number);
	}
}

/* A list that occurs again replaces the former one. */
static void extract_node_rules(struct json *j, struct node_term *out, bool is_field)
{
	struct text operator;
	size_t kept = 0;

	for (size_t i = 0; i < out->n; i++)
		if (out->rules[i].is_field != is_field)
			out->rules[kept++] = out->rules[i];
	out->n = kept;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		struct node_rule *rule = rule_more(j, out);

		rule->is_field = is_field;
		rule->is_void = !rule_read(j, rule, &operator) || rule_is_void(rule);
	}
}

static void extract_match_expressions(struct json *j, void *term)
{
	extract_node_rules(j, term, false);
}

static void extract_match_fields(struct json *j, void *term)
{
	extract_node_rules(j, term, true);
}

static const struct json_field node_term_fields[] = {
	JSON_WHOLE("matchExpressions", extract_match_expressions),
	JSON_WHOLE("matchFields", extract_match_fields),
};

void extract_node_term(struct json *j, void *term)
{
	((struct node_term *)term)->n = 0;
	json_fields(j, node_term_fields, term);
}

struct node_terms {
	struct node_term *at;
	size_t n, cap;
};

static void extract_next_term(struct json *j, void *terms)
{
	struct node_terms *ts = terms;

	extract_node_term(j, EXTRACT_ADD(j->arena, ts->at, ts->n, ts->cap));
}

static void extract_term_list(struct json *j, void *terms)
{
	((struct node_terms *)terms)->n = 0;
	json_items(j, extract_next_term, terms);
}

static const struct json_field node_selector_fields[] = { JSON_WHOLE("nodeSelectorTerms",
	                                                                 extract_term_list) };

bool extract_node_terms(struct json *j, struct node_term **terms, size_t *n, size_t *cap)
{
	struct node_terms ts = { *terms, 0, *cap };
	bool is_given = json_fields(j, node_selector_fields, &ts);

	*terms = ts.at;
	*n = ts.n;
	*cap = ts.cap;
	return is_given;
}

/* Reports what the API server would refuse. */
static void selector_check(struct json *j, const struct node_rule *r)
{
	bool wants_values = r->op == REQUIRE_IN || r->op == REQUIRE_NOT_IN;

	if (!label_key_is_valid(r->key))
		json_fail(j, "\"%.*s\" is not the key of a label", TEXT_SHOWN(r->key));
	if (wants_values != (r->values_n > 0))
		json_fail(j,
		          wants_values ? "has no values" : "has values, which its operator takes none of");
	for (size_t i = 0; i < r->values_n; i++)
		if (!label_value_is_valid(r->values[i]))
			json_fail(j, "\"%.*s\" is not the value of a label", TEXT_SHOWN(r->values[i]));
}

static void extract_expression(struct json *j, void *selector)
{
	struct node_rule *rule = rule_more(j, &((struct selector_object *)selector)->rules);
	struct text operator;

	if (rule_read(j, rule, &operator) && rule->op <= REQUIRE_NOT_EXISTS)
		selector_check(j, rule);
	else
		json_fail(j, "\"%.*s\" is not an operator of a label selector", TEXT_SHOWN(operator));
}

static void extract_expressions(struct json *j, void *selector)
{
	json_items(j, extract_expression, selector);
}

static void extract_labels(struct json *j, void *selector)
{
	struct selector_object *out = selector;
	struct pairs labels = { 0 };

	extract_text_map(j, &labels);
	for (size_t i = 0; i < labels.n && !j->failed; i++) {
		struct node_rule *rule = rule_more(j, &out->rules);

		*rule = (struct node_rule){
			.key = labels.at[i].key, .values = &labels.at[i].value, .values_n = 1, .op = REQUIRE_IN
		};
		selector_check(j, rule);
	}
}

void extract_selector_map(struct json *j, void *selector)
{
	struct selector_object *out = selector;

	out->is_given = !json_null(j);
	out->rules.n = 0;
	if (out->is_given)
		extract_labels(j, out);
}

static const struct json_field selector_fields[] = {
	JSON_WHOLE("matchLabels", extract_labels),
	JSON_WHOLE("matchExpressions", extract_expressions),
};

void extract_selector(struct json *j, void *selector)
{
	struct selector_object *out = selector;

	out->rules.n = 0;
	out->is_given = json_fields(j, selector_fields, out);
}
