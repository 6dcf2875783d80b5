/* SPDX-License-Identifier: Apache-2.0 */
/* The search that a ticket asks for (core/lifecycle/tickets.h), and its answer as a record. */
#ifndef MUSTER_CORE_TICKET_SEARCH_H
#define MUSTER_CORE_TICKET_SEARCH_H

#include "core/world/keeper.h"

struct ticket;

/* search_gang(), with reclaim where it is on. */
int kept_search(struct kept *kept, gang_id gang, struct gang_search *out);

/* An EVENT_ANSWER of epoch 0 and time 0, memory of the caller.  `kept`: a core in which nothing is
 * searched meanwhile; `position`: records that it has applied;
 * `flags`: what tickets are for.  At most `kept`->facts.steps_most
 * steps are spent. */
struct record *ticket_search(struct kept *kept, const struct ticket *t, uint64_t position,
                             uint32_t flags);

#endif
