/* SPDX-License-Identifier: Apache-2.0 */
/* The span of the nodes in use: arrays by node that are written as a whole (sets of nodes, counts
 * of a selector, keys of a view) are so long, not as long as --max-nodes.
 *
 * It is the same in the whole core, and doubles before the first node beyond it is stored
 * (core/step/core.c: node_reach()).  It never shrinks.  Arrays of which only the slots in use are
 * written are as long as the limit: the kernel has no pages for the rest. */
#ifndef MUSTER_CORE_SPAN_H
#define MUSTER_CORE_SPAN_H

#include "ipc/abi.h"

/* Small, so that tests with few nodes grow it, too. */
#define SPAN_FIRST 4u

static inline uint32_t span_first(const struct limits *l)
{
	return l->nodes < SPAN_FIRST ? l->nodes : SPAN_FIRST;
}

/* The least span with that node, which is below the limit. */
static inline uint32_t span_with(uint32_t span, node_id node, uint32_t limit)
{
	while (span <= node)
		span = span > limit / 2 ? limit : 2 * span;
	return span;
}

/* Of a set of nodes, a bit each. */
static inline uint32_t span_words(uint32_t span)
{
	return (span + 63) / 64;
}

#endif
