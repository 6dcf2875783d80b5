/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that grows: byte buffers, and arenas that are emptied at once.
 *
 * All names of apisim's library begin with as_ ("API server"), so that a
 * simulator can link it together with muster's own modules.
 *
 * Memory that can't be had is the end of the process, with a message: every
 * function here returns what it promises or not at all. */
#ifndef MUSTER_APISIM_TEXT_H
#define MUSTER_APISIM_TEXT_H

#include <stddef.h>
#include <stdint.h>

void *as_alloc(size_t bytes); /* zeroed */
void *as_realloc(void *old, size_t bytes);
char *as_copy(const char *text);
_Noreturn void as_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes that grow.  All zero is an empty one; `at` is not terminated. */
struct as_text {
	char *at;
	size_t bytes;
	size_t room;
};

void as_text_add(struct as_text *t, const char *bytes, size_t n);
void as_text_put(struct as_text *t, const char *text);
void as_text_printf(struct as_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes. */
void as_text_quote(struct as_text *t, const char *text, size_t n);
void as_text_free(struct as_text *t);

/* Memory that is valid until as_arena_reset(). */
struct as_arena {
	struct as_arena_block *blocks;
	size_t used; /* of the first block */
};

void *as_arena_alloc(struct as_arena *a, size_t bytes);              /* aligned to 16, not zeroed */
char *as_arena_copy(struct as_arena *a, const char *text, size_t n); /* terminated */
char *as_arena_printf(struct as_arena *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void as_arena_reset(struct as_arena *a);
void as_arena_free(struct as_arena *a);

#endif
