/* SPDX-License-Identifier: Apache-2.0 */
/* The queues that records define, and the share_set that core/share/share.h reads.
 *
 *   EVENT_QUEUE ──► defined_put() ──► defined_set(): parents before their children
 *
 * A queue has an id, from its record, and a number, its index in the set; the root is 0.  A queue
 * that QUEUE_DEPTH_MAX steps do not lead to the root (no parent, a cycle, too deep) is parked: a
 * child of the root without guarantee, limit and weight, that takes no gangs. */
#ifndef MUSTER_CORE_SHARE_DEFINED_H
#define MUSTER_CORE_SHARE_DEFINED_H

#include "core/share/share.h"

struct defined;

struct defined *defined_new(void);
void defined_free(struct defined *d);

/* Replaces or removes a definition; `e` was checked.  False: nothing changed. */
bool defined_put(struct defined *d, const struct event_queue *e, const struct queue_amount *amounts,
                 const char *name);

/* True if the root exists: without it there are no queues. */
bool defined_any(const struct defined *d);

/* From the record of a queue, for reasons and rows of the ledger. */
struct defined_about {
	uint32_t id;
	uint32_t source; /* enum queue_source */
};

/* Owned by the caller; later records do not change it.  set.of_pod is NULL. */
struct defined_set {
	struct share_set set;
	struct share_def *defs;
	struct defined_about *about; /* by number */
	uint32_t *numbers;           /* by id; SHARE_MISSING: no queue */
	uint32_t numbers_n;
};

/* A set of the resources with ids below `resources`. */
struct defined_set *defined_set(const struct defined *d, uint32_t resources);
void defined_set_free(struct defined_set *s);

static inline uint32_t defined_number(const struct defined_set *s, uint32_t id)
{
	return id < s->numbers_n ? s->numbers[id] : SHARE_MISSING;
}

#endif
