/* SPDX-License-Identifier: Apache-2.0 */
/* What a device matches by itself: nodes, tolerations and selectors. */
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool in_values(const struct tree *values, struct text text)
{
	TREE_EACH(value, values)
	if (text_equal(jsontree_text(value), text))
		return true;
	return false;
}

static bool number_of(struct text text, int64_t *out)
{
	char copy[32], *end;

	if (text.bytes == 0 || text.bytes >= sizeof(copy))
		return false;
	memcpy(copy, text.at, text.bytes);
	copy[text.bytes] = '\0';
	errno = 0;
	*out = strtoll(copy, &end, 10);
	return errno == 0 && *end == '\0' && copy[0] != ' ' && copy[0] != '\t';
}

/* component-helpers/scheduling: nodeaffinity, of a requirement over a label; `has`: it is there. */
static bool requirement_holds(const struct tree *t, bool has, struct text value)
{
	struct text op = jsontree_text(jsontree_get(t, "operator"));
	const struct tree *values = jsontree_get(t, "values");
	int64_t left, right;

	if (text_is(op, "In"))
		return has && in_values(values, value);
	if (text_is(op, "NotIn"))
		return !has || !in_values(values, value);
	if (text_is(op, "Exists"))
		return has;
	if (text_is(op, "DoesNotExist"))
		return !has;
	if (!has || values->n != 1 || !number_of(value, &left) ||
	    !number_of(jsontree_text(values->first), &right))
		return false;
	return text_is(op, "Gt") ? left > right : text_is(op, "Lt") && left < right;
}

static bool term_matches(const struct tree *term, const struct node_entry *node)
{
	const struct tree *labels = jsontree_get(term, "matchExpressions");
	const struct tree *fields = jsontree_get(term, "matchFields");

	TREE_EACH(t, labels)
	{
		const struct tree *label =
			jsontree_find(node->labels, jsontree_text(jsontree_get(t, "key")));

		if (!requirement_holds(t, label->kind == TREE_TEXT, jsontree_text(label)))
			return false;
	}
	TREE_EACH(t, fields)
	if (!text_is(jsontree_text(jsontree_get(t, "key")), "metadata.name") ||
	    !requirement_holds(t, true, node->name))
		return false;
	return labels->n + fields->n > 0;
}

bool node_selector_matches(const struct tree *selector, const struct node_entry *node)
{
	TREE_EACH(term, jsontree_get(selector, "nodeSelectorTerms"))
	if (term_matches(term, node))
		return true;
	return false;
}

bool device_selected(const struct device_entry *e, const struct node_entry *node)
{
	const struct tree *selector = jsontree_get(e->tree, "nodeSelector");
	struct text name = jsontree_text(jsontree_get(e->tree, "nodeName"));

	if (!e->slice->per_device)
		return slice_selected(e->slice, node);
	if (name.bytes > 0)
		return text_equal(name, node->name);
	if (jsontree_true(jsontree_get(e->tree, "allNodes")))
		return true;
	return selector->kind == TREE_MAP && node_selector_matches(selector, node);
}

bool slice_selected(const struct slice *s, const struct node_entry *node)
{
	if (s->per_device) {
		for (size_t i = 0; i < s->devices_n; i++)
			if (device_selected(&s->devices[i], node))
				return true;
		return false;
	}
	if (s->node.bytes > 0)
		return text_equal(s->node, node->name);
	if (s->all_nodes)
		return true;
	return s->selector != NULL && node_selector_matches(s->selector, node);
}

/* resourceclaim.ToleratesTaint */
static bool tolerates(const struct tree *toleration, const struct tree *taint)
{
	struct text effect = jsontree_text(jsontree_get(toleration, "effect"));
	struct text key = jsontree_text(jsontree_get(toleration, "key"));
	struct text op = jsontree_text(jsontree_get(toleration, "operator"));

	if (effect.bytes > 0 && !text_equal(effect, jsontree_text(jsontree_get(taint, "effect"))))
		return false;
	if (key.bytes > 0 && !text_equal(key, jsontree_text(jsontree_get(taint, "key"))))
		return false;
	if (text_is(op, "Exists"))
		return true;
	return (op.bytes == 0 || text_is(op, "Equal")) &&
	       text_equal(jsontree_text(jsontree_get(toleration, "value")),
	                  jsontree_text(jsontree_get(taint, "value")));
}

bool tolerated(const struct device_entry *e, const struct tree *tolerations)
{
	TREE_EACH(taint, jsontree_get(e->tree, "taints"))
	{
		struct text effect = jsontree_text(jsontree_get(taint, "effect"));
		bool found = false;

		if (!text_is(effect, "NoSchedule") && !text_is(effect, "NoExecute"))
			continue;
		TREE_EACH(toleration, tolerations)
		found = found || tolerates(toleration, taint);
		if (!found)
			return false;
	}
	return true;
}

struct expression *expression_of(struct devices *d, struct text text)
{
	struct expression *e;

	for (size_t i = 0; i < d->expressions_n; i++)
		if (text_equal(d->expressions[i].text, text))
			return &d->expressions[i];
	if (d->expressions_n == d->expressions_cap) {
		d->expressions_cap = d->expressions_cap * 2 + 16;
		d->expressions = must_grow(d->expressions, d->expressions_cap * sizeof(*d->expressions));
	}
	e = &d->expressions[d->expressions_n++];
	*e = (struct expression){ .text = text, .program = selector_new(text) };
	e->results = must_array(d->devices_n + 1, sizeof(*e->results));
	e->errors = must_array(d->devices_n + 1, sizeof(*e->errors));
	return e;
}

int expression_result(struct devices *d, struct text text, const struct device_entry *device,
                      const char **error)
{
	struct expression *e = expression_of(d, text);
	int8_t *result = &e->results[device->index];
	char said[600];

	if (*result == 0) {
		*result = (int8_t)selector_match(e->program, &device->facts, said, sizeof(said));
		if (*result == SELECTOR_ERROR)
			e->errors[device->index] = must_copy(said);
	}
	*error = e->errors[device->index];
	return *result;
}
