/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/devices/slices.h"

#include "frontend/json/json.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pool {
	struct text driver, name;
	int64_t generation;
};

struct entry {
	struct slice_device d;
	struct pool pool;
	struct text name;
	struct cel_attribute *attributes;
	struct cel_capacity *capacities;
	size_t attributes_cap, capacities_cap;
};

struct held {
	struct text driver, pool, device;
	const char *claim;
};

struct slices {
	struct arena arena;
	struct entry *entries;
	size_t entries_n, entries_cap;
	struct held *held;
	size_t held_n, held_cap;
	struct slice_device *rows;
};

/* One object while it is read. */
struct object_text {
	struct text namespace, name;
	struct text driver, node;
	bool per_device;
	struct pool pool;
	struct json devices; /* stands at the value: it needs the driver, which may come later */
	bool has_devices;
};

struct reading {
	struct slices *s;
	struct text driver;
	struct entry *entry;
};

struct slices *slices_new(void)
{
	return must_alloc(sizeof(struct slices));
}

void slices_free(struct slices *s)
{
	arena_free(&s->arena);
	free(s->rows);
	free(s);
}

static void field_int64(struct json *j, void *out)
{
	json_int64(j, out);
}

/* The value of an attribute; of several members, which the API server rejects, the last. */
static void read_attribute(struct json *j, struct cel_attribute *a)
{
	struct cel_error why;
	struct text member;
	bool known = false, b = false;

	if (!json_object(j))
		return;
	while (json_member(j, &member)) {
		if (text_is(member, "int")) {
			a->kind = CEL_ATTRIBUTE_INT;
			known = json_int64(j, &a->number);
		} else if (text_is(member, "bool")) {
			a->kind = CEL_ATTRIBUTE_BOOL;
			known = json_bool(j, &b);
			a->number = b;
		} else if (text_is(member, "string")) {
			a->kind = CEL_ATTRIBUTE_STRING;
			known = json_string(j, &a->string);
		} else if (text_is(member, "version")) {
			a->kind = CEL_ATTRIBUTE_VERSION;
			known = json_string(j, &a->string);
			if (known && !cel_version_parse(a->string, &a->version, &why))
				json_fail(j, "\"%.*s\" is not a version: %s",
				          (int)(a->string.bytes > 80 ? 80 : a->string.bytes), a->string.at,
				          why.text);
		} else {
			json_skip(j);
		}
	}
	if (!known)
		json_fail(j, "has none of int, bool, string and version");
}

static void read_attributes(struct json *j, void *out)
{
	struct reading *r = j->context;
	struct entry *e = r->entry;
	struct text key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		struct cel_attribute *a;

		e->attributes = arena_grow(&r->s->arena, e->attributes, e->d.device.attributes_n,
		                           &e->attributes_cap, sizeof(*a));
		a = &e->attributes[e->d.device.attributes_n++];
		memset(a, 0, sizeof(*a));
		cel_name_split(key, r->driver, &a->domain, &a->name);
		read_attribute(j, a);
	}
}

static void read_quantity(struct json *j, void *out)
{
	struct cel_capacity *c = out;
	struct cel_error why;
	struct text text;

	if (json_scalar(j, &text) && !cel_quantity_parse(text, &c->value, &why))
		json_fail(j, "\"%.*s\" is not a quantity: %s", (int)(text.bytes > 80 ? 80 : text.bytes),
		          text.at, why.text);
}

static void read_capacities(struct json *j, void *out)
{
	static const struct json_field fields[] = { JSON_WHOLE("value", read_quantity) };
	struct reading *r = j->context;
	struct entry *e = r->entry;
	struct text key;

	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		struct cel_capacity *c;

		e->capacities = arena_grow(&r->s->arena, e->capacities, e->d.device.capacities_n,
		                           &e->capacities_cap, sizeof(*c));
		c = &e->capacities[e->d.device.capacities_n++];
		memset(c, 0, sizeof(*c));
		cel_name_split(key, r->driver, &c->domain, &c->name);
		json_fields(j, fields, c);
	}
}

static void read_taint(struct json *j, void *out)
{
	static const struct json_field fields[] = { JSON_WHOLE("effect", json_field_text) };
	struct entry *e = out;
	struct text effect = { 0 };

	if (json_fields(j, fields, &effect) &&
	    (text_is(effect, "NoSchedule") || text_is(effect, "NoExecute")))
		e->d.tainted = true;
}

static void read_taints(struct json *j, void *out)
{
	json_items(j, read_taint, out);
}

static void read_node(struct json *j, void *out)
{
	struct reading *r = j->context;
	struct text node;

	if (json_string(j, &node))
		r->entry->d.node = arena_copy(&r->s->arena, node);
}

