/* SPDX-License-Identifier: Apache-2.0 */
/* From picks to their names, and to the allocation as it is written. */
#include "frontend/devices/asked.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(t) (int)(t).bytes, (t).at

void amount_put(struct bytes *b, nano_t amount)
{
	char text[64];
	int64_t whole = (int64_t)(amount / 1000000000), rest = (int64_t)(amount % 1000000000);

	if (rest == 0)
		snprintf(text, sizeof(text), "%lld", (long long)whole);
	else if (rest % 1000000 == 0 && amount / 1000000 <= INT64_MAX)
		snprintf(text, sizeof(text), "%lldm", (long long)(amount / 1000000));
	else
		snprintf(text, sizeof(text), "%lld.%09lld", (long long)whole, (long long)rest);
	bytes_put(b, text);
}

static void put_consumed(struct bytes *b, const struct device_entry *e,
                         const device_amount *amounts)
{
	bytes_put(b, "{");
	for (size_t i = 0; i < e->facts.capacities_n; i++) {
		bytes_put(b, i > 0 ? "," : "");
		bytes_quote(b, e->capacities[i].at, e->capacities[i].bytes);
		bytes_put(b, ":\"");
		amount_put(b, amounts[i]);
		bytes_put(b, "\"");
	}
	bytes_put(b, "}");
}

static const char *request_name(const struct devices *d, const struct devices_pick *pick)
{
	const struct request_entry *q = request_of(d->asked, pick->claim, pick->request);
	const struct option_entry *o = &q->options[pick->option];

	return arena_printf(&d->asked->arena, "%.*s%s%.*s", TEXT(q->name), q->prioritized ? "/" : "",
	                    TEXT(o->name));
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
		.request = request_name(d, pick),
		.device = arena_printf(&a->arena, "%.*s/%.*s/%.*s", TEXT(e->slice->driver),
		                       TEXT(e->slice->pool), TEXT(e->name)),
		.admin = request_of(a, pick->claim, pick->request)->options[pick->option].admin,
	};
	if (pick->consumed == NULL)
		return;
	put_consumed(&consumed, e, pick->consumed);
	out->consumed = arena_copy(&a->arena, (struct text){ consumed.at, consumed.n });
	bytes_free(&consumed);
}

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

/* A UUID of version 4. */
static void put_share(struct bytes *b, const uint64_t share[2])
{
	char text[64];

	snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx", (uint32_t)(share[0] >> 32),
	         (uint32_t)(share[0] >> 16 & 0xffff), (uint32_t)(share[0] & 0xfff),
	         (uint32_t)(0x8000 | (share[1] >> 48 & 0x3fff)),
	         (unsigned long long)(share[1] & 0xffffffffffff));
	put_text(b, "shareID", text_of(text));
}

static void put_result(struct bytes *b, const struct devices *d, const struct devices_pick *pick)
{
	const struct asked *a = d->asked;
	const struct device_entry *e = a->devices[pick->device];
	const struct option_entry *o =
		&request_of(a, pick->claim, pick->request)->options[pick->option];
	const char *name = request_name(d, pick);

	bytes_put(b, "{\"request\":");
	bytes_quote(b, name, strlen(name));
	put_text(b, "driver", e->slice->driver);
	put_text(b, "pool", e->slice->pool);
	put_text(b, "device", e->name);
	if (o->admin)
		bytes_put(b, ",\"adminAccess\":true");
	put_raw(b, "tolerations", jsontree_get(o->tree, "tolerations"));
	if (pick->consumed != NULL) {
		put_share(b, pick->share);
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
		const struct devices_pick pick = {
			w->claim, i, option_taken(w->picks, w->n, w->claim, i), 0, NULL, { 0, 0 }
		};
		const char *name;

		if (!text_equal(taken_option(w, i)->class, class))
			continue;
		name = request_name(w->d, &pick);
		bytes_put(&list, before);
		bytes_quote(&list, name, strlen(name));
		before = ",";
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
			if (option_is_listed(named, &c->requests[i], taken_option(w, i)))
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
	struct text *grown = arena_array(&a->arena, *n + list->n, sizeof(*grown));

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
		put_result(w->out, w->d, &w->picks[i]);
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

void allocation_write(const struct devices *d, const struct devices_pick *picks, size_t n,
                      uint32_t claim, struct bytes *out)
{
	struct writing w = { .d = d, .picks = picks, .n = n, .claim = claim, .out = out };

	put_allocation(&w);
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

/* Allocated together with the claim of the pod's extended resources. */
static bool beside_extended(const struct asked *a, const struct claim_entry *c)
{
	bool beside = false, allocated = false;

	for (size_t i = 0; i < a->claims_n; i++) {
		beside = beside || a->claims[i]->extended;
		allocated = allocated || a->claims[i] == c;
	}
	return beside && allocated;
}

void devices_allocate(struct devices *d, const struct devices_pick *picks, size_t n,
                      void (*each)(void *context, const char *claim, const char *json),
                      void *context)
{
	struct asked *a = d->asked;
	const struct pod_entry *p = d->pods[a->pod - 1];

	for (uint32_t i = 0; i < a->claims_n; i++) {
		struct bytes json = { 0 };

		allocation_write(d, picks, n, i, &json);
		claim_set(d, a->claims[i], &json);
		bytes_add(&json, "", 1);
		each(context, arena_copy(&a->arena, a->claims[i]->name), json.at);
		bytes_free(&json);
	}
	for (size_t i = 0; i < a->all_n; i++) {
		struct claim_entry *c = a->all[i];

		if (c->extended)
			continue;
		/* kube-scheduler forgets to end what it wrote beside a claim that it made itself. */
		c->in_flight = c->in_flight || beside_extended(a, c);
		if (c->reserved_n == c->reserved_cap) {
			c->reserved_cap = c->reserved_cap * 2 + 4;
			c->reserved = must_grow(c->reserved, c->reserved_cap * sizeof(*c->reserved));
		}
		c->reserved[c->reserved_n++] = p->uid;
	}
}
