/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that look at one node alone: what a shape asks for, what the node is.  None
 * of them knows about room or about other pods. */
#ifndef MUSTER_CORE_RULE_NODE_H
#define MUSTER_CORE_RULE_NODE_H

#include "core/cluster/nodes.h"
#include "core/cluster/shapes.h"

/* NODE_WHY_NOT_NAMED when each term of required node affinity asks for nodes by name: only
 * those are looked at.  NODE_WHY_CONFLICT when each asks for two names at once.
 * Else NODE_FITS.  shapes_make() keeps the answer as shape.named. */
enum node_why rule_names(const struct shape *s);

/* Is it one of the nodes that some term names?  With NODE_WHY_NOT_NAMED alone. */
bool rule_named(const struct shape *s, const struct node *n);

/* nodeSelector and required node affinity */
bool rule_affinity(const struct shape *s, const struct node *n);

/* The first taint that keeps the shape off (NoSchedule, NoExecute), or NULL. */
const struct taint *rule_taint(const struct shape *s, const struct node *n);
/* ... of n taints. */
const struct taint *taints_bar(const struct shape *s, const struct taint *taints, uint32_t n);

/* Volume rules that are broken, as bits 1 << enum node_why. */
uint32_t rule_volumes(const struct shape *s, const struct node *n);

/* The node declares what the pod's containers need. */
bool rule_features(const struct shape *s, const struct node *n);

/* PreferNoSchedule taints that are not tolerated. */
uint32_t rule_soft_taints(const struct shape *s, const struct node *n);

/* Sum of the weights of preferred terms that hold. */
int64_t rule_preferred(const struct shape *s, const struct node *n);

#endif
