/* SPDX-License-Identifier: Apache-2.0 */
/* Objects into entries. What an API server of 1.36 with its default gates would have refused or
 * dropped is refused or left out here. */
#include "frontend/devices/devices_impl.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct devices *d;
	char *error;
	size_t error_bytes;
};

__attribute__((format(printf, 2, 3))) static bool bad(const struct reading *r, const char *format,
                                                      ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, r->error_bytes, format, args);
	va_end(args);
	return false;
}

#define TEXT(t) (int)((t).bytes < 200 ? (t).bytes : 200), (t).at

static void *room(void *list, size_t n, size_t *cap, size_t each)
{
	if (n < *cap)
		return list;
	*cap = *cap * 2 + 16;
	return must_grow(list, *cap * each);
}

/* Either a JSON number or a string, as the API has it. */
static bool read_amount(const struct reading *r, const struct tree *t, const char *field,
                        nano_t *out)
{
	if ((t->kind != TREE_TEXT && t->kind != TREE_NUMBER) ||
	    quantity_parse(t->text.at, t->text.bytes, out) < 0)
		return bad(r, "%s: %.*s is not a quantity", field, TEXT(t->raw));
	return true;
}

static bool read_number(const struct reading *r, const struct tree *t, const char *field,
                        int64_t missing, int64_t *out)
{
	*out = missing;
	if (t->kind == TREE_NULL || jsontree_int64(t, out))
		return true;
	return bad(r, "%s: %.*s is not an integer", field, TEXT(t->raw));
}

static bool read_version(const struct reading *r, struct text name, struct cel_attribute *a)
{
	struct cel_error why;

	return cel_version_parse(a->string, &a->version, &why) ||
	       bad(r, "spec.devices.attributes[%.*s].version: %.*s is not a version: %s", TEXT(name),
	           TEXT(a->string), why.text);
}

static bool read_attribute(const struct reading *r, const struct tree *t, struct device_entry *e,
                           struct cel_attribute *a)
{
	const struct tree *value;

	cel_name_split(t->key, e->facts.driver, &a->domain, &a->name);
	e->attributes[e->facts.attributes_n] = t->key;
	if ((value = jsontree_get(t, "int"))->kind != TREE_NULL) {
		a->kind = CEL_ATTRIBUTE_INT;
		if (!jsontree_int64(value, &a->number))
			return bad(r, "spec.devices.attributes[%.*s].int: %.*s is not an integer", TEXT(t->key),
			           TEXT(value->raw));
	} else if ((value = jsontree_get(t, "bool"))->kind != TREE_NULL) {
		a->kind = CEL_ATTRIBUTE_BOOL;
		a->number = jsontree_true(value);
	} else if ((value = jsontree_get(t, "string"))->kind != TREE_NULL) {
		a->kind = CEL_ATTRIBUTE_STRING;
		a->string = jsontree_text(value);
	} else if ((value = jsontree_get(t, "version"))->kind != TREE_NULL) {
		a->kind = CEL_ATTRIBUTE_VERSION;
		a->string = jsontree_text(value);
		if (!read_version(r, t->key, a))
			return false;
	} else {
		/* A list (DRAListTypeAttributes is off). */
		e->unusable = true;
		return true;
	}
	e->facts.attributes_n++;
	return true;
}

static bool read_capacity(const struct reading *r, const struct tree *t, struct device_entry *e,
                          struct cel_capacity *c)
{
	const struct tree *value = jsontree_get(t, "value");
	struct cel_error why;

	policy_read(&r->d->arena, jsontree_get(t, "requestPolicy"),
	            &e->policies[e->facts.capacities_n]);
	e->capacities[e->facts.capacities_n++] = t->key;
	cel_name_split(t->key, e->facts.driver, &c->domain, &c->name);
	if ((value->kind == TREE_TEXT || value->kind == TREE_NUMBER) &&
	    cel_quantity_parse(value->text, &c->value, &why))
		return true;
	return bad(r, "spec.devices.capacity[%.*s].value: %.*s is not a quantity", TEXT(t->key),
	           TEXT(value->raw));
}

