/* SPDX-License-Identifier: Apache-2.0 */
/* How good a node is for a pod by room alone: 0 to 100, as kube-scheduler computes
 * it. */
#ifndef MUSTER_CORE_SCORE_H
#define MUSTER_CORE_SCORE_H

#include "core/cluster/nodes.h"
#include "core/cluster/shapes.h"
#include "core/step/core.h"

#define SCORE_MOST 100u

/* Of a node as it is now with one more pod of this shape:
 *
 *   SCORE_KUBE     LeastAllocated over cpu and memory, weight 1 each
 *   SCORE_PACK     MostAllocated over the same
 *   SCORE_BESTFIT  100 less the share of allocatable that is left over, the mean over all
 *                  that the pod requests; pods count only when it requests nothing else
 *
 * A resource of which the node has none does not count. */
uint32_t score_node(enum score_policy policy, const struct nodes *ns, node_id id,
                    const struct shape *s);

/* BalancedAllocation over cpu and memory, 50 to 100: does the pod bring their used shares closer
 * together?  Means something only for a shape that requests one of them. */
bool score_balances(const struct shape *s);
uint32_t score_balanced(const struct nodes *ns, node_id id, const struct shape *s);

#endif
