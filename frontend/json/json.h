/* SPDX-License-Identifier: Apache-2.0 */
/* A scanner over one JSON document, in one pass and without a tree.
 *
 *     if (json_object(j))
 *             while (json_member(j, &name))
 *                     if (text_is(name, "kind"))
 *                             json_string(j, &kind);
 *                     else
 *                             json_skip(j);
 *
 * Each value is either read by the function of its kind or skipped.  The first
 * error sticks: from then on every question is answered with false, so that a
 * reader checks once, at the end.  An error has a text and a path.
 *
 * As the API server's decoder: names are compared exactly, null is as good as
 * not there.  Stricter: a number that is no int64 is an error where an integer
 * is read, and so are a NUL, a control byte, invalid UTF-8 and half a surrogate
 * pair in a string that is read.  What is skipped is only checked for matching
 * brackets and quotes. */
#ifndef MUSTER_FRONTEND_JSON_H
#define MUSTER_FRONTEND_JSON_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH 64 /* nested containers, read or skipped */

struct json {
	const char *at;
	const char *end;
	struct arena *arena; /* for strings with escapes */
	unsigned depth;
	bool first; /* nothing read yet of the container that was opened last */
	bool failed;
	bool no_memory; /* that is why it failed */
	char error[256];
	struct json_step {
		struct text name; /* at NULL: an array's item */
		uint32_t index;
		bool is_key; /* a map's key, printed as ["key"] */
	} path[JSON_DEPTH];
};

/* The text need not end in NUL and outlives what is read from it: strings
 * without escapes are pieces of it. */
void json_begin(struct json *j, const char *text, size_t bytes, struct arena *arena);

/* Open a container.  False when the value is null, or on an error; else go on
 * with json_member() (or json_key(), the same for the keys of a map),
 * json_item(), until these are false. */
bool json_object(struct json *j);
bool json_member(struct json *j, struct text *name);
bool json_key(struct json *j, struct text *key);
bool json_array(struct json *j);
bool json_item(struct json *j);

/* Read a value.  True: *out is set; of null it is "", 0 or false. */
bool json_string(struct json *j, struct text *out);
bool json_int64(struct json *j, int64_t *out);
bool json_bool(struct json *j, bool *out);
/* The text of a string or, as it stands, of a number. */
bool json_scalar(struct json *j, struct text *out);

void json_skip(struct json *j);

/* Of a whole document: the text of the member `inner` in the object that is member `outer`; the
 * last one of several. *out stays as it is when there is none.  False when the document makes no
 * sense. */
bool json_find_text(struct json *j, const char *outer, const char *inner, struct text *out);
bool json_null(struct json *j); /* is it null?  Reads it if it is. */

/* Skip a value and keep where it was, to be read later by a scanner of its own. */
bool json_raw(struct json *j, struct text *raw);

/* The document is over and was whole: nothing but white space follows. */
bool json_end(struct json *j);

/* Report what is wrong with the value that is being read; the first wins. */
void json_fail(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

void json_no_memory(struct json *j);

/* A string's text between its quotes, with its escapes, into the arena. */
bool json_unescape(struct json *j, const char *p, const char *end, struct text *out);

/* Path of what is being read: spec.containers[0].resources.requests["cpu"].
 * Always terminated; control bytes are printed as '?'. */
void json_path(const struct json *j, char *out, size_t out_bytes);

#endif