/* The counters of a list of counter sets; `name` is the member that names the set. */
static bool read_counters(const struct reading *r, const struct tree *sets, const char *name,
                          struct device_counter **out, size_t *n)
{
	size_t most = 0;

	TREE_EACH(set, sets)
	most += jsontree_get(set, "counters")->n;
	*out = arena_array(&r->d->arena, most, sizeof(**out));
	*n = 0;
	TREE_EACH(set, sets)
	{
		TREE_EACH(counter, jsontree_get(set, "counters"))
		{
			struct device_counter *c = &(*out)[(*n)++];

			c->set = jsontree_text(jsontree_get(set, name));
			c->name = counter->key;
			if (!read_amount(r, jsontree_get(counter, "value"), "counters.value", &c->value))
				return false;
		}
	}
	return true;
}

static bool read_device(const struct reading *r, const struct tree *t, const struct slice *s,
                        struct device_entry *e)
{
	const struct tree *attributes = jsontree_get(t, "attributes"),
					  *capacity = jsontree_get(t, "capacity");
	struct cel_attribute *a = arena_array(&r->d->arena, attributes->n, sizeof(*a));
	struct cel_capacity *c = arena_array(&r->d->arena, capacity->n, sizeof(*c));

	*e = (struct device_entry){
		.slice = s,
		.name = jsontree_text(jsontree_get(t, "name")),
		.tree = t,
		.facts = { .driver = s->driver,
		           .allow_multiple_allocations =
		               jsontree_true(jsontree_get(t, "allowMultipleAllocations")),
		           .attributes = a,
		           .capacities = c },
		.attributes = arena_array(&r->d->arena, attributes->n, sizeof(*e->attributes)),
		.capacities = arena_array(&r->d->arena, capacity->n, sizeof(*e->capacities)),
		.policies = arena_array(&r->d->arena, capacity->n, sizeof(*e->policies)),
		.consumed = arena_array(&r->d->arena, capacity->n, sizeof(*e->consumed)),
		.index = r->d->devices_n++,
		.unusable = jsontree_get(t, "nodeAllocatableResourceMappings")->kind != TREE_NULL,
	};
	if (e->name.bytes == 0)
		return bad(r, "spec.devices[%zu].name: is missing", (size_t)(e - s->devices));
	TREE_EACH(attribute, attributes)
	if (!read_attribute(r, attribute, e, &a[e->facts.attributes_n]))
		return false;
	TREE_EACH(one, capacity)
	if (!read_capacity(r, one, e, c++))
		return false;
	return read_counters(r, jsontree_get(t, "consumesCounters"), "counterSet", &e->uses,
	                     &e->uses_n);
}

static bool read_slice(const struct reading *r, const struct tree *t)
{
	struct devices *d = r->d;
	const struct tree *spec = jsontree_get(t, "spec"), *pool = jsontree_get(spec, "pool");
	const struct tree *devices = jsontree_get(spec, "devices");
	struct slice *s = arena_array(&d->arena, 1, sizeof(*s));

	s->name = jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "name"));
	s->driver = jsontree_text(jsontree_get(spec, "driver"));
	s->pool = jsontree_text(jsontree_get(pool, "name"));
	s->node = jsontree_text(jsontree_get(spec, "nodeName"));
	s->all_nodes = jsontree_true(jsontree_get(spec, "allNodes"));
	s->per_device = jsontree_true(jsontree_get(spec, "perDeviceNodeSelection"));
	if (jsontree_get(spec, "nodeSelector")->kind == TREE_MAP)
		s->selector = jsontree_get(spec, "nodeSelector");
	if (s->driver.bytes == 0 || s->pool.bytes == 0)
		return bad(r, "%s: is missing", s->driver.bytes == 0 ? "spec.driver" : "spec.pool.name");
	if (!read_number(r, jsontree_get(pool, "generation"), "spec.pool.generation", 0,
	                 &s->generation) ||
	    !read_number(r, jsontree_get(pool, "resourceSliceCount"), "spec.pool.resourceSliceCount", 1,
	                 &s->count))
		return false;
	s->sets = jsontree_get(spec, "sharedCounters");
	if (!read_counters(r, s->sets, "name", &s->counters, &s->counters_n))
		return false;
	s->devices = arena_array(&d->arena, devices->n, sizeof(*s->devices));
	TREE_EACH(device, devices)
	if (!read_device(r, device, s, &s->devices[s->devices_n++]))
		return false;
	d->slices = room(d->slices, d->slices_n, &d->slices_cap, sizeof(*d->slices));
	d->slices[d->slices_n++] = s;
	d->sorted = false;
	return true;
}

