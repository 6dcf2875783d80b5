/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/jsonout.h"

#include "frontend/base/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_BYTES_MAX 1024 /* of an Event's note */

static void out_bytes(struct jsonout *out, const char *bytes, size_t n)
{
	if (out->bytes + n + 1 > out->room) {
		size_t room = out->room ? out->room : 512;

		while (room < out->bytes + n + 1)
			room *= 2;
		out->at = must_grow(out->at, room);
		out->room = room;
	}
	memcpy(out->at + out->bytes, bytes, n);
	out->bytes += n;
	out->at[out->bytes] = '\0';
}

static void out_string(struct jsonout *out, const char *text, size_t n)
{
	size_t plain = 0;

	out_bytes(out, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		char escape[8];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		out_bytes(out, text + plain, i - plain);
		if (c == '"' || c == '\\')
			snprintf(escape, sizeof(escape), "\\%c", c);
		else
			snprintf(escape, sizeof(escape), "\\u%04x", c);
		out_bytes(out, escape, strlen(escape));
		plain = i + 1;
	}
	out_bytes(out, text + plain, n - plain);
	out_bytes(out, "\"", 1);
}

static void out_note(struct jsonout *out, const char *text)
{
	static const char more[] = " ...";
	size_t n = strlen(text);
	char cut[NOTE_BYTES_MAX];

	if (n <= NOTE_BYTES_MAX) {
		out_string(out, text, n);
		return;
	}
	n = NOTE_BYTES_MAX - strlen(more);
	/* Not in the middle of a character. */
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(cut, text, n);
	memcpy(cut + n, more, strlen(more));
	out_string(out, cut, n + strlen(more));
}

static void out_segment(struct jsonout *out, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	char escape[8];

	while (*text) {
		size_t n = strspn(text, plain);

		out_bytes(out, text, n);
		text += n;
		if (!*text)
			break;
		snprintf(escape, sizeof(escape), "%%%02X", (unsigned char)*text++);
		out_bytes(out, escape, 3);
	}
}

void jsonout_add(struct jsonout *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format) {
		size_t plain = strcspn(format, "@");
		char number[24];
		const char *text;

		out_bytes(out, format, plain);
		format += plain;
		if (!*format)
			break;
		switch (format[1]) {
		case 's':
			text = va_arg(args, const char *);
			out_string(out, text, strlen(text));
			break;
		case 'b':
			out_note(out, va_arg(args, const char *));
			break;
		case 'r':
			text = va_arg(args, const char *);
			out_bytes(out, text, strlen(text));
			break;
		case 'p':
			out_segment(out, va_arg(args, const char *));
			break;
		case 'u':
			snprintf(number, sizeof(number), "%llu", va_arg(args, unsigned long long));
			out_bytes(out, number, strlen(number));
			break;
		default:
			assert(!"a letter that jsonout_add() does not know");
		}
		format += 2;
	}
	va_end(args);
}

void jsonout_clear(struct jsonout *out)
{
	out->bytes = 0;
	if (out->at)
		out->at[0] = '\0';
}

void jsonout_free(struct jsonout *out)
{
	free(out->at);
	*out = (struct jsonout){ 0 };
}
