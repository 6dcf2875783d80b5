/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/rule_node.h"

static bool value_among(const struct shape *s, const struct requirement *q, uint32_t value)
{
	for (uint32_t i = 0; i < q->values_n; i++)
		if (s->parts.values[q->values_first + i] == value)
			return true;
	return false;
}

static bool requirement_holds(const struct shape *s, const struct requirement *q,
                              const struct node *n)
{
	const struct node_label *label = rules_label(n->rules, q->key);

	switch (q->op) {
	case REQUIRE_IN:
		return label && value_among(s, q, label->value);
	case REQUIRE_NOT_IN:
		return !label || !value_among(s, q, label->value);
	case REQUIRE_EXISTS:
		return label;
	case REQUIRE_NOT_EXISTS:
		return !label;
	case REQUIRE_GT:
		return label && rules_number(n->rules, label) != LABEL_NOT_A_NUMBER &&
		       rules_number(n->rules, label) > q->number;
	case REQUIRE_LT:
		return label && rules_number(n->rules, label) != LABEL_NOT_A_NUMBER &&
		       rules_number(n->rules, label) < q->number;
	default:
		return false;
	}
}

/* True if all of these clauses of the shape match the labels of the node. */
static bool clauses_hold(const struct shape *s, struct span clauses, const struct node *n)
{
	for (uint32_t i = 0; i < clauses.n; i++)
		if (!requirement_holds(s, &s->parts.clauses[clauses.first + i], n))
			return false;
	return true;
}

/* The end of the term that begins at `first`: requirements are sorted by term. */
static uint32_t term_end(const struct shape *s, uint32_t first)
{
	uint32_t end = first;

	while (end < s->body->requirements_n &&
	       s->parts.requirements[end].term == s->parts.requirements[first].term)
		end++;
	return end;
}

static bool term_holds(const struct shape *s, uint32_t first, uint32_t end, const struct node *n)
{
	for (uint32_t i = first; i < end; i++)
		if (!requirement_holds(s, &s->parts.requirements[i], n))
			return false;
	return true;
}

/* Term 0 is the nodeSelector.  A term without requirements matches nothing, as in
 * kube-scheduler. */
bool rule_affinity(const struct shape *s, const struct node *n)
{
	uint32_t i = 0, end;

	if (s->body->requirements_n > 0 && s->parts.requirements[0].term == 0) {
		end = term_end(s, 0);
		if (!term_holds(s, 0, end, n))
			return false;
		i = end;
	}
	if (s->body->terms_n == 0)
		return true;
	for (; i < s->body->requirements_n; i = end) {
		end = term_end(s, i);
		if (term_holds(s, i, end, n))
			return true;
	}
	return false;
}

static bool asks_name(const struct requirement *q)
{
	return q->key == LABEL_KEY_NODE_NAME && q->op == REQUIRE_IN;
}

/* True if each list of names in the term has the name. */
static bool term_names(const struct shape *s, uint32_t first, uint32_t end, uint32_t name)
{
	for (uint32_t i = first; i < end; i++)
		if (asks_name(&s->parts.requirements[i]) &&
		    !value_among(s, &s->parts.requirements[i], name))
			return false;
	return true;
}

/* True if the term names nodes.  *any: a name is in all of its lists. */
static bool term_asks_names(const struct shape *s, uint32_t first, uint32_t end, bool *any)
{
	const struct requirement *list = NULL;

	for (uint32_t i = first; i < end && !list; i++)
		if (asks_name(&s->parts.requirements[i]))
			list = &s->parts.requirements[i];
	if (!list)
		return false;
	for (uint32_t i = 0; i < list->values_n && !*any; i++)
		*any = term_names(s, first, end, s->parts.values[list->values_first + i]);
	return true;
}

/* The first requirement that is not of the nodeSelector. */
static uint32_t terms_begin(const struct shape *s)
{
	return s->body->requirements_n > 0 && s->parts.requirements[0].term == 0 ? term_end(s, 0) : 0;
}

enum filter_reason rule_names(const struct shape *s)
{
	uint32_t terms = 0, end;
	bool any = false;