static bool read_class(const struct reading *r, const struct tree *t)
{
	struct devices *d = r->d;
	struct class_entry *c = arena_array(&d->arena, 1, sizeof(*c));

	c->name = jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "name"));
	c->created = jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "creationTimestamp"));
	c->spec = jsontree_get(t, "spec");
	c->extended = jsontree_text(jsontree_get(c->spec, "extendedResourceName"));
	d->classes = room(d->classes, d->classes_n, &d->classes_cap, sizeof(*d->classes));
	d->classes[d->classes_n++] = c;
	return true;
}

static bool read_option(const struct reading *r, const struct tree *t, struct option_entry *o)
{
	struct text mode = jsontree_text(jsontree_get(t, "allocationMode"));

	o->tree = t;
	o->class = jsontree_text(jsontree_get(t, "deviceClassName"));
	o->admin = jsontree_true(jsontree_get(t, "adminAccess"));
	o->all = text_is(mode, "All");
	asks_read(&r->d->arena, o);
	if (!o->all && mode.bytes > 0 && !text_is(mode, "ExactCount"))
		return bad(r, "spec.devices.requests.allocationMode: %.*s is not ExactCount or All",
		           TEXT(mode));
	if (o->class.bytes == 0)
		return bad(r, "spec.devices.requests.deviceClassName: is missing");
	if (!read_number(r, jsontree_get(t, "count"), "spec.devices.requests.count", 1, &o->count))
		return false;
	if (o->count < 1 && !o->all)
		return bad(r, "spec.devices.requests.count: %lld is below 1", (long long)o->count);
	return true;
}

static bool read_request(const struct reading *r, const struct tree *t, struct request_entry *q)
{
	const struct tree *list = jsontree_get(t, "firstAvailable"),
					  *exactly = jsontree_get(t, "exactly");

	q->name = jsontree_text(jsontree_get(t, "name"));
	if (q->name.bytes == 0)
		return bad(r, "spec.devices.requests.name: is missing");
	q->prioritized = list->n > 0;
	if (!q->prioritized && exactly->kind != TREE_MAP)
		return bad(r, "spec.devices.requests[%.*s]: has neither exactly nor firstAvailable",
		           TEXT(q->name));
	if (list->n > DEVICE_OPTIONS_MAX)
		return bad(r, "spec.devices.requests[%.*s].firstAvailable: %u are above %u", TEXT(q->name),
		           list->n, DEVICE_OPTIONS_MAX);
	q->options = arena_array(&r->d->arena, list->n + 1, sizeof(*q->options));
	if (!q->prioritized) {
		q->options_n = 1;
		return read_option(r, exactly, q->options);
	}
	TREE_EACH(sub, list)
	{
		struct option_entry *o = &q->options[q->options_n++];

		o->name = jsontree_text(jsontree_get(sub, "name"));
		if (o->name.bytes == 0)
			return bad(r, "spec.devices.requests.firstAvailable.name: is missing");
		if (!read_option(r, sub, o))
			return false;
	}
	return true;
}

