/* SPDX-License-Identifier: Apache-2.0 */
/* What queues used before, as records have it: kept until the tree of queues is made
 * (core/cycle/queues.h). */
#ifndef MUSTER_CORE_CYCLE_QUEUE_PAST_H
#define MUSTER_CORE_CYCLE_QUEUE_PAST_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* *list is NULL, or what was added; the last one of a queue counts. */
void past_list_add(struct past_list **list, const struct queue_past_record *past);
void past_list_free(struct past_list **list);

/* Queues of c->turns.set get them; those that aren't there are passed over.  NULL: none. */
void past_list_restore(const struct past_list *list, struct core *c);

#endif
