/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings in flight outlive the frontend: the API server may carry them out after all, so their
 * room is kept for the pod until nothing can come of them any more.
 *
 *   in flight ──frontend dies──► carried ──lists are in──► CMD_BIND_AGAIN  its gang may go on with
 * it └───► CMD_TAKE_BACK   withdrawn: the gang isn't whole with what is left, or the node has no
 * room
 *
 * The answer to either says what became of it.  Until then it takes its room.  What refused members
 * of half bound gangs kept is theirs again as well. */
#ifndef MUSTER_CORE_CARRY_H
#define MUSTER_CORE_CARRY_H

#include "core/lifecycle/state.h"

/* A copy of what is in flight or kept now, and of what an epoch that was never synced left
 * over, in *out.  -ENOMEM: nothing has changed. */
int carry_collect(const struct core *c, struct carried **out, size_t *out_n);

/* The lists are in, and tell which are bound: the others that are still there are reserved on
 * the same node again, and a command is due for each. */
void carry_settle(struct core *c);

#endif
