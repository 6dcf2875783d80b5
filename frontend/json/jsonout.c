/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/jsonout.h"

#include "frontend/base/bytes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_BYTES_MAX 1024 /* of an Event's note */

/* The first NOTE_BYTES_MAX bytes as a string, not cut within a character. */
static void add_note(struct bytes *b, const char *text)
{
	static const char more[] = " ...";
	size_t n = strlen(text);
	char cut[NOTE_BYTES_MAX];

	if (n <= NOTE_BYTES_MAX) {
		bytes_quote_clean(b, text, n);
		return;
	}
	n = NOTE_BYTES_MAX - strlen(more);
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(cut, text, n);
	memcpy(cut + n, more, strlen(more));
	bytes_quote_clean(b, cut, n + strlen(more));
}

static void add_segment(struct bytes *b, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	char escape[8];

	while (*text) {
		size_t n = strspn(text, plain);

		bytes_add(b, text, n);
		text += n;
		if (!*text)
			break;
		snprintf(escape, sizeof(escape), "%%%02X", (unsigned char)*text++);
		bytes_put(b, escape);
	}
}

static void add_value(struct bytes *b, char letter, va_list *args)
{
	char number[24];
	const char *text;

	switch (letter) {
	case 's':
		text = va_arg(*args, const char *);
		bytes_quote_clean(b, text, strlen(text));
		break;
	case 'b':
		add_note(b, va_arg(*args, const char *));
		break;
	case 'r':
		bytes_put(b, va_arg(*args, const char *));
		break;
	case 'p':
		add_segment(b, va_arg(*args, const char *));
		break;
	case 'u':
		snprintf(number, sizeof(number), "%llu", va_arg(*args, unsigned long long));
		bytes_put(b, number);
		break;
	default:
		assert(!"a letter that jsonout_add() does not have");
	}
}

void jsonout_add(struct jsonout *out, const char *format, ...)
{
	struct bytes b = { out->at, out->bytes, out->cap };
	va_list args;

	va_start(args, format);
	while (*format) {
		size_t plain = strcspn(format, "@");

		bytes_add(&b, format, plain);
		format += plain;
		if (!*format)
			break;
		add_value(&b, format[1], &args);
		format += 2;
	}
	va_end(args);
	*bytes_room(&b, 1) = '\0';
	*out = (struct jsonout){ b.at, b.n, b.cap };
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
