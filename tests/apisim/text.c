/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void as_die(const char *format, ...)
{
	va_list list;

	fputs("muster-apisim: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(1);
}

void *as_alloc(size_t bytes)
{
	void *p = calloc(1, bytes > 0 ? bytes : 1);

	if (p == NULL)
		as_die("out of memory (%zu bytes)", bytes);
	return p;
}

void *as_realloc(void *old, size_t bytes)
{
	void *p = realloc(old, bytes > 0 ? bytes : 1);

	if (p == NULL)
		as_die("out of memory (%zu bytes)", bytes);
	return p;
}

char *as_copy(const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(as_alloc(bytes), text, bytes);
}

static void as_text_need(struct as_text *t, size_t more)
{
	size_t room = t->room;

	if (more <= room - t->bytes)
		return;
	if (room < 256)
		room = 256;
	while (room - t->bytes < more)
		room *= 2;
	t->at = as_realloc(t->at, room);
	t->room = room;
}

void as_text_add(struct as_text *t, const char *bytes, size_t n)
{
	if (n == 0)
		return;
	as_text_need(t, n);
	memcpy(t->at + t->bytes, bytes, n);
	t->bytes += n;
}

void as_text_put(struct as_text *t, const char *text)
{
	as_text_add(t, text, strlen(text));
}

void as_text_printf(struct as_text *t, const char *format, ...)
{
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (n < 0)
		as_die("bad format");

	as_text_need(t, (size_t)n + 1);
	va_start(list, format);
	vsnprintf(t->at + t->bytes, (size_t)n + 1, format, list);
	va_end(list);
	t->bytes += (size_t)n;
}

static void quote_byte(struct as_text *t, unsigned char c)
{
	static const char plain[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at)
		as_text_printf(t, "\\%c", letters[at - plain]);
	else
		as_text_printf(t, "\\u%04x", c);
}

void as_text_quote(struct as_text *t, const char *text, size_t n)
{
	size_t from = 0;

	as_text_need(t, n + 2);
	t->at[t->bytes++] = '"';
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		as_text_add(t, text + from, i - from);
		quote_byte(t, c);
		from = i + 1;
	}
	as_text_add(t, text + from, n - from);
	as_text_add(t, "\"", 1);
}

void as_text_free(struct as_text *t)
{
	free(t->at);
	*t = (struct as_text){ 0 };
}

struct as_arena_block {
	struct as_arena_block *next;
	size_t room;
	_Alignas(16) char bytes[];
};

#define BLOCK_BYTES ((size_t)64 * 1024)

void *as_arena_alloc(struct as_arena *a, size_t bytes)
{
	struct as_arena_block *block = a->blocks;
	size_t need;
	void *p;

	if (bytes > SIZE_MAX / 2)
		as_die("out of memory (%zu bytes)", bytes);
	need = (bytes + 15) & ~(size_t)15;
	if (block == NULL || block->room - a->used < need) {
		size_t room = need > BLOCK_BYTES ? need : BLOCK_BYTES;

		block = as_realloc(NULL, sizeof(*block) + room);
		block->next = a->blocks;
		block->room = room;
		a->blocks = block;
		a->used = 0;
	}
	p = block->bytes + a->used;
	a->used += need;
	return p;
}

char *as_arena_copy(struct as_arena *a, const char *text, size_t n)
{
	char *copy = as_arena_alloc(a, n + 1);

	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

char *as_arena_printf(struct as_arena *a, const char *format, ...)
{
	va_list list;
	char *text;
	int n;

	va_start(list, format);
	n = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (n < 0)
		as_die("bad format");

	text = as_arena_alloc(a, (size_t)n + 1);
	va_start(list, format);
	vsnprintf(text, (size_t)n + 1, format, list);
	va_end(list);
	return text;
}

/* One block of the usual size is kept: the next request needs no malloc. */
void as_arena_reset(struct as_arena *a)
{
	struct as_arena_block *block = a->blocks, *kept = NULL;

	while (block != NULL) {
		struct as_arena_block *next = block->next;

		if (kept == NULL && block->room == BLOCK_BYTES)
			kept = block;
		else
			free(block);
		block = next;
	}
	if (kept != NULL)
		kept->next = NULL;
	a->blocks = kept;
	a->used = 0;
}

void as_arena_free(struct as_arena *a)
{
	as_arena_reset(a);
	free(a->blocks);
	*a = (struct as_arena){ 0 };
}
