/* SPDX-License-Identifier: Apache-2.0 */
/* From the claims of a pod to the question about a node, and from picks to names. */
#include "frontend/devices/asked.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *array(struct asked *a, size_t n, size_t each)
{
	void *at = arena_alloc(&a->arena, n * each + 1);

	memset(at, 0, n * each);
	return at;
}

/* True if the condition of the device is True in the claim's status. */
static bool condition_is_true(const struct claim_entry *c, const struct tree *result,
                              struct text type)
{
	static const char *const keys[] = { "driver", "pool", "device" };

	TREE_EACH(status, c->statuses)
	{
		bool same = true;

		for (int i = 0; i < 3; i++)
			same = same && text_equal(jsontree_text(jsontree_get(status, keys[i])),
			                          jsontree_text(jsontree_get(result, keys[i])));
		if (!same)
			continue;
		TREE_EACH(condition, jsontree_get(status, "conditions"))
		if (text_equal(jsontree_text(jsontree_get(condition, "type")), type) &&
		    text_is(jsontree_text(jsontree_get(condition, "status")), "True"))
			return true;
	}
	return false;
}

/* dynamicresources: Filter.  A device whose binding failed, or whose conditions are still missing:
 * offline all waits are over. */
static bool binding_failed(const struct claim_entry *c)
{
	TREE_EACH(result, jsontree_get(jsontree_get(c->allocation, "devices"), "results"))
	{
		TREE_EACH(condition, jsontree_get(result, "bindingFailureConditions"))
		if (condition_is_true(c, result, jsontree_text(condition)))
			return true;
		TREE_EACH(condition, jsontree_get(result, "bindingConditions"))
		if (!condition_is_true(c, result, jsontree_text(condition)) &&
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

	a->all = array(a, p->refs_n + 1, sizeof(struct claim_entry *));
	a->claims = array(a, p->refs_n + 1, sizeof(struct claim_entry *));
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

static void option_fill(struct devices *d, struct asked *a, const struct option_entry *from,
                        struct device_option *out)
{
	size_t words = DEVICE_WORDS(a->devices_n) + 1;
	uint64_t *match = array(a, words, sizeof(*match)), *fault = array(a, words, sizeof(*fault));
	uint64_t *through = array(a, words, sizeof(*through));
	const struct tree *asks = jsontree_get(jsontree_get(from->tree, "capacity"), "requests");
	const struct tree *tolerations = jsontree_get(from->tree, "tolerations"), *at;
	struct device_ask *ask = array(a, asks->n, sizeof(*ask));
	uint32_t number;
	const char *error;
	bool of_class;

	for (uint32_t i = 0; i < a->devices_n; i++) {
		const struct device_entry *e = a->devices[i];
		int result = e->unusable ? SELECTOR_FALSE
		                         : selectors_result(d, from, e, &at, &of_class, &number, &error);

		if (result == SELECTOR_ERROR)
			device_add(fault, i);
		else if (result == SELECTOR_TRUE && (!e->slice->per_device || device_selected(e, a->node)))
			device_add(match, i);
		if (tolerated(e, tolerations))
			device_add(through, i);
	}
	*out = (struct device_option){
		.all = from->all,
		.admin = from->admin,
		.count = from->count > UINT32_MAX ? UINT32_MAX : (uint32_t)from->count,
		.match = match,
		.fault = fault,
		.tolerated = through,
		.asks = ask,
	};
	TREE_EACH(amount, asks)
	if (quantity_parse(amount->text.at, amount->text.bytes, &ask[out->asks_n].amount) == 0)
		ask[out->asks_n++].name = value_number(d, amount->key, VALUE_CAPACITY);
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
static uint32_t attribute_value(struct devices *d, const struct device_entry *e, struct text name)
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

/* The request or alternative is in the list; an empty one has all. */
static bool listed(const struct tree *list, const struct request_entry *q,
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
	uint32_t *values = array(a, a->devices_n, sizeof(*values));
	uint8_t *options = array(a, c->requests_n, sizeof(*options));

	if (distinct->kind != TREE_TEXT)
		name = jsontree_text(jsontree_get(t, "matchAttribute"));
	for (size_t i = 0; i < a->devices_n; i++)
		values[i] = attribute_value(d, a->devices[i], name);
	for (size_t i = 0; i < c->requests_n; i++)
		for (size_t k = 0; k < c->requests[i].options_n; k++)
			if (listed(jsontree_get(t, "requests"), &c->requests[i], &c->requests[i].options[k]))
				options[i] |= (uint8_t)(1u << k);
	*out = (struct device_constraint){ .distinct = distinct->kind == TREE_TEXT,
		                               .values = values,
		                               .options = options };
}

static void claim_fill(struct devices *d, struct asked *a, const struct claim_entry *c,
                       struct device_claim *out)
{
	const struct tree *list = jsontree_get(c->spec, "constraints");
	struct device_request *requests = array(a, c->requests_n, sizeof(*requests));
	struct device_constraint *constraints = array(a, list->n, sizeof(*constraints));
	uint32_t n = 0;

	for (size_t i = 0; i < c->requests_n; i++) {
		struct device_option *options = array(a, c->requests[i].options_n, sizeof(*options));

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
		claims = array(a, a->claims_n, sizeof(*claims));
		for (size_t i = 0; i < a->claims_n; i++)
			claim_fill(d, a, a->claims[i], &claims[i]);
		a->problem.question = (struct device_question){ claims, (uint32_t)a->claims_n };
	}
	*out = a->problem;
	if (a->claims_n > 0)
		return DEVICES_ASK;
	return a->problem.unavailable ? DEVICES_UNAVAILABLE : DEVICES_NONE;
}

bool devices_prefers(const struct devices *d, uint32_t pod)
{
	const struct pod_entry *p = d->pods[pod - 1];

	for (size_t i = 0; i < p->refs_n; i++) {
		const struct claim_entry *c =
			p->refs[i].not_needed ? NULL : claim_find(d, p->namespace, p->refs[i].name);

		for (size_t k = 0; c != NULL && k < c->requests_n; k++)
			if (c->requests[k].prioritized)
				return true;
	}
	return false;
}

static const struct request_entry *request_of(const struct asked *a, uint32_t claim,
                                              uint32_t request)
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

__attribute__((format(printf, 1, 2))) static char *print(const char *format, ...)
{
	va_list args;
	char *text;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		fatal_memory();
	return text;
}

static char *selector_fault(struct devices *d, const struct devices_fault *f)
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
		return print("class %.*s: selector #%u: CEL runtime error: %s", TEXT(o->class), number,
		             error);
	return print("claim %.*s/%.*s: selector #%u: CEL runtime error: %s", TEXT(c->namespace),
	             TEXT(c->name), number, error);
}

char *devices_fault_text(const struct devices *d, const struct devices_fault *f)
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
		return print(
			"claim %.*s/%.*s: number of requested devices %u exceeds the claim limit of %u",
			TEXT(c->namespace), TEXT(c->name), f->number, DEVICE_RESULTS_MAX);
	case DEVICES_INCOMPLETE:
	case DEVICES_INVALID:
		return print("claim %.*s/%.*s, request %.*s: asks for all devices, but resource pool "
		             "%.*s/%.*s is currently %s",
		             TEXT(c->namespace), TEXT(c->name), TEXT(name), TEXT(s->driver), TEXT(s->pool),
		             f->error == DEVICES_INVALID ? "invalid" : "being updated");
	case DEVICES_CONSTRAINT:
		return print("claim %.*s/%.*s, request %.*s: cannot add device %.*s/%.*s/%.*s because a "
		             "claim constraint would not be satisfied",
		             TEXT(c->namespace), TEXT(c->name), TEXT(name), TEXT(e->slice->driver),
		             TEXT(e->slice->pool), TEXT(e->name));
	case DEVICES_SELECTOR:
		break;
	}
	return selector_fault((struct devices *)(uintptr_t)d, f);
}

/* A quantity as a whole number, or with the decimals that it has. */
static void put_amount(struct bytes *b, nano_t amount)
{
	char text[64];
	int64_t whole = (int64_t)(amount / 1000000000), rest = (int64_t)(amount % 1000000000);

	if (rest == 0)
		snprintf(text, sizeof(text), "\"%lld\"", (long long)whole);
	else if (rest % 1000000 == 0)
		snprintf(text, sizeof(text), "\"%lldm\"", (long long)(amount / 1000000));
	else
		snprintf(text, sizeof(text), "\"%lld.%09lld\"", (long long)whole, (long long)rest);
	bytes_put(b, text);
}

static void put_consumed(struct bytes *b, const struct device_entry *e,
                         const device_amount *amounts)
{
	bytes_put(b, "{");
	for (size_t i = 0; i < e->facts.capacities_n; i++) {
		bytes_put(b, i > 0 ? "," : "");
		bytes_quote(b, e->capacities[i].at, e->capacities[i].bytes);
		bytes_put(b, ":");
		put_amount(b, amounts[i]);
	}
	bytes_put(b, "}");
}

static char *request_name(const struct asked *a, const struct devices_pick *pick)
{
	const struct request_entry *q = request_of(a, pick->claim, pick->request);
	const struct option_entry *o = &q->options[pick->option];

	return print("%.*s%s%.*s", TEXT(q->name), q->prioritized ? "/" : "", TEXT(o->name));
}

void devices_name(const struct devices *d, const struct devices_pick *pick,
                  struct devices_named *out)
{
	struct asked *a = d->asked;
	const struct device_entry *e = a->devices[pick->device];
	const struct claim_entry *c = a->claims[pick->claim];
	struct bytes consumed = { 0 };

	*out = (struct devices_named){
		.claim = arena_copy(&a->arena, c->name),
		.request = request_name(a, pick),
		.device =
			print("%.*s/%.*s/%.*s", TEXT(e->slice->driver), TEXT(e->slice->pool), TEXT(e->name)),
		.admin = request_of(a, pick->claim, pick->request)->options[pick->option].admin,
	};
	if (pick->consumed == NULL)
		return;
	put_consumed(&consumed, e, pick->consumed);
	bytes_add(&consumed, "", 1);
	out->consumed = consumed.at;
}

/* The allocation as it is written. */

static void put_text(struct bytes *b, const char *key, struct text text)
{
	bytes_put(b, ",\"");
	bytes_put(b, key);
	bytes_put(b, "\":");
	bytes_quote(b, text.at, text.bytes);
}

static void put_raw(struct bytes *b, const char *key, const struct tree *t)
{
	if (t->n == 0)
		return;
	bytes_put(b, ",\"");
	bytes_put(b, key);
	bytes_put(b, "\":");
	bytes_add(b, t->raw.at, t->raw.bytes);
}

static void put_result(struct bytes *b, const struct devices *d, const struct devices_pick *pick,
                       size_t number)
{
	const struct asked *a = d->asked;
	const struct device_entry *e = a->devices[pick->device];
	const struct option_entry *o =
		&request_of(a, pick->claim, pick->request)->options[pick->option];
	char *name = request_name(a, pick), share[64];

	bytes_put(b, "{\"request\":");
	bytes_quote(b, name, strlen(name));
	free(name);
	put_text(b, "driver", e->slice->driver);
	put_text(b, "pool", e->slice->pool);
	put_text(b, "device", e->name);
	if (o->admin)
		bytes_put(b, ",\"adminAccess\":true");
	put_raw(b, "tolerations", jsontree_get(o->tree, "tolerations"));
	if (pick->consumed != NULL) {
		/* Any unique text: the API server takes a UUID. */
		snprintf(share, sizeof(share), "00000000-0000-4000-8000-%012zx", number & 0xffffffffffff);
		put_text(b, "shareID", text_of(share));
		bytes_put(b, ",\"consumedCapacity\":");
		put_consumed(b, e, pick->consumed);
	}
	put_raw(b, "bindingConditions", jsontree_get(e->tree, "bindingConditions"));
	put_raw(b, "bindingFailureConditions", jsontree_get(e->tree, "bindingFailureConditions"));
	bytes_put(b, "}");
}

/* The alternative that serves the request. */
static uint32_t option_taken(const struct devices_pick *picks, size_t n, uint32_t claim,
                             uint32_t request)
{
	for (size_t i = 0; i < n; i++)
		if (picks[i].claim == claim && picks[i].request == request)
			return picks[i].option;
	return 0;
}

struct writing {
	const struct devices *d;
	const struct devices_pick *picks; /* of all claims */
	size_t n;
	uint32_t claim;
	struct bytes *out;
	bool any; /* of the list that is written */
};

static const struct option_entry *taken_option(const struct writing *w, uint32_t request)
{
	const struct claim_entry *c = w->d->asked->claims[w->claim];

	return &c->requests[request].options[option_taken(w->picks, w->n, w->claim, request)];
}

static void put_config(struct writing *w, const char *source, const char *requests,
                       const struct tree *config)
{
	bytes_put(w->out, w->any ? ",{\"source\":\"" : "{\"source\":\"");
	bytes_put(w->out, source);
	bytes_put(w->out, "\"");
	if (requests != NULL) {
		bytes_put(w->out, ",\"requests\":");
		bytes_put(w->out, requests);
	}
	put_raw(w->out, "opaque", jsontree_get(config, "opaque"));
	bytes_put(w->out, "}");
	w->any = true;
}

/* A JSON list of the requests whose alternative is of the class. */
static char *requests_of_class(const struct writing *w, struct text class)
{
	const struct claim_entry *c = w->d->asked->claims[w->claim];
	struct bytes list = { 0 };
	const char *before = "[";

	for (uint32_t i = 0; i < c->requests_n; i++) {
		const struct devices_pick pick = { w->claim, i, option_taken(w->picks, w->n, w->claim, i),
			                               0, NULL };
		char *name;

		if (!text_equal(taken_option(w, i)->class, class))
			continue;
		name = request_name(w->d->asked, &pick);
		bytes_put(&list, before);
		bytes_quote(&list, name, strlen(name));
		before = ",";
		free(name);
	}
	bytes_put(&list, "]");
	bytes_add(&list, "", 1);
	return list.at;
}

static bool class_was_before(const struct writing *w, uint32_t request)
{
	for (uint32_t i = 0; i < request; i++)
		if (text_equal(taken_option(w, i)->class, taken_option(w, request)->class))
			return true;
	return false;
}

static void put_configs(struct writing *w)
{
	const struct claim_entry *c = w->d->asked->claims[w->claim];

	for (uint32_t i = 0; i < c->requests_n; i++) {
		const struct class_entry *class = class_find(w->d, taken_option(w, i)->class);
		char *requests;

		if (class_was_before(w, i))
			continue;
		requests = requests_of_class(w, class->name);
		TREE_EACH(config, jsontree_get(class->spec, "config"))
		put_config(w, "FromClass", requests, config);
		free(requests);
	}
	TREE_EACH(config, jsontree_get(c->spec, "config"))
	{
		const struct tree *named = jsontree_get(config, "requests");
		struct bytes list = { 0 };

		bytes_add(&list, named->raw.at, named->raw.bytes);
		bytes_add(&list, "", 1);
		if (named->n == 0)
			put_config(w, "FromClaim", NULL, config);
		for (uint32_t i = 0; named->n > 0 && i < c->requests_n; i++)
			if (listed(named, &c->requests[i], taken_option(w, i)))
				put_config(w, "FromClaim", list.at, config);
		bytes_free(&list);
	}
}

struct node_terms {
	struct text node;             /* bytes 0: of no single node */
	struct text *fields, *labels; /* requirements as written, each once */
	size_t fields_n, labels_n;
};

static void requirements_add(struct asked *a, const struct tree *list, struct text **at, size_t *n)
{
	struct text *grown = array(a, *n + list->n, sizeof(*grown));

	if (*n > 0)
		memcpy(grown, *at, *n * sizeof(*grown));
	*at = grown;
	TREE_EACH(one, list)
	{
		bool known = false;

		for (size_t i = 0; i < *n; i++)
			known = known || text_equal((*at)[i], one->raw);
		if (!known)
			(*at)[(*n)++] = one->raw;
	}
}

static void terms_add(struct asked *a, const struct device_entry *e, struct node_terms *t)
{
	const struct slice *s = e->slice;
	struct text node = s->per_device ? jsontree_text(jsontree_get(e->tree, "nodeName")) : s->node;
	const struct tree *selector =
						  s->per_device ? jsontree_get(e->tree, "nodeSelector") : s->selector,
					  *term;

	if (t->node.bytes > 0)
		return;
	if (node.bytes > 0 || jsontree_true(jsontree_get(e->tree, "bindsToNode"))) {
		t->node = a->node->name;
		return;
	}
	if (selector == NULL || jsontree_get(selector, "nodeSelectorTerms")->n == 0)
		return;
	term = jsontree_get(selector, "nodeSelectorTerms")->first;
	requirements_add(a, jsontree_get(term, "matchFields"), &t->fields, &t->fields_n);
	requirements_add(a, jsontree_get(term, "matchExpressions"), &t->labels, &t->labels_n);
}

static void put_requirements(struct bytes *b, const char *key, const struct text *at, size_t n,
                             bool behind)
{
	if (n == 0)
		return;
	bytes_put(b, behind ? ",\"" : "\"");
	bytes_put(b, key);
	bytes_put(b, "\":[");
	for (size_t i = 0; i < n; i++) {
		bytes_put(b, i > 0 ? "," : "");
		bytes_add(b, at[i].at, at[i].bytes);
	}
	bytes_put(b, "]");
}

/* structured: createNodeSelector. */
static void put_selector(struct writing *w)
{
	struct asked *a = w->d->asked;
	struct node_terms t = { .node = text_of("") };

	for (size_t i = 0; i < w->n; i++)
		if (w->picks[i].claim == w->claim)
			terms_add(a, a->devices[w->picks[i].device], &t);
	if (t.node.bytes > 0) {
		bytes_put(w->out, ",\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
		                  "\"metadata.name\",\"operator\":\"In\",\"values\":[");
		bytes_quote(w->out, t.node.at, t.node.bytes);
		bytes_put(w->out, "]}]}]}");
	} else if (t.fields_n + t.labels_n > 0) {
		bytes_put(w->out, ",\"nodeSelector\":{\"nodeSelectorTerms\":[{");
		put_requirements(w->out, "matchFields", t.fields, t.fields_n, false);
		put_requirements(w->out, "matchExpressions", t.labels, t.labels_n, t.fields_n > 0);
		bytes_put(w->out, "}]}");
	}
}

static void put_allocation(struct writing *w)
{
	const size_t from = w->out->n + strlen("{\"devices\":{");

	bytes_put(w->out, "{\"devices\":{\"results\":[");
	for (size_t i = 0; i < w->n; i++) {
		if (w->picks[i].claim != w->claim)
			continue;
		bytes_put(w->out, w->any ? "," : "");
		put_result(w->out, w->d, &w->picks[i], i);
		w->any = true;
	}
	bytes_put(w->out, "]");
	if (!w->any) {
		w->out->n = from;
	} else {
		size_t at;

		w->any = false;
		bytes_put(w->out, ",\"config\":[");
		at = w->out->n;
		put_configs(w);
		if (w->out->n == at)
			w->out->n -= strlen(",\"config\":[");
		else
			bytes_put(w->out, "]");
	}
	bytes_put(w->out, "}");
	put_selector(w);
	bytes_put(w->out, "}");
}

/* The claim has it from now on, read back from the text. */
static void claim_set(struct devices *d, struct claim_entry *c, const struct bytes *json)
{
	char error[256];
	const struct tree *t = jsontree_read(arena_copy(&d->arena, (struct text){ json->at, json->n }),
	                                     json->n, &d->arena, error, sizeof(error));

	c->allocation = t;
	claim_account(d, c);
}

void devices_allocate(struct devices *d, const struct devices_pick *picks, size_t n,
                      void (*each)(void *context, const char *claim, const char *json),
                      void *context)
{
	struct asked *a = d->asked;
	const struct pod_entry *p = d->pods[a->pod - 1];

	for (uint32_t i = 0; i < a->claims_n; i++) {
		struct bytes json = { 0 };
		struct writing w = { .d = d, .picks = picks, .n = n, .claim = i, .out = &json };

		put_allocation(&w);
		claim_set(d, a->claims[i], &json);
		bytes_add(&json, "", 1);
		each(context, arena_copy(&a->arena, a->claims[i]->name), json.at);
		bytes_free(&json);
	}
	for (size_t i = 0; i < a->all_n; i++) {
		struct claim_entry *c = a->all[i];

		if (c->extended)
			continue;
		if (c->reserved_n == c->reserved_cap) {
			c->reserved_cap = c->reserved_cap * 2 + 4;
			c->reserved = must_grow(c->reserved, c->reserved_cap * sizeof(*c->reserved));
		}
		c->reserved[c->reserved_n++] = p->uid;
	}
}
