/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for one object: allocated in pieces, released as a whole.
 *
 * The extractor copies nothing that the JSON holds without escapes, so most
 * objects need a few hundred bytes here.  Allocation does not fail: see ipc/memory.h. */
#ifndef MUSTER_FRONTEND_ARENA_H
#define MUSTER_FRONTEND_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of text, not terminated.  The memory is not its own. */
struct text {
	const char *at;
	size_t bytes;
};

/* In the header so that the length of a literal is known when it is compiled. */
static inline bool text_is(struct text t, const char *literal)
{
	size_t n = strlen(literal);

	return t.bytes == n && (n == 0 || memcmp(t.at, literal, n) == 0);
}

bool text_equal(struct text a, struct text b);
/* The number that 1 to `most` decimal digits are, of 19 at most.  False: it is something else. */
bool text_digits(struct text t, size_t most, uint64_t *out);
/* By bytes, the shorter one first: the order of Go's strings. */
int text_order(struct text a, struct text b);
bool text_starts(struct text t, const char *prefix);
struct text text_of(const char *terminated);
/* As much as fits, terminated; out_bytes is 1 or more.  True: the whole text. */
bool text_fit(char *out, size_t out_bytes, struct text t);

struct arena_block;

/* All zero is an empty arena. */
struct arena {
	struct arena_block *blocks; /* the newest first */
	size_t used;                /* of the newest */
	size_t block_bytes;         /* a block has as many at least; 0: as suits short lives */
	bool failed;                /* always false; callers no longer need to check it */
};

/* Aligned to 16, not zeroed.  Good until the next arena_reset(). */
void *arena_alloc(struct arena *a, size_t bytes);
/* The same for n of them, zeroed; never NULL. */
void *arena_array(struct arena *a, size_t n, size_t each);

/* A terminated copy. */
char *arena_copy(struct arena *a, struct text t);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The array with space for at least one more than n; `items` is what this
 * function returned before, or NULL with *room 0. */
void *arena_grow(struct arena *a, void *items, size_t n, size_t *cap, size_t item_bytes);

void arena_reset(struct arena *a); /* keeps one block for the next object */
void arena_free(struct arena *a);
size_t arena_bytes(const struct arena *a); /* of its blocks */

#endif