bool requests_read(struct devices *d, struct claim_entry *c, char *error, size_t error_bytes)
{
	const struct reading r = { d, error, error_bytes };
	const struct tree *list = jsontree_get(c->spec, "requests");

	c->requests = arena_array(&d->arena, list->n, sizeof(*c->requests));
	TREE_EACH(request, list)
	if (!read_request(&r, request, &c->requests[c->requests_n++]))
		return false;
	return true;
}

static struct text controller_of(const struct tree *meta)
{
	TREE_EACH(owner, jsontree_get(meta, "ownerReferences"))
	if (jsontree_true(jsontree_get(owner, "controller")))
		return jsontree_text(jsontree_get(owner, "uid"));
	return text_of("");
}

static bool read_claim(const struct reading *r, const struct tree *t)
{
	struct devices *d = r->d;
	const struct tree *meta = jsontree_get(t, "metadata"), *status = jsontree_get(t, "status");
	struct claim_entry *c = arena_array(&d->arena, 1, sizeof(*c));

	c->namespace = jsontree_text(jsontree_get(meta, "namespace"));
	if (c->namespace.bytes == 0)
		c->namespace = text_of("default");
	c->name = jsontree_text(jsontree_get(meta, "name"));
	c->uid = jsontree_text(jsontree_get(meta, "uid"));
	c->owner = controller_of(meta);
	c->deleting = jsontree_get(meta, "deletionTimestamp")->kind != TREE_NULL;
	c->spec = jsontree_get(jsontree_get(t, "spec"), "devices");
	c->statuses = jsontree_get(status, "devices");
	if (jsontree_get(status, "allocation")->kind == TREE_MAP)
		c->allocation = jsontree_get(status, "allocation");
	c->created = jsontree_text(jsontree_get(meta, "creationTimestamp"));
	c->consumers = jsontree_get(status, "reservedFor");
	TREE_EACH(consumer, c->consumers)
	{
		c->reserved = room(c->reserved, c->reserved_n, &c->reserved_cap, sizeof(*c->reserved));
		c->reserved[c->reserved_n++] = jsontree_text(jsontree_get(consumer, "uid"));
	}
	d->claims = room(d->claims, d->claims_n, &d->claims_cap, sizeof(*d->claims));
	d->claims[d->claims_n++] = c;
	d->accounted = false;
	return requests_read(d, c, r->error, r->error_bytes);
}

static bool read_node(const struct reading *r, const struct tree *t)
{
	struct devices *d = r->d;
	struct node_entry *n = arena_array(&d->arena, 1, sizeof(*n));
	const struct tree *status = jsontree_get(t, "status");

	n->name = jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "name"));
	n->labels = jsontree_get(jsontree_get(t, "metadata"), "labels");
	n->allocatable = jsontree_get(status, "allocatable");
	if (n->allocatable->kind != TREE_MAP)
		n->allocatable = jsontree_get(status, "capacity");
	d->nodes = room(d->nodes, d->nodes_n, &d->nodes_cap, sizeof(*d->nodes));
	d->nodes[d->nodes_n++] = n;
	return true;
}

static struct claim_ref claim_ref_of(const struct tree *t, const struct tree *statuses)
{
	struct claim_ref ref = { .name = jsontree_text(jsontree_get(t, "resourceClaimName")) };

	if (jsontree_get(t, "resourceClaimTemplateName")->kind == TREE_NULL)
		return ref;
	ref.owned = true;
	TREE_EACH(status, statuses)
	if (text_equal(jsontree_text(jsontree_get(status, "name")),
	               jsontree_text(jsontree_get(t, "name")))) {
		ref.name = jsontree_text(jsontree_get(status, "resourceClaimName"));
		ref.not_needed = ref.name.bytes == 0;
		break;
	}
	return ref;
}

static int order_of_names(const void *a, const void *b)
{
	return text_order((*(const struct tree *const *)a)->key, (*(const struct tree *const *)b)->key);
}

