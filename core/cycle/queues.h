/* SPDX-License-Identifier: Apache-2.0 */
/* Queues come, change and go, and their rows in the ledger.
 *
 *   EVENT_QUEUE ──► turns_record() ──next cycle──► turns_make(): the tree, and what it uses
 *
 * Rows are those of the latest cycle but for a second (core/cycle/queue_rows.c).
 *
 * A change takes effect when the next cycle begins, so that many records cost one count of all
 * pods.  What runs goes on; what waits is asked again. */
#ifndef MUSTER_CORE_CYCLE_QUEUES_H
#define MUSTER_CORE_CYCLE_QUEUES_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* With config.queues, before the first record. */
void turns_init(struct core *c);
void turns_free(struct core *c);
/* A new epoch: its records define them. */
void turns_clear(struct core *c);

void turns_record(struct core *c, const struct queue_record *record);

/* Whether and how the past counts; what a queue used before. */
void turns_terms(struct core *c, const struct event_queue_terms *terms);
void turns_past(struct core *c, const struct queue_past_record *past);
/* While it counts: histories of queues that did not change follow the time. */
void turns_tick(struct core *c);

/* True if turns_make() has something to do. */
bool turns_due(const struct core *c);
void turns_make(struct core *c);

/* Publishes the rows when they are a second old. */
void turns_show(struct core *c);

#endif
