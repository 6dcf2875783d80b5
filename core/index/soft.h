/* SPDX-License-Identifier: Apache-2.0 */
/* Soft rules of a pod class in closed form: the node with the best normalised score, without a pass
 * over the nodes for each pod.
 *
 * A plugin gives each feasible node a raw value and normalises it over all feasible nodes
 * (kube-scheduler: NormalizeScore).  The raw value depends on
 *
 *   PreferNoSchedule              the taints of the node
 *   preferred node affinity       the labels of the node
 *   soft topology spreading       for each constraint the matching pods of a domain, or of the node
 *   preferred (anti-)affinity     for each topology the sum of the weights of a domain or a node
 *
 * A *site* is a set of nodes that are equal in everything that pods don't change: taints,
 * preferences, the domains that have several nodes, the segment of the required rules.  A *group*
 * is the nodes of a site with equal counts of their own.  All nodes of a group have the same raw
 * values, so its best node is the one with the most points by itself, the first name of equals.
 * A pod changes the sums of its domains and moves its node to another group; then each group that
 * has a feasible node is scored: a pod costs groups, not nodes.
 *
 *   soft_build.c   sums and sites from the rules and the pod counts
 *   soft.c         groups, and how they follow the nodes
 *   soft_score.c   the scores of the groups, normalised
 *
 * The reference is evaluate() (core/filter/evaluate.h), which passes over all nodes. */
#ifndef MUSTER_CORE_SOFT_H
#define MUSTER_CORE_SOFT_H

#include "core/index/constraints.h"

/* Memory of one, by node: values, site, group, place, and heaps of groups. */
#define SOFT_NODE_BYTES 64u

struct soft;

/* What the caller knows of each node, by rank.  The arrays outlive struct soft and may change;
 * after that soft_follow() has to be called for the rank. */
struct soft_known {
	const tree_key *points;    /* points of fit, balance and images + 1; 0: infeasible */
	const uint8_t *facts;      /* enum node_facts */
	const int32_t *preferred;  /* rule_preferred(); NULL: no preferences */
	struct constraints *rules; /* required rules between pods, current; NULL: none */
};

/* The groups of a class by the pod counts of now.  The caller owns the result. */
struct soft *soft_new(const struct pod_counts *pod_counts, class_id class,
                      const struct soft_known *known);
void soft_free(struct soft *s);

/* It is of this class from now on, whose soft rules are the same. */
void soft_set_class(struct soft *s, class_id class);

/* Nodes whose bits are not set, by rank, take part in the normalisation and are never the best;
 * bits NULL: none of them.  The bits are copied.  True: the groups were formed again, by a pass
 * over the nodes; nothing is done if the version is the same. */
bool soft_mask(struct soft *s, uint64_t version, const uint64_t *bits);

/* The pods on the node of that rank, or its points, have changed. */
void soft_follow(struct soft *s, uint32_t rank);

/* True if the node of that rank has other taints, preferences or facts than it had, or too many
 * groups are empty.  Then the groups must be built again. */
bool soft_outdated(const struct soft *s, uint32_t rank);

/* Scores all groups; before the next three, after any of the above. */
void soft_score(struct soft *s);

/* Rank of the best node, or TREE_NONE. */
uint32_t soft_best(const struct soft *s);

/* Key of the node of that rank: its total + 1; 0: infeasible or not in the mask. */
uint32_t soft_key(const struct soft *s, uint32_t rank);

/* Cost of soft_score() in units of struct budget. */
uint32_t soft_cost(const struct soft *s);

/* True if the groups are those of a second build.  For tests. */
bool soft_check(const struct soft *s);

#endif
