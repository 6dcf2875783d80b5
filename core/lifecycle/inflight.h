/* SPDX-License-Identifier: Apache-2.0 */
/* In-flight bindings of an earlier epoch: the API server may still carry them out, so their
 * capacity stays reserved until a result excludes that.
 *
 *   in flight ──frontend restarts──► struct inflight ──lists complete──► RESERVATION_RETRY
 *                                                                   └──► RESERVATION_CANCEL
 *
 * The journal of an earlier instance adds what it has (POD_INTENTS); for a pod that both name,
 * the journal is right: nothing was sent that it lacks.
 *
 * CANCEL if the gang is not whole with what is left, or the node has no capacity for it; what
 * follows: core/lifecycle/reservation.h.  Retained and assumed reservations are restored, too. */
#ifndef MUSTER_CORE_INFLIGHT_H
#define MUSTER_CORE_INFLIGHT_H

#include "core/lifecycle/state.h"

/* A copy of all reservations that have to outlive the epoch, and of those that c->inflight still
 * has if the epoch was never synced; NULL: none.  The caller frees it. */
struct inflight *inflight_collect(const struct core *c, size_t *n);

/* Before the initial lists are complete: the pod of that record, which has an intent and no node.
 */
void inflight_note(struct core *c, const struct event_pod *e);

/* The initial lists are complete: pods of c->inflight that they have as pending get their
 * reservation back.  Frees c->inflight. */
void inflight_resolve(struct core *c);

#endif
