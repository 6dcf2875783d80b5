/* SPDX-License-Identifier: Apache-2.0 */
/* From the claims of a pod to the question about a node. */
#include "frontend/devices/asked.h"

#include <stdio.h>
#include <string.h>

const struct tree *condition_true(const struct tree *statuses, const struct tree *result,
                                  struct text type)
{
	static const char *const keys[] = { "driver", "pool", "device", "shareID" };

	TREE_EACH(status, statuses)
	{
		bool same = true;

		for (int i = 0; i < 4; i++)
			same = same && text_equal(jsontree_text(jsontree_get(status, keys[i])),
			                          jsontree_text(jsontree_get(result, keys[i])));
		if (!same)
			continue;
		TREE_EACH(condition, jsontree_get(status, "conditions"))
		if (text_equal(jsontree_text(jsontree_get(condition, "type")), type) &&
		    text_is(jsontree_text(jsontree_get(condition, "status")), "True"))
			return condition;
	}
	return NULL;
}

/* dynamicresources: Filter.  A device whose binding failed, or whose conditions are still missing:
 * offline all waits are over. */
static bool binding_failed(const struct claim_entry *c)
{
	TREE_EACH(result, jsontree_get(jsontree_get(c->allocation, "devices"), "results"))
	{
		TREE_EACH(condition, jsontree_get(result, "bindingFailureConditions"))
		if (condition_true(c->statuses, result, jsontree_text(condition)))
			return true;
		TREE_EACH(condition, jsontree_get(result, "bindingConditions"))
		if (!condition_true(c->statuses, result, jsontree_text(condition)) &&
		    jsontree_get(c->allocation, "allocationTimestamp")->kind != TREE_NULL)
			return true;
	}
	return false;
}

static bool is_available(const struct claim_entry *c, const struct node_entry *node)
{
	const struct tree *selector = jsontree_get(c->allocation, "nodeSelector");

	return (selector->kind != TREE_MAP || node_selector_matches(selector, node)) &&
	       !binding_failed(c);
}

static void claims_of(struct devices *d, struct asked *a)
{
	const struct pod_entry *p = d->pods[a->pod - 1];
	struct claim_entry *extended;

	a->all = arena_array(&a->arena, p->refs_n + 1, sizeof(struct claim_entry *));
	a->claims = arena_array(&a->arena, p->refs_n + 1, sizeof(struct claim_entry *));
	for (size_t i = 0; i < p->refs_n; i++) {
		struct claim_entry *c =
			p->refs[i].not_needed ? NULL : claim_find(d, p->namespace, p->refs[i].name);
		bool known = c == NULL;

		for (size_t k = 0; !known && k < a->all_n; k++)
			known = a->all[k] == c;
		if (!known)
			a->all[a->all_n++] = c;
	}
	extended = p->backed ? extended_claim(d, p, a->node, &a->arena) : NULL;
	for (size_t i = 0; i < a->all_n; i++) {
		if (a->all[i]->allocation == NULL)
			a->claims[a->claims_n++] = a->all[i];
		else if (!is_available(a->all[i], a->node))
			a->problem.unavailable = true;
	}
	/* One without requests is written along with others, and not alone. */
	if (extended != NULL && a->claims_n + extended->requests_n > 0)
		a->claims[a->claims_n++] = a->all[a->all_n++] = extended;
}

/* The selectors of the class, then those of the request; the first that is not true decides. */
static int selectors_result(struct devices *d, const struct option_entry *o,
                            const struct device_entry *e, const struct tree **at, bool *of_class,
                            uint32_t *number, const char **error)
{
	const struct tree *lists[] = { jsontree_get(class_find(d, o->class)->spec, "selectors"),
		                           jsontree_get(o->tree, "selectors") };

	for (int i = 0; i < 2; i++) {
		*number = 0;
		*of_class = i == 0;
		TREE_EACH(selector, lists[i])
		{
			int result = expression_result(
				d, jsontree_text(jsontree_get(jsontree_get(selector, "cel"), "expression")), e,
				error);

			*at = selector;
			if (result != SELECTOR_TRUE)
				return result;
			(*number)++;
		}
	}
	return SELECTOR_TRUE;
}

/* Those of the device; of one that is not shared, or does not have enough, they don't matter. */
static void amounts_fill(const struct asked *a, uint32_t device, const struct option_entry *o,
                         device_amount *amounts)
{
	const struct device_entry *e = a->devices[device];

	for (size_t i = 0; e->facts.allow_multiple_allocations && i < e->facts.capacities_n; i++)
		capacity_takes(e, i, o, &amounts[a->first_capacity[device] + i]);
}

