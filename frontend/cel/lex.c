/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/cel/lex.h"

#include "frontend/json/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool cel_lex_fail(struct cel_lexer *l, const char *format, ...)
{
	struct cel_error *e = l->error;
	const char *p;
	unsigned line = 1, column = 1;
	size_t n;
	va_list args;

	if (e->text[0])
		return false;
	for (p = l->begin; p < l->token_at; p++) {
		column++;
		if (*p == '\n') {
			line++;
			column = 1;
		}
	}
	n = (size_t)snprintf(e->text, sizeof(e->text),
	                     "compilation failed: ERROR: <input>:%u:%u: ", line, column);
	va_start(args, format);
	vsnprintf(e->text + n, sizeof(e->text) - n, format, args);
	va_end(args);
	return false;
}

bool cel_lex_refuse(struct cel_lexer *l, const char *format, ...)
{
	va_list args;

	if (l->error->text[0])
		return false;
	l->error->refused = true;
	va_start(args, format);
	vsnprintf(l->error->text, sizeof(l->error->text), format, args);
	va_end(args);
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void skip_space(struct cel_lexer *l)
{
	while (l->at < l->end) {
		char c = *l->at;

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
			l->at++;
		} else if (c == '/' && l->end - l->at > 1 && l->at[1] == '/') {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else {
			return;
		}
	}
}

static const char *digits(const char *p, const char *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

/* Behind an exponent's letter, or NULL if there is none. */
static const char *exponent(const char *p, const char *end)
{
	if (p == end || (*p != 'e' && *p != 'E'))
		return NULL;
	p++;
	if (p < end && (*p == '+' || *p == '-'))
		p++;
	return p < end && is_digit(*p) ? digits(p, end) : NULL;
}

static void lex_hex(struct cel_lexer *l)
{
	const char *p = l->at + 2;
	uint64_t v = 0;

	for (; p < l->end && hex(*p) >= 0; p++) {
		if (v >> 60) {
			cel_lex_fail(l, "invalid int literal");
			l->token = TOKEN_BAD;
			return;
		}
		v = v << 4 | (uint64_t)hex(*p);
	}
	l->token = TOKEN_CONST;
	if (p < l->end && (*p == 'u' || *p == 'U')) {
		l->value = cel_uint(v);
		p++;
	} else if (v > (uint64_t)INT64_MAX + 1) {
		cel_lex_fail(l, "invalid int literal");
		l->token = TOKEN_BAD;
	} else {
		l->too_big = v > INT64_MAX;
		l->value = cel_int((int64_t)v);
	}
	l->at = p;
}

static void lex_number(struct cel_lexer *l)
{
	const char *p = digits(l->at, l->end), *more;
	bool is_double = false, ok;
	struct text t;
	uint64_t u = 0;
	double d = 0;

	if (l->end - l->at > 2 && l->at[0] == '0' && l->at[1] == 'x' && hex(l->at[2]) >= 0) {
		lex_hex(l);
		return;
	}
	if (l->end - p > 1 && *p == '.' && is_digit(p[1])) {
		p = digits(p + 1, l->end);
		is_double = true;
	}
	more = exponent(p, l->end);
	if (more) {
		p = more;
		is_double = true;
	}
	t = (struct text){ l->at, (size_t)(p - l->at) };
	l->token = TOKEN_CONST;
	if (is_double) {
		ok = cel_parse_double(t, &d);
		l->value = cel_double(d);
	} else {
		ok = cel_parse_uint(t, &u);
		if (p < l->end && (*p == 'u' || *p == 'U')) {
			l->value = cel_uint(u);
			p++;
		} else {
			ok = ok && u <= (uint64_t)INT64_MAX + 1;
			l->too_big = u > INT64_MAX;
			l->value = cel_int((int64_t)u);
		}
	}
	if (!ok) {
		cel_lex_fail(l, "invalid %s literal", is_double ? "double" : "int");
		l->token = TOKEN_BAD;
	}
	l->at = p;
}

/* One escape behind the backslash at *p.  False: it is none. */
static bool unescape(const char **p, const char *end, uint32_t *rune)
{
	static const char from[] = "abfnrtv\\'\"`?", to[] = "\a\b\f\n\r\t\v\\'\"`?";
	const char *at = *p;
	const char *found = *at ? strchr(from, *at) : NULL;
	unsigned n, i;

	if (found) {
		*rune = (unsigned char)to[found - from];
		*p = at + 1;
		return true;
	}
	*rune = 0;
	if (*at >= '0' && *at <= '3') {
		if (end - at < 3)
			return false;
		for (i = 0; i < 3; i++) {
			if (at[i] < '0' || at[i] > '7')
				return false;
			*rune = *rune * 8 + (uint32_t)(at[i] - '0');
		}
		*p = at + 3;
		return true;
	}
	n = *at == 'x' || *at == 'X' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
	if (n == 0 || (size_t)(end - at) < n + 1)
		return false;
	for (i = 1; i <= n; i++) {
		if (hex(at[i]) < 0)
			return false;
		*rune = *rune << 4 | (uint32_t)hex(at[i]);
	}
	*p = at + n + 1;
	return *rune <= 0x10ffff && (*rune < 0xd800 || *rune > 0xdfff);
}

/* Behind the closing quote, or where the literal breaks off. */
static const char *string_end(const char *p, const char *end, char quote, bool triple, bool raw)
{
	while (p < end && (triple || (*p != '\n' && *p != '\r'))) {
		if (*p == quote && (!triple || (end - p >= 3 && p[1] == quote && p[2] == quote)))
			return p;
		p += *p == '\\' && !raw && end - p > 1 ? 2 : 1;
	}
	return p;
}

/* From the opening quote on. */
static void lex_string(struct cel_lexer *l, bool raw)
{
	char quote = *l->at;
	bool triple = l->end - l->at >= 3 && l->at[1] == quote && l->at[2] == quote;
	const char *p = l->at + (triple ? 3 : 1);
	/* An escape is never shorter than what it stands for. */
	char *out = arena_alloc(l->arena, (size_t)(string_end(p, l->end, quote, triple, raw) - p) + 8);
	size_t n = 0;

	for (;;) {
		uint32_t rune;

		if (p == l->end || (!triple && (*p == '\n' || *p == '\r'))) {
			cel_lex_fail(l, "Syntax error: token recognition error: unterminated string");
			l->token = TOKEN_BAD;
			return;
		}
		if (*p == quote && !triple) {
			p++;
			break;
		}
		if (*p == quote && l->end - p >= 3 && p[1] == quote && p[2] == quote) {
			p += 3;
			break;
		}
		if (*p == '\\' && !raw) {
			p++;
			if (p == l->end || !unescape(&p, l->end, &rune)) {
				cel_lex_fail(l, "Syntax error: token recognition error: unable to unescape string");
				l->token = TOKEN_BAD;
				return;
			}
			n += utf8_put(out + n, rune);
		} else if (*p == '\r') {
			out[n++] = '\n';
			p += l->end - p > 1 && p[1] == '\n' ? 2 : 1;
		} else {
			out[n++] = *p++;
		}
	}
	l->at = p;
	l->token = TOKEN_CONST;
	l->value = cel_string((struct text){ out, n });
}

static bool is_quote(const char *p, const char *end)
{
	return p < end && (*p == '"' || *p == '\'');
}

static void lex_word(struct cel_lexer *l)
{
	const char *p = l->at;
	char c = *p;
	bool bytes;

	if ((c == 'r' || c == 'R') && is_quote(p + 1, l->end)) {
		l->at++;
		lex_string(l, true);
		return;
	}
	bytes = (c == 'b' || c == 'B') &&
	        (is_quote(p + 1, l->end) ||
	         (l->end - p > 1 && (p[1] == 'r' || p[1] == 'R') && is_quote(p + 2, l->end)));
	if (bytes) {
		cel_lex_refuse(l, "a literal of bytes");
		l->token = TOKEN_BAD;
		return;
	}
	while (p < l->end && (is_letter(*p) || is_digit(*p)))
		p++;
	l->text = (struct text){ l->at, (size_t)(p - l->at) };
	l->at = p;
	l->token = TOKEN_CONST;
	if (text_is(l->text, "true"))
		l->value = cel_bool(true);
	else if (text_is(l->text, "false"))
		l->value = cel_bool(false);
	else if (text_is(l->text, "null"))
		l->value = (struct cel_value){ .kind = CEL_NULL };
	else
		l->token = TOKEN_IDENT;
}

static void lex_escaped(struct cel_lexer *l)
{
	const char *p = l->at + 1;

	while (p < l->end && (is_letter(*p) || is_digit(*p) || (*p && strchr(".-/ ", *p))))
		p++;
	if (p == l->end || *p != '`' || p == l->at + 1) {
		cel_lex_fail(l, "Syntax error: token recognition error at: '`'");
		l->token = TOKEN_BAD;
		return;
	}
	l->text = (struct text){ l->at + 1, (size_t)(p - l->at - 1) };
	l->token = TOKEN_ESCAPED_IDENT;
	l->at = p + 1;
}

void cel_lex(struct cel_lexer *l)
{
	static const struct {
		char text[3];
		enum cel_token token;
	} pairs[] = {
		{ "==", TOKEN_EQUAL },         { "!=", TOKEN_NOT_EQUAL }, { "<=", TOKEN_LESS_EQUAL },
		{ ">=", TOKEN_GREATER_EQUAL }, { "&&", TOKEN_AND },       { "||", TOKEN_OR },
	};
	size_t i;
	char c;

	skip_space(l);
	l->token_at = l->at;
	l->too_big = false;
	if (l->at == l->end) {
		l->token = TOKEN_END;
		return;
	}
	c = *l->at;
	if (is_digit(c) || (c == '.' && l->end - l->at > 1 && is_digit(l->at[1]))) {
		lex_number(l);
		return;
	}
	if (is_letter(c)) {
		lex_word(l);
		return;
	}
	if (c == '"' || c == '\'') {
		lex_string(l, false);
		return;
	}
	if (c == '`') {
		lex_escaped(l);
		return;
	}
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (l->end - l->at > 1 && c == pairs[i].text[0] && l->at[1] == pairs[i].text[1]) {
			l->token = pairs[i].token;
			l->at += 2;
			return;
		}
	if (c && strchr("()[]{}.,?:+-*/%!<>", c)) {
		l->token = TOKEN_PUNCTUATION;
		l->punctuation = c;
		l->at++;
		return;
	}
	cel_lex_fail(l, "Syntax error: token recognition error at byte 0x%02x", (unsigned char)c);
	l->token = TOKEN_BAD;
}
