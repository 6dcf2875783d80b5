/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue a pod and a gang are in, and what the queues use: every pod of a queue that has a
 * node, placed by any scheduler, and every member that has a reservation; a pod that is being
 * deleted counts until it is gone.  But for queued_record() all are called with queues alone, where
 * the node rows are changed. */
#ifndef MUSTER_CORE_QUEUED_H
#define MUSTER_CORE_QUEUED_H

#include "core/lifecycle/state.h"

/* The record of a pod names a queue; nothing without a record of a queue. */
void queued_record(struct core *c, const struct event_pod *e);

/* True if the record names another queue than the pod has. */
static inline bool queued_differs(const struct core *c, const struct event_pod *e)
{
	return c->turns.named && c->turns.named[e->pod] != e->queue;
}

/* The queue of a pod, SHARE_MISSING; of a gang, also SHARE_TWO. */
uint32_t queued_of(const struct core *c, pod_id id);
uint32_t queued_gang(const struct core *c, uint32_t index);

/* The id of a queue by its number; QUEUE_MISSING: it is none. */
uint32_t queued_id(const struct core *c, uint32_t queue);

void queued_enter(struct core *c, pod_id id);
void queued_leave(struct core *c, pod_id id);
/* The members that the plan has placed. */
void queued_plan(struct core *c, const struct plan *plan);

/* Counts what the pod takes `times` (1 or -1) in the queue. */
void queued_add(const struct core *c, struct shares *s, const struct pod *p, uint32_t queue,
                int times);

#endif
