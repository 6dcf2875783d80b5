/* SPDX-License-Identifier: Apache-2.0 */
/* Filters over one node alone: the rules of a shape against labels, taints and flags of a node.
 * None of them depends on free capacity or on other pods. */
#ifndef MUSTER_CORE_RULE_NODE_H
#define MUSTER_CORE_RULE_NODE_H

#include "core/cluster/nodes.h"

/* nodeaffinity PreFilter: if each term of required node affinity names nodes (matchFields
 * metadata.name), only those are candidates.  Depends on the shape alone and is stored in
 * shape.named.
 *
 *   FILTER_NOT_NAMED   each term names nodes
 *   FILTER_CONFLICT    each term names nodes, and no node is in all lists of a term
 *   FILTER_PASSED            otherwise */
enum filter_reason rule_names(const struct shape *s);

/* True if a term names the node; for shapes with FILTER_NOT_NAMED. */
bool rule_named(const struct shape *s, const struct node *n);

/* nodeaffinity Filter: nodeSelector and required node affinity. */
bool rule_affinity(const struct shape *s, const struct node *n);

/* tainttoleration Filter: the first NoSchedule or NoExecute taint that is not tolerated,
 * or NULL. */
const struct taint *rule_taint(const struct shape *s, const struct node *n);
/* The same for a list of taints. */
const struct taint *taints_bar(const struct shape *s, const struct taint *taints, uint32_t n);

/* The volume rules that reject the node, as bits 1 << enum filter_reason. */
uint32_t rule_volumes(const struct shape *s, const struct node *n);

/* The rules that a flag of the shape asks for (SHAPE_NODE_RULES), in the order of their filters;
 * the first that rejects the node, or FILTER_PASSED. */
enum filter_reason rule_flags(const struct shape *s, const struct node *n);

/* tainttoleration Score: number of PreferNoSchedule taints that are not tolerated. */
uint32_t rule_soft_taints(const struct shape *s, const struct node *n);

/* nodeaffinity Score: sum of the weights of the preferred terms that match. */
int64_t rule_preferred(const struct shape *s, const struct node *n);

/* The first rule over one node alone that rejects the node, in the
 * order of kube-scheduler's filters up to nodeaffinity; FILTER_PASSED: none.  *arg: number of the
 * taint's name if it is FILTER_TAINT. */
enum filter_reason shape_filter(const struct shape *s, const struct node *n, uint32_t *arg);

/* The same for the filters after nodeports and noderesources: volumes, in the order of their
 * rules, and declared features. */
enum filter_reason shape_filter_last(const struct shape *s, const struct node *n);

#endif
