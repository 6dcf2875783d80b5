/* SPDX-License-Identifier: Apache-2.0 */
/* What queues use, in their objects: status.allocated of a Volcano Queue, status.used of a
 * Koordinator ElasticQuota; with --write-queue-status alone (docs/decisions/123).
 *
 *   WRITTEN ──usage changed──► DUE ──► GET ──► PATCH of the version that was read ──► WRITTEN
 *                               ▲       │        │
 *                               │       │ 404, or the object has these amounts: WRITTEN
 *                               └───────┴ 409, 403, no answer, or another field manager wrote the
 *                                         field in the last ten minutes: later
 *
 * WRITTEN is DUE again after ten minutes: the object may be another one by then, or overwritten.
 * With more than 3,000 queues it takes longer: five of them a second, when no other is due.
 *
 * One request at a time, at most twenty a second. */
#ifndef MUSTER_FRONTEND_QUEUE_STATUS_H
#define MUSTER_FRONTEND_QUEUE_STATUS_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

struct queue_status;

struct queue_status *queue_status_new(const struct env *env, const struct model *model);
void queue_status_free(struct queue_status *s);

/* What the queue in row `id`, below QUEUES_MAX, uses: a JSON object of quantities, its keys sorted.
 * Texts are copied. */
void queue_status_put(struct queue_status *s, uint32_t id, const char *name, const char *used);

/* No queue is in the row: the next one is written whatever it uses. */
void queue_status_drop(struct queue_status *s, uint32_t id);

/* Performs due work; for the leader alone.  Returns the monotonic time of the next call. */
uint64_t queue_status_poll(struct queue_status *s);

#endif
