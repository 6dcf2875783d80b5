/* SPDX-License-Identifier: Apache-2.0 */
/* Grants: the pods of other schedulers for which the core was asked to reserve, for how long, and
 * where.
 *
 *   first question ──keep_ms──► time over ──keep_ms──► removed: the next one is a first one again
 *                   reserved               unreserved
 *
 * Repeated questions do not prolong the time, so a pod that is never bound takes capacity for half
 * of it at most.  A pod that is bound or gone has none any more (docs/decisions/043).
 *
 *   question ──► core reserves ──► line of the journal ──durable──► answer
 *
 * What was answered outlives both processes: the line says which node the pod may be bound to.  It
 * is removed when the pod is bound or gone, or its time is over.  At a takeover the lines are
 * grants again, whose time begins again: no clock of the instance that wrote them is known, and to
 * reserve for too long costs less than an overfilled node (docs/decisions/054).  A core that starts
 * again gets the rest of the time. */
#ifndef MUSTER_FRONTEND_GRANTS_H
#define MUSTER_FRONTEND_GRANTS_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct intent; /* frontend/journal/journal.h */
struct journal;

/* Why a question is answered without a reservation that outlives both processes. */
enum unreserved {
	UNRESERVED_UID,
	UNRESERVED_LIMIT,
	UNRESERVED_TIME,
	UNRESERVED_JOURNAL,
	UNRESERVED_N
};

struct grants_config {
	const struct env *env;
	struct model *model;
	struct journal *journal; /* NULL: none is kept */
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

/* The core has reserved that node for the pod, and no other one any more; ID_NONE: none. */
void grants_place(struct grants *gs, pod_id pod, uint32_t generation, node_id node,
                  uint32_t node_generation);

/* The pod's line. */
enum grant_line {
	GRANT_DURABLE, /* ... or it needs none */
	GRANT_WAITS,
	GRANT_FAILS /* the journal can't be written now */
};
enum grant_line grants_line(struct grants *gs, pod_id pod, uint32_t generation);

/* A line that an earlier instance left, of a pod without a node; owned from now on.  Before the
 * core may plan. */
void grants_adopt(struct grants *gs, struct intent *line, pod_id pod, uint32_t generation);

/* Before a new core reads all pods: what is reserved goes with them. */
void grants_core_up(struct grants *gs);

/* Removes lines that are over.  Returns the monotonic time of the next call. */
uint64_t grants_poll(struct grants *gs);

#endif
