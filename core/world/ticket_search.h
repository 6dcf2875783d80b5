/* SPDX-License-Identifier: Apache-2.0 */
/* The search that a ticket asks for (core/lifecycle/tickets.h), and its answer as a record. */
#ifndef MUSTER_CORE_TICKET_SEARCH_H
#define MUSTER_CORE_TICKET_SEARCH_H

#include "core/world/keeper.h"

struct ticket;

/* search_gang() (core/search/search.h), which may also take what queues are guaranteed where
 * reclaim is on; `has` as for reclaim_marks().  Returns what search_gang() does. */
int kept_search(struct kept *kept, const struct core *has, gang_id gang, struct gang_search *out);

/* Searches for the gang or the lone pod of the ticket: first whether it fits as a packing, then for
 * victims, with kept->facts.steps_most steps at most.  Returns an EVENT_ANSWER of epoch 0 and time
 * 0, which the caller frees.
 *
 *   kept      no other search uses it meanwhile
 *   position  records that its world has applied, for the answer
 *   flags     enum preemption_flags: what tickets are for */
struct record *ticket_search(struct kept *kept, const struct ticket *t, uint64_t position,
                             uint32_t flags);

#endif
