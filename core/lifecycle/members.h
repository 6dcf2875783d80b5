/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of pods: the room they take, the gang they count in.
 *
 * These change state only; plans are made and commands sent in core/cycle/decide.c. */
#ifndef MUSTER_CORE_MEMBERS_H
#define MUSTER_CORE_MEMBERS_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* A gang leaves its queue ... */
void gang_hold(struct core *c, uint32_t index);
/* ... or is to be looked at again, where it stands by its key as it is now. */
void gang_touch(struct core *c, uint32_t index);

/* Set, move or drop a pod, as core_step() describes it.  On an error nothing has
 * changed, and for -EPROTO c->fault says what was wrong. */
int pod_event(struct core *c, const struct pod_record *record, uint64_t time_ns);
int pod_drop(struct core *c, const struct event_drop *drop);

/* A hook of the census (context: the core): the pod is of another kind, so that its gang is to be
 * looked at again. */
void pod_moved(void *context, pod_id id);

/* An answer to a command.  One that fits nothing is counted and passed over. */
void pod_answered(struct core *c, enum record_kind kind, const struct result *result,
                  uint64_t time_ns);

/* The node is taken for the pod, and a CMD_BIND is due. */
void pod_reserve(struct core *c, pod_id id, node_id node);
/* The same for those of the gang at hand that the plan has placed, whose room it has taken already;
 * and commands are said as far as there is room. */
void gang_reserve(struct core *c, uint32_t index, const struct plan *plan);

/* The same for a pod that an earlier frontend may have sent to that node (core/lifecycle/carry.h);
 * withdrawn: a CMD_TAKE_BACK is due, and the node may have no room. */
void pod_reserve_again(struct core *c, pod_id id, node_id node, bool withdrawn);

/* The same for a pod that another scheduler places: no CMD_BIND follows, and the room is given back
 * by pod_unclaim(), if the pod is not bound before. */
void pod_claim(struct core *c, pod_id id, node_id node, uint64_t until_ns);
void pod_unclaim(struct core *c, pod_id id);

/* Members that were refused keep their room until a plan has tried them, as long as the gang has
 * begun and has members enough that can be tried now or after their backoff; else it is given back
 * now. */
void gang_keep_room(struct core *c, uint32_t index);
/* It is given back but for those whose backoff has not ended, which no plan has tried. */
void gang_keep_untried(struct core *c, uint32_t index);
/* An earlier frontend's core kept room there for the pod (core/lifecycle/carry.h): it is kept
 * again. */
void pod_keep_again(struct core *c, pod_id id, node_id node);

/* For the gang's own plan that room is free.  What follows in the same step is the end of it: the
 * plan has other room for them, or all is taken back but what the nodes can't give any more and,
 * unless of_tried_too, that of members which the plan has tried. */
void gang_lend_room(struct core *c, const struct gang *g);
void gang_lent_room_back(struct core *c, struct gang *g, bool of_tried_too);
void gang_lent_room_gone(struct core *c, struct gang *g);

/* A gang changed or lost a reservation: if it is no longer whole and nothing of it was
 * sent, its reservations are given up; those that are carried are withdrawn. */
void gang_cancel_unsent(struct core *c, uint32_t index);

/* Its command is about to be sent: does the node still take the pod?  Else the reservation is given
 * up, and its whole gang's if none of it was sent. */
bool pod_still_reserved(struct core *c, pod_id id);

/* A node changed: reservations that do not fit there any more and whose command was
 * not sent yet are given up, each with its whole gang if none of it was sent. */
void node_unreserve(struct core *c, node_id node);

/* The node is about to be forgotten: pods that are still counted there keep
 * waiting for their answer, without room anywhere. */
void node_leave(struct core *c, node_id node);

/* Each of the queue whose retry_ns has come goes by over(), which takes it off.  Returns when the
 * next one's comes; UINT64_MAX: there is none. */
uint64_t pods_over(struct core *c, const struct pod_queue *q,
                   void (*over)(struct core *c, pod_id id));

/* Pods whose backoff is over are ready again. */
void backoff_wake(struct core *c);

#endif
