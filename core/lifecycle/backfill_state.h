/* SPDX-License-Identifier: Apache-2.0 */
/* Which gang owns the backfill reservation, and the end of it.  core/cycle/backfill.h decides who
 * gets it. */
#ifndef MUSTER_CORE_BACKFILL_STATE_H
#define MUSTER_CORE_BACKFILL_STATE_H

#include "core/lifecycle/state.h"

void backfill_init(struct core *c);
void backfill_free(struct core *c);

/* A new epoch: there is no reservation, and views were cleared or are. */
void backfill_clear(struct core *c);

/* Ends the reservation, if there is one: gangs behind its owner see all capacity again. */
void backfill_end(struct core *c);

/* The gang is about to be forgotten; called while it still has its generation. */
void backfill_forget(struct core *c, uint32_t index);

#endif
