/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/logline.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of the character at p; 0: it is none, or half of one. */
static size_t utf8_bytes(const unsigned char *p)
{
	size_t n = p[0] < 0x80                   ? 1
	           : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
	           : (p[0] & 0xf0) == 0xe0       ? 3
	           : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
	                                         : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than it must be, half of a surrogate pair, beyond the last character. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

size_t logline_quote(char *out, size_t room, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = 0;

	out[n++] = '"';
	while (*p) {
		size_t bytes = utf8_bytes(p);
		bool escape = *p == '"' || *p == '\\',
			 clean = bytes > 1 || (bytes == 1 && *p >= 0x20 && *p != 0x7f);

		if (n + (escape ? 2 : clean ? bytes : 1) + 2 > room)
			break;
		if (escape)
			out[n++] = '\\';
		if (clean)
			memcpy(out + n, p, bytes);
		else
			out[n] = '?';
		n += clean ? bytes : 1;
		p += bytes > 0 ? bytes : 1;
	}
	out[n++] = '"';
	out[n] = '\0';
	return n;
}

/* Whole, and short enough for a double. */
static bool is_number(const char *at, size_t n)
{
	size_t first = n > 0 && at[0] == '-';

	if (n == first || n - first > 15 || (at[first] == '0' && n - first > 1))
		return false;
	for (size_t i = first; i < n; i++)
		if (at[i] < '0' || at[i] > '9')
			return false;
	return true;
}

/* Length of the value at p, quotes included. */
static size_t value_bytes(const char *p)
{
	size_t n = 0;

	if (*p != '"')
		return strcspn(p, " ");
	for (n = 1; p[n] && p[n] != '"'; n++)
		n += p[n] == '\\' && p[n + 1];
	return p[n] == '"' ? n + 1 : n;
}

size_t logline_json(char *out, size_t room, const char *line)
{
	size_t n = 0;

	out[n++] = '{';
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		size_t key = strcspn(line, "= "), bytes;
		const char *value = line + key + 1;
		bool quote;

		if (line[key] != '=') {
			line += key;
			continue;
		}
		bytes = value_bytes(value);
		if (*value == '"' && (bytes < 2 || value[bytes - 1] != '"'))
			break; /* the line was cut */
		quote = *value != '"' && !is_number(value, bytes);
		if (n + key + bytes + 10 > room)
			break;
		if (n > 1)
			out[n++] = ',';
		out[n++] = '"';
		memcpy(out + n, line, key);
		n += key;
		out[n++] = '"';
		out[n++] = ':';
		if (quote)
			out[n++] = '"';
		memcpy(out + n, value, bytes);
		n += bytes;
		if (quote)
			out[n++] = '"';
		line = value + bytes;
	}
	out[n++] = '}';
	out[n] = '\0';
	return n;
}
