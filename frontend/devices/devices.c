/* SPDX-License-Identifier: Apache-2.0 */
/* The store, and what PreFilter of the plugin dynamicresources says of a pod. */
#include "frontend/devices/asked.h"
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESERVED_MAX 256u /* consumers of a claim (ResourceClaimReservedForMaxSize) */
#define IMPLICIT "deviceclass.resource.kubernetes.io/"

struct devices *devices_new(void)
{
	struct devices *d = must_alloc(sizeof(*d));

	d->asked = asked_new();
	for (uint32_t i = 0; i < VALUE_TYPES; i++)
		intern_init(&d->values[i], (const uint64_t[]){ 0, 0 }, UINT32_MAX);
	return d;
}

static void expressions_clear(struct devices *d)
{
	for (size_t i = 0; i < d->expressions_n; i++) {
		struct expression *e = &d->expressions[i];

		for (uint32_t k = 0; k < d->devices_n; k++)
			free(e->errors[k]);
		free(e->errors);
		free(e->results);
		selector_free(e->program);
	}
	d->expressions_n = 0;
}

void devices_free(struct devices *d)
{
	if (d == NULL)
		return;
	expressions_clear(d);
	for (size_t i = 0; i < d->claims_n; i++)
		free(d->claims[i]->reserved);
	asked_free(d->asked);
	for (uint32_t i = 0; i < VALUE_TYPES; i++)
		intern_free(&d->values[i]);
	free(d->expressions);
	free(d->slices);
	free(d->classes);
	free(d->claims);
	free(d->pods);
	free(d->nodes);
	free(d->refusal);
	arena_free(&d->arena);
	free(d);
}

bool devices_take(const char *api_version, const char *kind)
{
	if (strcmp(api_version, "v1") == 0)
		return strcmp(kind, "Node") == 0 || strcmp(kind, "Pod") == 0;
	return strcmp(api_version, "resource.k8s.io/v1") == 0 &&
	       (strcmp(kind, "ResourceSlice") == 0 || strcmp(kind, "DeviceClass") == 0 ||
	        strcmp(kind, "ResourceClaim") == 0);
}

bool devices_put(struct devices *d, const char *kind, const char *json, size_t bytes, char *error,
                 size_t error_bytes)
{
	char *copy = arena_alloc(&d->arena, bytes + 1);
	const struct tree *t;

	/* Their results are by device. */
	if (strcmp(kind, "ResourceSlice") == 0)
		expressions_clear(d);
	memcpy(copy, json, bytes);
	copy[bytes] = '\0';
	t = jsontree_read(copy, bytes, &d->arena, error, error_bytes);
	return t != NULL && device_read(d, kind, t, error, error_bytes);
}

const struct class_entry *class_find(const struct devices *d, struct text name)
{
	for (size_t i = 0; i < d->classes_n; i++)
		if (text_equal(d->classes[i]->name, name))
			return d->classes[i];
	return NULL;
}

/* Of several the newest, then the first by name.  A class that names its resource is not served
 * by its own name too. */
const struct class_entry *class_of_resource(const struct devices *d, struct text resource)
{
	const struct class_entry *best = NULL;

	for (size_t i = 0; i < d->classes_n; i++) {
		const struct class_entry *c = d->classes[i];

		if (c->extended.bytes == 0 || !text_equal(c->extended, resource))
			continue;
		if (best == NULL || text_order(c->created, best->created) > 0 ||
		    (text_equal(c->created, best->created) && text_order(best->name, c->name) > 0))
			best = c;
	}
	if (best == NULL && text_starts(resource, IMPLICIT)) {
		best = class_find(
			d, (struct text){ resource.at + strlen(IMPLICIT), resource.bytes - strlen(IMPLICIT) });
		if (best != NULL && best->extended.bytes > 0)
			best = NULL;
	}
	return best;
}

bool devices_back(const struct devices *d, struct text resource)
{
	return class_of_resource(d, resource) != NULL;
}

struct claim_entry *claim_find(const struct devices *d, struct text namespace, struct text name)
{
	for (size_t i = 0; i < d->claims_n; i++)
		if (text_equal(d->claims[i]->name, name) && text_equal(d->claims[i]->namespace, namespace))
			return d->claims[i];
	return NULL;
}

