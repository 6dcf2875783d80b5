/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/json.h"

#include "frontend/json/json_scan.h"
#include "ipc/clean.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void json_begin(struct json *j, const char *text, size_t bytes, struct arena *arena)
{
	j->at = text;
	j->end = text + bytes;
	j->arena = arena;
	j->context = NULL;
	j->depth = 0;
	j->first = false;
	j->failed = false;
	j->open = false;
	j->error[0] = '\0';
}

void json_fail(struct json *j, const char *format, ...)
{
	va_list args;

	if (j->failed)
		return;
	j->failed = true;
	va_start(args, format);
	vsnprintf(j->error, sizeof(j->error), format, args);
	va_end(args);
	clean_text(j->error);
}

static inline bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is no white space, or '\0' at the end. */
static inline char json_peek(struct json *j)
{
	if (j->failed)
		return '\0';
	while (j->at < j->end && is_space(*j->at))
		j->at++;
	return j->at < j->end ? *j->at : '\0';
}

static const char *kind_at(struct json *j)
{
	switch (json_peek(j)) {
	case '"':
		return "a string";
	case '{':
		return "an object";
	case '[':
		return "an array";
	case 't':
	case 'f':
		return "a boolean";
	case 'n':
		return "null";
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return "a number";
	default:
		return j->at < j->end ? "not JSON" : "cut off";
	}
}

/* The current string, number or word for messages: the first bytes of a long one, and '?' for each
 * byte that is not printable ASCII.  "" for a container. */
static const char *shown_at(const struct json *j, char out[64])
{
	size_t n = 0;

	if (j->at < j->end && *j->at != '{' && *j->at != '[') {
		for (const char *p = j->at; p < j->end && n < 60; p++) {
			if (*j->at == '"' ? p > j->at && *p == '"' && p[-1] != '\\'
			                  : strchr(",]} \t\r\n", *p) != NULL) {
				if (*p == '"')
					out[n++] = *p;
				break;
			}
			out[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
		}
		out[n++] = ' ';
	}
	out[n] = '\0';
	return out;
}

static void json_expected(struct json *j, const char *what)
{
	char shown[64];

	json_fail(j, "%sis %s, not %s", shown_at(j, shown), kind_at(j), what);
}

static bool json_word(struct json *j, const char *word, size_t n)
{
	if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) {
		json_fail(j, "is not JSON");
		return false;
	}
	j->at += n;
	return true;
}

bool json_null(struct json *j)
{
	return json_peek(j) == 'n' && json_word(j, "null", 4);
}

static bool json_open(struct json *j, char bracket, const char *what)
{
	if (json_null(j))
		return false;
	if (json_peek(j) != bracket) {
		json_expected(j, what);
		return false;
	}
	if (j->depth == JSON_DEPTH) {
		json_fail(j, "is nested deeper than %d levels", JSON_DEPTH);
		return false;
	}
	j->at++;
	j->path[j->depth++] = (struct json_step){ .index = UINT32_MAX };
	j->first = true;
	return true;
}

/* Step to the next member or item: true when there is one. */
static bool json_next(struct json *j, char bracket)
{
	char c = json_peek(j);

	if (j->failed)
		return false;
	if (c == bracket) {
		j->at++;
		j->depth--;
		j->first = false;
		return false;
	}
	if (!j->first) {
		if (c != ',') {
			json_fail(j, c ? "is not JSON" : "is cut off");
			return false;
		}
		j->at++;
	}
	j->first = false;
	return true;
}

/* The string at j->at, checked; `p` is its first byte that scan_text() does not pass. */
static bool json_text_any(struct json *j, const char *p, struct text *out)
{
	const char *from = j->at + 1;
	bool escapes = false, wide = false;

	for (;; p = scan_text(p, j->end)) {
		if (p == j->end) {
			json_fail(j, "is cut off");
			return false;
		}
		if (*p == '"')
			break;
		if ((unsigned char)*p < 0x20) {
			json_fail(j, "contains a control byte");
			return false;
		}
		if (*p == '\\') {
			escapes = true;
			p += j->end - p > 1 ? 2 : 1;
		} else {
			wide = true;
			p++;
		}
	}
	j->at = p + 1;
	if (wide && !scan_utf8(from, p)) {
		json_fail(j, "is not UTF-8");
		return false;
	}
	if (escapes)
		return json_unescape(j, from, p, out);
	*out = (struct text){ from, (size_t)(p - from) };
	return true;
}

