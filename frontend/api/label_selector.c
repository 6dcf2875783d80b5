/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/label_selector.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES_MAX 63
#define PREFIX_BYTES_MAX 253

struct reader {
	const char *at;
	char *why;
	size_t why_bytes;
};

struct word {
	const char *at;
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static int fail(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->why_bytes, format, args);
	va_end(args);
	return -EINVAL;
}

static void blanks_skip(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

/* Reads up to an operator or a blank. */
static struct word word_take(struct reader *r)
{
	struct word w;

	blanks_skip(r);
	w = (struct word){ r->at, strcspn(r->at, " \t\r\n,()=!<>") };
	r->at += w.bytes;
	blanks_skip(r);
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.bytes == strlen(text) && memcmp(w.at, text, w.bytes) == 0;
}

static bool sign_take(struct reader *r, const char *sign)
{
	size_t n = strlen(sign);

	if (strncmp(r->at, sign, n) != 0)
		return false;
	r->at += n;
	blanks_skip(r);
	return true;
}

#define SHOWN(w) (int)((w).bytes < 80 ? (w).bytes : 80), (w).at

/* Letters, digits and some punctuation, starting and ending with a letter or digit. */
static bool is_name(const char *at, size_t n, size_t most, const char *signs, bool small)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)at[i];
		bool inside = i > 0 && i + 1 < n;

		if (c >= 0x80 || (!isalnum(c) && (!inside || !strchr(signs, c))) || (small && isupper(c)))
			return false;
	}
	return n > 0 && n <= most;
}

/* A DNS subdomain: lower-case labels separated by dots. */
static bool is_prefix(const char *at, size_t n)
{
	const char *end = at + n;

	if (n == 0 || n > PREFIX_BYTES_MAX)
		return false;
	for (;;) {
		const char *dot = memchr(at, '.', (size_t)(end - at));

		if (!is_name(at, (size_t)((dot ? dot : end) - at), PREFIX_BYTES_MAX, "-", true))
			return false;
		if (!dot)
			return true;
		at = dot + 1;
	}
}

static int key_check(struct reader *r, struct word key)
{
	const char *slash = memchr(key.at, '/', key.bytes);
	const char *name = slash ? slash + 1 : key.at;
	size_t bytes = key.bytes - (size_t)(name - key.at);

	if (key.bytes == 0)
		return *r->at ? fail(r, "a key is expected before \"%.20s\"", r->at)
		              : fail(r, "a key is expected at its end");
	if (!is_name(name, bytes, NAME_BYTES_MAX, "-_.", false) ||
	    (slash && !is_prefix(key.at, (size_t)(slash - key.at))))
		return fail(r, "\"%.*s\" is not a label's key", SHOWN(key));
	return 0;
}

static int value_check(struct reader *r, struct word value)
{
	if (value.bytes > 0 && !is_name(value.at, value.bytes, NAME_BYTES_MAX, "-_.", false))
		return fail(r, "\"%.*s\" is not a label's value", SHOWN(value));
	return 0;
}

static int number_take(struct reader *r, struct word key)
{
	struct word value = word_take(r);
	size_t sign = value.bytes > 0 && *value.at == '-';

	if (value.bytes == sign || value.bytes > 18 ||
	    strspn(value.at + sign, "0123456789") < value.bytes - sign)
		return fail(r, "\"%.*s\": a whole number is expected behind < or >", SHOWN(key));
	return 0;
}

static int set_take(struct reader *r, struct word key, struct word operator)
{
	int rc;

	if (!sign_take(r, "("))
		return fail(r, "\"%.*s %.*s\": a list in brackets is expected", SHOWN(key),
		            SHOWN(operator));
	do {
		rc = value_check(r, word_take(r));
		if (rc < 0)
			return rc;
	} while (sign_take(r, ","));
	return sign_take(r, ")") ? 0 : fail(r, "the list of \"%.*s\" is not closed", SHOWN(key));
}

static int requirement_take(struct reader *r)
{
	bool absent = sign_take(r, "!");
	struct word key = word_take(r), operator;
	int rc = key_check(r, key);

	if (rc < 0 || absent || *r->at == ',' || *r->at == '\0')
		return rc;
	if (sign_take(r, "==") || sign_take(r, "!=") || sign_take(r, "="))
		return value_check(r, word_take(r));
	if (sign_take(r, "<") || sign_take(r, ">"))
		return number_take(r, key);
	operator= word_take(r);
	if (!word_is(operator, "in") && !word_is(operator, "notin"))
		return fail(r, "one of =, ==, !=, in, notin, <, > is expected behind \"%.*s\"", SHOWN(key));
	return set_take(r, key, operator);
}

int label_selector_check(const char *text, char *why, size_t why_bytes)
{
	struct reader r = { text, why, why_bytes };
	int rc;

	blanks_skip(&r);
	if (!*r.at)
		return 0;
	do {
		rc = requirement_take(&r);
		if (rc < 0)
			return rc;
	} while (sign_take(&r, ","));
	return *r.at ? fail(&r, "\"%.20s\" is one too many", r.at) : 0;
}
