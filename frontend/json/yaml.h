/* SPDX-License-Identifier: Apache-2.0 */
/* Converts YAML, as kubectl prints and accepts it, to JSON text.
 *
 * Plain scalars are null, booleans and numbers as in YAML 1.2, where a number keeps
 * its digits; all others are strings, as are quoted scalars.  Anchors and aliases are
 * resolved; merge keys, custom tags and values that JSON does not have (.nan, .inf)
 * are errors. */
#ifndef MUSTER_FRONTEND_YAML_H
#define MUSTER_FRONTEND_YAML_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

struct yaml_error {
	size_t line;   /* from 1 */
	size_t column; /* from 1 */
	char text[256];
};

/* The position in the YAML of the key or value that begins at out->at[at]; for the copy of an
 * anchor that of the alias. */
struct yaml_mark {
	size_t at;
	size_t line;   /* from 1 */
	size_t column; /* from 1 */
};

/* Sorted by `at`.  All zero is empty. */
struct yaml_marks {
	struct yaml_mark *marks;
	size_t n, cap;
};

/* Appends every document to *out, each as one line of JSON; empty documents are
 * left out.  `marks` may be NULL.  False: the error is in *e, and *out is undefined. */
bool yaml_to_json(const char *text, size_t n, struct bytes *out, struct yaml_marks *marks,
                  struct yaml_error *e);

/* The mark of the first key or value at or after this byte of the JSON; the last one if there is
 * none. */
struct yaml_mark yaml_mark_find(const struct yaml_marks *marks, size_t at);
void yaml_marks_free(struct yaml_marks *marks);

/* A plain scalar as a JSON value: null, true, false or a number; false if it is a
 * string, or a number that JSON does not have (*bad). */
bool yaml_plain(const char *text, size_t n, struct bytes *out, bool *bad);

#endif
