/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/json_check.h"

#include "frontend/json/json.h"
#include "frontend/json/json_scan.h"

#include <string.h>

struct check {
	const char *p;
	const char *end;
	const char *what; /* NULL: valid so far */
};

const char *json_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

static bool wrong(struct check *c, const char *what)
{
	c->what = c->p < c->end ? what : "the text ends in the middle of a value";
	return false;
}

static bool is_hex(char h)
{
	return (h >= '0' && h <= '9') || (h >= 'a' && h <= 'f') || (h >= 'A' && h <= 'F');
}

static bool check_escape(struct check *c)
{
	c->p++;
	if (c->p == c->end)
		return wrong(c, "");
	if (*c->p == 'u') {
		c->p++;
		for (int i = 0; i < 4; i++, c->p++)
			if (c->p == c->end || !is_hex(*c->p))
				return wrong(c, "not a hexadecimal digit");
		return true;
	}
	if (memchr("\"\\/bfnrt", *c->p, 8) == NULL)
		return wrong(c, "no such escape");
	c->p++;
	return true;
}

static bool check_string(struct check *c)
{
	const char *start;

	if (c->p == c->end || *c->p != '"')
		return wrong(c, "a name in quotes is expected");
	start = ++c->p;
	for (;;) {
		c->p = scan_text(c->p, c->end);
		if (c->p == c->end)
			return wrong(c, "");
		if (*c->p == '"')
			break;
		if (*c->p == '\\') {
			if (!check_escape(c))
				return false;
		} else if ((unsigned char)*c->p < 0x20) {
			return wrong(c, "a control character in a string");
		} else {
			c->p++;
		}
	}
	if (!scan_utf8(start, c->p)) {
		c->p = start;
		return wrong(c, "a string that is not UTF-8");
	}
	c->p++;
	return true;
}

static bool check_digits(struct check *c)
{
	const char *after = scan_digits(c->p, c->end);

	if (after == c->p)
		return wrong(c, "a digit is expected");
	c->p = after;
	return true;
}

static bool check_number(struct check *c)
{
	if (*c->p == '-')
		c->p++;
	if (c->p < c->end && *c->p == '0')
		c->p++;
	else if (!check_digits(c))
		return false;
	if (c->p < c->end && *c->p == '.') {
		c->p++;
		if (!check_digits(c))
			return false;
	}
	if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
		c->p++;
		if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
			c->p++;
		if (!check_digits(c))
			return false;
	}
	return true;
}

static bool check_word(struct check *c, const char *word)
{
	for (; *word != '\0'; word++, c->p++)
		if (c->p == c->end || *c->p != *word)
			return wrong(c, "not a value");
	return true;
}

static bool check_value(struct check *c, unsigned depth);

static bool check_container(struct check *c, unsigned depth)
{
	bool object = *c->p == '{';
	char close = object ? '}' : ']';

	if (depth == 0)
		return wrong(c, "nested too deeply");
	c->p = json_blank(c->p + 1, c->end);
	if (c->p < c->end && *c->p == close) {
		c->p++;
		return true;
	}
	for (;;) {
		if (object) {
			c->p = json_blank(c->p, c->end);
			if (!check_string(c))
				return false;
			c->p = json_blank(c->p, c->end);
			if (c->p == c->end || *c->p != ':')
				return wrong(c, "\":\" is expected");
			c->p++;
		}
		if (!check_value(c, depth - 1))
			return false;
		c->p = json_blank(c->p, c->end);
		if (c->p < c->end && *c->p == close) {
			c->p++;
			return true;
		}
		if (c->p == c->end || *c->p != ',')
			return wrong(c, object ? "\",\" or \"}\" is expected" : "\",\" or \"]\" is expected");
		c->p++;
	}
}

static bool check_value(struct check *c, unsigned depth)
{
	c->p = json_blank(c->p, c->end);
	if (c->p == c->end)
		return wrong(c, "");
	switch (*c->p) {
	case '{':
	case '[':
		return check_container(c, depth);
	case '"':
		return check_string(c);
	case 't':
		return check_word(c, "true");
	case 'f':
		return check_word(c, "false");
	case 'n':
		return check_word(c, "null");
	default:
		if (*c->p == '-' || (*c->p >= '0' && *c->p <= '9'))
			return check_number(c);
		return wrong(c, "not a value");
	}
}

const char *json_check(const char *p, const char *end, const char **where, const char **what)
{
	struct check c = { .p = p, .end = end };

	if (check_value(&c, JSON_DEPTH))
		return c.p;
	*where = c.p;
	*what = c.what;
	return NULL;
}
