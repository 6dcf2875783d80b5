/* SPDX-License-Identifier: Apache-2.0 */
/* Counts by node, compared with an array. */
#include "core/classes/node_counts.h"

#include <criterion/criterion.h>

enum { NODES = 5 * NODE_COUNTS_BLOCK + 3, MORE = 4 * NODES };

static void check(const struct node_counts *c, const uint32_t *numbers, uint32_t span)
{
	node_id next = node_counts_next(c, 0, span);

	for (node_id id = 0; id < span; id++) {
		cr_assert_eq(node_counts_at(c, id), numbers[id]);
		if (numbers[id] == 0)
			continue;
		cr_assert_eq(next, id);
		next = node_counts_next(c, id + 1, span);
	}
	cr_assert_eq(next, span);
}

Test(node_counts, are_those_of_an_array)
{
	static uint32_t numbers[MORE];
	struct node_counts c = { 0 };
	uint32_t random = 1;

	check(&c, numbers, NODES);
	node_counts_reach(&c, NODES);
	for (int i = 0; i < 400; i++) {
		const uint32_t span = i < 200 ? NODES : MORE;
		node_id node;

		if (i == 200)
			node_counts_reach(&c, MORE);
		random = random * 1664525 + 1013904223;
		node = (random >> 8) % span;
		node_counts_add(&c, span, node, 2);
		numbers[node] += 2;
		if (i % 3 == 0) {
			node_counts_add(&c, span, node, UINT32_MAX);
			numbers[node]--;
		}
		check(&c, numbers, span);
	}
	node_counts_free(&c);
	check(&c, (uint32_t[MORE]){ 0 }, MORE);
}

Test(node_counts, take_no_memory_before_a_pod_is_counted)
{
	struct node_counts c = { 0 };

	node_counts_reach(&c, NODES);
	cr_assert_null(c.blocks);
	node_counts_add(&c, NODES, NODES - 1, 1);
	for (uint32_t i = 0; i < (NODES - 1) / NODE_COUNTS_BLOCK; i++)
		cr_assert_null(c.blocks[i]);
	node_counts_free(&c);
}
