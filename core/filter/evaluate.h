/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluation of one pod class on every node, as by kube-scheduler 1.36.3's default profile:
 * Filter plugins in its order, where the first one that rejects gives the reasons; then Score
 * plugins, normalised over the feasible nodes and weighted.  A WorkloadPolicy
 * (core/filter/rule_policy.h) is the last filter and precedes all scores.
 *
 * Each rule of the class is one plain pass over all nodes, never over pods: slow, and the
 * reference of everything in core/index/. */
#ifndef MUSTER_CORE_EVALUATE_H
#define MUSTER_CORE_EVALUATE_H

#include "core/classes/pod_counts.h"
#include "core/filter/evaluation.h"
#include "core/filter/score.h"

/* Runs all filters and scores.  With SCORE_PACK and SCORE_BESTFIT the total is how full the node
 * gets (core/filter/score.h) and nothing else; the filters are the same. */
void evaluate(const struct pod_counts *cs, class_id class, enum score_policy score,
              struct evaluation *out);

/* The filters alone on one node, after evaluate() of the same class into the same `out` and changes
 * of placed pods since: what reads other nodes finds their rules there, which pods don't change.
 * Sets whys, taint and short_of of that node; the whys of all others are lost.  Not if `whole` was
 * set.  True if the node is feasible. */
bool evaluate_node(const struct pod_counts *cs, class_id class, node_id node,
                   struct evaluation *out);

/* True if that takes a pass over all nodes: a rule reads the pods of other nodes. */
static inline bool evaluate_reads_others(const struct pod_counts *cs, class_id class)
{
	return class_links(cs, class) != NULL || cs->placed_terms_n > 0;
}

/* What is known of each node by itself; by rank. */
struct known_nodes {
	const int16_t *points;    /* points of fit, balance and images + 1; 0: infeasible */
	const uint8_t *facts;     /* enum node_facts */
	const int32_t *preferred; /* rule_preferred(); NULL: no preferences */
};

/* evaluate() with SCORE_KUBE, of which only the rules between pods and the normalised scores are
 * computed.  whys are 0 for feasible nodes and those of spread and pods where these reject; for
 * nodes that were infeasible before they are not 0, and give no reason.  Not for shapes with
 * exclusives or attachments. */
void evaluate_known(const struct pod_counts *cs, class_id class, const struct known_nodes *known,
                    struct evaluation *out);

#endif
