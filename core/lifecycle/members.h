/* SPDX-License-Identifier: Apache-2.0 */
/* Pods as members of gangs: records, results, plans and nodes change their reservations
 * (core/lifecycle/reservation.h) and with them the counts and queues of their gangs.
 *
 * These change state only; plans are made and commands sent in core/cycle/cycle.c. */
#ifndef MUSTER_CORE_MEMBERS_H
#define MUSTER_CORE_MEMBERS_H

#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* Around every change of a pod on which its gang's counts depend.  In between the gang keeps its
 * place in its queue; member_in() counts the pod by pod_readiness() and queues the gang again. */
void member_out(struct core *c, struct pod *p);
void member_in(struct core *c, struct pod *p);

/* Takes a gang out of its queue. */
void gang_dequeue(struct core *c, uint32_t index);
/* The gang changed: puts it where its key belongs in the queue of gangs to plan. */
void gang_requeue(struct core *c, uint32_t index);

/* Adds, changes or deletes a pod; see core_step().  On an error nothing has changed.
 *
 *   -EPROTO  c->fault has the reason */
int pod_event(struct core *c, const struct pod_record *record, uint64_t time_ns);
int pod_drop(struct core *c, const struct event_drop *drop);

/* A hook of the pod counts (context: the core): the pod is of another pod class, so its gang is
 * planned again. */
void pod_moved(void *context, pod_id id);

/* Reserves for all members that the plan has placed; it has allocated their capacity already. Sends
 * commands until the ring is full. */
void gang_reserve(struct core *c, uint32_t index, const struct plan *plan);

/* Reserves on the node where an earlier epoch had a reservation for the pod.
 *
 *   RESERVATION_RETRY     bind it there again
 *   RESERVATION_CANCEL    cancel that binding; the node may be overcommitted until then
 *   RESERVATION_RETAINED  no binding is in flight; ends at once unless the gang's state allows it
 */
void pod_reserve_again(struct core *c, pod_id id, node_id node, enum reservation state);

/* Reserves for a pod that another scheduler places, until until_ns; no command follows. */
void pod_assume(struct core *c, pod_id id, node_id node, uint64_t until_ns);

/* Ends a reservation, of which no binding can land. */
void reservation_end(struct core *c, pod_id id);

/* Call when a gang changed or lost a reservation: if it is not whole any more and nothing of it is
 * bound or sent, its unsent reservations end; those of an earlier epoch are cancelled. */
void gang_cancel_unsent(struct core *c, uint32_t index);

/* Call before its command is sent: false if the node does not take the pod any more.  Then the
 * reservation has ended or is cancelled, and its gang's if none of it was sent. */
bool pod_still_reserved(struct core *c, pod_id id);

/* A node changed: unsent reservations that do not fit there any more end. */
void node_unreserve(struct core *c, node_id node);

/* A node is about to be deleted: sent and bound pods go on without capacity, others lose their
 * reservation. */
void node_leave(struct core *c, node_id node);

/* The result of a command.  One that no sent reservation waits for is counted and ignored. */
void pod_answered(struct core *c, enum record_kind kind, const struct result *result,
                  uint64_t time_ns);

/* Pods whose backoff has ended are ready again. */
__attribute__((cold)) void backoff_wake(struct core *c);

/* Calls expired() for each pod of the list whose retry_ns has passed; it has to take the pod off
 * the list.  Returns the next retry_ns, UINT64_MAX: none. */
__attribute__((cold)) uint64_t pods_expire(struct core *c, const struct pod_list *list,
                                           void (*expired)(struct core *c, pod_id id));

#endif
