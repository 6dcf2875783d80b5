/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the evaluation share. */
#ifndef MUSTER_CORE_EVALUATE_IMPL_H
#define MUSTER_CORE_EVALUATE_IMPL_H

#include "core/classes/pod_counts.h"
#include "core/cluster/rule_node.h"
#include "core/filter/evaluation.h"
#include "core/filter/score.h"

struct evaluator {
	const struct pod_counts *cs;
	const struct nodes *nodes;
	const struct shape *shape;
	const struct shape_links *links; /* NULL: no rules between pods */
	class_id class;
	bool claim_in_use; /* by a pod on any node */
	struct evaluation *out;
	struct evaluate_scratch *scratch;
};

/* True if the node exists and no filter has rejected it so far. */
static inline bool is_feasible(const struct evaluator *e, node_id id)
{
	return e->out->whys[id] == 0;
}

static inline const struct topology *topology_at(const struct evaluator *e, topology_id id)
{
	return &e->cs->topologies.slots[id];
}

/* Sets sums[domain] of those counts, which are by node; true when any is not 0. */
bool sum_by_domain(const struct evaluator *e, const struct topology *t,
                   const struct node_counts *counts);

/* score_plugins.c: the totals of the feasible nodes. */
void score_all(const struct evaluator *e, enum score_policy policy);
/* The plugins that normalise over nodes, added to the totals; `preferred` by rank, NULL: none. */
void score_between(const struct evaluator *e, const int32_t *preferred);

/* filter_pods.c: InterPodAffinity.  The score is added to raw[]; false when no term gives one. */
void filter_pods(const struct evaluator *e);
bool score_pods(const struct evaluator *e);

/* filter_spread.c: PodTopologySpread.  The score is written to raw[], -1 for nodes without one;
 * false without a soft constraint. */
void filter_spread(const struct evaluator *e);
bool score_spread(const struct evaluator *e);

/* filter_policy.c: the WorkloadPolicy. */
void filter_policy(const struct evaluator *e);
void score_policy(const struct evaluator *e);

#endif
