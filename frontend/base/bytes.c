/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/bytes.h"

#include "ipc/clean.h"
#include "ipc/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *bytes_room(struct bytes *b, size_t more)
{
	if (b->cap - b->n < more) {
		size_t cap = b->cap * 2;

		if (more > SIZE_MAX - b->n)
			fatal_memory();
		if (cap < b->n + more)
			cap = b->n + more;
		if (cap < 256)
			cap = 256;
		b->at = must_grow(b->at, cap);
		b->cap = cap;
	}
	return b->at + b->n;
}

void bytes_add(struct bytes *b, const void *from, size_t n)
{
	if (n == 0)
		return;
	memcpy(bytes_room(b, n), from, n);
	b->n += n;
}

void bytes_put(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text));
}

void bytes_quote(struct bytes *b, const char *text, size_t n)
{
	size_t from = 0;

	bytes_put(b, "\"");
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		char escaped[8];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		bytes_add(b, text + from, i - from);
		from = i + 1;
		if (c == '\n')
			snprintf(escaped, sizeof(escaped), "\\n");
		else if (c < 0x20)
			snprintf(escaped, sizeof(escaped), "\\u%04x", c);
		else
			snprintf(escaped, sizeof(escaped), "\\%c", c);
		bytes_put(b, escaped);
	}
	bytes_add(b, text + from, n - from);
	bytes_put(b, "\"");
}

void bytes_quote_clean(struct bytes *b, const char *text, size_t n)
{
	bytes_put(b, "\"");
	for (size_t i = 0, bytes; i < n; i += bytes) {
		bytes = clean_char(text + i, n - i);
		if (bytes == 0) {
			bytes_put(b, "?");
			bytes = clean_skip(text + i, n - i);
			continue;
		}
		if (text[i] == '"' || text[i] == '\\')
			bytes_put(b, "\\");
		bytes_add(b, text + i, bytes);
	}
	bytes_put(b, "\"");
}

void bytes_free(struct bytes *b)
{
	free(b->at);
	*b = (struct bytes){ 0 };
}
