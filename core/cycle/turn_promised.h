/* SPDX-License-Identifier: Apache-2.0 */
/* Promises (core/timeline/timeline.h) in the order of turns: what is promised to a gang counts as
 * used by its queue (shares_promise()), and at its time the gang goes first.  Called only while
 * there are queues and promises. */
#ifndef MUSTER_CORE_CYCLE_TURN_PROMISED_H
#define MUSTER_CORE_CYCLE_TURN_PROMISED_H

#include "core/lifecycle/state.h"

/* Counts the promises that stand now.  O(promises), and O(queues above them) after a change. */
void turns_promised_follow(struct core *c);

/* The promise that is due, of a gang that is to be planned: the next one after `after`, or with
 * NULL the first, by time.  NULL: none. */
const struct promise *turns_promised_due(const struct core *c, const struct promise *after);

#endif
