/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON object as a list of its members, whose values stay the text they are: what is copied from
 * one object into another is not rounded. Everything lives in the caller's arena, values in the
 * text that was read. */
#ifndef MUSTER_CTL_MEMBERS_H
#define MUSTER_CTL_MEMBERS_H

#include "frontend/base/arena.h"
#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

struct member {
	struct text name;
	struct text raw; /* the value, with quotes if it is a string */
};

/* All zero is an empty object. */
struct members {
	struct member *at;
	size_t n, cap;
};

/* Members of an object; of a name that occurs twice the last. Anything else, also absent text (`at`
 * NULL), has none. */
struct members members_of(struct arena *arena, struct text raw);

/* `at` is NULL if there is none, or if it is null. */
struct text members_get(const struct members *m, const char *name);

/* The value at the end of a path such as "spec.template.metadata". */
struct text members_find(struct arena *arena, struct text raw, const char *path);

/* In place of the value it has, else behind the others. */
void members_set(struct arena *arena, struct members *m, const char *name, struct text raw);
void members_set_text(struct arena *arena, struct members *m, const char *name, const char *value);

/* The object as text in the arena. */
struct text members_print(struct arena *arena, const struct members *m);

/* The text of a string; "" for anything else. */
struct text raw_text(struct arena *arena, struct text raw);

/* Whole numbers alone. */
bool raw_number(struct text raw, long long *out);

#endif
