/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the judgement share. */
#ifndef MUSTER_CORE_JUDGE_IMPL_H
#define MUSTER_CORE_JUDGE_IMPL_H

#include "core/cluster/rule_node.h"
#include "core/filter/judge.h"

struct judge_scratch {
	/* by domain of the topology at hand */
	uint64_t *sums;
	bool *counted; /* some node that counts lies in it */
	/* by node */
	uint8_t *facts; /* enum node_facts */
	uint8_t *marks; /* of the rule at hand */
	int64_t *raw;
	double *real;
};

struct judging {
	const struct census *cs;
	const struct nodes *nodes;
	const struct shape *shape;
	const struct shape_links *links; /* NULL: no rules about pods */
	kind_id kind;
	bool claim_in_use; /* by a pod on any node */
	struct judgement *out;
	struct judge_scratch *scratch;
};

/* A node that exists and that no rule has refused so far. */
static inline bool judging_open(const struct judging *j, node_id id)
{
	return j->out->whys[id] == 0;
}

static inline const struct topology *judging_topology(const struct judging *j, topology_id id)
{
	return &j->cs->topologies.slots[id];
}

/* sums[domain] of these counts, which are by node; true when any is not 0. */
bool judging_sum(const struct judging *j, const struct topology *t, const uint32_t *counts);

/* core/filter/judge_score.c: the totals of the nodes that are left. */
void judge_scores(const struct judging *j, enum score_policy policy);
/* The parts that weigh nodes against each other, added to what the others gave; `preferred` by
 * rank, NULL: none. */
void judge_scores_between(const struct judging *j, const int32_t *preferred);

/* core/filter/judge_pods.c: inter-pod affinity.  The score's raw values are added to raw[]; false
 * when no term has anything to say. */
void judge_pods(const struct judging *j);
bool score_pods(const struct judging *j);

/* core/filter/judge_spread.c.  The score is written to raw[], -1 for nodes that are not scored;
 * false without a constraint. */
void judge_spread(const struct judging *j);
bool score_spread(const struct judging *j);

/* core/filter/judge_policy.c: the last filter, and what goes before all scores. */
void judge_policy(const struct judging *j);
void score_policy(const struct judging *j);

#endif
