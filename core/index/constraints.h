/* SPDX-License-Identifier: Apache-2.0 */
/* Domain constraints of a pod class: which domains of a topology its pods may go to, kept current.
 *
 * A constraint is one required rule over one topology.  It is open or closed for each domain, by
 * the number of pods that count there:
 *
 *   POD_TERM_AFFINITY        open where a matching pod is, or everywhere for the first pod of a
 *                            series (interpodaffinity: satisfyPodAffinity)
 *   POD_TERM_ANTI_AFFINITY   closed where a matching pod is (satisfyPodAntiAffinity)
 *   terms of placed pods     closed where a pod has an anti-affinity term that matches the class
 *                            (satisfyExistingPodsAntiAffinity)
 *   hard spread              closed where one more pod exceeds maxSkew (podtopologyspread: Filter)
 *   WorkloadPolicy           closed where the domain has no share or a required share is reached;
 *                            open domains have a tier (core/filter/rule_policy.h)
 *
 * Nodes that are in the same domain of every constraint form a segment, which has a winner tree of
 * its own.  The best node is the best of all open segments, so placing a pod costs its node, its
 * constraints and the number of segments, but not the number of nodes.  A topology with one node
 * per domain (kubernetes.io/hostname) makes no segments; its constraints close single nodes.
 *
 *   constraints.c          counts per domain, and what they allow
 *   constraint_segments.c  segments and their trees
 *   constraints_build.c    made from the pod counts, checked against a second build
 *
 * The reference is evaluate() (core/filter/evaluate.h), which passes over all nodes. */
#ifndef MUSTER_CORE_CONSTRAINTS_H
#define MUSTER_CORE_CONSTRAINTS_H

#include "core/classes/pod_counts.h"
#include "core/base/tree.h"

struct constraints;

/* The constraints of a class by the pod counts of now; NULL when it has none.  base[rank] is the
 * key of a node by everything else.  The caller owns the result. */
struct constraints *constraints_new(const struct pod_counts *pod_counts, class_id class,
                                    const tree_key *base);
void constraints_free(struct constraints *c);

/* True if a hard spread counts the node of that rank now and did not before, or the reverse.  Then
 * the constraints must be built again. */
bool constraints_outdated(const struct constraints *c, uint32_t rank);

/* The pods on the node of that rank, or its base key, have changed. */
void constraints_follow(struct constraints *c, uint32_t rank, tree_key base);

/* All base keys have changed; base[] is by rank. */
void constraints_rebase(struct constraints *c, const tree_key *base);

/* Rank of the best open node, or TREE_NONE. */
uint32_t constraints_best(const struct constraints *c);

bool constraints_open(const struct constraints *c, uint32_t rank);

/* The parts of constraints_open(): the node by its base key and by the constraints that close
 * single nodes, and its segment, which can be open or closed. */
bool constraints_node_open(const struct constraints *c, uint32_t rank);
uint32_t constraints_segment(const struct constraints *c, uint32_t rank);
bool constraints_segment_open(const struct constraints *c, uint32_t segment);
/* Counts changes after which constraints_node_open() may differ for any node. */
uint64_t constraints_swept(const struct constraints *c);

/* Tier of an open node by the WorkloadPolicy; 0 without one. */
uint32_t constraints_tier(const struct constraints *c, uint32_t rank);

/* Upper bound of the pods of the class that could be placed together, whichever domains they open:
 * the sum of counts[] (by rank), 0 in domains that are closed for good and 1 where a pod of the
 * class excludes the next. */
uint64_t constraints_bound(const struct constraints *c, const uint32_t *counts);

/* The same for the node of that rank, of `count` pods that fit by the node itself. */
uint32_t constraints_most_at(const struct constraints *c, uint32_t rank, uint32_t count);

/* Cost of constraints_follow() in units of struct budget. */
uint32_t constraints_cost(const struct constraints *c);

/* True if a second build gives the same.  For tests. */
bool constraints_check(const struct constraints *c);

#endif
