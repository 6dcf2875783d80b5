/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/tree.h"

#include <assert.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

size_t tree_bytes(uint32_t n)
{
	size_t bytes = 0;

	do {
		n = (n + TREE_FAN - 1) / TREE_FAN;
		bytes += (size_t)(n ? n : 1) * TREE_FAN * sizeof(tree_key);
	} while (n > 1);
	return bytes;
}

void tree_open(struct tree *t, void *memory, uint32_t n)
{
	tree_key *at = memory;

	assert((uintptr_t)memory % 64 == 0);
	t->n = n;
	t->depth = 0;
	do {
		n = (n + TREE_FAN - 1) / TREE_FAN;
		t->levels[t->depth++] = at;
		at += (size_t)(n ? n : 1) * TREE_FAN;
	} while (n > 1);
}

#ifdef __SSE2__

/* Unrolled by hand: compilers do not unroll the loops, which take three times as many
 * instructions. */

enum { LANES = 8 };
static_assert(TREE_FAN == 8 * LANES, "a block is eight vectors");

static inline __m128i vector_at(const tree_key *keys, unsigned int i)
{
	return _mm_load_si128((const __m128i *)(const void *)keys + i);
}

static inline __m128i most_of_two(const tree_key *keys, unsigned int i)
{
	return _mm_max_epi16(vector_at(keys, i), vector_at(keys, i + 1));
}

static inline tree_key block_most(const tree_key *keys)
{
	__m128i most = _mm_max_epi16(_mm_max_epi16(most_of_two(keys, 0), most_of_two(keys, 2)),
	                             _mm_max_epi16(most_of_two(keys, 4), most_of_two(keys, 6)));

	most = _mm_max_epi16(most, _mm_srli_si128(most, 8));
	most = _mm_max_epi16(most, _mm_srli_si128(most, 4));
	most = _mm_max_epi16(most, _mm_srli_si128(most, 2));
	return (tree_key)_mm_extract_epi16(most, 0);
}

static inline uint64_t mask_of_two(const tree_key *keys, unsigned int i, __m128i below)
{
	const __m128i low = _mm_cmpgt_epi16(vector_at(keys, i), below),
				  high = _mm_cmpgt_epi16(vector_at(keys, i + 1), below);

	return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << (i * LANES);
}

/* Bit i: key i is at least `least`. */
static inline uint64_t block_mask(const tree_key *keys, tree_key least)
{
	const __m128i below = _mm_set1_epi16((short)(least - 1));

	return mask_of_two(keys, 0, below) | mask_of_two(keys, 2, below) | mask_of_two(keys, 4, below) |
	       mask_of_two(keys, 6, below);
}

#else

static inline tree_key block_most(const tree_key *keys)
{
	tree_key most = 0;

	for (unsigned int i = 0; i < TREE_FAN; i++)
		most = keys[i] > most ? keys[i] : most;
	return most;
}

static inline uint64_t block_mask(const tree_key *keys, tree_key least)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < TREE_FAN; i++)
		mask |= (uint64_t)(keys[i] >= least) << i;
	return mask;
}

#endif

void tree_build(struct tree *t)
{
	uint32_t n = t->n;

	for (uint32_t level = 1; level < t->depth; level++) {
		n = (n + TREE_FAN - 1) / TREE_FAN;
		for (uint32_t i = 0; i < n; i++)
			t->levels[level][i] = block_most(t->levels[level - 1] + (size_t)i * TREE_FAN);
	}
}

void tree_climb(struct tree *t, uint32_t i, tree_key was)
{
	tree_key key = t->levels[0][i];

	for (uint32_t level = 1; level < t->depth; level++) {
		tree_key *above;

		i /= TREE_FAN;
		above = &t->levels[level][i];
		if (key >= *above) {
			if (key == *above)
				return;
		} else {
			if (was < *above)
				return;
			key = block_most(t->levels[level - 1] + (size_t)i * TREE_FAN);
			if (key == *above)
				return;
		}
		was = *above;
		*above = key;
	}
}

void tree_mend(struct tree *t, uint32_t block)
{
	for (uint32_t level = 1; level < t->depth; level++) {
		tree_key most = block_most(t->levels[level - 1] + (size_t)block * TREE_FAN);

		if (t->levels[level][block] == most)
			return;
		t->levels[level][block] = most;
		block /= TREE_FAN;
	}
}

uint64_t tree_block(const struct tree *t, uint32_t block, tree_key least)
{
	return block_mask(t->levels[0] + (size_t)block * TREE_FAN, least);
}

tree_key tree_top(const struct tree *t)
{
	return block_most(t->levels[t->depth - 1]);
}

uint32_t tree_best(const struct tree *t)
{
	uint32_t level = t->depth - 1, i = 0;
	tree_key top = block_most(t->levels[level]);

	if (top == 0)
		return TREE_NONE;
	for (;; level--) {
		i = i * TREE_FAN +
		    (uint32_t)__builtin_ctzll(block_mask(t->levels[level] + (size_t)i * TREE_FAN, top));
		if (level == 0)
			return i;
	}
}

uint32_t tree_next(const struct tree *t, uint32_t from, tree_key least)
{
	uint32_t level = 0, i = from, n = t->n;

	/* Up to the first block that has such a key from here on, then down to its first index. */
	for (;;) {
		uint64_t mask;

		if (i >= n)
			return TREE_NONE;
		mask = block_mask(t->levels[level] + (size_t)(i / TREE_FAN) * TREE_FAN, least) >>
		       (i % TREE_FAN);
		if (mask) {
			i += (uint32_t)__builtin_ctzll(mask);
			break;
		}
		i = i / TREE_FAN + 1;
		n = (n + TREE_FAN - 1) / TREE_FAN;
		level++;
	}
	while (level-- > 0)
		i = i * TREE_FAN +
		    (uint32_t)__builtin_ctzll(block_mask(t->levels[level] + (size_t)i * TREE_FAN, least));
	return i;
}
