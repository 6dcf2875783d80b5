/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all queues in a ledger, and the way of each to the root.
 *
 * Names are copies, cleaned for terminals; an id that has no row has no name. */
#ifndef MUSTER_IPC_QUEUE_NAMES_H
#define MUSTER_IPC_QUEUE_NAMES_H

#include "ipc/observe.h"

struct queue_name {
	char *name; /* NULL: no such queue */
	uint32_t parent;
	uint32_t state; /* enum queue_state */
};

struct queue_names {
	struct queue_name *at; /* by id */
	uint32_t n;
};

struct queue_names queue_names_read(const struct observer *o);
void queue_names_free(struct queue_names *q);

/* NULL: it isn't there. */
const struct queue_name *queue_names_find(const struct queue_names *q, uint32_t id);

/* "root/eng/a" of a queue that is there, to be freed; one that is parked has no way to the root.
 * *depth, unless NULL: how many are above it. */
char *queue_names_path(const struct queue_names *q, uint32_t id, uint32_t *depth);

#endif
