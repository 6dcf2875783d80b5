#include "frontend/extract.h"

#include "frontend/json.h"

static bool operator_of(struct text t, uint32_t *out)
{
	static const struct {
		const char *name;
		enum require_op op;
	} known[] = {
		{ "In", REQUIRE_IN }, { "NotIn", REQUIRE_NOT_IN },
		{ "Exists", REQUIRE_EXISTS }, { "DoesNotExist", REQUIRE_NOT_EXISTS },
		{ "Gt", REQUIRE_GT }, { "Lt", REQUIRE_LT },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (text_is(t, known[i].name)) {
			*out = known[i].op;
			return true;
		}
	}
	return false;
}

static void extract_values(struct json *j, struct node_rule *rule)
{
	struct text *values = NULL;
	size_t n = 0, room = 0;

	if (json_array(j)) {
		while (json_item(j)) {
			struct text *grown = extract_more(j, values, n, &room, sizeof(*values));

			if (!grown)
				return;
			values = grown;
			json_string(j, &values[n++]);
		}
	}
	rule->values = values;
	rule->values_n = n;
}

/* What kube-scheduler refuses to parse; the whole term then matches nothing. */
static bool rule_is_void(const struct node_rule *r)
{
	switch (r->op) {
	case REQUIRE_IN:
	case REQUIRE_NOT_IN:
		return r->is_field ? r->values_n != 1 : r->values_n == 0;
	case REQUIRE_EXISTS:
	case REQUIRE_NOT_EXISTS:
		return r->values_n != 0;
	default:
		return r->values_n != 1;
	}
}

static void extract_rule(struct json *j, struct node_rule *rule, struct pod_object *out)
{
	struct text name, operator = { "", 0 };

	rule->key = (struct text){ "", 0 };
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "key"))
			json_string(j, &rule->key);
		else if (text_is(name, "operator"))
			json_string(j, &operator);
		else if (text_is(name, "values"))
			extract_values(j, rule);
		else
			json_skip(j);
	}
	if (!operator_of(operator, &rule->op)) {
		out->asks |= ASKS_NODE_OPERATOR;
		rule->is_void = true;
		return;
	}
	if (rule->is_field && (!text_is(rule->key, "metadata.name") || rule->op > REQUIRE_NOT_IN))
		out->asks |= ASKS_NODE_FIELD;
	rule->is_void = rule_is_void(rule);
}

static void extract_term(struct json *j, struct node_term *term, struct pod_object *out)
{
	struct text name;
	struct node_rule *rules;
	bool is_field;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		is_field = text_is(name, "matchFields");
		if (!is_field && !text_is(name, "matchExpressions")) {
			json_skip(j);
			continue;
		}
		if (!json_array(j))
			continue;
		while (json_item(j)) {
			rules = extract_more(j, term->rules, term->n, &term->room, sizeof(*rules));
			if (!rules)
				return;
			term->rules = rules;
			rules += term->n++;
			rules->is_field = is_field;
			extract_rule(j, rules, out);
		}
	}
}

/* requiredDuringSchedulingIgnoredDuringExecution of node affinity. */
static void extract_terms(struct json *j, struct pod_object *out)
{
	struct text name;
	struct node_term *terms;

	out->terms_n = 0;
	out->has_node_terms = false;
	if (!json_object(j))
		return;
	out->has_node_terms = true;
	while (json_member(j, &name)) {
		if (!text_is(name, "nodeSelectorTerms")) {
			json_skip(j);
			continue;
		}
		out->terms_n = 0;
		if (!json_array(j))
			continue;
		while (json_item(j)) {
			terms = extract_more(j, out->terms, out->terms_n, &out->terms_room, sizeof(*terms));
			if (!terms)
				return;
			out->terms = terms;
			extract_term(j, &terms[out->terms_n++], out);
		}
	}
}

/* One kind of affinity: `asks` is what its required terms ask for, 0 for node
 * affinity, whose terms are read. */
static void extract_affinity(struct json *j, struct pod_object *out, uint32_t asks)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requiredDuringSchedulingIgnoredDuringExecution")) {
			if (asks == 0)
				extract_terms(j, out);
			else if (extract_any(j))
				out->asks |= asks;
		} else if (text_is(name, "preferredDuringSchedulingIgnoredDuringExecution")) {
			if (extract_any(j))
				out->has_soft_rules = true;
		} else {
			json_skip(j);
		}
	}
}

void extract_pod_rules(struct json *j, struct pod_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "nodeAffinity"))
			extract_affinity(j, out, 0);
		else if (text_is(name, "podAffinity"))
			extract_affinity(j, out, ASKS_POD_AFFINITY);
		else if (text_is(name, "podAntiAffinity"))
			extract_affinity(j, out, ASKS_POD_ANTI_AFFINITY);
		else
			json_skip(j);
	}
}
