/* SPDX-License-Identifier: Apache-2.0 */
/* Would a gang that waits start if one thing were different?  Would one that does not exist, or
 * lone pods (what_if_lone.h), start if they were created now?  Answered from the records of the
 * world, in a core of its own (core/world/keeper.h) that has the change: nothing of the world or
 * of the loop changes.
 *
 *   keeper, world, question ──► a core with the change ──► plans, until the gang's turn has come
 *                                                      ──► a search for victims, if it waits
 *
 * The gangs before it in the queue are planned first, as in the loop.  For a gang that exists, the
 * core has no backfill reservation, promises or queues; the answer has them apart.  For a gang that
 * does not exist the core has them, and pending gangs are not planned again in it
 * (core/world/keeper_whole.h).
 *
 * A question is input from outside: everything in it is checked here. */
#ifndef MUSTER_CORE_WHAT_IF_H
#define MUSTER_CORE_WHAT_IF_H

#include "core/world/keeper.h"
#include "ipc/question.h"

#define WHAT_IF_STEPS UINT64_C(50000000) /* of the search for victims */
#define WHAT_IF_PLANS 500u               /* of about 2 ms */

/* Why a question can't be one, whatever the cluster has: a static text; NULL: it can. */
const char *question_fault(const struct live_question *q, const struct limits *limits);

/* The question is refused, with the text as the reason. */
void answer_refuse(struct live_answer *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct what_if_of {
	const struct keeper *keeper;
	const struct core *world;
	const struct live_gang *gang; /* without a fault; NULL: the gang that the question names */
	const struct keeper_hooks
		*hooks; /* ends() alone is used: then the answer is QUESTION_GAVE_UP */
};

/* `q` has no fault; with a gang in *of it names none and has no changes. */
void what_if(const struct what_if_of *of, const struct live_question *q, struct live_answer *out);

#endif
