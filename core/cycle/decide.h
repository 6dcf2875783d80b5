/* SPDX-License-Identifier: Apache-2.0 */
/* Which gang is looked at next, what comes of it, and what is said about it. */
#ifndef MUSTER_CORE_DECIDE_H
#define MUSTER_CORE_DECIDE_H

#include "core/lifecycle/state.h"

/* A round of planning: in queue order, until nothing is left to do, a command
 * finds no room, or a bounded amount of work is done. */
void decide_round(struct core *c);

/* Is there more to do? */
bool decide_wants_round(const struct core *c);

/* Time went on: backoffs end, and numbers in reasons are brought up to date. */
void decide_tick(struct core *c);

#endif