static void read_multiple(struct json *j, void *out)
{
	struct entry *e = out;

	json_bool(j, &e->d.device.allow_multiple_allocations);
}

static void read_device(struct json *j, void *out)
{
	static const struct json_field fields[] = {
		JSON_FIELD("name", json_field_text, struct entry, name),
		JSON_WHOLE("attributes", read_attributes),
		JSON_WHOLE("capacity", read_capacities),
		JSON_WHOLE("taints", read_taints),
		JSON_WHOLE("nodeName", read_node),
		JSON_WHOLE("allowMultipleAllocations", read_multiple),
	};
	struct reading *r = j->context;
	const struct object_text *o = out;
	struct slices *s = r->s;
	struct entry *e;

	s->entries = arena_grow(&s->arena, s->entries, s->entries_n, &s->entries_cap, sizeof(*e));
	e = r->entry = &s->entries[s->entries_n];
	memset(e, 0, sizeof(*e));
	e->pool = o->pool;
	e->d.node = arena_copy(&s->arena, o->node);
	e->d.device.driver = o->driver;
	if (!json_fields(j, fields, e))
		return;
	if (e->name.bytes == 0)
		json_fail(j, "name is missing");
	e->d.device.attributes = e->attributes;
	e->d.device.capacities = e->capacities;
	e->d.id =
		arena_printf(&s->arena, "%.*s/%.*s/%.*s", (int)o->driver.bytes, o->driver.at,
	                 (int)o->pool.name.bytes, o->pool.name.at, (int)e->name.bytes, e->name.at);
	s->entries_n++;
}

static void find_devices(struct json *j, void *out)
{
	struct object_text *o = out;

	o->devices = *j;
	o->has_devices = true;
	json_skip(j);
}

static bool said(const struct json *j, char *error, size_t error_bytes)
{
	char path[512];

	json_path(j, path, sizeof(path));
	snprintf(error, error_bytes, "%s%s%s", path, path[0] ? ": " : "", j->error);
	return false;
}

static bool put_slice(struct slices *s, struct text json, char *error, size_t error_bytes)
{
	static const struct json_field pool[] = {
		JSON_FIELD("name", json_field_text, struct object_text, pool.name),
		JSON_FIELD("generation", field_int64, struct object_text, pool.generation),
	};
	static const struct json_field spec[] = {
		JSON_FIELD("driver", json_field_text, struct object_text, driver),
		JSON_FIELD("nodeName", json_field_text, struct object_text, node),
		JSON_NESTED("pool", pool),
		JSON_WHOLE("devices", find_devices),
	};
	static const struct json_field fields[] = { JSON_NESTED("spec", spec) };
	struct object_text o = { 0 };
	struct reading r = { .s = s };
	struct json j;

	json_begin(&j, json.at, json.bytes, &s->arena);
	json_fields(&j, fields, &o);
	if (!json_end(&j))
		return said(&j, error, error_bytes);
	if (o.driver.bytes == 0 || o.pool.name.bytes == 0) {
		snprintf(error, error_bytes, "spec.%s is missing", o.driver.bytes ? "pool.name" : "driver");
		return false;
	}
	if (!o.has_devices)
		return true;
	o.pool.driver = r.driver = o.driver;
	o.devices.context = &r;
	json_items(&o.devices, read_device, &o);
	return !o.devices.failed || said(&o.devices, error, error_bytes);
}

static void read_result(struct json *j, void *out)
{
	static const struct json_field fields[] = {
		JSON_FIELD("driver", json_field_text, struct held, driver),
		JSON_FIELD("pool", json_field_text, struct held, pool),
		JSON_FIELD("device", json_field_text, struct held, device),
	};
	struct reading *r = j->context;
	struct held h = { 0 };

	if (!json_fields(j, fields, &h))
		return;
	r->s->held = arena_grow(&r->s->arena, r->s->held, r->s->held_n, &r->s->held_cap, sizeof(h));
	r->s->held[r->s->held_n++] = h;
}

static void read_results(struct json *j, void *out)
{
	json_items(j, read_result, out);
}

