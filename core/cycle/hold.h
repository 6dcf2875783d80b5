/* SPDX-License-Identifier: Apache-2.0 */
/* A hold: room kept for a gang that has waited too long, so that small ones that come
 * after it can't pass it for ever.
 *
 * The first gang of the queue that has waited config.hold_after_ns for room, and that would
 * fit if everything had ended, holds what it could use: whoever comes behind it sees only
 * what is left beside that (core/index/views.h), and what ends is added to it.  Whoever comes
 * before it sees everything.  When it has held for config.hold_after_ns in vain, nodes that could
 * take it are kept whole until they are empty enough, for ten minutes of every twenty.  A gang that
 * has begun needn't have waited, and takes the place of one that has not.  One gang holds at a
 * time.  It ends when the gang is placed, changes, goes, can't fit any more, after the gang's own
 * timeout, or, when it isn't sure that it could fit (several kinds, rules between pods,
 * minResources), after ten minutes.
 *
 * A gang that stands behind all others by its dialect (GANG_AFTER_OTHERS) is lifted after the
 * same wait: from then on, until something of it is placed, priority and age say where it stands.
 * With --hold-after 0 nothing is held and nobody is lifted. */
#ifndef MUSTER_CORE_HOLD_H
#define MUSTER_CORE_HOLD_H

#include "core/lifecycle/state.h"

/* Comes the gang behind the one that holds? */
bool hold_stands_before(const struct core *c, uint32_t index);

/* A gang was looked at: it waits for room, or does not; some of it was `placed`. */
void hold_looked(struct core *c, uint32_t index, bool waits_for_room, bool placed);

/* Time went on: lift those that stood behind others long enough; begin a hold, or end the one
 * there is. */
void hold_tick(struct core *c);

/* The gang goes; before its generation does. */
void hold_forget(struct core *c, uint32_t index);

#endif
