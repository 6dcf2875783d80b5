/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements about labels: terms of node selectors, and label selectors. */
#include "frontend/decode/extract.h"

#include "frontend/decode/extract_label.h"
#include "frontend/json/json.h"

void extract_texts(struct json *j, struct texts *out)
{
	struct text *grown;

	out->n = 0;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		grown = extract_more(j, out->at, out->n, &out->room, sizeof(*grown));
		if (!grown)
			return;
		out->at = grown;
		grown += out->n++;
		*grown = TEXT_NONE;
		json_string(j, grown);
	}
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

/* key, operator and values: false when the operator is unknown. */
static bool rule_read(struct json *j, struct node_rule *rule, struct text *operator)
{
	struct texts values = { 0 };
	struct text name;

	rule->key = *operator= TEXT_NONE;
	if (json_object(j)) {
		while (json_member(j, &name)) {
			if (text_is(name, "key"))
				json_string(j, &rule->key);
			else if (text_is(name, "operator"))
				json_string(j, operator);
			else if (text_is(name, "values"))
				extract_texts(j, &values);
			else
				json_skip(j);
		}
	}
	rule->values = values.at;
	rule->values_n = values.n;
	return operator_of(*operator, & rule->op);
}

static struct node_rule *rule_more(struct json *j, struct node_term *term)
{
	struct node_rule *rules = extract_more(j, term->rules, term->n, &term->room, sizeof(*rules));

	if (!rules)
		return NULL;
	term->rules = rules;
	return &rules[term->n++];
}

/* ---- terms of node selectors ------------------------------------------------ */

/* Is there text that a label can't have?  kube-scheduler then can't parse it. */
static bool rule_is_no_label(const struct node_rule *r)
{
	if (!label_key_is_valid(r->key))
		return true;
	for (size_t i = 0; i < r->values_n; i++)
		if (!label_value_is_valid(r->values[i]))
			return true;
	return false;
}

/* An int64; a sign is nothing that a label's value begins with. */
static bool is_number(struct text t)
{
	int64_t value = 0;

	for (size_t i = 0; i < t.bytes; i++)
		if (t.at[i] < '0' || t.at[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, t.at[i] - '0', &value))
			return false;
	return t.bytes > 0;
}

/* What kube-scheduler refuses to parse; the whole term then matches nothing. */
static bool rule_is_void(const struct node_rule *r)
{
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
		return r->values_n != 1 || !is_number(r->values[0]);
	}
}

static void extract_node_rule(struct json *j, struct node_rule *rule)
{
	struct text operator;

	rule->is_void = !rule_read(j, rule, &operator) || rule_is_void(rule);
}

/* Let a list that comes again replace the former one. */
static void term_drop(struct node_term *term, bool is_field)
{
	size_t kept = 0;

	for (size_t i = 0; i < term->n; i++)
		if (term->rules[i].is_field != is_field)
			term->rules[kept++] = term->rules[i];
	term->n = kept;
}

void extract_node_term(struct json *j, struct node_term *out)
{
	struct node_rule *rule;
	struct text name;
	bool is_field;

	out->n = 0;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		is_field = text_is(name, "matchFields");
		if (!is_field && !text_is(name, "matchExpressions")) {
			json_skip(j);
			continue;
		}
		term_drop(out, is_field);
		if (!json_array(j))
			continue;
		while (json_item(j)) {
			rule = rule_more(j, out);
			if (!rule)
				return;
			rule->is_field = is_field;
			extract_node_rule(j, rule);
		}
	}
}

bool extract_node_terms(struct json *j, struct node_term **terms, size_t *n, size_t *room)
{
	struct node_term *grown;
	struct text name;

	*n = 0;
	if (!json_object(j))
		return false;
	while (json_member(j, &name)) {
		if (!text_is(name, "nodeSelectorTerms")) {
			json_skip(j);
			continue;
		}
		*n = 0;
		if (!json_array(j))
			continue;
		while (json_item(j)) {
			grown = extract_more(j, *terms, *n, room, sizeof(*grown));
			if (!grown)
				return true;
			*terms = grown;
			extract_node_term(j, &grown[(*n)++]);
		}
	}
	return true;
}

/* ---- label selectors ---------------------------------------------------------- */

/* What the API server refuses.  Called while the requirement is what is being read. */
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

static void extract_expressions(struct json *j, struct selector_object *out)
{
	struct node_rule *rule;
	struct text operator;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		rule = rule_more(j, &out->rules);
		if (!rule)
			return;
		if (rule_read(j, rule, &operator) && rule->op <= REQUIRE_NOT_EXISTS)
			selector_check(j, rule);
		else
			json_fail(j, "\"%.*s\" is not an operator of a label selector", TEXT_SHOWN(operator));
	}
}

static void extract_labels(struct json *j, struct selector_object *out)
{
	struct pairs labels = { 0 };
	struct node_rule *rule;

	extract_pairs(j, &labels, false);
	for (size_t i = 0; i < labels.n && !j->failed; i++) {
		rule = rule_more(j, &out->rules);
		if (!rule)
			return;
		*rule = (struct node_rule){
			.key = labels.at[i].key, .values = &labels.at[i].value, .values_n = 1, .op = REQUIRE_IN
		};
		selector_check(j, rule);
	}
}

void extract_selector_map(struct json *j, struct selector_object *out)
{
	out->is_given = !json_null(j);
	out->rules.n = 0;
	if (out->is_given)
		extract_labels(j, out);
}

void extract_selector(struct json *j, struct selector_object *out)
{
	struct text name;

	out->is_given = false;
	out->rules.n = 0;
	if (!json_object(j))
		return;
	out->is_given = true;
	while (json_member(j, &name)) {
		if (text_is(name, "matchLabels"))
			extract_labels(j, out);
		else if (text_is(name, "matchExpressions"))
			extract_expressions(j, out);
		else
			json_skip(j);
	}
}
