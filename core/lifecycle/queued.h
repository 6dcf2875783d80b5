/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue a pod and a gang are in, and what the queues use: every pod of a queue that has a
 * node, placed by any scheduler, and every member that has a reservation; a pod that is being
 * deleted counts until it is gone.
 *
 * All but queued_record() and queued_differs() need queues (c->turns.shares); they are called where
 * capacity of nodes is allocated and released.  A queue is an index of the share tree; its number
 * in records is its id. */
#ifndef MUSTER_CORE_QUEUED_H
#define MUSTER_CORE_QUEUED_H

#include "core/lifecycle/state.h"

/* Takes over the queue that the record of a pod names, and counts the pod there if it is counted.
 * Without a record of a queue it does nothing. */
void queued_record(struct core *c, const struct event_pod *e);

/* True if the record names another queue than the pod has. */
static inline bool queued_differs(const struct core *c, const struct event_pod *e)
{
	return c->turns.named && c->turns.named[e->pod] != e->queue;
}

/* The queue of a pod, or SHARE_MISSING: there is none of that name.  The queue of a gang, which is
 * that of its members, or SHARE_TWO: they name different ones. */
uint32_t queued_of(const struct core *c, pod_id id);
uint32_t queued_gang(const struct core *c, uint32_t index);

/* The id of a queue; QUEUE_MISSING: there is no such queue. */
uint32_t queued_id(const struct core *c, uint32_t queue);

/* The pod got a node or a reservation, or lost it.  In a queue that is missing it counts at the
 * root. */
void queued_enter(struct core *c, pod_id id);
void queued_leave(struct core *c, pod_id id);
/* queued_enter() of the members that the plan has placed. */
void queued_plan(struct core *c, const struct plan *plan);

/* Counts what the pod takes `times` (1 or -1) in the queue. */
void queued_add(const struct core *c, struct shares *s, const struct pod *p, uint32_t queue,
                int times);

#endif
