/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of bound pods that do not end by themselves (POD_LASTS), summed by node: capacity that
 * no pod's end promises.  core/cycle/backfill_fit.c
 *
 * No memory is allocated before the first such pod. */
#ifndef MUSTER_CORE_LASTING_H
#define MUSTER_CORE_LASTING_H

#include "core/base/amount.h"
#include "core/cluster/shapes.h"

struct lasting {
	wide *sums; /* [node * stride + resource]; NULL: there is no such pod */
	uint32_t nodes, stride;
	uint64_t released; /* counts pods that left */
};

void lasting_init(struct lasting *l, const struct limits *limits);
void lasting_free(struct lasting *l);
void lasting_clear(struct lasting *l);

void lasting_add(struct lasting *l, node_id node, const struct shape *s);
void lasting_remove(struct lasting *l, node_id node, const struct shape *s);

static inline wide lasting_sum(const struct lasting *l, node_id node, uint32_t resource)
{
	return resource < l->stride ? l->sums[(size_t)node * l->stride + resource] : 0;
}

/* The part of `allocatable` that becomes free when all pods that end have ended; 0 or more. */
static inline int64_t lasting_leaves(const struct lasting *l, node_id node, uint32_t resource,
                                     int64_t allocatable)
{
	const wide left = allocatable - lasting_sum(l, node, resource);

	return left > 0 ? (int64_t)left : 0;
}

#endif
