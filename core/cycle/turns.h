/* SPDX-License-Identifier: Apache-2.0 */
/* Queues in the scheduling cycle: core/share/share.h for the gangs that wait.  All are called with
 * queues alone (core/cycle/queues.h).
 *
 *   cycle begins     turns_begin()    capacity is read; what may start now is to be planned
 *   next gang        turns_pop()      by fair share, in place of squeue_pop()
 *   before a plan    turns_allow()    limits and kept rooms, by amounts
 *   after it         turns_accept()   the same for the members that the plan chose; what is beyond
 *                                     the quorum waits for its own turn, after all quorums
 *   cycle of a gang  turns_tried()
 *
 * Time: one look at each gang that is to be planned for each cycle, and one at each that waits when
 * room was freed; of a turn: a comparison for each queue. */
#ifndef MUSTER_CORE_CYCLE_TURNS_H
#define MUSTER_CORE_CYCLE_TURNS_H

#include "core/lifecycle/state.h"

/* The leaf of a gang; UINT32_MAX: it has none. */
uint32_t turns_leaf(const struct core *c, uint32_t index);

/* True if gangs wait behind one that is gone (fifo). */
bool turns_wanted(const struct core *c);

void turns_begin(struct core *c);
uint32_t turns_pop(struct core *c);

/* False: gang `index`, in the cycle, waits because of its queue: c->turns.block. */
bool turns_allow(struct core *c, uint32_t index);

/* c->plan has placed the gang.  False: its members are more than the queue has; it was undone. */
bool turns_accept(struct core *c, uint32_t index);

/* Adds why a queue refuses a gang. */
void turns_reason(const struct core *c, const struct share_block *b, struct reason *r);

void turns_tried(struct core *c, uint32_t index, bool waits);

/* True if the gang waits because of its queue as things are now. */
bool turns_blocked(const struct core *c, uint32_t index, struct share_block *out);

#endif
