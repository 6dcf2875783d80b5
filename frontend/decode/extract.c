/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHOLE ((nano_t)1000000000) /* 1 in units of 10^-9 */

const struct text *pairs_find(const struct pairs *p, const char *key)
{
	for (size_t i = p->n; i-- > 0;)
		if (text_is(p->at[i].key, key))
			return &p->at[i].value;
	return NULL;
}

const nano_t *quantities_find(const struct quantities *q, uint32_t resource)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->at[i].resource == resource)
			return &q->at[i].amount;
	return NULL;
}

void *extract_more(struct json *j, void *items, size_t n, size_t *room, size_t item_bytes)
{
	char *grown = arena_grow(j->arena, items, n, room, item_bytes);

	if (!grown)
		json_no_memory(j);
	else
		memset(grown + n * item_bytes, 0, item_bytes);
	return grown;
}

/* ---- errors -------------------------------------------------------------- */

void extract_object_name(const struct meta *meta, char *out, size_t out_bytes)
{
	const struct text *ns = &meta->namespace, *name = &meta->name, *kind = &meta->kind;

	if (name->bytes == 0)
		snprintf(out, out_bytes, "object");
	else
		snprintf(out, out_bytes, "%.*s %.*s%s%.*s", (int)(kind->bytes < 64 ? kind->bytes : 64),
		         kind->bytes > 0 ? kind->at : "", (int)(ns->bytes < 253 ? ns->bytes : 253),
		         ns->bytes > 0 ? ns->at : "", ns->bytes > 0 ? "/" : "",
		         (int)(name->bytes < 253 ? name->bytes : 253), name->at);
}

/* Fill *error from a scanner that failed; -EINVAL or -ENOMEM. */
static int extract_failed(const struct json *j, const struct meta *meta, struct decode_error *error)
{
	if (j->no_memory)
		return -ENOMEM;
	if (error) {
		extract_object_name(meta, error->object, sizeof(error->object));
		json_path(j, error->field, sizeof(error->field));
		snprintf(error->text, sizeof(error->text), "%s", j->error);
	}
	return -EINVAL;
}

/* ---- values --------------------------------------------------------------- */

bool extract_any(struct json *j)
{
	bool any = false;

	if (!json_array(j))
		return false;
	while (json_item(j)) {
		any = true;
		json_skip(j);
	}
	return any;
}

void extract_int32(struct json *j, int32_t *out)
{
	int64_t value;

	if (!json_int64(j, &value))
		return;
	if (value < INT32_MIN || value > INT32_MAX)
		json_fail(j, "%lld is not a 32-bit integer", (long long)value);
	else
		*out = (int32_t)value;
}

/* ---- resources ------------------------------------------------------------ */

bool extract_is_counted(struct text r)
{
	if (text_is(r, "cpu") || text_is(r, "memory") || text_is(r, "ephemeral-storage") ||
	    text_is(r, "pods"))
		return true;
	if (text_starts(r, "hugepages-") || text_starts(r, "attachable-volumes-"))
		return true;
	if (r.bytes == 0 || !memchr(r.at, '/', r.bytes))
		return false;
	return !text_starts(r, "requests.") || memmem(r.at, r.bytes, "kubernetes.io/", 14);
}

static void names_seed(struct resource_names *names)
{
	names->at[RESOURCE_CPU] = text_of("cpu");
	names->at[RESOURCE_MEMORY] = text_of("memory");
	names->at[RESOURCE_EPHEMERAL] = text_of("ephemeral-storage");
	names->at[RESOURCE_PODS] = text_of("pods");
	names->n = RESOURCE_EXTENDED;
}

/* The index of that name, new or known; RESOURCES_MAX when there are too many. */
static uint32_t names_index(struct resource_names *names, struct text name)
{
	uint32_t i;

	if (names->n == 0)
		names_seed(names);
	for (i = 0; i < names->n; i++)
		if (text_equal(names->at[i], name))
			return i;
	if (i < RESOURCES_MAX)
		names->at[names->n++] = name;
	return i;
}

static struct text text_trim(struct text t)
{
	while (t.bytes > 0 && (t.at[0] == ' ' || (t.at[0] >= '\t' && t.at[0] <= '\r'))) {
		t.at++;
		t.bytes--;
	}
	while (t.bytes > 0 &&
	       (t.at[t.bytes - 1] == ' ' || (t.at[t.bytes - 1] >= '\t' && t.at[t.bytes - 1] <= '\r')))
		t.bytes--;
	return t;
}

/* Extended resources and pods: the API server refuses half a one. */
static bool is_counted_whole(struct text r)
{
	if (text_is(r, "pods"))
		return true;
	return r.bytes > 0 && memchr(r.at, '/', r.bytes) &&
	       !memmem(r.at, r.bytes, "kubernetes.io/", 14);
}