static void option_fill(struct devices *d, struct asked *a, const struct option_entry *from,
                        struct device_option *out)
{
	size_t words = DEVICE_WORDS(a->devices_n) + 1;
	uint64_t *match = arena_array(&a->arena, words, sizeof(*match)),
			 *fault = arena_array(&a->arena, words, sizeof(*fault));
	uint64_t *through = arena_array(&a->arena, words, sizeof(*through));
	const struct tree *tolerations = jsontree_get(from->tree, "tolerations"), *at;
	device_amount *amounts = arena_array(&a->arena, a->problem.node.capacities_n, sizeof(*amounts));
	uint32_t number;
	const char *error;
	bool of_class;

	for (uint32_t i = 0; i < a->devices_n; i++) {
		const struct device_entry *e = a->devices[i];
		int result = e->unusable ? SELECTOR_FALSE
		                         : selectors_result(d, from, e, &at, &of_class, &number, &error);

		if (result == SELECTOR_ERROR)
			device_add(fault, i);
		else if (result == SELECTOR_TRUE &&
		         (!e->slice->per_device || device_selected(e, a->node)) &&
		         capacities_allow(e, from))
			device_add(match, i);
		if (tolerated(e, tolerations))
			device_add(through, i);
		amounts_fill(a, i, from, amounts);
	}
	*out = (struct device_option){
		.all = from->all,
		.admin = from->admin,
		.count = from->count > UINT32_MAX ? UINT32_MAX : (uint32_t)from->count,
		.match = match,
		.fault = fault,
		.tolerated = through,
		.amounts = amounts,
	};
}

static const struct cel_attribute *attribute_named(const struct device_entry *e, struct text name)
{
	for (size_t i = 0; i < e->facts.attributes_n; i++)
		if (text_equal(e->attributes[i], name))
			return &e->facts.attributes[i];
	return NULL;
}

/* structured: lookupAttribute.  The full name, else without the domain when that is the driver's.
 */
uint32_t attribute_value(struct devices *d, const struct device_entry *e, struct text name)
{
	const struct cel_attribute *found = attribute_named(e, name);
	struct text domain, id, text;
	char number[32];

	cel_name_split(name, text_of(""), &domain, &id);
	if (found == NULL && text_equal(domain, e->facts.driver))
		found = attribute_named(e, id);
	if (found == NULL)
		return 0;
	text = found->string;
	if (found->kind == CEL_ATTRIBUTE_INT || found->kind == CEL_ATTRIBUTE_BOOL) {
		snprintf(number, sizeof(number), "%lld", (long long)found->number);
		text = text_of(number);
	}
	return DEVICE_VALUE((uint32_t)found->kind, value_number(d, text, (uint32_t)found->kind));
}

static bool names_option(struct text written, const struct request_entry *q,
                         const struct option_entry *o)
{
	size_t n = q->name.bytes;

	if (text_equal(written, q->name))
		return true;
	return o->name.bytes > 0 && written.bytes == n + 1 + o->name.bytes &&
	       memcmp(written.at, q->name.at, n) == 0 && written.at[n] == '/' &&
	       memcmp(written.at + n + 1, o->name.at, o->name.bytes) == 0;
}

bool option_is_listed(const struct tree *list, const struct request_entry *q,
                      const struct option_entry *o)
{
	TREE_EACH(name, list)
	if (names_option(jsontree_text(name), q, o))
		return true;
	return list->n == 0;
}

static void constraint_fill(struct devices *d, struct asked *a, const struct claim_entry *c,
                            const struct tree *t, struct device_constraint *out)
{
	const struct tree *distinct = jsontree_get(t, "distinctAttribute");
	struct text name = jsontree_text(distinct);
	uint32_t *values = arena_array(&a->arena, a->devices_n, sizeof(*values));
	uint8_t *options = arena_array(&a->arena, c->requests_n, sizeof(*options));

	if (distinct->kind != TREE_TEXT)
		name = jsontree_text(jsontree_get(t, "matchAttribute"));
	for (size_t i = 0; i < a->devices_n; i++)
		values[i] = attribute_value(d, a->devices[i], name);
	for (size_t i = 0; i < c->requests_n; i++)
		for (size_t k = 0; k < c->requests[i].options_n; k++)
			if (option_is_listed(jsontree_get(t, "requests"), &c->requests[i],
			                     &c->requests[i].options[k]))
				options[i] |= (uint8_t)(1u << k);
	*out = (struct device_constraint){ .distinct = distinct->kind == TREE_TEXT,
		                               .values = values,
		                               .options = options };
}

static void claim_fill(struct devices *d, struct asked *a, const struct claim_entry *c,
                       struct device_claim *out)
{
	const struct tree *list = jsontree_get(c->spec, "constraints");
	struct device_request *requests = arena_array(&a->arena, c->requests_n, sizeof(*requests));
	struct device_constraint *constraints = arena_array(&a->arena, list->n, sizeof(*constraints));
	uint32_t n = 0;

