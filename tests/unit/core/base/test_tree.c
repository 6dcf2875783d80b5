/* SPDX-License-Identifier: Apache-2.0 */
/* The winner tree against a pass over all keys. */
#include "core/base/tree.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static uint32_t plain_next(const tree_key *keys, uint32_t n, uint32_t from, tree_key least)
{
	for (uint32_t i = from; i < n; i++)
		if (keys[i] >= least)
			return i;
	return TREE_NONE;
}

static tree_key plain_top(const tree_key *keys, uint32_t n)
{
	tree_key top = 0;

	for (uint32_t i = 0; i < n; i++)
		top = keys[i] > top ? keys[i] : top;
	return top;
}

/* Changes some keys of one block. */
static void change_block(struct random *r, struct tree *t, tree_key *keys, uint32_t n,
                         uint32_t most)
{
	uint32_t block = random_below(r, (n + TREE_FAN - 1) / TREE_FAN), first = block * TREE_FAN;
	uint32_t end = first + TREE_FAN < n ? first + TREE_FAN : n;
	tree_key least = (tree_key)(1 + random_below(r, most));

	for (uint32_t i = 0; i < 5; i++) {
		uint32_t at = first + random_below(r, end - first);

		keys[at] = (tree_key)random_below(r, most);
		tree_put(t, at, keys[at]);
	}
	tree_mend(t, block);
	for (uint32_t i = first; i < end; i++)
		cr_assert_eq(tree_block(t, block, least) >> (i - first) & 1, keys[i] >= least);
}

static void check_tree(struct random *r, uint32_t n, uint32_t most, uint32_t changes)
{
	void *memory = aligned_alloc(64, (tree_bytes(n) + 63) / 64 * 64);
	tree_key *keys = calloc(n, sizeof(*keys));
	struct tree t;

	cr_assert(memory && keys);
	memset(memory, 0, tree_bytes(n));
	tree_open(&t, memory, n);
	cr_expect_eq(tree_best(&t), TREE_NONE);
	for (uint32_t i = 0; i < n; i++)
		t.levels[0][i] = keys[i] = (tree_key)random_below(r, most);
	tree_build(&t);
	for (uint32_t change = 0; change < changes; change++) {
		uint32_t i = random_below(r, n), from = random_below(r, n + 2);
		tree_key key = (tree_key)random_below(r, random_below(r, 4) ? most : 2), top, least;

		tree_set(&t, i, key);
		keys[i] = key;
		if (change % 3 == 0)
			change_block(r, &t, keys, n, most);
		top = plain_top(keys, n);
		least = (tree_key)(1 + random_below(r, most));
		cr_assert_eq(tree_top(&t), top);
		cr_assert_eq(tree_best(&t), top ? plain_next(keys, n, 0, top) : TREE_NONE);
		cr_assert_eq(tree_next(&t, from, least), plain_next(keys, n, from, least),
		             "n %u from %u least %d", n, from, least);
	}
	free(memory);
	free(keys);
}

Test(tree, finds_what_a_plain_look_finds)
{
	static const uint32_t sizes[] = { 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 5000 };
	struct random r = random_start("tree");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_tree(&r, sizes[i], 3, 300);
		check_tree(&r, sizes[i], 1201, 300);
	}
	for (int i = 0; i < 30; i++)
		check_tree(&r, 1 + random_below(&r, 700), 1 + random_below(&r, 30), 100);
	check_tree(&r, 300000, TREE_KEY_MOST, 20);
}

/* Few keys far apart: the search goes up over empty blocks and down again. */
Test(tree, walks_over_empty_blocks)
{
	const uint32_t n = 300000;
	static const uint32_t places[] = { 5, 64, 4095, 4096, 262143, 262144, 299999 };
	void *memory = aligned_alloc(64, (tree_bytes(n) + 63) / 64 * 64);
	struct tree t;
	uint32_t at = 0;

	cr_assert(memory);
	memset(memory, 0, tree_bytes(n));
	tree_open(&t, memory, n);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		tree_set(&t, places[i], 7);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		cr_expect_eq(tree_next(&t, at, 7), places[i]);
		at = places[i] + 1;
	}
	cr_expect_eq(tree_next(&t, at, 7), TREE_NONE);
	cr_expect_eq(tree_next(&t, 0, 8), TREE_NONE);
	free(memory);
}
