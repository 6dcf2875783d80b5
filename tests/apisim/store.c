/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_store {
	uint64_t version;
	uint64_t oldest;
	size_t history;
	struct as_event *events; /* of version v: events[v % history] */
};

struct as_store *as_store_new(size_t history)
{
	struct as_store *s = as_alloc(sizeof(*s));

	s->history = history > 0 ? history : 1;
	s->events = as_alloc(s->history * sizeof(*s->events));
	return s;
}

static void event_drop(struct as_event *e)
{
	as_object_unref(e->object);
	as_object_unref(e->previous);
	*e = (struct as_event){ 0 };
}

void as_store_free(struct as_store *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->history; i++)
		event_drop(&s->events[i]);
	free(s->events);
	free(s);
}

uint64_t as_store_version(const struct as_store *s)
{
	return s->version;
}

uint64_t as_store_oldest(const struct as_store *s)
{
	return s->oldest;
}

const struct as_event *as_store_event(const struct as_store *s, uint64_t version)
{
	assert(version > s->oldest && version <= s->version);
	return &s->events[version % s->history];
}

void as_store_compact(struct as_store *s)
{
	for (uint64_t v = s->oldest + 1; v <= s->version; v++)
		event_drop(&s->events[v % s->history]);
	s->oldest = ++s->version;
}

/* resourceVersion becomes the first member of metadata, and metadata the first
 * of the object: object.c finds the digits by the first such text. */
static void set_version(struct as_arena *a, struct as_json *tree, uint64_t version)
{
	struct as_json *metadata = as_json_get(tree, "metadata");
	struct as_json *value;
	char digits[24];

	assert(metadata != NULL && metadata->kind == AS_OBJECT);
	if (tree->first != metadata) {
		as_json_remove(tree, "metadata");
		metadata->next = tree->first;
		tree->first = metadata;
		if (tree->last == NULL)
			tree->last = metadata;
	}
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)version);
	as_json_remove(metadata, "resourceVersion");
	value = as_json_new_string(a, digits);
	value->name = "resourceVersion";
	value->name_bytes = sizeof("resourceVersion") - 1;
	value->next = metadata->first;
	metadata->first = value;
	if (metadata->last == NULL)
		metadata->last = value;
}

static void push(struct as_store *s, enum as_event_kind kind, struct as_object *object,
                 struct as_object *previous)
{
	struct as_event *e = &s->events[object->version % s->history];

	event_drop(e);
	e->kind = kind;
	e->version = object->version;
	e->object = as_object_ref(object);
	e->previous = previous != NULL ? as_object_ref(previous) : NULL;
	if (s->version - s->oldest > s->history)
		s->oldest = s->version - s->history;
}

struct as_object *as_store_write(struct as_store *s, struct as_resource *resource,
                                 struct as_arena *a, struct as_json *tree)
{
	struct as_object *object, *previous;

	set_version(a, tree, ++s->version);
	object = as_object_new(resource, tree, s->version);
	previous = as_index_find(&resource->index, object->key);
	push(s, previous != NULL ? AS_MODIFIED : AS_ADDED, object, previous);
	as_index_put(&resource->index, object);
	as_object_unref(object); /* the index and history hold it */
	return object;
}

struct as_object *as_store_remove(struct as_store *s, struct as_resource *resource,
                                  struct as_arena *a, struct as_json *tree)
{
	struct as_object *object, *previous;

	set_version(a, tree, ++s->version);
	object = as_object_new(resource, tree, s->version);
	previous = as_index_find(&resource->index, object->key);
	assert(previous != NULL);
	push(s, AS_DELETED, object, previous);
	as_index_remove(&resource->index, object->key);
	as_object_unref(object); /* history holds it */
	return object;
}

struct as_past {
	const char *key;
	struct as_object *object; /* as it was, or NULL: there was none */
	uint64_t changed;         /* by which version */
};

static int past_compare(const void *a, const void *b)
{
	const struct as_past *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order != 0)
		return order;
	return x->changed < y->changed ? -1 : x->changed > y->changed;
}

static bool in_namespace(const struct as_object *o, const char *namespace)
{
	return namespace == NULL || (strlen(namespace) == o->namespace_bytes &&
	                             memcmp(o->key, namespace, o->namespace_bytes) == 0);
}

/* For each key that changed after `version`: what its first change replaced. */
static struct as_past *past_collect(const struct as_store *s, const struct as_resource *resource,
                                    struct as_arena *a, const char *from, uint64_t version,
                                    size_t *n)
{
	struct as_past *past;
	size_t found = 0, kept = 0;

	for (uint64_t v = version + 1; v <= s->version; v++)
		if (s->events[v % s->history].object->resource == resource)
			found++;
	past = as_arena_alloc(a, found * sizeof(*past));
	found = 0;
	for (uint64_t v = version + 1; v <= s->version; v++) {
		const struct as_event *e = &s->events[v % s->history];

		if (e->object->resource == resource && strcmp(e->object->key, from) >= 0)
			past[found++] = (struct as_past){ e->object->key, e->previous, v };
	}
	qsort(past, found, sizeof(*past), past_compare);
	for (size_t i = 0; i < found; i++)
		if (i == 0 || strcmp(past[i].key, past[i - 1].key) != 0)
			past[kept++] = past[i];
	*n = kept;
	return past;
}

int as_cursor_open(const struct as_store *s, const struct as_resource *resource, struct as_arena *a,
                   const char *namespace, const char *after_key, uint64_t version,
                   struct as_cursor *out)
{
	const char *from = "";

	if (version < s->oldest)
		return -ERANGE;
	if (after_key != NULL) {
		/* No key lies between K and K followed by its smallest byte. */
		from = as_arena_printf(a, "%s\x01", after_key);
	} else if (namespace != NULL) {
		from = as_arena_printf(a, "%s/", namespace);
	}
	*out = (struct as_cursor){
		.namespace = namespace,
		.entry = as_index_seek(&resource->index, from),
	};
	if (version < s->version)
		out->past = past_collect(s, resource, a, from, version, &out->past_n);
	return 0;
}

/* The current object or the past one, whichever comes first; the past one hides
 * the current one of the same key. */
static bool cursor_step(struct as_cursor *c, struct as_object **out)
{
	const struct as_past *past = c->past_i < c->past_n ? &c->past[c->past_i] : NULL;
	int order;

	if (past == NULL && c->entry == NULL)
		return false;
	order = past == NULL ? 1 : c->entry == NULL ? -1 : strcmp(past->key, c->entry->object->key);
	if (order <= 0) {
		*out = past->object;
		c->past_i++;
	} else {
		*out = c->entry->object;
	}
	if (order >= 0)
		c->entry = c->entry->next[0];
	return true;
}

struct as_object *as_cursor_next(struct as_cursor *c)
{
	struct as_object *o;

	while (cursor_step(c, &o)) {
		if (o == NULL)
			continue;
		/* Keys of one namespace lie together, and the cursor began there. */
		return in_namespace(o, c->namespace) ? o : NULL;
	}
	return NULL;
}
