/* SPDX-License-Identifier: Apache-2.0 */
/* The node with the highest score: a winner tree (Knuth, TAOCP 3, 5.4.1: selection trees) of
 * fan-out 64 over 16-bit keys.
 *
 *   level 0   a key for each index; 0: infeasible
 *   level 1   the maximum of each block of 64 keys
 *   ...       up to one block of 64
 *
 * Changing a key and finding the best one cost one path; of equal keys the first index wins.
 * (Measured against heaps, buckets and rescans: docs/decisions/013.)  The memory is the
 * caller's. */
#ifndef MUSTER_CORE_TREE_H
#define MUSTER_CORE_TREE_H

#include <stddef.h>
#include <stdint.h>

#define TREE_FAN 64u
#define TREE_LEVELS 5u /* 2^30 indexes */
#define TREE_NONE UINT32_MAX

/* Signed: every x86-64 compares signed 16-bit numbers in one instruction. */
typedef int16_t tree_key;
#define TREE_KEY_MOST INT16_MAX

struct tree {
	tree_key *levels[TREE_LEVELS];
	uint32_t depth; /* levels in use */
	uint32_t n;     /* indexes */
};

/* Bytes of memory for a tree over n indexes. */
size_t tree_bytes(uint32_t n);

/* Sets up a tree in zeroed memory, aligned to 64. */
void tree_open(struct tree *t, void *memory, uint32_t n);

/* Computes the upper levels after all keys of level 0 were written. */
void tree_build(struct tree *t);

static inline tree_key tree_at(const struct tree *t, uint32_t i)
{
	return t->levels[0][i];
}

/* Updates the upper levels after a key of level 0 replaced `was`. */
void tree_climb(struct tree *t, uint32_t i, tree_key was);

static inline void tree_set(struct tree *t, uint32_t i, tree_key key)
{
	const tree_key was = t->levels[0][i];
	tree_key above;

	t->levels[0][i] = key;
	if (t->depth == 1 || key == was)
		return;
	/* Nothing changes above unless it was or is the maximum of its block. */
	above = t->levels[1][i / TREE_FAN];
	if (was == above || key > above)
		tree_climb(t, i, was);
}

/* To change many keys of one block of 64: tree_put() writes one, tree_mend() updates the upper
 * levels. */
static inline void tree_put(struct tree *t, uint32_t i, tree_key key)
{
	t->levels[0][i] = key;
}

void tree_mend(struct tree *t, uint32_t block);

/* A bit for each key of the block that is at least `least` (> 0). */
uint64_t tree_block(const struct tree *t, uint32_t block, tree_key least);

/* The maximum of all keys. */
tree_key tree_top(const struct tree *t);

/* The first index with the maximum, or TREE_NONE when that is 0. */
uint32_t tree_best(const struct tree *t);

/* The first index from `from` on with a key of at least `least` (> 0), or TREE_NONE. */
uint32_t tree_next(const struct tree *t, uint32_t from, tree_key least);

#endif
