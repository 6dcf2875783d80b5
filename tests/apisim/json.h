/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a tree in an arena.
 *
 * Not cJSON, and for two reasons: each write of the server is a parse and a
 * print of a whole pod, where cJSON's 40 us would make the server the slowest
 * part of every benchmark; and numbers must come out as they came in, not by
 * way of a double.  cJSON is the oracle of its unit test.
 *
 * Strings are decoded and terminated.  Names may contain anything but NUL,
 * which is refused by the parser.  Members keep their order. */
#ifndef MUSTER_APISIM_JSON_H
#define MUSTER_APISIM_JSON_H

#include "tests/apisim/text.h"

#include <stdbool.h>

enum as_json_kind { AS_NULL, AS_FALSE, AS_TRUE, AS_NUMBER, AS_STRING, AS_ARRAY, AS_OBJECT };

struct as_json {
	enum as_json_kind kind;
	uint32_t name_bytes;
	uint32_t bytes;        /* of text */
	const char *name;      /* in an object; else NULL */
	const char *text;      /* STRING: decoded; NUMBER: as written; terminated */
	struct as_json *first; /* ARRAY, OBJECT */
	struct as_json *last;
	struct as_json *next;
};

/* NULL and *error, a static text, when it is not one JSON value. */
struct as_json *as_json_parse(struct as_arena *a, const char *text, size_t bytes,
                              const char **error);
void as_json_print(struct as_text *out, const struct as_json *value);

/* Reading.  NULL or false for what is not there or of another kind; any
 * `object` may be NULL. */
struct as_json *as_json_get(const struct as_json *object, const char *name);
struct as_json *as_json_find(const struct as_json *object, ...) __attribute__((sentinel));
struct as_json *as_json_array(const struct as_json *object, const char *name);
const char *as_json_string(const struct as_json *object, const char *name);
bool as_json_integer(const struct as_json *object, const char *name, int64_t *out);
bool as_json_true(const struct as_json *object, const char *name);
/* The same value, whatever the order of members. */
bool as_json_equal(const struct as_json *a, const struct as_json *b);

/* Making. */
struct as_json *as_json_new(struct as_arena *a, enum as_json_kind kind);
struct as_json *as_json_new_string(struct as_arena *a, const char *text);
struct as_json *as_json_new_integer(struct as_arena *a, int64_t value);
struct as_json *as_json_copy(struct as_arena *a, const struct as_json *value);

/* Changing.  The names are copied; a value belongs to one parent. */
void as_json_set(struct as_arena *a, struct as_json *object, const char *name,
                 struct as_json *value);
void as_json_set_string(struct as_arena *a, struct as_json *object, const char *name,
                        const char *text);
void as_json_set_integer(struct as_arena *a, struct as_json *object, const char *name,
                         int64_t value);
void as_json_default_string(struct as_arena *a, struct as_json *object, const char *name,
                            const char *text);
void as_json_remove(struct as_json *object, const char *name);
/* Members that are null, at any depth: to a typed server they are not there. */
void as_json_drop_nulls(struct as_json *value);
void as_json_remove_element(struct as_json *array, const struct as_json *element);
void as_json_append(struct as_json *array, struct as_json *value);
/* The member, made empty if it is missing or null.  NULL if it is of another kind. */
struct as_json *as_json_member(struct as_arena *a, struct as_json *object, const char *name,
                               enum as_json_kind kind);

/* RFC 7386: `target` after the patch. */
struct as_json *as_json_merge(struct as_arena *a, struct as_json *target,
                              const struct as_json *patch);

#endif
