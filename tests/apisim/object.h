/* SPDX-License-Identifier: Apache-2.0 */
/* One version of one object: immutable, shared by the index, the history, lists and watches.  The
 * text is stored as it is sent, so that a list or an event copies bytes and serialises nothing. */
#ifndef MUSTER_APISIM_OBJECT_H
#define MUSTER_APISIM_OBJECT_H

#include "tests/apisim/json.h"

#define AS_FIELDS_MAX 12
#define AS_UID_BYTES 37

struct as_resource;

struct as_object {
	uint32_t refs;
	const struct as_resource *resource;
	uint64_t version; /* metadata.resourceVersion */
	const char *key;  /* "namespace/name", or "name" in the cluster's scope */
	const char *name; /* the end of key */
	size_t namespace_bytes;
	const char *labels;               /* name NUL value NUL ... NUL */
	const char *field[AS_FIELDS_MAX]; /* values of resource->fields */
	bool deleting;                    /* has a deletionTimestamp */
	char uid[AS_UID_BYTES];
	/* What follows `{"kind":...,"apiVersion":...,` in the object's text, the
	 * closing brace included. */
	const char *body;
	size_t body_bytes;
	size_t version_at; /* of the digits of resourceVersion in body */
	size_t version_bytes;
};

/* From a tree without kind and apiVersion, whose metadata.resourceVersion is
 * `version`; one reference. */
struct as_object *as_object_new(const struct as_resource *resource, const struct as_json *tree,
                                uint64_t version);
struct as_object *as_object_ref(struct as_object *o);
/* The object in the form of `shown`, a view of its resource or the same one; a new reference. */
struct as_object *as_object_shown(struct as_object *o, const struct as_resource *shown,
                                  struct as_arena *a);
void as_object_unref(struct as_object *o); /* NULL is fine */

/* "namespace/name" or "name" in the arena. */
char *as_object_key(struct as_arena *a, const char *namespace, const char *name);
/* Value of a label, or NULL. */
const char *as_object_label(const struct as_object *o, const char *name);
/* Value of a selectable field; "" when it is not set, NULL when it can't be selected. */
const char *as_object_field(const struct as_object *o, const char *path);
/* The tree, without kind and apiVersion. */
struct as_json *as_object_tree(struct as_arena *a, const struct as_object *o);

/* The text of the whole object; `version` replaces its own unless 0. */
void as_object_print(struct as_text *out, const struct as_object *o, uint64_t version);
/* As an item of a list: objects of built-in kinds carry no kind there. */
void as_object_print_item(struct as_text *out, const struct as_object *o);

#endif
