/* SPDX-License-Identifier: Apache-2.0 */
/* Queues as records define them, and the set of them for core/share/share.h.
 *
 *   EVENT_QUEUE ──► defined_put() ──► defined_set(): parents before their children
 *
 * Ids are those of the records; a set has numbers of its own, dense, with the root first.  A queue
 * whose parent isn't there, is below it or is too deep is parked, and so is all below it: it counts
 * at the root, is guaranteed nothing, and takes no gangs. */
#ifndef MUSTER_CORE_SHARE_DEFINED_H
#define MUSTER_CORE_SHARE_DEFINED_H

#include "core/share/share.h"

struct defined;

struct defined *defined_new(void);
void defined_free(struct defined *d);

/* Replaces how the queue is defined: a record that was checked.  False: it was defined so. */
bool defined_put(struct defined *d, const struct event_queue *e, const struct queue_amount *amounts,
                 const char *name);

/* True if the root is there: without it there are no queues. */
bool defined_any(const struct defined *d);

/* What is not of the core: of the record of a queue of the set. */
struct defined_about {
	uint32_t id;
	uint32_t source; /* enum queue_source */
};

/* Owned by the caller, and independent of what is defined later; of_pod is the caller's to set. */
struct defined_set {
	struct share_set set;
	struct share_def *defs;
	struct defined_about *about; /* by number */
	uint32_t *numbers;           /* by id; SHARE_MISSING: not there */
	uint32_t numbers_n;
};

/* Resources below `resources` are looked at. */
struct defined_set *defined_set(const struct defined *d, uint32_t resources);
void defined_set_free(struct defined_set *s);

static inline uint32_t defined_number(const struct defined_set *s, uint32_t id)
{
	return id < s->numbers_n ? s->numbers[id] : SHARE_MISSING;
}

#endif
