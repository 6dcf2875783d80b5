/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/object.h"

#include "tests/apisim/resource.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value at a dotted path, as fieldSelector compares it. */
static const char *field_value(const struct as_json *tree, const char *path)
{
	const struct as_json *at = tree;

	while (*path != '\0') {
		char name[64];
		size_t n = strcspn(path, ".");

		assert(n < sizeof(name));
		memcpy(name, path, n);
		name[n] = '\0';
		at = as_json_get(at, name);
		path += n;
		if (*path == '.')
			path++;
	}
	if (at == NULL)
		return "";
	if (at->kind == AS_STRING)
		return at->text;
	return at->kind == AS_TRUE ? "true" : at->kind == AS_FALSE ? "false" : "";
}

static void print_labels(struct as_text *out, const struct as_json *tree)
{
	const struct as_json *labels = as_json_find(tree, "metadata", "labels", NULL);

	if (labels != NULL && labels->kind == AS_OBJECT) {
		for (const struct as_json *m = labels->first; m != NULL; m = m->next) {
			if (m->kind != AS_STRING || m->name_bytes == 0)
				continue;
			as_text_add(out, m->name, m->name_bytes + 1);
			as_text_add(out, m->text, m->bytes + 1);
		}
	}
	as_text_add(out, "", 1);
}

/* Where "resourceVersion":"N" of metadata lies in the text.  Metadata is printed
 * first and the member before everything a client chose, see set_version(). */
static void find_version(struct as_object *o)
{
	static const char mark[] = "\"resourceVersion\":\"";
	const char *at = memmem(o->body, o->body_bytes, mark, sizeof(mark) - 1);

	assert(at != NULL);
	at += sizeof(mark) - 1;
	o->version_at = (size_t)(at - o->body);
	o->version_bytes = strcspn(at, "\"");
}

struct as_object *as_object_new(const struct as_resource *resource, const struct as_json *tree,
                                uint64_t version)
{
	static struct as_text scratch; /* one thread; kept for its allocation */
	const struct as_json *metadata = as_json_get(tree, "metadata");
	const char *namespace = as_json_string(metadata, "namespace");
	const char *name = as_json_string(metadata, "name");
	const char *uid = as_json_string(metadata, "uid");
	size_t field_at[AS_FIELDS_MAX] = { 0 }, key_at, labels_at, body_at, n_fields = 0;
	struct as_object *o;
	char *bytes;

	assert(name != NULL);
	scratch.bytes = 0;
	key_at = scratch.bytes;
	if (resource->namespaced) {
		as_text_put(&scratch, namespace != NULL ? namespace : "");
		as_text_put(&scratch, "/");
	}
	as_text_add(&scratch, name, strlen(name) + 1);
	labels_at = scratch.bytes;
	print_labels(&scratch, tree);
	for (const char *const *f = resource->fields; f != NULL && *f != NULL; f++) {
		const char *value = field_value(tree, *f);

		assert(n_fields < AS_FIELDS_MAX);
		field_at[n_fields++] = scratch.bytes;
		as_text_add(&scratch, value, strlen(value) + 1);
	}
	body_at = scratch.bytes + 1; /* behind the opening brace */
	as_json_print(&scratch, tree);

	o = as_alloc(sizeof(*o) + scratch.bytes + 1);
	bytes = (char *)(o + 1);
	memcpy(bytes, scratch.at, scratch.bytes);
	bytes[scratch.bytes] = '\0';
	o->refs = 1;
	o->resource = resource;
	o->version = version;
	o->key = bytes + key_at;
	o->namespace_bytes = resource->namespaced && namespace != NULL ? strlen(namespace) : 0;
	o->name = resource->namespaced ? o->key + o->namespace_bytes + 1 : o->key;
	o->labels = bytes + labels_at;
	for (size_t i = 0; i < n_fields; i++)
		o->field[i] = bytes + field_at[i];
	o->deleting = as_json_get(metadata, "deletionTimestamp") != NULL;
	snprintf(o->uid, sizeof(o->uid), "%s", uid != NULL ? uid : "");
	o->body = bytes + body_at;
	o->body_bytes = scratch.bytes - body_at;
	find_version(o);
	return o;
}

struct as_object *as_object_ref(struct as_object *o)
{
	o->refs++;
	return o;
}

struct as_object *as_object_shown(struct as_object *o, const struct as_resource *shown,
                                  struct as_arena *a)
{
	struct as_json *tree;

	if (shown == o->resource)
		return as_object_ref(o);
	tree = as_object_tree(a, o);
	shown->view(a, tree);
	return as_object_new(shown, tree, o->version);
}

void as_object_unref(struct as_object *o)
{
	if (o != NULL && --o->refs == 0)
		free(o);
}

char *as_object_key(struct as_arena *a, const char *namespace, const char *name)
{
	if (namespace == NULL)
		return as_arena_copy(a, name, strlen(name));
	return as_arena_printf(a, "%s/%s", namespace, name);
}

const char *as_object_label(const struct as_object *o, const char *name)
{
	for (const char *at = o->labels; *at != '\0';) {
		const char *value = at + strlen(at) + 1;

		if (strcmp(at, name) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

const char *as_object_field(const struct as_object *o, const char *path)
{
	const char *const *fields = o->resource->fields;

	for (size_t i = 0; fields != NULL && fields[i] != NULL; i++)
		if (strcmp(fields[i], path) == 0)
			return o->field[i];
	return NULL;
}

struct as_json *as_object_tree(struct as_arena *a, const struct as_object *o)
{
	const char *error = NULL;
	struct as_json *tree;

	/* The brace before body is there: body is the end of a printed object. */
	tree = as_json_parse(a, o->body - 1, o->body_bytes + 1, &error);
	assert(tree != NULL);
	return tree;
}

void as_object_print(struct as_text *out, const struct as_object *o, uint64_t version)
{
	as_text_put(out, o->resource->prefix);
	if (version == 0 || version == o->version) {
		as_text_add(out, o->body, o->body_bytes);
		return;
	}
	as_text_add(out, o->body, o->version_at);
	as_text_printf(out, "%llu", (unsigned long long)version);
	as_text_add(out, o->body + o->version_at + o->version_bytes,
	            o->body_bytes - o->version_at - o->version_bytes);
}

void as_object_print_item(struct as_text *out, const struct as_object *o)
{
	if (o->resource->custom)
		as_text_put(out, o->resource->prefix);
	else
		as_text_put(out, "{");
	as_text_add(out, o->body, o->body_bytes);
}