	for (uint32_t i = terms_begin(s); i < s->body->requirements_n; i = end) {
		end = term_end(s, i);
		if (!term_asks_names(s, i, end, &any))
			return FILTER_PASSED;
		terms++;
	}
	/* A term without requirements names no node. */
	if (terms == 0 || terms < s->body->terms_n)
		return FILTER_PASSED;
	return any ? FILTER_NOT_NAMED : FILTER_CONFLICT;
}

bool rule_named(const struct shape *s, const struct node *n)
{
	const struct node_label *name = rules_label(n->rules, LABEL_KEY_NODE_NAME);
	uint32_t end;

	for (uint32_t i = terms_begin(s); name && i < s->body->requirements_n; i = end) {
		end = term_end(s, i);
		if (term_names(s, i, end, name->value))
			return true;
	}
	return false;
}

static bool tolerated(const struct shape *s, const struct taint *taint)
{
	for (uint32_t i = 0; i < s->body->tolerations_n; i++) {
		const struct toleration *t = &s->parts.tolerations[i];

		if (t->effect != EFFECT_ANY && t->effect != taint->effect)
			continue;
		if (t->key != TOLERATE_EVERY_KEY && t->key != taint->key)
			continue;
		if (t->any_value || t->value == taint->value)
			return true;
	}
	return false;
}

const struct taint *taints_bar(const struct shape *s, const struct taint *taints, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (taints[i].effect != EFFECT_PREFER_NO_SCHEDULE && !tolerated(s, &taints[i]))
			return &taints[i];
	return NULL;
}

const struct taint *rule_taint(const struct shape *s, const struct node *n)
{
	return taints_bar(s, rules_taints(n->rules), rules_taints_n(n->rules));
}

uint32_t rule_soft_taints(const struct shape *s, const struct node *n)
{
	const struct taint *taints = rules_taints(n->rules);
	const uint32_t taints_n = rules_taints_n(n->rules);
	uint32_t count = 0;

	for (uint32_t i = 0; i < taints_n; i++)
		count += taints[i].effect == EFFECT_PREFER_NO_SCHEDULE && !tolerated(s, &taints[i]);
	return count;
}

static bool volume_rule_holds(const struct shape *s, const struct volume_rule *rule,
                              const struct node *n)
{
	for (uint32_t i = 0; i < rule->alternatives.n; i++)
		if (clauses_hold(s, s->parts.alternatives[rule->alternatives.first + i], n))
			return true;
	return false;
}

uint32_t rule_volumes(const struct shape *s, const struct node *n)
{
	uint32_t broken = 0;

	for (uint32_t i = 0; i < s->body->volume_rules_n; i++)
		if (!volume_rule_holds(s, &s->parts.volume_rules[i], n))
			broken |= UINT32_C(1) << s->parts.volume_rules[i].why;
	return broken;
}

enum filter_reason rule_flags(const struct shape *s, const struct node *n)
{
	/* nodedeclaredfeatures Filter. */
	if ((s->body->flags & SHAPE_NEEDS_RESTART_ALL) && !(n->flags & NODE_RESTARTS_ALL))
		return FILTER_FEATURES;
	return FILTER_PASSED;
}

int64_t rule_preferred(const struct shape *s, const struct node *n)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < s->body->preferences_n; i++)
		if (clauses_hold(s, s->parts.preferences[i].clauses, n))
			sum += s->parts.preferences[i].weight;
	return sum;
}

enum filter_reason shape_filter(const struct shape *s, const struct node *n, uint32_t *arg)
{
	const struct taint *taint;

	*arg = 0;
	if (s->named == FILTER_CONFLICT)
		return FILTER_CONFLICT;
	if (s->named == FILTER_NOT_NAMED && !rule_named(s, n))
		return FILTER_NOT_NAMED;
	if ((n->flags & NODE_CORDONED) && !(s->body->flags & SHAPE_TOLERATES_CORDON))
		return FILTER_CORDONED;
	taint = rule_taint(s, n);
	if (taint) {
		*arg = taint->name;
		return FILTER_TAINT;
	}
	return rule_affinity(s, n) ? FILTER_PASSED : FILTER_AFFINITY;
}

enum filter_reason shape_filter_last(const struct shape *s, const struct node *n)
{
	uint32_t broken = rule_volumes(s, n);

	if (broken)
		return (enum filter_reason)__builtin_ctz(broken);
	return rule_flags(s, n);
}
