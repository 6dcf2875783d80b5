/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are feasible for a pod that waits, in the world as it is, or for one that no table
 * has (core/classes/outsider.h), as if it had just come, alone and without a queue:
 * kube-scheduler's filters and scores (core/filter/evaluate.h), and of the nodes that pass them
 * those that are not free for it all the same.
 *
 *   world, pod ──► evaluate() ──► the backfill reservation ──► promises ──► pages of rows
 *
 * Pods whose binding is in flight and nominated members have their capacity there, as in every
 * plan. Nothing of the world changes: evaluate() reads it, and a picture of promises has its own
 * scratch.
 *
 * A table of rows is kept until its last page was given, so that all pages are of one moment.
 * VERDICTS_KEPT at most are: another one replaces that which was read from the longest ago.  So
 * memory is bounded by VERDICTS_KEPT rows for each node.
 *
 * Work: one evaluation, and pictures of VERDICT_STEPS nodes and promises. */
#ifndef MUSTER_CORE_LIVE_VERDICT_H
#define MUSTER_CORE_LIVE_VERDICT_H

#include "core/world/keeper.h"
#include "ipc/question.h"

#define VERDICTS_KEPT 4u
#define VERDICT_STEPS UINT64_C(20000000)

struct verdicts;

struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts *v); /* NULL: nothing */

/* Why records can't be those of a pod that no table has: a static text; NULL: they can. */
const char *live_pod_fault(const struct live_pod *p, const struct limits *limits);

struct verdict_of {
	const struct core *world;
	uint64_t position;          /* of the world */
	const struct live_pod *pod; /* without a fault; NULL: the pod that the question names */
	/* ends() alone is used; nodes whose promises were not looked at by then are HELD_UNKNOWN.
	 * NULL: never. */
	const struct keeper_hooks *hooks;
};

/* `q` is ABOUT_POD and has no fault; with a pod in *of its first page names none. */
void verdicts_answer(struct verdicts *v, const struct verdict_of *of, const struct live_question *q,
                     struct live_answer *out);

#endif
