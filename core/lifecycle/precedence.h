/* SPDX-License-Identifier: Apache-2.0 */
/* Precedence of a gang whose first placement is not complete: gang_partially_bound(), decisions 032
 * and 046.
 *
 *   plan reserved, no member had a node ──► under way ──quorum bound──────────► over
 *                                            │     ├───config.retain_for_ns──► over
 *                                            │     └───members of the plan lost──► over
 *                                            └───quorum raised: suspended until it is lowered again
 *
 * "Lost": fewer than the quorum are left of the members that its plan had, since they were deleted
 * or ask for more.  What replaces them may ask for any amount.  If the quorum at its begin was
 * more, it is over for what the quorum had above those that are left: suspended if it is raised.
 *
 * While it is under way and some members have a node, the gang precedes all others, retains the
 * reservations of refused members (core/lifecycle/retain.h), and needs not wait for its backfill
 * reservation.  config.retain_for_ns counts from the first time that it needs any of that, so an
 * owner who changes the group or its pods gains no time. */
#ifndef MUSTER_CORE_PRECEDENCE_H
#define MUSTER_CORE_PRECEDENCE_H

#include "core/lifecycle/state.h"

/* The first members of the group get nodes, by this plan. */
void precedence_begin(struct core *c, struct gang *g, const struct plan *plan);

/* Its quorum is bound. */
static inline void precedence_complete(struct gang *g)
{
	g->begun = 0;
}

/* The gang waits for capacity or retains a reservation: its time starts, if it has not yet. */
void precedence_note(struct core *c, struct gang *g);

/* True if the gang is partially bound and its time is over. */
bool precedence_is_over(const struct core *c, const struct gang *g);

/* The gang's priority beside promises: the highest as long as it precedes all others. */
int32_t precedence_priority(const struct core *c, const struct gang *g);

/* The pod, which counts as a member of its gang's first plan, doesn't any more. */
void precedence_lose(struct core *c, struct pod *p);

/* True if pods of the shape ask for more of anything than those of the other. */
bool precedence_asks_more(const struct core *c, shape_id than, shape_id shape);

/* Ends it; the gang is queued as others are and retains nothing. */
void precedence_end(struct core *c, uint32_t index);

/* A pod of the group with a node, in the lists of a new epoch. */
__attribute__((cold)) void precedence_note_listed(struct gang *g, const struct event_pod *e);

/* The lists of a new epoch are complete: restores what the API proves (decision 046). */
void precedence_restore(struct core *c);

/* Once in REFRESH_NS: ends it for gangs that retain reservations and whose time is over. */
void precedence_tick(struct core *c);

#endif