	for (size_t i = 0; i < c->requests_n; i++) {
		struct device_option *options =
			arena_array(&a->arena, c->requests[i].options_n, sizeof(*options));

		for (size_t k = 0; k < c->requests[i].options_n; k++)
			option_fill(d, a, &c->requests[i].options[k], &options[k]);
		requests[i] = (struct device_request){ options, (uint32_t)c->requests[i].options_n };
	}
	TREE_EACH(constraint, list)
	constraint_fill(d, a, c, constraint, &constraints[n++]);
	*out = (struct device_claim){ requests, (uint32_t)c->requests_n, constraints, n };
}

enum devices_answer devices_ask(struct devices *d, uint32_t pod, const char *node,
                                struct devices_problem *out)
{
	struct asked *a = d->asked;
	struct arena arena = a->arena;
	struct device_claim *claims;

	devices_prepare(d);
	arena_reset(&arena);
	*a = (struct asked){ .arena = arena, .pod = pod, .node = node_entry_find(d, node) };
	if (a->node == NULL)
		return DEVICES_NONE;
	claims_of(d, a);
	if (a->claims_n > 0) {
		asked_pools(d, a);
		claims = arena_array(&a->arena, a->claims_n, sizeof(*claims));
		for (size_t i = 0; i < a->claims_n; i++)
			claim_fill(d, a, a->claims[i], &claims[i]);
		a->problem.question =
			(struct device_question){ .claims = claims, .claims_n = (uint32_t)a->claims_n };
	}
	*out = a->problem;
	if (a->claims_n > 0)
		return DEVICES_ASK;
	return a->problem.unavailable ? DEVICES_UNAVAILABLE : DEVICES_NONE;
}

const struct request_entry *request_of(const struct asked *a, uint32_t claim, uint32_t request)
{
	return &a->claims[claim]->requests[request];
}

uint32_t devices_points(const struct devices *d, const struct devices_pick *picks, size_t n)
{
	const struct asked *a = d->asked;
	uint32_t points = 0;

	for (size_t i = 0; i < n; i++) {
		bool again = i > 0 && picks[i].claim == picks[i - 1].claim &&
		             picks[i].request == picks[i - 1].request;

		if (!again && request_of(a, picks[i].claim, picks[i].request)->prioritized)
			points += DEVICE_OPTIONS_MAX - picks[i].option;
	}
	return points;
}

#define TEXT(t) (int)(t).bytes, (t).at

static const char *selector_fault(struct devices *d, const struct devices_fault *f)
{
	const struct asked *a = d->asked;
	const struct claim_entry *c = a->claims[f->claim];
	const struct option_entry *o = &request_of(a, f->claim, f->request)->options[f->option];
	const struct tree *at = NULL;
	const char *error = "";
	uint32_t number;
	bool of_class;

	selectors_result(d, o, a->devices[f->device], &at, &of_class, &number, &error);
	if (of_class)
		return arena_printf(&d->asked->arena, "class %.*s: selector #%u: CEL runtime error: %s",
		                    TEXT(o->class), number, error);
	return arena_printf(&d->asked->arena, "claim %.*s/%.*s: selector #%u: CEL runtime error: %s",
	                    TEXT(c->namespace), TEXT(c->name), number, error);
}

const char *devices_fault_text(const struct devices *d, const struct devices_fault *f)
{
	const struct asked *a = d->asked;
	const struct claim_entry *c = a->claims[f->claim];
	const struct request_entry *q = request_of(a, f->claim, f->request);
	const struct option_entry *o = &q->options[f->option];
	struct text name = o->name.bytes > 0 ? o->name : q->name;
	const struct device_entry *e = f->device < a->devices_n ? a->devices[f->device] : NULL;
	const struct slice *s = f->pool < a->pools_n ? a->pools[f->pool].slices[0] : NULL;

	switch (f->error) {
	case DEVICES_TOO_MANY:
		return arena_printf(
			&d->asked->arena,
			"claim %.*s/%.*s: number of requested devices %u exceeds the claim limit of %u",
			TEXT(c->namespace), TEXT(c->name), f->number, DEVICE_RESULTS_MAX);
	case DEVICES_INCOMPLETE:
	case DEVICES_INVALID:
		return arena_printf(
			&d->asked->arena,
			"claim %.*s/%.*s, request %.*s: asks for all devices, but resource pool "
			"%.*s/%.*s is currently %s",
			TEXT(c->namespace), TEXT(c->name), TEXT(name), TEXT(s->driver), TEXT(s->pool),
			f->error == DEVICES_INVALID ? "invalid" : "being updated");
	case DEVICES_CONSTRAINT:
		return arena_printf(
			&d->asked->arena,
			"claim %.*s/%.*s, request %.*s: cannot add device %.*s/%.*s/%.*s because a "
			"claim constraint would not be satisfied",
			TEXT(c->namespace), TEXT(c->name), TEXT(name), TEXT(e->slice->driver),
			TEXT(e->slice->pool), TEXT(e->name));
	case DEVICES_SELECTOR:
		break;
	}
	return selector_fault((struct devices *)(uintptr_t)d, f);
}
