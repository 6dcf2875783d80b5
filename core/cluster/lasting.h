/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of bound pods that do not end by themselves (POD_LASTS), summed by node: capacity that
 * no pod's end promises.  core/cycle/backfill_fit.c
 *
 * No memory is allocated before the first such pod, and then for LASTING_COLUMNS resources of all
 * nodes at a time, which is not copied when another pod asks for more. */
#ifndef MUSTER_CORE_LASTING_H
#define MUSTER_CORE_LASTING_H

#include "core/base/amount.h"
#include "core/cluster/shapes.h"

#define LASTING_COLUMNS 4u

struct lasting {
	/* [resource / LASTING_COLUMNS]: [node * LASTING_COLUMNS + resource % LASTING_COLUMNS]; NULL: no
	 * such pod asks for one of these */
	wide *sums[RESOURCES_MAX / LASTING_COLUMNS];
	uint32_t nodes;
	bool any;          /* there was such a pod */
	uint64_t released; /* counts pods that left */
};

void lasting_init(struct lasting *l, const struct limits *limits);
void lasting_free(struct lasting *l);
void lasting_clear(struct lasting *l);

void lasting_add(struct lasting *l, node_id node, const struct shape *s);
void lasting_remove(struct lasting *l, node_id node, const struct shape *s);

static inline wide lasting_sum(const struct lasting *l, node_id node, uint32_t resource)
{
	const wide *sums = l->sums[resource / LASTING_COLUMNS];

	return sums ? sums[(size_t)node * LASTING_COLUMNS + resource % LASTING_COLUMNS] : 0;
}

/* The part of `allocatable` that becomes free when all pods that end have ended; 0 or more. */
static inline int64_t lasting_leaves(const struct lasting *l, node_id node, uint32_t resource,
                                     int64_t allocatable)
{
	const wide left = allocatable - lasting_sum(l, node, resource);

	return left > 0 ? (int64_t)left : 0;
}

#endif