static bool read_container(const struct reading *r, const struct tree *t, bool init,
                           struct container_entry *c)
{
	const struct tree *requests = jsontree_get(jsontree_get(t, "resources"), "requests");
	const struct tree **sorted = arena_array(&r->d->arena, requests->n, sizeof(*sorted));
	uint32_t n = 0;

	c->name = jsontree_text(jsontree_get(t, "name"));
	c->init = init;
	c->sidecar = init && text_is(jsontree_text(jsontree_get(t, "restartPolicy")), "Always");
	c->requests = arena_array(&r->d->arena, requests->n, sizeof(*c->requests));
	TREE_EACH(request, requests)
	sorted[n++] = request;
	qsort(sorted, n, sizeof(*sorted), order_of_names);
	for (uint32_t i = 0; i < n; i++) {
		nano_t amount;

		if (!read_amount(r, sorted[i], "spec.containers.resources.requests", &amount))
			return false;
		c->requests[c->requests_n++] =
			(struct resource_request){ sorted[i]->key, quantity_value(amount), i };
	}
	return true;
}

static bool asks_for_backed(const struct devices *d, const struct pod_entry *p)
{
	for (size_t i = 0; i < p->containers_n; i++)
		for (size_t k = 0; k < p->containers[i].requests_n; k++)
			if (p->containers[i].requests[k].value > 0 &&
			    devices_back(d, p->containers[i].requests[k].name))
				return true;
	return false;
}

struct pod_entry *pod_read(struct devices *d, const struct tree *t, char *error, size_t error_bytes)
{
	const struct reading r = { d, error, error_bytes };
	const struct tree *meta = jsontree_get(t, "metadata"), *spec = jsontree_get(t, "spec");
	const struct tree *refs = jsontree_get(spec, "resourceClaims");
	const struct tree *lists[] = { jsontree_get(spec, "initContainers"),
		                           jsontree_get(spec, "containers") };
	struct pod_entry *p = arena_array(&d->arena, 1, sizeof(*p));

	p->namespace = jsontree_text(jsontree_get(meta, "namespace"));
	if (p->namespace.bytes == 0)
		p->namespace = text_of("default");
	p->name = jsontree_text(jsontree_get(meta, "name"));
	p->uid = jsontree_text(jsontree_get(meta, "uid"));
	p->refs = arena_array(&d->arena, refs->n, sizeof(*p->refs));
	TREE_EACH(ref, refs)
	p->refs[p->refs_n++] =
		claim_ref_of(ref, jsontree_get(jsontree_get(t, "status"), "resourceClaimStatuses"));
	p->containers = arena_array(&d->arena, lists[0]->n + lists[1]->n, sizeof(*p->containers));
	for (int i = 0; i < 2; i++)
		TREE_EACH(container, lists[i])
	if (!read_container(&r, container, i == 0, &p->containers[p->containers_n++]))
		return NULL;
	return p;
}

static bool read_pod(const struct reading *r, const struct tree *t)
{
	struct devices *d = r->d;
	struct pod_entry *p = pod_read(d, t, r->error, r->error_bytes);

	if (!p)
		return false;
	p->backed = asks_for_backed(d, p);
	if (p->refs_n == 0 && !p->backed)
		return true;
	d->pods = room(d->pods, d->pods_n, &d->pods_cap, sizeof(*d->pods));
	d->pods[d->pods_n++] = p;
	return true;
}

bool device_read(struct devices *d, const char *kind, const struct tree *t, char *error,
                 size_t error_bytes)
{
	static const struct {
		const char *kind;
		bool (*read)(const struct reading *r, const struct tree *t);
	} kinds[] = {
		{ "ResourceSlice", read_slice },
		{ "DeviceClass", read_class },
		{ "ResourceClaim", read_claim },
		{ "Node", read_node },
		{ "Pod", read_pod },
	};
	const struct reading r = { d, error, error_bytes };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].read(&r, t);
	return true;
}
