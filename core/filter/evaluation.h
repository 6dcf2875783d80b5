/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an evaluation (core/filter/evaluate.h): by node, why it is infeasible or which
 * score it has. */
#ifndef MUSTER_CORE_EVALUATION_H
#define MUSTER_CORE_EVALUATION_H

#include "core/cluster/nodes.h"

/* The Score plugins.  Points include the plugin's weight: 3 for taints, 2 for affinity, spread and
 * pods, 1 for the others. */
enum score_part {
	SCORE_PART_FIT,      /* NodeResourcesFit; with SCORE_PACK and SCORE_BESTFIT the only one */
	SCORE_PART_BALANCED, /* NodeResourcesBalancedAllocation */
	SCORE_PART_IMAGES,   /* ImageLocality */
	SCORE_PART_TAINTS,   /* TaintToleration */
	SCORE_PART_AFFINITY, /* NodeAffinity */
	SCORE_PART_SPREAD,   /* PodTopologySpread */
	SCORE_PART_PODS,     /* InterPodAffinity */
	SCORE_PARTS
};

#define FILTER_BIT(why) (UINT32_C(1) << (why))

static_assert(FILTER_REASONS <= 32, "a bit for each reason");

/* Scratch of one rule at a time: arrays of limits.nodes items. */
struct evaluate_scratch {
	uint64_t *sums; /* by domain */
	bool *counted;  /* by domain: it has a node that counts */
	uint8_t *facts; /* by node: enum node_facts */
	uint8_t *marks; /* by node */
	int64_t *raw;   /* by node: a score before it is normalised */
	double *real;   /* by node */
};

/* Arrays are by node id; only nodes that exist are set. */
struct evaluation {
	uint32_t *whys;  /* FILTER_BIT of each reason of the first plugin that rejects; 0: feasible */
	uint32_t *taint; /* name_id of the taint, with FILTER_TAINT */
	uint64_t *short_of; /* a bit for each resource with a column, with FILTER_INSUFFICIENT */
	/* Resources of the shape that no node has: each node with FILTER_INSUFFICIENT is short of them
	 * too.  Good while the shape is. */
	const struct amount *absent;
	uint32_t absent_n;
	/* of feasible nodes: the weighted total, and POLICY_TIER_SCORE for each tier */
	uint32_t *scores;
	uint16_t *parts;  /* [enum score_part * limit + node] of feasible nodes; NULL: not wanted */
	uint32_t skipped; /* a bit for each part whose plugin skips the pod: 0 everywhere */
	uint32_t limit;
	uint32_t feasible; /* number of nodes */
	/* FILTER_CONFLICT when PreFilter rejects the pod; then all nodes have that reason.  Else
	 * FILTER_PASSED. */
	enum filter_reason whole;
	struct evaluate_scratch *scratch;
};

/* For limits.nodes nodes; the caller frees it.  `parts`: they are wanted. */
void evaluation_init(struct evaluation *out, const struct limits *limits, bool parts);
void evaluation_free(struct evaluation *out);

/* Results of filters that PodTopologySpread reads of nodes that other plugins rejected. */
enum node_facts {
	FACT_AFFINITY = 1u << 0, /* rule_affinity() is true */
	FACT_TAINTS = 1u << 1,   /* rule_taint() found none */
};

/* The points of one part of a feasible node. */
static inline uint32_t evaluation_part(const struct evaluation *e, enum score_part part,
                                       node_id node)
{
	return e->parts[(size_t)part * e->limit + node];
}

/* The most counts there can be. */
#define EVALUATION_COUNTS_MAX (FILTER_REASONS + 2 * RESOURCES_MAX)

/* Number of nodes for each reason, as in kube-scheduler's message (framework: FitError.Error): a
 * node with three reasons counts three times.  Sorted by enum filter_reason, then by resource; arg
 * is the resource with FILTER_INSUFFICIENT, else 0.  A PreFilter reason is one count of 0 nodes,
 * since the message has no number then.  Of `absent` the first RESOURCES_MAX count, as many as a
 * pod can request.  Returns how many were written to `out`, which holds EVALUATION_COUNTS_MAX. */
uint32_t evaluation_counts(const struct evaluation *e, const struct nodes *ns,
                           struct filter_count *out);

#endif
