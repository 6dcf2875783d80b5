/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one object: taken piece by piece, given back at once.
 *
 * The extractor copies nothing that lies in the JSON as it is meant, so most
 * objects need a few hundred bytes here. */
#ifndef MUSTER_FRONTEND_ARENA_H
#define MUSTER_FRONTEND_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A piece of text; not terminated.  Whose memory it is, its holder says. */
struct text {
	const char *at;
	size_t bytes;
};

/* In the header so that the length of a literal is known when it is compiled. */
static inline bool text_is(struct text t, const char *literal)
{
	size_t n = strlen(literal);

	return t.bytes == n && memcmp(t.at, literal, n) == 0;
}

bool text_equal(struct text a, struct text b);
bool text_starts(struct text t, const char *prefix);
struct text text_of(const char *terminated);

struct arena_block;

/* All zero is an empty arena. */
struct arena {
	struct arena_block *blocks; /* the newest first */
	size_t used;                /* of the newest */
	bool failed;                /* memory was short since the last reset */
};

/* Aligned to 16, not zeroed; NULL when memory is short.  Good until the next
 * arena_reset(). */
void *arena_alloc(struct arena *a, size_t bytes);

/* A terminated copy, or NULL. */
char *arena_copy(struct arena *a, struct text t);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The array with room for at least one more than n; `items` is what this
 * function gave before, or NULL with *room 0.  NULL when memory is short. */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *room, size_t item_bytes);

void arena_reset(struct arena *a); /* keeps one block for the next object */
void arena_free(struct arena *a);

#endif