static inline bool json_text(struct json *j, struct text *out)
{
	const char *from = j->at + 1;
	const char *p = scan_text(from, j->end);

	if (p == j->end || *p != '"')
		return json_text_any(j, p, out);
	*out = (struct text){ from, (size_t)(p - from) };
	j->at = p + 1;
	return true;
}

/* A name as API servers write it: no white space before its quotes and its colon, no escapes and
 * only ASCII.  False: it is not such a name, and nothing was read. */
static inline bool json_name_plain(struct json *j, struct text *name)
{
	const char *from, *to;

	if (j->failed || j->end - j->at < 2 || (!j->first && *j->at != ','))
		return false;
	from = j->at + !j->first;
	if (*from != '"')
		return false;
	from++;
	to = scan_text(from, j->end);
	if (j->end - to < 2 || to[0] != '"' || to[1] != ':')
		return false;
	*name = (struct text){ from, (size_t)(to - from) };
	j->at = to + 2;
	j->first = false;
	return true;
}

static bool json_name_any(struct json *j, struct text *name)
{
	if (!json_next(j, '}'))
		return false;
	if (json_peek(j) != '"') {
		json_fail(j, "is not JSON");
		return false;
	}
	if (!json_text(j, name))
		return false;
	if (json_peek(j) != ':') {
		json_fail(j, "is not JSON");
		return false;
	}
	j->at++;
	return true;
}

static bool json_name(struct json *j, struct text *name, bool is_key)
{
	if (!json_name_plain(j, name) && !json_name_any(j, name))
		return false;
	j->path[j->depth - 1].name = *name;
	j->path[j->depth - 1].is_key = is_key;
	return true;
}

bool json_object(struct json *j)
{
	return json_open(j, '{', "an object");
}

bool json_member(struct json *j, struct text *name)
{
	return json_name(j, name, false);
}

bool json_key(struct json *j, struct text *key)
{
	return json_name(j, key, true);
}

struct text json_member_name(const struct json *j)
{
	return j->path[j->depth - 1].name;
}

bool json_array(struct json *j)
{
	return json_open(j, '[', "an array");
}

bool json_item(struct json *j)
{
	if (!json_next(j, ']'))
		return false;
	j->path[j->depth - 1].index++;
	return true;
}

bool json_string(struct json *j, struct text *out)
{
	if (json_peek(j) == '"')
		return json_text(j, out);
	if (json_null(j)) {
		*out = (struct text){ "", 0 };
		return true;
	}
	json_expected(j, "a string");
	return false;
}

/* The number at j->at by the grammar of RFC 8259; *is_integer: without a point and an exponent. */
static bool json_number(struct json *j, struct text *out, bool *is_integer)
{
	const char *p = j->at, *digits;

	*is_integer = true;
	p += p < j->end && *p == '-';
	digits = p;
	p = scan_digits(p, j->end);
	if (p == digits || (*digits == '0' && p - digits > 1))
		goto bad;
	if (p < j->end && *p == '.') {
		*is_integer = false;
		digits = ++p;
		p = scan_digits(p, j->end);
		if (p == digits)
			goto bad;
	}
	if (p < j->end && (*p == 'e' || *p == 'E')) {
		*is_integer = false;
		p++;
		p += p < j->end && (*p == '-' || *p == '+');
		digits = p;
		p = scan_digits(p, j->end);
		if (p == digits)
			goto bad;
	}
	*out = (struct text){ j->at, (size_t)(p - j->at) };
	j->at = p;
	return true;
bad:
	json_fail(j, "is not JSON");
	return false;
}

static bool is_number_start(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

bool json_int64(struct json *j, int64_t *out)
{
	struct text t;
	bool is_integer, negative;
	uint64_t value = 0;

	if (json_null(j)) {
		*out = 0;
		return true;
	}
	if (!is_number_start(json_peek(j))) {
		json_expected(j, "an integer");
		return false;
	}
	if (!json_number(j, &t, &is_integer))
		return false;
	negative = t.at[0] == '-';
	for (size_t i = negative; is_integer && i < t.bytes; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(t.at[i] - '0'), &value))
			is_integer = false;
	if (!is_integer || value > (uint64_t)INT64_MAX + negative) {
		json_fail(j, "%.*s is not a 64-bit integer", (int)(t.bytes > 60 ? 60 : t.bytes), t.at);
		return false;
	}
	*out = negative ? (int64_t)(0 - value) : (int64_t)value;
	return true;
}

