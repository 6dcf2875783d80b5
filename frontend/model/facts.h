/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of pods that only searches for victims need (struct event_pod_facts): when they started,
 * and whether they may go or preempt.  Sent after the record of the pod, and again when they alone
 * change. */
#ifndef MUSTER_FRONTEND_MODEL_FACTS_H
#define MUSTER_FRONTEND_MODEL_FACTS_H

#include "frontend/model/pods.h"

/* From its object; nothing without --preemption. */
void facts_set(struct model *m, uint32_t pod, const struct pod_object *object);
/* They have to be sent, if there are any. */
void facts_mark(struct model *m, uint32_t pod);
/* The pod is gone, or they were sent. */
void facts_unmark(struct model *m, uint32_t pod);
/* Of all pods of a namespace, whose own facts changed. */
void facts_mark_namespace(struct model *m, uint32_t namespace);

struct event_pod_facts facts_of(const struct model *m, uint32_t pod);

#endif