static bool put_claim(struct slices *s, struct text json, char *error, size_t error_bytes)
{
	static const struct json_field metadata[] = {
		JSON_FIELD("namespace", json_field_text, struct object_text, namespace),
		JSON_FIELD("name", json_field_text, struct object_text, name),
	};
	static const struct json_field devices[] = { JSON_WHOLE("results", read_results) };
	static const struct json_field allocation[] = { JSON_NESTED("devices", devices) };
	static const struct json_field status[] = { JSON_NESTED("allocation", allocation) };
	static const struct json_field fields[] = { JSON_NESTED("metadata", metadata),
		                                        JSON_NESTED("status", status) };
	struct object_text o = { .namespace = { "default", 7 } };
	struct reading r = { .s = s };
	size_t before = s->held_n, i;
	const char *claim;
	struct json j;

	json_begin(&j, json.at, json.bytes, &s->arena);
	j.context = &r;
	json_fields(&j, fields, &o);
	if (!json_end(&j))
		return said(&j, error, error_bytes);
	claim = arena_printf(&s->arena, "%.*s/%.*s", (int)o.namespace.bytes, o.namespace.at,
	                     (int)o.name.bytes, o.name.bytes ? o.name.at : "");
	for (i = before; i < s->held_n; i++)
		s->held[i].claim = claim;
	return true;
}

bool slices_put(struct slices *s, const char *api_version, const char *kind, struct text json,
                char *error, size_t error_bytes)
{
	if (strcmp(api_version, "resource.k8s.io/v1") != 0)
		return true;
	if (strcmp(kind, "ResourceSlice") == 0)
		return put_slice(s, json, error, error_bytes);
	return strcmp(kind, "ResourceClaim") != 0 || put_claim(s, json, error, error_bytes);
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->d.id, y->d.id);
}

static int compare_pools(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;
	struct text parts[2][2] = { { x->driver, x->name }, { y->driver, y->name } };
	unsigned i;

	for (i = 0; i < 2; i++) {
		size_t n = parts[0][i].bytes < parts[1][i].bytes ? parts[0][i].bytes : parts[1][i].bytes;
		int rc = memcmp(parts[0][i].at, parts[1][i].at, n);

		if (rc == 0 && parts[0][i].bytes != parts[1][i].bytes)
			rc = parts[0][i].bytes < parts[1][i].bytes ? -1 : 1;
		if (rc)
			return rc;
	}
	/* The newest generation first. */
	return (y->generation > x->generation) - (y->generation < x->generation);
}

/* Drops the devices of slices that a newer generation of their pool has replaced. */
static void keep_newest(struct slices *s)
{
	struct pool *pools = must_array(s->entries_n + 1, sizeof(*pools));
	size_t i, n = 0, kept = 0;

	for (i = 0; i < s->entries_n; i++)
		pools[i] = s->entries[i].pool;
	if (s->entries_n)
		qsort(pools, s->entries_n, sizeof(*pools), compare_pools);
	for (i = 0; i < s->entries_n; i++)
		if (n == 0 || !text_equal(pools[n - 1].driver, pools[i].driver) ||
		    !text_equal(pools[n - 1].name, pools[i].name))
			pools[n++] = pools[i];
	for (i = 0; i < s->entries_n; i++) {
		size_t low = 0, high = n;
		struct pool wanted = s->entries[i].pool;

		wanted.generation = INT64_MAX;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (compare_pools(&pools[middle], &wanted) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		/* A pool whose generation is the greatest number sorts as `wanted` does. */
		if (low < n && pools[low].generation == s->entries[i].pool.generation)
			s->entries[kept++] = s->entries[i];
	}
	s->entries_n = kept;
	free(pools);
}

static void join_claims(struct slices *s, struct slice_device *rows)
{
	size_t i, *caps = must_array(s->entries_n + 1, sizeof(*caps));

	for (i = 0; i < s->held_n; i++) {
		const struct held *h = &s->held[i];
		struct entry wanted = { .d.id = arena_printf(
									&s->arena, "%.*s/%.*s/%.*s", (int)h->driver.bytes,
									h->driver.bytes ? h->driver.at : "", (int)h->pool.bytes,
									h->pool.bytes ? h->pool.at : "", (int)h->device.bytes,
									h->device.bytes ? h->device.at : "") };
		struct entry *e = s->entries_n ? bsearch(&wanted, s->entries, s->entries_n, sizeof(wanted),
		                                         compare_entries)
		                               : NULL;
		struct slice_device *row;

		if (!e)
			continue;
		row = &rows[e - s->entries];
		row->claims = arena_grow(&s->arena, row->claims, row->claims_n, &caps[e - s->entries],
		                         sizeof(row->claims[0]));
		row->claims[row->claims_n++] = h->claim;
	}
	free(caps);
}

struct slice_device *slices_devices(struct slices *s, size_t *n)
{
	size_t i;

	keep_newest(s);
	if (s->entries_n)
		qsort(s->entries, s->entries_n, sizeof(s->entries[0]), compare_entries);
	free(s->rows);
	s->rows = must_array(s->entries_n + 1, sizeof(s->rows[0]));
	for (i = 0; i < s->entries_n; i++)
		s->rows[i] = s->entries[i].d;
	join_claims(s, s->rows);
	*n = s->entries_n;
	return s->rows;
}
