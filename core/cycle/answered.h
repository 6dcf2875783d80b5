/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gangs that are searched for beside the loop.
 *
 *   a ticket was answered    the answer is checked against the present state, since the search saw
 *                            an earlier one: places are the plan, if each rule allows them now
 *                            (plan_fixed()); with victims the gang is nominated
 *   the gang is nominated    its own room is released tentatively: it is placed there once the
 *                            victims are gone, or elsewhere if it fits there first
 *
 * An answer with victims holds if (1) the gang has the priority with which it was searched for, (2)
 * each victim is as it was and may still be evicted, by priority, facts and its gang's mode, (3)
 * with the victims, and all that ends anyway, released the gang's plan places it now, and (4)
 * without any single victim it does not (not asked of more than 64 victims).  Budgets are the
 * frontend's: the Eviction API checks them.  Nothing is evicted that would break a promised start
 * of the same or a higher priority (core/timeline/timeline.h). */
#ifndef MUSTER_CORE_ANSWERED_H
#define MUSTER_CORE_ANSWERED_H

#include "core/lifecycle/state.h"

/* plan_gang() of the gang in the cycle; c->need is set.  A nominated gang that is placed is still
 * nominated, and its room released, until plan_judged() is called. */
enum plan_answer plan_answered(struct core *c, uint32_t index, bool behind);

/* The plan that placed a nominated gang may be reserved, or was undone. */
void plan_judged(struct core *c, struct nomination *n, bool accepted);

/* After a plan that placed nothing: true if the gang is nominated, and then the reason. */
bool nominated_reason(struct core *c, uint32_t index, struct reason *r);

#endif
