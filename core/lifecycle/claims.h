/* SPDX-License-Identifier: Apache-2.0 */
/* Room for pods that another scheduler places: kube-scheduler asks before each of its own
 * pods (frontend/serve/extender.h), so that both draw on one ledger.
 *
 *   EVENT_CLAIM ──► asked ──round──► reserved for the pod ──► bound: its own
 *                                         │                   gone, or too late: given back
 *                                         └──► CMD_CLAIM
 *
 * The pod takes the room as a reserved pod of muster's does, but no binding is sent for it.  It
 * takes no room that is held for a gang. */
#ifndef MUSTER_CORE_CLAIMS_H
#define MUSTER_CORE_CLAIMS_H

#include "core/cluster/pods.h"
#include "core/shm/records.h"

#define CLAIMS_MAX 64u /* asked and not answered; the frontend has fewer under way */

struct core;

struct claim {
	struct event_claim body;
	uint64_t *nodes;
};

struct claims {
	struct claim asked[CLAIMS_MAX]; /* a ring, the oldest at `first` */
	uint32_t first, n;
	bool answer_waits; /* that of asked[first] found no room */
	struct cmd_claim answer;
	struct pod_queue kept; /* pods that have room */
	uint64_t due_ns;       /* not before then is any of them too late */
};

void claims_init(struct claims *cl);
void claims_clear(struct claims *cl);

/* Take an EVENT_CLAIM; the answer follows in a round.
 *
 *   -EPROTO  no such pod, or one that muster places
 *   -ENOSPC  CLAIMS_MAX
 *   -ENOMEM */
int claim_event(struct core *c, const struct claim_record *record);

/* Answer what was asked; false when a command found no room. */
bool claims_answer(struct core *c);

/* Time went on: what was kept too long is given back. */
void claims_tick(struct core *c);

#endif