const struct node_entry *node_entry_find(const struct devices *d, const char *name)
{
	for (size_t i = 0; i < d->nodes_n; i++)
		if (text_is(d->nodes[i]->name, name))
			return d->nodes[i];
	return NULL;
}

uint32_t devices_pod(const struct devices *d, struct text namespace, struct text name)
{
	for (size_t i = 0; i < d->pods_n; i++)
		if (text_equal(d->pods[i]->name, name) && text_equal(d->pods[i]->namespace, namespace))
			return (uint32_t)i + 1;
	return 0;
}

#define TEXT(t) (int)(t).bytes, (t).at

/* Keeps the text; true. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct devices *d, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	free(d->refusal);
	d->refusal = must_copy(text);
	return true;
}

/* dynamicresources: foreachPodResourceClaim. */
static bool ref_refused(struct devices *d, const struct pod_entry *p, const struct claim_ref *ref)
{
	const struct claim_entry *c;

	if (ref->not_needed)
		return false;
	if (ref->name.bytes == 0)
		return refuse(d, "pod \"%.*s/%.*s\": ResourceClaim not created yet", TEXT(p->namespace),
		              TEXT(p->name));
	c = claim_find(d, p->namespace, ref->name);
	if (c == NULL)
		return refuse(d, "could not find ResourceClaim \"%.*s/%.*s\"", TEXT(p->namespace),
		              TEXT(ref->name));
	if (c->deleting)
		return refuse(d, "resourceclaim \"%.*s\" is being deleted", TEXT(c->name));
	if (ref->owned && !(c->owner.bytes > 0 && text_equal(c->owner, p->uid)))
		return refuse(d,
		              "ResourceClaim %.*s/%.*s was not created for Pod %.*s/%.*s "
		              "(Pod is not owner)",
		              TEXT(c->namespace), TEXT(c->name), TEXT(p->namespace), TEXT(p->name));
	return false;
}

static bool is_reserved_for(const struct claim_entry *c, struct text uid)
{
	for (size_t i = 0; i < c->reserved_n; i++)
		if (text_equal(c->reserved[i], uid))
			return true;
	return false;
}

static bool claim_refused(struct devices *d, const struct pod_entry *p, const struct claim_entry *c)
{
	if (c->in_flight)
		return refuse(d, "resource claim %.*s/%.*s is in the process of being allocated",
		              TEXT(c->namespace), TEXT(c->name));
	if (c->allocation != NULL)
		return c->reserved_n >= RESERVED_MAX && !is_reserved_for(c, p->uid) &&
		       refuse(d, "resourceclaim in use");
	for (size_t i = 0; i < c->requests_n; i++) {
		const struct request_entry *q = &c->requests[i];

		for (size_t k = 0; k < q->options_n; k++) {
			const struct option_entry *o = &q->options[k];

			if (class_find(d, o->class) == NULL)
				return refuse(d, "request %.*s%s%.*s: device class %.*s does not exist",
				              TEXT(q->name), q->prioritized ? "/" : "", TEXT(o->name),
				              TEXT(o->class));
		}
	}
	return false;
}

const char *devices_refusal(struct devices *d, uint32_t pod)
{
	const struct pod_entry *p = d->pods[pod - 1];

	for (size_t i = 0; i < p->refs_n; i++)
		if (ref_refused(d, p, &p->refs[i]))
			return d->refusal;
	for (size_t i = 0; i < p->refs_n; i++)
		if (!p->refs[i].not_needed &&
		    claim_refused(d, p, claim_find(d, p->namespace, p->refs[i].name)))
			return d->refusal;
	return NULL;
}

static bool selectors_refused(struct devices *d, const struct tree *selectors, const char *whose,
                              struct text first, const char *slash, struct text last)
{
	TREE_EACH(selector, selectors)
	{
		const struct expression *e = expression_of(
			d, jsontree_text(jsontree_get(jsontree_get(selector, "cel"), "expression")));
		const char *what = selector_refused(e->program);

		if (what != NULL)
			return refuse(d, "selector of %s %.*s%s%.*s uses %s, which muster does not know", whose,
			              TEXT(first), slash, TEXT(last), what);
	}
	return false;
}

