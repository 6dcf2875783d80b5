/* SPDX-License-Identifier: Apache-2.0 */
/* A gang that no table has, or pods without a gang, put into a core that was made for a question
 * (core/world/what_if.h).
 *
 *   struct live_gang ──live_gang_fault()──► checked, with ids of its own
 *                    ──live_gang_put()────► records with free ids, applied to that core
 *
 * The records come from outside the core: what they may cost is bounded by their bytes, by
 * QUESTION_GANG_SHAPES, and by OUTSIDER_STEPS over all of their shapes. */
#ifndef MUSTER_CORE_LIVE_GANG_H
#define MUSTER_CORE_LIVE_GANG_H

#include "core/world/keeper.h"
#include "ipc/question.h"

/* No records have more pods. */
#define LIVE_GANG_PODS (QUESTION_GANG_RECORDS / (sizeof(struct record) + sizeof(struct event_pod)))

/* Why records can't be those of a gang, or of lone pods, that no table has: a static text; NULL:
 * they can. */
const char *live_gang_fault(const struct live_gang *g, const struct limits *limits);

/* What was put so far, by its ids in the core. */
struct live_put {
	gang_id gang; /* ID_NONE: the pods are in no gang */
	uint32_t pods_n;
	pod_id pods[LIVE_GANG_PODS];
};

/* `g` has no fault.  0, -ECANCELED (`hooks`: ends() alone is used), or -EINVAL with *fault: a
 * static text, why it can't be put. */
int live_gang_put(const struct live_gang *g, struct kept *kept, const struct keeper_hooks *hooks,
                  struct live_put *out, const char **fault);

#endif
