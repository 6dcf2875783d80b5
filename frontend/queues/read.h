/* SPDX-License-Identifier: Apache-2.0 */
/* Private to frontend/queues/: fields that several kinds of queues have. */
#ifndef MUSTER_FRONTEND_QUEUES_READ_H
#define MUSTER_FRONTEND_QUEUES_READ_H

#include "frontend/json/json.h"
#include "frontend/queues/queues.h"

char *queue_text_copy(struct text t);

/* A queue more. */
struct queue_read *queue_new(struct queues_read *q, struct text name);

void queue_amount_set(struct queue_values *a, const char *resource, size_t bytes, int64_t value);

/* A quantity in the ledger's units; false: the error is in j. */
bool queue_quantity_read(struct json *j, bool milli, bool negative, int64_t *out);

void queue_amounts_read(struct json *j, struct queue_values *a);
void queue_weights_read(struct json *j, struct queue_read *q);
void queue_texts_read(struct json *j, struct queue_read *q);
void queue_namespace_add(struct queue_read *q, struct text name);
/* select.c: names and label selectors. */
void queue_namespaces_read(struct json *j, struct queues_read *tree, struct queue_read *q);
/* "1h30m": a duration of Go, not below 0, rounded up to seconds. */
void queue_duration_read(struct json *j, uint32_t *out);
void queue_text_read(struct json *j, char **out);
void queue_order_read(struct json *j, struct queue_read *q, const char *skip);
/* "reclaimable" */
void queue_reclaimable_read(struct json *j, struct queue_read *q);
void queue_state_read(struct json *j, struct queue_read *q);
void queue_priority_read(struct json *j, struct queue_read *q);

#endif
