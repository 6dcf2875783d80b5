/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/arena.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)16384)
#define KEEP_BYTES ((size_t)262144) /* a block larger than that is not kept */

struct arena_block {
	struct arena_block *next;
	size_t bytes;
	alignas(16) char data[];
};

bool text_starts(struct text t, const char *prefix)
{
	size_t n = strlen(prefix);

	return t.bytes >= n && memcmp(t.at, prefix, n) == 0;
}

bool text_equal(struct text a, struct text b)
{
	return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

bool text_digits(struct text t, size_t most, uint64_t *out)
{
	uint64_t n = 0;

	if (t.bytes == 0 || t.bytes > most)
		return false;
	for (size_t i = 0; i < t.bytes; i++) {
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(t.at[i] - '0');
	}
	*out = n;
	return true;
}

int text_order(struct text a, struct text b)
{
	size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
	int order = n > 0 ? memcmp(a.at, b.at, n) : 0;

	return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

bool text_fit(char *out, size_t out_bytes, struct text t)
{
	const size_t n = t.bytes < out_bytes ? t.bytes : out_bytes - 1;

	if (n > 0)
		memcpy(out, t.at, n);
	out[n] = '\0';
	return n == t.bytes;
}

struct text text_of(const char *terminated)
{
	return (struct text){ terminated, strlen(terminated) };
}

static void arena_more(struct arena *a, size_t bytes)
{
	const size_t least = a->block_bytes > 0 ? a->block_bytes : BLOCK_BYTES;
	const size_t size = bytes > least ? bytes : least;
	struct arena_block *b = malloc(sizeof(*b) + size);

	if (!b)
		fatal_memory();
	b->next = a->blocks;
	b->bytes = size;
	a->blocks = b;
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
	void *p;

	if (bytes > SIZE_MAX / 2)
		fatal_memory();
	bytes = (bytes + 15) & ~(size_t)15;
	if (!a->blocks || a->blocks->bytes - a->used < bytes)
		arena_more(a, bytes);
	p = a->blocks->data + a->used;
	a->used += bytes;
	return p;
}

void *arena_array(struct arena *a, size_t n, size_t each)
{
	void *at = arena_alloc(a, n * each + 1);

	return memset(at, 0, n * each);
}

char *arena_copy(struct arena *a, struct text t)
{
	char *p = arena_alloc(a, t.bytes + 1);

	if (t.bytes > 0)
		memcpy(p, t.at, t.bytes);
	p[t.bytes] = '\0';
	return p;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args;
	char *p;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		fatal_memory();
	p = arena_alloc(a, (size_t)n + 1);
	va_start(args, format);
	vsnprintf(p, (size_t)n + 1, format, args);
	va_end(args);
	return p;
}

void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_bytes)
{
	size_t wanted;
	void *p;

	if (n < *cap)
		return items;
	wanted = *cap > 0 ? *cap * 2 : 8;
	if (wanted > SIZE_MAX / 2 / item_bytes)
		fatal_memory();
	p = arena_alloc(a, wanted * item_bytes);
	if (n > 0)
		memcpy(p, items, n * item_bytes);
	*cap = wanted;
	return p;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = NULL, *b, *next;

	for (b = a->blocks; b; b = next) {
		next = b->next;
		if (!keep && b->bytes <= KEEP_BYTES)
			keep = b;
		else
			free(b);
	}
	if (keep)
		keep->next = NULL;
	a->blocks = keep;
	a->used = 0;
}

void arena_free(struct arena *a)
{
	struct arena_block *b, *next;

	for (b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
	a->used = 0;
}

size_t arena_bytes(const struct arena *a)
{
	size_t bytes = 0;

	for (const struct arena_block *b = a->blocks; b; b = b->next)
		bytes += sizeof(*b) + b->bytes;
	return bytes;
}
