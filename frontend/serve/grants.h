/* SPDX-License-Identifier: Apache-2.0 */
/* Grants: the pods of other schedulers for which the core was asked to reserve, and for how long.
 *
 *   first question ──keep_ms──► time over ──keep_ms──► removed: the next one is a first one again
 *                   reserved               unreserved
 *
 * Repeated questions do not prolong the time, so a pod that is never bound takes capacity for half
 * of it at most.  A pod that is bound or gone has none any more (docs/decisions/043). */
#ifndef MUSTER_FRONTEND_GRANTS_H
#define MUSTER_FRONTEND_GRANTS_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* Why a question is answered without a reservation. */
enum unreserved { UNRESERVED_UID, UNRESERVED_LIMIT, UNRESERVED_TIME, UNRESERVED_N };

struct grants_config {
	const struct env *env;
	struct model *model;
	uint32_t keep_ms;
	uint32_t max; /* pods */
};

struct grants;

struct grants *grants_new(const struct grants_config *config);
void grants_free(struct grants *gs);

/* A question for the pod: how long the core shall reserve for it, in ms, and whether its time
 * begins with this question; 0: not at all, and *why. */
uint32_t grants_ask(struct grants *gs, pod_id pod, uint32_t generation, bool *first,
                    enum unreserved *why);

/* The time of the pod did not begin, since it got no node. */
void grants_withdraw(struct grants *gs, pod_id pod, uint32_t generation);

#endif
