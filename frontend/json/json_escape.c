/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/json.h"
#include "frontend/json/json_scan.h"

#include <string.h>

static int hex4(const char *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];
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

size_t utf8_put(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Resolves the escape at p, after its backslash, of a string that ends at `end`; returns the byte
 * after it, or NULL. */
static const char *unescape_u(struct json *j, const char *p, const char *end, char **out)
{
	int c, low;

	c = end - p >= 5 ? hex4(p + 1) : -1;
	if (c < 0) {
		json_fail(j, "has a bad escape");
		return NULL;
	}
	if (c == 0) {
		json_fail(j, "contains a NUL");
		return NULL;
	}
	p += 5;
	if (c >= 0xd800 && c <= 0xdfff) {
		low = c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
		if (low < 0xdc00 || low > 0xdfff) {
			json_fail(j, "has half a surrogate pair");
			return NULL;
		}
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	*out += utf8_put(*out, (uint32_t)c);
	return p;
}

static const char *unescape_one(struct json *j, const char *p, const char *end, char **out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (p == end) {
		json_fail(j, "has a bad escape");
		return NULL;
	}
	if (*p == 'u')
		return unescape_u(j, p, end, out);
	found = *p ? strchr(from, *p) : NULL;
	if (!found) {
		json_fail(j, "has a bad escape");
		return NULL;
	}
	*(*out)++ = to[found - from];
	return p + 1;
}

bool json_unescape(struct json *j, const char *p, const char *end, struct text *out)
{
	char *copy = arena_alloc(j->arena, (size_t)(end - p));
	char *at = copy;

	while (p < end) {
		if (*p != '\\') {
			*at++ = *p++;
			continue;
		}
		p = unescape_one(j, p + 1, end, &at);
		if (!p)
			return false;
	}
	*out = (struct text){ copy, (size_t)(at - copy) };
	return true;
}
