/* One kind of pod judged on every node, as kube-scheduler 1.36.3's default profile does:
 * Filter in its order, the first plugin that says no gives the reasons; then Score,
 * normalised over the nodes that are left.  A plain pass over all nodes: the oracle of
 * everything that is faster. */
#ifndef MUSTER_CORE_JUDGE_H
#define MUSTER_CORE_JUDGE_H

#include "core/census.h"
#include "core/score.h"

/* By node id; only nodes that exist are filled. */
struct judgement {
	uint32_t *whys;     /* bit 1 << enum node_why for each reason of the first plugin that says no; 0: feasible */
	uint32_t *taint;    /* name_id of the taint, with NODE_WHY_TAINT */
	uint64_t *short_of; /* bit for each resource, with NODE_WHY_INSUFFICIENT */
	uint32_t *scores;   /* of feasible nodes: the total, weights included */
	uint32_t feasible;  /* nodes */
	/* Said of the pod as a whole before any filter (PreFilter): NODE_WHY_CONFLICT, or
	 * NODE_WHY_NOT_NAMED when none of the names that it asks for exists.  Every
	 * node has it then, and kube-scheduler's message gives it once, without a count... */
	uint32_t whole; /* enum node_why or NODE_FITS */
	void *scratch;
};

/* -ENOMEM; for limits.nodes nodes. */
int judgement_init(struct judgement *out, const struct limits *limits);
void judgement_free(struct judgement *out);

/* Nothing is changed in the census. */
void judge(const struct census *cs, kind_id kind, enum score_policy score, struct judgement *out);

/* Scores of single plugins, for tests and `verdict -o json`: as judge() adds them up. */
enum score_part {
	SCORE_PART_FIT,
	SCORE_PART_BALANCED,
	SCORE_PART_IMAGES,
	SCORE_PART_TAINTS,
	SCORE_PART_AFFINITY,
	SCORE_PART_SPREAD,
	SCORE_PART_INTERPOD,
	SCORE_PARTS
};

#endif
