/* SPDX-License-Identifier: Apache-2.0 */
/* The parser: one pass over a private copy, strings decoded in place. */
#include "tests/apisim/json.h"

#include <string.h>

#define DEPTH_MAX 200 /* the real server's limit is 10,000; no test object comes near */

struct parser {
	struct as_arena *arena;
	char *at; /* the copy ends with a NUL, which stops every scan */
	char *end;
	const char *error;
	unsigned depth;
};

static bool fail(struct parser *p, const char *why)
{
	if (p->error == NULL)
		p->error = why;
	return false;
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')
		p->at++;
}

static int hex4(const char *s)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = s[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* After "\u": a lone surrogate becomes U+FFFD, as Go does. */
static char *take_unicode(struct parser *p, char *to)
{
	int c = hex4(p->at), low;

	if (c < 0) {
		fail(p, "bad \\u escape in a string");
		return NULL;
	}
	p->at += 4;
	if (c == 0) {
		fail(p, "NUL in a string is not supported");
		return NULL;
	}
	if (c >= 0xd800 && c < 0xdc00 && p->at[0] == '\\' && p->at[1] == 'u' &&
	    (low = hex4(p->at + 2)) >= 0xdc00 && low < 0xe000) {
		p->at += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xd800 && c < 0xe000) {
		c = 0xfffd;
	}
	return put_utf8(to, (unsigned)c);
}

static char *take_escape(struct parser *p, char *to)
{
	static const char from[] = "\"\\/bfnrt", what[] = "\"\\/\b\f\n\r\t";
	char c = *p->at++;
	const char *found;

	if (c == 'u')
		return take_unicode(p, to);
	found = c != '\0' ? strchr(from, c) : NULL;
	if (found == NULL) {
		fail(p, "bad escape in a string");
		return NULL;
	}
	*to++ = what[found - from];
	return to;
}

/* p->at is behind the opening quote.  The closing one becomes the NUL. */
static bool take_string(struct parser *p, const char **text, uint32_t *bytes)
{
	char *start = p->at, *to;

	while ((unsigned char)*p->at >= 0x20 && *p->at != '"' && *p->at != '\\')
		p->at++;
	to = p->at;
	while (*p->at != '"') {
		if ((unsigned char)*p->at < 0x20)
			return fail(p, p->at == p->end ? "unexpected end of JSON input"
			                               : "control character in a string");
		if (*p->at != '\\') {
			*to++ = *p->at++;
			continue;
		}
		p->at++;
		to = take_escape(p, to);
		if (to == NULL)
			return false;
	}
	p->at++;
	*to = '\0';
	*text = start;
	*bytes = (uint32_t)(to - start);
	return true;
}

static bool digits(struct parser *p)
{
	char *start = p->at;

	while (*p->at >= '0' && *p->at <= '9')
		p->at++;
	return p->at > start;
}

static bool take_number(struct parser *p, struct as_json *v)
{
	char *start = p->at;

	if (*p->at == '-')
		p->at++;
	if (*p->at == '0')
		p->at++;
	else if (!digits(p))
		return fail(p, "bad character where a value is expected");
	if (*p->at == '.') {
		p->at++;
		if (!digits(p))
			return fail(p, "bad number");
	}
	if (*p->at == 'e' || *p->at == 'E') {
		p->at++;
		if (*p->at == '+' || *p->at == '-')
			p->at++;
		if (!digits(p))
			return fail(p, "bad number");
	}
	v->kind = AS_NUMBER;
	v->bytes = (uint32_t)(p->at - start);
	v->text = as_arena_copy(p->arena, start, v->bytes);
	return true;
}

static bool take_word(struct parser *p, const char *word, struct as_json *v, enum as_json_kind kind)
{
	size_t n = strlen(word);

	if (strncmp(p->at, word, n) != 0)
		return fail(p, "bad character where a value is expected");
	p->at += n;
	v->kind = kind;
	return true;
}

static bool take_value(struct parser *p, struct as_json *v);

static bool take_name(struct parser *p, struct as_json *member)
{
	skip_space(p);
	if (*p->at != '"')
		return fail(p, "an object member without a name");
	p->at++;
	if (!take_string(p, &member->name, &member->name_bytes))
		return false;
	skip_space(p);
	if (*p->at != ':')
		return fail(p, "an object member without a colon");
	p->at++;
	return true;
}

/* p->at is behind the opening bracket. */
static bool take_children(struct parser *p, struct as_json *v, char close)
{
	if (++p->depth > DEPTH_MAX)
		return fail(p, "nested too deeply");
	skip_space(p);
	if (*p->at == close) {
		p->at++;
		p->depth--;
		return true;
	}
	for (;;) {
		struct as_json *child = as_json_new(p->arena, AS_NULL);

		if (close == '}' && !take_name(p, child))
			return false;
		if (!take_value(p, child))
			return false;
		as_json_append(v, child);
		skip_space(p);
		if (*p->at == close)
			break;
		if (*p->at != ',')
			return fail(p, p->at == p->end ? "unexpected end of JSON input"
			                               : "bad character after a value");
		p->at++;
	}
	p->at++;
	p->depth--;
	return true;
}

static bool take_value(struct parser *p, struct as_json *v)
{
	skip_space(p);
	switch (*p->at) {
	case '{':
		p->at++;
		v->kind = AS_OBJECT;
		return take_children(p, v, '}');
	case '[':
		p->at++;
		v->kind = AS_ARRAY;
		return take_children(p, v, ']');
	case '"':
		p->at++;
		v->kind = AS_STRING;
		return take_string(p, &v->text, &v->bytes);
	case 't':
		return take_word(p, "true", v, AS_TRUE);
	case 'f':
		return take_word(p, "false", v, AS_FALSE);
	case 'n':
		return take_word(p, "null", v, AS_NULL);
	default:
		if (p->at == p->end)
			return fail(p, "unexpected end of JSON input");
		return take_number(p, v);
	}
}

struct as_json *as_json_parse(struct as_arena *a, const char *text, size_t bytes,
                              const char **error)
{
	char *copy = as_arena_copy(a, text, bytes);
	struct parser p = { .arena = a, .at = copy, .end = copy + bytes };
	struct as_json *v = as_json_new(a, AS_NULL);

	if (take_value(&p, v)) {
		skip_space(&p);
		if (p.at == p.end)
			return v;
		fail(&p, "more after the value");
	}
	*error = p.error;
	return NULL;
}
