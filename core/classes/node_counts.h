/* SPDX-License-Identifier: Apache-2.0 */
/* A count for each node, most of them 0.
 *
 * Anybody who may create pods makes selectors and terms, hundreds for each pod, and most of them
 * count few pods or none.  So nothing is allocated before the first pod is counted, and then blocks
 * of 32 nodes as they get one; a block stays until node_counts_free(). */
#ifndef MUSTER_CORE_NODE_COUNTS_H
#define MUSTER_CORE_NODE_COUNTS_H

#include "core/cluster/nodes.h"

#define NODE_COUNTS_BLOCK 32u

struct node_counts {
	uint32_t **blocks; /* by node / NODE_COUNTS_BLOCK; NULL: none, or all of its counts are 0 */
	uint32_t blocks_n;
};

/* The block of the node, which is made if there is none; `span`: of nodes. */
uint32_t *node_counts_block(struct node_counts *c, uint32_t span, node_id node);
/* The span of nodes has grown. */
void node_counts_reach(struct node_counts *c, uint32_t span);
void node_counts_free(struct node_counts *c);

/* The first node from `id` on with a count above 0; `end` if there is none below it. */
node_id node_counts_next(const struct node_counts *c, node_id id, node_id end);

static inline uint32_t node_counts_at(const struct node_counts *c, node_id node)
{
	const uint32_t *block = c->blocks ? c->blocks[node / NODE_COUNTS_BLOCK] : NULL;

	return block ? block[node % NODE_COUNTS_BLOCK] : 0;
}

/* `n` more, modulo 2^32. */
static inline void node_counts_add(struct node_counts *c, uint32_t span, node_id node, uint32_t n)
{
	uint32_t *block = c->blocks ? c->blocks[node / NODE_COUNTS_BLOCK] : NULL;

	if (!block)
		block = node_counts_block(c, span, node);
	block[node % NODE_COUNTS_BLOCK] += n;
}

#endif
