/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim: a queue that is below its guarantee, or with PREEMPTION_FAIR has the smaller share,
 * takes back what another one borrowed, by evictions (core/cycle/victims.h, core/share/share.h:
 * shares_reclaim()).
 *
 * Where it is on, pods of another queue than the gang's go by guarantees and shares alone, whatever
 * their priority; pods of the same queue by priority, as without queues, and members beyond a
 * quorum also for gangs of an equal one.  Questions change the sums of the queues while they are
 * asked, and leave them as they were. */
#ifndef MUSTER_CORE_RECLAIM_H
#define MUSTER_CORE_RECLAIM_H

#include "core/lifecycle/state.h"

bool reclaim_is_on(const struct core *c);

/* True if reclaim is on, and the pod is in another queue than the gang; a pod that no queue takes
 * is in none. */
bool reclaim_is_other(const struct core *c, uint32_t index, pod_id id);

/* The pod goes for a question, or is back. */
void reclaim_suppose(const struct core *c, pod_id id, bool gone);

/* The same of all that ends anyway: pods that are being deleted, and victims of nominations. */
void reclaim_suppose_ending(const struct core *c, bool gone);

/* True if the gang, which asks for so much, may take the pod, which is supposed gone with all
 * others that would go. */
bool reclaim_allows(const struct core *c, uint32_t index, const struct share_ask *ask, pod_id id);

/* True if the gang may have all of these that are of other queues, which have their cause then. */
bool reclaim_holds(const struct core *c, uint32_t index, struct eviction *victims, uint32_t n);

/* With promises: a gang is firm if its queue is owed what it asks for, counted with all that is
 * promised to gangs of its priority and above.  Never without reclaim. */
bool reclaim_is_firm(const struct core *c, uint32_t index);

/* Which promises are firm now.  True if it was others: then promises_look() may move some. */
bool reclaim_rank_promises(struct core *c);

#endif
