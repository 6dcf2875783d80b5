/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as kubectl prints and takes it, turned into JSON text.
 *
 * Plain scalars are null, booleans and numbers as in YAML 1.2, a number keeps its
 * digits, and everything else is a string; so are quoted scalars.  Anchors and
 * aliases work; merge keys, tags of one's own and values that JSON doesn't have
 * (.nan, .inf) are refused. */
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

/* Where the key or value that begins at out->at[at] stands in the YAML; what came by an
 * alias stands where that does. */
struct yaml_mark {
	size_t at;
	size_t line;   /* from 1 */
	size_t column; /* from 1 */
};

/* In the order of `at`.  All zero is none. */
struct yaml_marks {
	struct yaml_mark *marks;
	size_t n, room;
};

/* Append every document to *out, each as one line of JSON; empty documents are
 * left out.  `marks` may be NULL.  False: *e says what is wrong, and *out is of no use. */
bool yaml_to_json(const char *text, size_t n, struct bytes *out, struct yaml_marks *marks,
                  struct yaml_error *e);

/* Of what begins at this byte of the JSON, or next behind it; the last one when nothing does. */
struct yaml_mark yaml_mark_find(const struct yaml_marks *marks, size_t at);
void yaml_marks_free(struct yaml_marks *marks);

/* A plain scalar as a JSON value: null, true, false or a number; false when it is
 * a string, or a number that JSON can't write (*bad). */
bool yaml_plain(const char *text, size_t n, struct bytes *out, bool *bad);

#endif
