/* SPDX-License-Identifier: Apache-2.0 */
/* Queues in the scheduling cycle: core/share/share.h for the gangs that wait.  All are called with
 * config.queues alone.
 *
 *   cycle begins      turns_begin()    capacity is read; what waited is tried again if room was
 * freed next gang         turns_pop()      by fair share, in place of squeue_pop() before a plan
 * turns_allow()    limits and kept rooms, by amounts after it          turns_accept()   the same
 * for the members that the plan chose; what is beyond the quorum waits for its own turn, after all
 * quorums cycle of a gang   turns_tried()
 *
 * Time: one look at each gang that is to be planned, for each that is; no queueing hints. */
#ifndef MUSTER_CORE_CYCLE_TURNS_H
#define MUSTER_CORE_CYCLE_TURNS_H

#include "core/lifecycle/state.h"

void turns_init(struct core *c);
void turns_free(struct core *c);
void turns_clear(struct core *c);

/* True if gangs wait behind one that is gone (fifo). */
bool turns_wanted(const struct core *c);

void turns_begin(struct core *c);
uint32_t turns_pop(struct core *c);

/* False: gang `index`, in the cycle, waits because of its queue; c->need is its own. */
bool turns_allow(struct core *c, uint32_t index);

/* c->plan has placed the gang.  False: its members are more than the queue has; it was undone. */
bool turns_accept(struct core *c, uint32_t index);

void turns_tried(struct core *c, uint32_t index, bool waits);

/* True if the gang waits because of its queue as things are now. */
bool turns_blocked(const struct core *c, uint32_t index, struct share_block *out);

#endif
