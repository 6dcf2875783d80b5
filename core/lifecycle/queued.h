/* SPDX-License-Identifier: Apache-2.0 */
/* What the queues use: every pod of a queue that has a node, placed by any scheduler, and every
 * member that has a reservation; a pod that is being deleted counts until it is gone.  All are
 * called with config.queues alone, where the node rows are changed. */
#ifndef MUSTER_CORE_QUEUED_H
#define MUSTER_CORE_QUEUED_H

#include "core/lifecycle/state.h"

void queued_enter(struct core *c, pod_id id);
void queued_leave(struct core *c, pod_id id);
/* The members that the plan has placed. */
void queued_plan(struct core *c, const struct plan *plan);

/* Counts what the pod takes `times` (1 or -1) in the queue. */
void queued_add(const struct core *c, struct shares *s, const struct pod *p, uint32_t queue,
                int times);

#endif
