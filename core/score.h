/* How good a node is for a pod: 0 to 100, as kube-scheduler computes it in
 * integers. */
#ifndef MUSTER_CORE_SCORE_H
#define MUSTER_CORE_SCORE_H

#include "core/core.h"
#include "core/nodes.h"
#include "core/shapes.h"

#define SCORE_MOST 100u

/* LeastAllocated or MostAllocated over cpu and memory, weight 1 each, of a node
 * as it is now with one more pod of this shape.  A resource of which the node
 * has none does not count. */
uint32_t score_node(enum score_policy policy, const struct nodes *ns, node_id id, const struct shape *s);

#endif
