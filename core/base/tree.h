/* SPDX-License-Identifier: Apache-2.0 */
/* The best of many nodes: a winner tree of fan-out 64 over 16-bit keys.
 *
 *   level 0   a key for each index; 0: not to be chosen
 *   level 1   the largest of each 64 of them
 *   ...       up to one block of 64
 *
 * A key is changed along one path, the best is found along one path, and the first of
 * equals wins.  (Measured against heaps, buckets and rescans: docs/decisions/013.) */
#ifndef MUSTER_CORE_TREE_H
#define MUSTER_CORE_TREE_H

#include <stddef.h>
#include <stdint.h>

#define TREE_FAN 64u
#define TREE_LEVELS 5u /* 2^30 indexes */
#define TREE_NONE UINT32_MAX

/* Signed, since that is what every x86-64 compares in one instruction. */
typedef int16_t tree_key;
#define TREE_KEY_MOST INT16_MAX

struct tree {
	tree_key *levels[TREE_LEVELS];
	uint32_t depth; /* levels in use */
	uint32_t n;     /* indexes */
};

/* Bytes of the memory of a tree over n indexes. */
size_t tree_bytes(uint32_t n);

/* Lay a tree out over zeroed memory, aligned to 64. */
void tree_open(struct tree *t, void *memory, uint32_t n);

/* All keys of level 0 were written: work out the rest. */
void tree_build(struct tree *t);

static inline tree_key tree_at(const struct tree *t, uint32_t i)
{
	return t->levels[0][i];
}

/* A key of level 0 was written where `was` stood, which may be the largest of its block, or has
 * become it. */
void tree_climb(struct tree *t, uint32_t i, tree_key was);

static inline void tree_set(struct tree *t, uint32_t i, tree_key key)
{
	const tree_key was = t->levels[0][i];
	tree_key above;

	t->levels[0][i] = key;
	if (t->depth == 1 || key == was)
		return;
	/* Whoever was not the largest of its block is not missed. */
	above = t->levels[1][i / TREE_FAN];
	if (was == above || key > above)
		tree_climb(t, i, was);
}

/* Many keys of one block of 64 are changed at once: `tree_put` writes one, `tree_mend` brings the
 * rest of the tree up to date with the block. */
static inline void tree_put(struct tree *t, uint32_t i, tree_key key)
{
	t->levels[0][i] = key;
}

void tree_mend(struct tree *t, uint32_t block);

/* The keys of a block that are at least `least` (> 0), a bit each. */
uint64_t tree_block(const struct tree *t, uint32_t block, tree_key least);

/* The largest key, 0 when there is none but zeros. */
tree_key tree_top(const struct tree *t);

/* The first index with the largest key, TREE_NONE when that is 0. */
uint32_t tree_best(const struct tree *t);

/* The first index from `from` on with a key of at least `least` (> 0), or TREE_NONE. */
uint32_t tree_next(const struct tree *t, uint32_t from, tree_key least);

#endif
