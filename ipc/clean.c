/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/clean.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character at p; 0: invalid or incomplete. */
static size_t utf8_bytes(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80                   ? 1
	           : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
	           : (p[0] & 0xf0) == 0xe0       ? 3
	           : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
	                                         : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong, a surrogate, beyond the last character. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

static bool is_hidden(const unsigned char *p, size_t bytes)
{
	uint32_t c = bytes == 1   ? p[0]
	             : bytes == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
	                          : (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);

	if (bytes > 3)
		return false;
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t clean_char(const char *p, size_t left)
{
	const unsigned char *at = (const unsigned char *)p;
	size_t n = utf8_bytes(at, left);

	return n > 0 && !is_hidden(at, n) ? n : 0;
}

size_t clean_skip(const char *p, size_t left)
{
	size_t n = utf8_bytes((const unsigned char *)p, left);

	return n > 0 ? n : 1;
}

bool clean_is(const char *text)
{
	size_t n;

	for (; *text; text += n) {
		n = clean_char(text, strnlen(text, 4));
		if (n == 0)
			return false;
	}
	return true;
}

static void clean(char *text, const char *kept)
{
	char *to = text;
	size_t n;

	while (*text) {
		const size_t left = strnlen(text, 4);

		n = clean_char(text, left);
		if (n == 0 && strchr(kept, *text))
			n = 1;
		if (n > 0) {
			memmove(to, text, n);
			to += n;
		} else {
			n = clean_skip(text, left); /* before `to`, which may be here, is written */
			*to++ = '?';
		}
		text += n;
	}
	*to = '\0';
}

void clean_text(char *text)
{
	clean(text, "");
}

void clean_lines(char *text)
{
	clean(text, "\n\t");
}
