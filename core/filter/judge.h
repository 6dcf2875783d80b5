/* SPDX-License-Identifier: Apache-2.0 */
/* One kind of pod judged on every node, as kube-scheduler 1.36.3's default profile does:
 * Filter in its order, the first plugin that says no gives the reasons; then Score,
 * normalised over the nodes that are left.  A WorkloadPolicy (core/filter/rule_policy.h) is the
 * last filter, and goes before all scores.  A plain pass over all nodes for each rule of the kind,
 * never over pods: the oracle of everything that is faster. */
#ifndef MUSTER_CORE_JUDGE_H
#define MUSTER_CORE_JUDGE_H

#include "core/classes/census.h"
#include "core/filter/score.h"

/* The plugins that score.  Weights are in the parts: taints count 3, affinity, spread and
 * pods 2, the others 1. */
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

#define WHY_BIT(why) (UINT32_C(1) << (why))

/* Arrays are by node id; only nodes that exist are filled in. */
struct judgement {
	uint32_t *whys;     /* WHY_BIT for each reason of the first plugin that says no; 0: feasible */
	uint32_t *taint;    /* name_id of the taint, with NODE_WHY_TAINT */
	uint64_t *short_of; /* bit for each resource, with NODE_WHY_INSUFFICIENT */
	uint32_t *scores;   /* of feasible nodes: the total, weights included, and POLICY_TIER_SCORE for
	                     * each   tier of a policy */
	uint16_t
		*parts; /* [enum score_part * limit + node] of feasible nodes; NULL when not asked for */
	uint32_t
		skipped; /* bit for each part whose plugin has nothing to say about the pod: 0 everywhere */
	uint32_t limit;
	uint32_t feasible; /* nodes */
	/* NODE_WHY_CONFLICT when that is said of the pod as a whole before any filter
	 * (PreFilter), else NODE_FITS.  Every node has it then. */
	enum node_why whole;
	struct judge_scratch *scratch; /* core/filter/judge_impl.h */
};

/* For limits.nodes nodes; -ENOMEM.  `parts`: they are asked for. */
int judgement_init(struct judgement *out, const struct limits *limits, bool parts);
void judgement_free(struct judgement *out);

/* Nothing is changed in the census.  With SCORE_PACK and SCORE_BESTFIT the total is how full
 * the node gets (core/filter/score.h) and nothing else; the filters are the same. */
void judge(const struct census *cs, kind_id kind, enum score_policy score, struct judgement *out);

/* ImageLocality's points for one node: they depend on which nodes have the images, not on who
 * else may go where. */
uint32_t judge_images(const struct census *cs, const struct shape *s, node_id id);

/* What is known of each node by itself, by rank. */
struct weighing {
	const int16_t *points;    /* fit, balance and images + 1; 0: the node is out already */
	const uint8_t *facts;     /* enum node_facts */
	const int32_t *preferred; /* rule_preferred(); NULL: no preferences */
};

/* What one look at a node told, for rules that come later. */
enum node_facts {
	FACT_AFFINITY = 1u << 0, /* rule_affinity() */
	FACT_TAINTS = 1u << 1,   /* rule_taint() found none */
};

/* The same as judge() with SCORE_KUBE, when only the rules between pods and the weighing of nodes
 * against each other are left.  Of nodes that were out no reason is given: whys are 0 for
 * feasible ones, and those of spread and pods where these said no.  Not for shapes with
 * exclusives or attachments. */
void judge_weigh(const struct census *cs, kind_id kind, const struct weighing *known,
                 struct judgement *out);

/* The points of one part for a feasible node. */
static inline uint32_t judgement_part(const struct judgement *j, enum score_part part, node_id node)
{
	return j->parts[(size_t)part * j->limit + node];
}

/* More counts than these can't be. */
#define JUDGEMENT_COUNTS_MAX (NODE_WHY_KINDS + RESOURCES_MAX)

/* How many nodes have each reason, as kube-scheduler's message counts them: a node with
 * three reasons counts three times.  By enum node_why, then by resource; arg is the
 * resource with NODE_WHY_INSUFFICIENT, else 0.  What is said of the pod as a whole is one
 * count of 0 nodes: the message gives it without a number.  Returns how many were written to
 * out, which has room for JUDGEMENT_COUNTS_MAX. */
uint32_t judgement_counts(const struct judgement *j, const struct nodes *ns, struct why_count *out);

#endif
