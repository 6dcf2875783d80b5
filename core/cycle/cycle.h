/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduling cycle: picks the next gang, plans it, and publishes the outcome. */
#ifndef MUSTER_CORE_CYCLE_H
#define MUSTER_CORE_CYCLE_H

#include "core/lifecycle/state.h"

/* Schedules gangs in queue order until none is left, a command finds no space in the ring, or a
 * bounded amount of work is done. */
void cycle_run(struct core *c);

/* True if cycle_run() has something to do. */
bool cycle_wanted(const struct core *c);

/* c->now_ns has changed: ends backoffs and retained reservations, moves the backfill reservation,
 * and starts a new round of reasons when one is due. */
void cycle_tick(struct core *c);

#endif
