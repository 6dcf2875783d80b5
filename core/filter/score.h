/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of a node by its resources and images alone, 0 to 100, with kube-scheduler's rounding. */
#ifndef MUSTER_CORE_SCORE_H
#define MUSTER_CORE_SCORE_H

#include "core/base/config.h"
#include "core/classes/pod_counts.h"
#include "core/cluster/nodes.h"
#include "core/cluster/shape.h"

#define SCORE_MOST 100u /* but for SCORE_MUSTER */

/* The score of the node with one more pod of this shape:
 *
 *   SCORE_KUBE     LeastAllocated over CPU and memory, weight 1 each
 *                  (noderesources: leastResourceScorer)
 *   SCORE_PACK     MostAllocated over the same (mostResourceScorer)
 *   SCORE_BESTFIT  100 less the free share of allocatable, the mean over all resources that the
 *                  pod requests; pods count only when it requests nothing else
 *   SCORE_FGD      core/filter/gpus.h; SCORE_BESTFIT for a pod that it does not know
 *   SCORE_MUSTER   the same, 0 to SHARE_POINTS_MOST
 *
 * A resource that the node does not have does not count. */
uint32_t score_node(enum score_policy policy, const struct pod_counts *cs, node_id id,
                    const struct shape *s);

/* NodeResourcesBalancedAllocation over CPU and memory (balancedResourceScorer), 50 to 100: higher
 * if the pod brings their used shares closer together.  Only for a shape for which
 * score_balances(), which requests one of them. */
bool score_balances(const struct shape *s);
uint32_t score_balanced(const struct nodes *ns, node_id id, const struct shape *s);

/* ImageLocality's points of one node.  They depend on the nodes that have the images, not on other
 * pods. */
uint32_t image_locality(const struct pod_counts *cs, const struct shape *s, node_id id);

#endif