/* *text is what was written. */
static void quantity_read(struct json *j, nano_t *out, struct text *text)
{
	*out = 0;
	*text = TEXT_NONE;
	if (json_null(j) || !json_scalar(j, text))
		return;
	*text = text_trim(*text);
	if (quantity_parse(text->at, text->bytes, out) < 0)
		json_fail(j, "\"%.*s\" is not a quantity", TEXT_SHOWN(*text));
	else if (*out < 0)
		json_fail(j, "\"%.*s\" is negative", TEXT_SHOWN(*text));
}

void extract_quantity(struct json *j, nano_t *out)
{
	struct text text;

	quantity_read(j, out, &text);
}

static struct quantity_of *quantities_set(struct json *j, struct quantities *q, uint32_t resource)
{
	struct quantity_of *p;

	for (size_t i = 0; i < q->n; i++)
		if (q->at[i].resource == resource)
			return &q->at[i];
	p = extract_more(j, q->at, q->n, &q->room, sizeof(*p));
	if (!p)
		return NULL;
	q->at = p;
	p += q->n++;
	p->resource = resource;
	return p;
}

void extract_quantities(struct json *j, struct resource_names *names, struct quantities *out)
{
	struct text name, text;
	struct quantity_of *q;
	nano_t amount;
	uint32_t resource;

	out->n = 0;
	if (!json_object(j))
		return;
	while (json_key(j, &name)) {
		quantity_read(j, &amount, &text);
		if (j->failed)
			return;
		if (!extract_is_counted(name))
			continue;
		if (amount % WHOLE != 0 && is_counted_whole(name)) {
			json_fail(j, "\"%.*s\" is not a whole number", TEXT_SHOWN(text));
			return;
		}
		if (name.bytes > RESOURCE_NAME_BYTES_MAX) {
			json_fail(j, "is not the name of a resource");
			return;
		}
		resource = names_index(names, name);
		if (resource == RESOURCES_MAX) {
			json_fail(j, "is one of more than %d resources", RESOURCES_MAX);
			return;
		}
		q = quantities_set(j, out, resource);
		if (q)
			q->amount = amount;
	}
}

/* ---- objects -------------------------------------------------------------- */

/* apiVersion, kind or metadata: true when it was one of them. */
static bool extract_common(struct json *j, struct text name, struct meta *meta,
                           struct owner_object *owner)
{
	if (text_is(name, "metadata"))
		extract_metadata_and_owner(j, meta, owner);
	else if (text_is(name, "kind"))
		json_string(j, &meta->kind);
	else if (text_is(name, "apiVersion"))
		json_string(j, &meta->api_version);
	else
		return false;
	return true;
}

int extract_end(struct json *j, struct meta *meta, const char *kind, struct decode_error *error)
{
	if (kind && meta->kind.bytes == 0)
		meta->kind = text_of(kind);
	if (!json_end(j))
		return extract_failed(j, meta, error);
	if (meta->name.bytes == 0) {
		json_fail(j, "is missing");
		extract_failed(j, meta, error);
		if (error)
			snprintf(error->field, sizeof(error->field), "metadata.name");
		return -EINVAL;
	}
	return 0;
}

void extract_object_start(struct json *j)
{
	if (!json_object(j))
		json_fail(j, "is null, not an object");
}

int extract_meta(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                 struct decode_error *error)
{
	struct json j;
	struct text name;

	extract_meta_start(out);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name))
		if (!extract_common(&j, name, out, NULL))
			json_skip(&j);
	return extract_end(&j, out, NULL, error);
}

static void pod_start(struct pod_object *out)
{
	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	names_seed(&out->resources);
	out->scheduler_name = text_of("default-scheduler");
	out->node_name = out->condition_status = out->condition_reason = out->condition_message =
		TEXT_NONE;
	out->owner = (struct owner_object){
		.api_version = TEXT_NONE, .kind = TEXT_NONE, .name = TEXT_NONE, .uid = TEXT_NONE
	};
}

typedef void (*pod_part)(struct json *j, struct pod_object *out);

static int pod_read(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                    struct decode_error *error, pod_part spec, pod_part status)
{
	struct json j;
	struct text name;

	pod_start(out);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (extract_common(&j, name, &out->meta, &out->owner))
			continue;
		if (text_is(name, "spec"))
			spec(&j, out);
		else if (text_is(name, "status"))
			status(&j, out);
		else
			json_skip(&j);
	}
	extract_pod_finish(&j, out);
	return extract_end(&j, &out->meta, "Pod", error);
}

int extract_pod(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                struct decode_error *error)
{
	return pod_read(json, bytes, arena, out, error, extract_pod_spec, extract_pod_status);
}

static void basics_spec(struct json *j, struct pod_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "schedulerName"))
			json_string(j, &out->scheduler_name);
		else if (text_is(name, "nodeName"))
			json_string(j, &out->node_name);
		else
			json_skip(j);
	}
	if (out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
}

static void basics_status(struct json *j, struct pod_object *out)
{
	struct text name, phase;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "phase") && json_string(j, &phase))
			out->ended = text_is(phase, "Succeeded") || text_is(phase, "Failed");
		else
			json_skip(j);
	}
}

int extract_pod_basics(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                       struct decode_error *error)
{
	return pod_read(json, bytes, arena, out, error, basics_spec, basics_status);
}
