/* SPDX-License-Identifier: Apache-2.0 */
/* A core that was made from kept records gets what the world has besides them:
 *
 *   histories of queues, times of promises     as records, as at the start of an epoch
 *   who waits and was tried                    not planned again: only what is new is
 *   the backfill reservation                   for its owner, from its time on
 *   who holds up a queue of fifo order
 *   the terms of preemption, and which gangs were reclaimed
 *
 * So a gang that is put into it afterwards is planned as the loop would plan it, and its victims
 * are those of the loop.  What this core still lacks: reservations that are retained for members in
 * backoff. */
#ifndef MUSTER_CORE_KEEPER_WHOLE_H
#define MUSTER_CORE_KEEPER_WHOLE_H

#include "core/world/keeper.h"

/* Before EVENT_SYNCED; `scratch`: of RECORD_BYTES_MAX.  As core_apply(). */
int whole_before(struct kept *k, const struct core *world, struct record *scratch);
/* After it. */
void whole_after(struct core *c, const struct core *world);

#endif
