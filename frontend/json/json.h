/* SPDX-License-Identifier: Apache-2.0 */
/* A scanner over one JSON document, in one pass and without a tree.
 *
 *     static const struct json_field fields[] = {
 *             JSON_FIELD("kind", json_field_text, struct meta, kind),
 *             JSON_NESTED("spec", spec_fields, struct object, spec),
 *     };
 *
 *     json_begin(&j, text, bytes, arena);
 *     json_fields(&j, fields, &object);
 *     if (!json_end(&j))
 *             ... j.error, json_path() ...
 *
 * Each value is read by the function of its type or skipped.  The first error
 * is kept: every later call returns false and reads nothing, so that a reader
 * checks once, at the end.  An error has a text and a path.
 *
 * As in the API server's decoder, names are compared exactly, and null means
 * absent.  Stricter than it: a number that is not an int64 is an error where an
 * integer is read, and so are a NUL, a control byte, invalid UTF-8 and half a
 * surrogate pair in a string that is read.  In a skipped value only brackets
 * and quotes are checked. */
#ifndef MUSTER_FRONTEND_JSON_H
#define MUSTER_FRONTEND_JSON_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_DEPTH 64 /* nested containers that are read; what is skipped may be deeper */

struct json {
	const char *at;
	const char *end;
	struct arena *arena; /* for strings with escapes */
	void *context;       /* of the caller, for its json_read_fn; NULL at first */
	unsigned depth;
	bool first; /* nothing was read yet of the container that was opened last */
	bool failed;
	bool open; /* the caller's: other text may follow the value; false at first */
	char error[256];
	struct json_step {
		struct text name; /* at NULL: an array's item */
		uint32_t index;
		bool is_key; /* a map's key, printed as ["key"] */
	} path[JSON_DEPTH];
};

/* The text need not end in NUL.  It must outlive what is read from it: strings
 * without escapes point into it. */
void json_begin(struct json *j, const char *text, size_t bytes, struct arena *arena);

/* Reads the current value into *out. */
typedef void (*json_read_fn)(struct json *j, void *out);

/* A member of an object: how it is read, and at which offset of the caller's structure it is
 * stored. */
struct json_field {
	const char *name;
	json_read_fn read; /* NULL: an object with these members */
	const struct json_field *fields;
	uint32_t fields_n;
	uint32_t offset;
	uint32_t name_bytes;
};

#ifdef __clang__
#define JSON_UNROLL
#else
#define JSON_UNROLL _Pragma("GCC unroll 32")
#endif

#define JSON_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* `read` gets the address of the member of the structure. */
#define JSON_FIELD(member_name, reader, type, member)                                              \
	{                                                                                              \
		.name = (member_name), .name_bytes = sizeof(member_name) - 1, .read = (reader),            \
		.offset = offsetof(type, member)                                                           \
	}
/* `read` gets the address of the whole structure. */
#define JSON_WHOLE(member_name, reader)                                                            \
	{                                                                                              \
		.name = (member_name), .name_bytes = sizeof(member_name) - 1, .read = (reader)             \
	}
/* An object whose members are stored in the same structure. */
#define JSON_NESTED(member_name, table)                                                            \
	{                                                                                              \
		.name = (member_name), .name_bytes = sizeof(member_name) - 1, .fields = (table),           \
		.fields_n = JSON_COUNT(table)                                                              \
	}

/* Read an object by the table: other members are skipped; of a member that occurs
 * twice both values are read, in their order.  False: the value was null, or an error. */
#define json_fields(j, table, object) json_fields_inline(j, table, JSON_COUNT(table), object)
bool json_fields_n(struct json *j, const struct json_field *fields, size_t n, void *object);

/* Call `read` for each item of an array.  False: the value was null, or an error. */
bool json_items(struct json *j, json_read_fn read, void *object);

void json_field_text(struct json *j, void *out);  /* struct text, by json_string() */
void json_field_bool(struct json *j, void *out);  /* bool, by json_bool() */
void json_field_int64(struct json *j, void *out); /* int64_t, by json_int64() */
void json_field_raw(struct json *j, void *out);   /* struct text, by json_raw() */

/* Open a container.  False when the value is null, or on an error.  Otherwise call
 * json_member() (json_key() for the keys of a map) or json_item() until it returns false. */
bool json_object(struct json *j);
bool json_member(struct json *j, struct text *name);
bool json_key(struct json *j, struct text *key);
struct text json_member_name(const struct json *j); /* whose value is being read */
bool json_array(struct json *j);
bool json_item(struct json *j);

/* Read a value.  True: *out is set; null gives "", 0 or false. */
bool json_string(struct json *j, struct text *out);
bool json_int64(struct json *j, int64_t *out);
bool json_bool(struct json *j, bool *out);
/* The text of a string, or of a number as written. */
bool json_scalar(struct json *j, struct text *out);

void json_skip(struct json *j);

/* True if the value is null, which is then read. */
bool json_null(struct json *j);

/* In a whole document: the text of the member `inner` of the object that is member `outer`; the
 * last of several.  *out is unchanged if there is none.  False if the document is malformed. */
bool json_find_text(struct json *j, const char *outer, const char *inner, struct text *out);

/* Skip a value and store its text, to be read later by another scanner. */
bool json_raw(struct json *j, struct text *raw);

/* The text from the current value on, and past so much of it: to read it by another scanner. */
struct text json_rest(struct json *j);
void json_pass(struct json *j, size_t bytes);

/* The length of the value with which a text begins; 0: there is none. */
size_t json_value_bytes(const char *text, size_t bytes);

/* True if no error occurred and only white space follows, or j->open. */
bool json_end(struct json *j);

/* Report an error of the value that is being read; the first one is kept. */
void json_fail(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text between the quotes of a string, its escapes resolved into the arena. */
bool json_unescape(struct json *j, const char *p, const char *end, struct text *out);

/* json_fields_n() for a table that the compiler sees: it becomes a chain of comparisons with
 * constants, which costs half as many instructions as the loop. */
__attribute__((always_inline)) static inline bool
json_fields_inline(struct json *j, const struct json_field *fields, size_t n, void *object)
{
	struct text name;

	if (!json_object(j))
		return false;
	while (json_member(j, &name)) {
		size_t i;

		JSON_UNROLL
		for (i = 0; i < n; i++)
			if (fields[i].name_bytes == name.bytes &&
			    memcmp(name.at, fields[i].name, fields[i].name_bytes) == 0)
				break;
		if (i == n)
			json_skip(j);
		else if (fields[i].read)
			fields[i].read(j, (char *)object + fields[i].offset);
		else
			json_fields_n(j, fields[i].fields, fields[i].fields_n, object);
	}
	return true;
}

/* Path of what is being read: spec.containers[0].resources.requests["cpu"].
 * Always terminated; control bytes are printed as '?'. */
void json_path(const struct json *j, char *out, size_t out_bytes);

#endif
