/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of pods that only searches for victims need (struct event_pod_facts): when they started,
 * and whether they may go or preempt.  Sent after the record of the pod, and again when they alone
 * change. */
#ifndef MUSTER_FRONTEND_MODEL_FACTS_H
#define MUSTER_FRONTEND_MODEL_FACTS_H

#include "frontend/model/pods/pods.h"

/* When a pod of an owner was evicted last; of two owners with one slot the later one has it. */
struct owner_evicted {
	uint64_t owner; /* pod_entry.owner_hash; 0: none */
	uint32_t at_s;
};
#define EVICTED_OWNERS 4096u

/* From its object, which replaced one with this nominatedNodeName; nothing without --preemption. */
void facts_set(struct model *m, uint32_t pod, const struct pod_object *object,
               const char *nominated);
/* All lists are complete: nodes that pods are nominated to are known. */
void facts_synced(struct model *m);
/* They have to be sent, if there are any. */
void facts_mark(struct model *m, uint32_t pod);
/* The pod is gone, or they were sent. */
void facts_unmark(struct model *m, uint32_t pod);
/* Of all pods of a namespace, whose own facts changed. */
void facts_mark_namespace(struct model *m, uint32_t namespace);

/* The record, which is sent now. */
struct event_pod_facts facts_of(struct model *m, uint32_t pod);

#endif