static bool claim_unsupported(struct devices *d, const struct claim_entry *c)
{
	for (size_t i = 0; i < c->requests_n; i++)
		for (size_t k = 0; k < c->requests[i].options_n; k++) {
			const struct option_entry *o = &c->requests[i].options[k];
			const struct class_entry *class = class_find(d, o->class);

			if (class != NULL && selectors_refused(d, jsontree_get(class->spec, "selectors"),
			                                       "class", text_of(""), "", class->name))
				return true;
			if (selectors_refused(d, jsontree_get(o->tree, "selectors"), "claim", c->namespace, "/",
			                      c->name))
				return true;
		}
	return false;
}

const char *devices_unsupported(struct devices *d, uint32_t pod)
{
	const struct pod_entry *p = d->pods[pod - 1];

	for (size_t i = 0; i < p->refs_n; i++) {
		const struct claim_entry *c =
			p->refs[i].not_needed ? NULL : claim_find(d, p->namespace, p->refs[i].name);

		if (c != NULL && c->allocation == NULL && claim_unsupported(d, c))
			return d->refusal;
	}
	for (size_t i = 0; i < p->containers_n; i++)
		for (size_t k = 0; k < p->containers[i].requests_n; k++) {
			const struct class_entry *class =
				class_of_resource(d, p->containers[i].requests[k].name);

			if (class != NULL && selectors_refused(d, jsontree_get(class->spec, "selectors"),
			                                       "class", text_of(""), "", class->name))
				return d->refusal;
		}
	return NULL;
}

static void device_account(void *context, struct device_entry *e, const struct tree *result)
{
	const struct tree *consumed = jsontree_get(result, "consumedCapacity");

	if (jsontree_text(jsontree_get(result, "shareID")).bytes == 0) {
		e->taken++;
		return;
	}
	e->shares++;
	for (size_t i = 0; i < e->facts.capacities_n; i++) {
		const struct tree *amount = jsontree_find(consumed, e->capacities[i]);
		nano_t value;

		if (amount->kind != TREE_NULL &&
		    quantity_parse(amount->text.at, amount->text.bytes, &value) == 0)
			e->consumed[i] += value;
	}
}

void claim_devices_each(struct devices *d, const struct claim_entry *c, claim_device_fn each,
                        void *context)
{
	TREE_EACH(result, jsontree_get(jsontree_get(c->allocation, "devices"), "results"))
	{
		struct text driver = jsontree_text(jsontree_get(result, "driver"));
		struct text pool = jsontree_text(jsontree_get(result, "pool"));
		struct text name = jsontree_text(jsontree_get(result, "device"));

		if (jsontree_true(jsontree_get(result, "adminAccess")))
			continue;
		for (size_t i = 0; i < d->slices_n; i++) {
			struct slice *s = d->slices[i];

			if (!text_equal(s->driver, driver) || !text_equal(s->pool, pool))
				continue;
			for (size_t k = 0; k < s->devices_n; k++)
				if (text_equal(s->devices[k].name, name))
					each(context, &s->devices[k], result);
		}
	}
}

void claim_account(struct devices *d, const struct claim_entry *c)
{
	claim_devices_each(d, c, device_account, NULL);
}

int slice_order(const void *a, const void *b)
{
	const struct slice *x = *(const struct slice *const *)a, *y = *(const struct slice *const *)b;
	int order = text_order(x->driver, y->driver);

	if (order == 0)
		order = text_order(x->pool, y->pool);
	return order != 0 ? order : text_order(x->name, y->name);
}

void devices_prepare(struct devices *d)
{
	if (!d->sorted && d->slices_n > 0)
		qsort(d->slices, d->slices_n, sizeof(struct slice *), slice_order);
	d->sorted = true;
	if (d->accounted)
		return;
	for (size_t i = 0; i < d->slices_n; i++)
		for (size_t k = 0; k < d->slices[i]->devices_n; k++) {
			struct device_entry *e = &d->slices[i]->devices[k];

			e->taken = e->shares = 0;
			memset(e->consumed, 0, e->facts.capacities_n * sizeof(*e->consumed));
		}
	for (size_t i = 0; i < d->claims_n; i++)
		if (d->claims[i]->allocation != NULL)
			claim_account(d, d->claims[i]);
	d->accounted = true;
}
