/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations for pods that another scheduler places: kube-scheduler's extender call
 * (frontend/serve/extender.h) reserves here first, so that all schedulers share one account of each
 * node.
 *
 *   EVENT_ASSUME ──► request ──next round──► RESERVATION_ASSUMED ──► bound: CONFIRMED
 *                                               │                └── deleted or expired: released
 *                                               └──► CMD_ASSUME
 *
 * The pod holds capacity like a reserved member; muster sends no binding for it.  The backfill
 * reservation's capacity is not available to it. */
#ifndef MUSTER_CORE_ASSUME_H
#define MUSTER_CORE_ASSUME_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

void assumes_clear(struct assumes *as);

/* Accepts a request; the next round answers it.
 *
 *   -EPROTO  no such pod, or muster places it itself; c->fault has which
 *   -ENOSPC  ASSUMES_MAX */
int assume_event(struct core *c, const struct assume_record *record);

/* Of these nodes, bits by id, the one to reserve for a pod of the class, or ID_NONE.  The other
 * scheduler's filters have passed them, so only capacity is required.  Of those that have it: the
 * best score of nodes that muster's own filters pass, else the first by name. */
node_id assume_node(struct core *c, const uint64_t *nodes, uint32_t words, class_id class);

/* Answers all requests; false when the ring is full. */
bool assumes_answer(struct core *c);

/* Ends what has expired by c->now_ns. */
void assumes_tick(struct core *c);

#endif
