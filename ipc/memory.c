/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/memory.h"

#include "ipc/abi.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*before_end)(void);

void memory_before_end(void (*last)(void))
{
	before_end = last;
}

void fatal_memory(void)
{
	static const char text[] = ": out of memory\n";
	ssize_t ignored;

	if (before_end) {
		before_end();
	} else {
		ignored = write(STDERR_FILENO, program_invocation_short_name,
		                strlen(program_invocation_short_name));
		ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
		(void)ignored;
	}
	_exit(1);
}

void *must_alloc(size_t bytes)
{
	return must_array(1, bytes);
}

void *must_array(size_t n, size_t each)
{
	/* calloc() of nothing may give NULL. */
	void *memory = calloc(n ? n : 1, each ? each : 1);

	if (!memory)
		fatal_memory();
	return memory;
}

void *must_aligned(size_t align, size_t bytes)
{
	const size_t whole = (bytes + align - 1) / align * align;
	void *memory = aligned_alloc(align, whole ? whole : align);

	if (!memory)
		fatal_memory();
	return memset(memory, 0, whole);
}

void *must_lines(size_t bytes, void **memory)
{
	/* aligned_alloc() has no zeroed pages to give: it would have to write them. */
	unsigned char *at = *memory = must_array(1, bytes + CACHE_LINE);

	return at + CACHE_LINE - (uintptr_t)at % CACHE_LINE;
}

char *must_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		fatal_memory();
	return copy;
}

void *must_grow(void *items, size_t bytes)
{
	void *memory = realloc(items, bytes);

	if (!memory)
		fatal_memory();
	return memory;
}

void *must_extend(void *items, size_t n, size_t to, size_t each)
{
	char *grown = must_grow(items, to * each);

	memset(grown + n * each, 0, (to - n) * each);
	return grown;
}

void *must_reach(void *items, size_t *n, size_t wanted, size_t first, size_t each)
{
	size_t more = *n ? *n : first;

	if (wanted < *n)
		return items;
	while (more <= wanted)
		more *= 2;
	items = must_extend(items, *n, more, each);
	*n = more;
	return items;
}
