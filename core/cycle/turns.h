/* SPDX-License-Identifier: Apache-2.0 */
/* Queues (core/share/share.h) in the scheduling cycle: order and limits.  Called only while there
 * are queues (core/cycle/queues.h).
 *
 *   cycle begins     turns_begin()    reads capacity; activates gangs
 *   next gang        turns_pop()      by fair share, in place of squeue_pop()
 *   before a plan    turns_allow()    limits, reserved capacity and fifo order
 *   after it         turns_accept()   the same for the plan's members; only the quorum starts while
 *                                     other gangs are active
 *   cycle of a gang  turns_tried()    requeues it for more members, or blocks its fifo queue
 *
 * Time: O(active gangs) a cycle, O(unschedulable gangs) after capacity was freed, O(queues) to pop
 * a gang. */
#ifndef MUSTER_CORE_CYCLE_TURNS_H
#define MUSTER_CORE_CYCLE_TURNS_H

#include "core/lifecycle/state.h"

/* A gang's queue; UINT32_MAX: missing, two, with children or parked. */
uint32_t turns_leaf(const struct core *c, uint32_t index);

/* True if a gang that no longer waits still blocks a fifo queue. */
bool turns_wanted(const struct core *c);

/* Tells the queues what all nodes have, if that changed; turns_begin() does, too. */
void turns_capacity(struct core *c);
void turns_begin(struct core *c);
uint32_t turns_pop(struct core *c);

/* False: the queue refuses gang `index` of this cycle; c->turns.block: why. */
bool turns_allow(struct core *c, uint32_t index);

/* c->plan has placed the gang.  False: its queue lets no quorum of it start; the plan is undone. */
bool turns_accept(struct core *c, uint32_t index);

/* Adds why a queue refuses a gang. */
void turns_reason(const struct core *c, const struct share_block *b, struct reason *r);

void turns_tried(struct core *c, uint32_t index, bool waits);

/* True if the queue refuses the gang now; *out: why. */
bool turns_blocked(const struct core *c, uint32_t index, struct share_block *out);

#endif
