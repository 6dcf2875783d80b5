/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/node_counts.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

static uint32_t blocks_of(uint32_t span)
{
	return (span + NODE_COUNTS_BLOCK - 1) / NODE_COUNTS_BLOCK;
}

uint32_t *node_counts_block(struct node_counts *c, uint32_t span, node_id node)
{
	uint32_t **block;

	assert(node < span);
	if (!c->blocks) {
		c->blocks_n = blocks_of(span);
		c->blocks = must_array(c->blocks_n, sizeof(*c->blocks));
	}
	assert(c->blocks_n == blocks_of(span));
	block = &c->blocks[node / NODE_COUNTS_BLOCK];
	if (!*block)
		*block = must_array(NODE_COUNTS_BLOCK, sizeof(**block));
	return *block;
}

void node_counts_reach(struct node_counts *c, uint32_t span)
{
	const uint32_t from = c->blocks_n;

	if (!c->blocks)
		return;
	c->blocks_n = blocks_of(span);
	c->blocks = must_extend(c->blocks, from, c->blocks_n, sizeof(*c->blocks));
}

void node_counts_free(struct node_counts *c)
{
	for (uint32_t i = 0; i < c->blocks_n; i++)
		free(c->blocks[i]);
	free(c->blocks);
	*c = (struct node_counts){ 0 };
}

node_id node_counts_next(const struct node_counts *c, node_id id, node_id end)
{
	while (c->blocks && id < end) {
		if (!c->blocks[id / NODE_COUNTS_BLOCK])
			id = (id / NODE_COUNTS_BLOCK + 1) * NODE_COUNTS_BLOCK;
		else if (c->blocks[id / NODE_COUNTS_BLOCK][id % NODE_COUNTS_BLOCK] > 0)
			return id;
		else
			id++;
	}
	return end;
}
