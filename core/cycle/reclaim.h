/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim: evicts pods of a queue that borrows for a gang whose queue is below its guarantee, or
 * with PREEMPTION_FAIR has the smaller share (core/cycle/victims.h; core/share/share.h:
 * shares_reclaim()).
 *
 * Pods of other queues are evicted by guarantee and share, whatever their priority.  Pods of the
 * same queue are evicted by priority, as without queues; members beyond a quorum also for a gang of
 * equal priority.
 *
 * A gang has run since the first of its bound members started, and its members beyond the quorum
 * have, too: a member that is restarted or added protects no gang.  A trial changes the sums of
 * queues, although the core is const, and then restores them. */
#ifndef MUSTER_CORE_RECLAIM_H
#define MUSTER_CORE_RECLAIM_H

#include "core/lifecycle/state.h"

bool reclaim_is_on(const struct core *c);

/* True if reclaim is on and the queues of pod and gang both exist and differ. */
bool reclaim_is_other(const struct core *c, uint32_t index, pod_id id);

/* Subtracts the pod from its queue's use for a trial, or adds it again (`gone` false). */
void reclaim_suppose(const struct core *c, pod_id id, bool gone);

/* Adds a pod that waits to its queue's use, or subtracts it again. */
void reclaim_suppose_start(const struct core *c, pod_id id, bool starts);

/* As reclaim_suppose() for pods that are being deleted and victims of nominations. */
void reclaim_suppose_ending(const struct core *c, bool gone);

/* True if the gang, which asks for `ask`, may evict the pod; call it with all victims subtracted.
 * False for gangs that taken_is() bars. */
bool reclaim_allows(const struct core *c, uint32_t index, const struct share_ask *ask, pod_id id);

/* For how long a pod of another queue has to have run for that: shares_min_run(). */
uint32_t reclaim_min_run_s(const struct core *c, uint32_t index, pod_id id);

/* True if what started then, in seconds since 1970, has run for so long; 0: it has not started. */
bool reclaim_has_run(const struct core *c, uint32_t start_s, uint32_t min_run_s);

/* True if the gang may evict all victims of other queues; sets their `cause`.  Always without
 * reclaim. */
bool reclaim_holds(const struct core *c, uint32_t index, struct eviction *victims, uint32_t n);

/* With promises: a gang is firm if its queue is owed what it asks for (shares_owed()) after all
 * promises to gangs of its priority and above; without `wants`, what the members need that have
 * to start together.  Never without reclaim. */
bool reclaim_is_firm(const struct core *c, const struct timeline_ask *ask);

/* Marks the firm promises.  True if a mark changed: then promises_look() may move some. */
bool reclaim_rank_promises(struct core *c);

#endif