bool json_bool(struct json *j, bool *out)
{
	char c = json_peek(j);

	*out = false;
	if (c == 'n')
		return json_null(j);
	if (c == 'f')
		return json_word(j, "false", 5);
	if (c == 't' && json_word(j, "true", 4)) {
		*out = true;
		return true;
	}
	json_expected(j, "a boolean");
	return false;
}

bool json_scalar(struct json *j, struct text *out)
{
	bool is_integer;

	if (is_number_start(json_peek(j)))
		return json_number(j, out, &is_integer);
	if (json_peek(j) == '"')
		return json_text(j, out);
	json_expected(j, "a string or a number");
	return false;
}

void json_skip(struct json *j)
{
	char c = json_peek(j);
	const char *p;
	struct text t;
	bool ignored;

	switch (c) {
	case '"':
		p = scan_string(j->at + 1, j->end);
		break;
	case '{':
	case '[':
		p = scan_container(j->at, j->end);
		break;
	case 't':
		json_word(j, "true", 4);
		return;
	case 'f':
		json_word(j, "false", 5);
		return;
	case 'n':
		json_word(j, "null", 4);
		return;
	default:
		if (is_number_start(c))
			json_number(j, &t, &ignored);
		else
			json_fail(j, "is %s", kind_at(j));
		return;
	}
	if (p)
		j->at = p;
	else
		json_fail(j, "is cut off, or not JSON");
}

bool json_raw(struct json *j, struct text *raw)
{
	const char *from;

	json_peek(j);
	from = j->at;
	json_skip(j);
	if (j->failed)
		return false;
	*raw = (struct text){ from, (size_t)(j->at - from) };
	return true;
}

struct text json_rest(struct json *j)
{
	json_peek(j);
	return (struct text){ j->at, (size_t)(j->end - j->at) };
}

void json_pass(struct json *j, size_t bytes)
{
	assert(bytes <= (size_t)(j->end - j->at));
	j->at += bytes;
}

size_t json_value_bytes(const char *text, size_t bytes)
{
	struct json j;
	struct text raw;

	json_begin(&j, text, bytes, NULL);
	return json_raw(&j, &raw) ? (size_t)(j.at - text) : 0;
}

bool json_end(struct json *j)
{
	json_peek(j);
	if (j->failed)
		return false;
	if (j->at < j->end && !j->open) {
		json_fail(j, "is followed by other text");
		return false;
	}
	return true;
}

static size_t path_step(const struct json_step *s, bool is_first, char *out, size_t cap)
{
	int n;

	if (!s->name.at)
		n = s->index == UINT32_MAX ? 0 : snprintf(out, cap, "[%u]", s->index);
	else
		n = snprintf(out, cap,
		             s->is_key  ? "[\"%.*s\"]"
		             : is_first ? "%.*s"
		                        : ".%.*s",
		             (int)(s->name.bytes > 200 ? 200 : s->name.bytes), s->name.at);
	return n > 0 ? (size_t)n : 0;
}

void json_path(const struct json *j, char *out, size_t out_bytes)
{
	size_t n = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < j->depth && n < out_bytes; i++)
		n += path_step(&j->path[i], n == 0, out + n, out_bytes - n);
	clean_text(out);
}

bool json_fields_n(struct json *j, const struct json_field *fields, size_t n, void *object)
{
	return json_fields_inline(j, fields, n, object);
}

bool json_items(struct json *j, json_read_fn read, void *object)
{
	if (!json_array(j))
		return false;
	while (json_item(j))
		read(j, object);
	return true;
}

void json_field_text(struct json *j, void *out)
{
	json_string(j, out);
}

void json_field_bool(struct json *j, void *out)
{
	json_bool(j, out);
}

void json_field_int64(struct json *j, void *out)
{
	json_int64(j, out);
}

void json_field_raw(struct json *j, void *out)
{
	json_raw(j, out);
}

bool json_find_text(struct json *j, const char *outer, const char *inner, struct text *out)
{
	struct text name;

	if (!json_object(j))
		return !j->failed;
	while (json_member(j, &name)) {
		if (!text_is(name, outer)) {
			json_skip(j);
		} else if (json_object(j)) {
			while (json_member(j, &name)) {
				if (text_is(name, inner))
					json_string(j, out);
				else
					json_skip(j);
			}
		}
	}
	return !j->failed;
}
