/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs in the order in which they are looked at: a skip list.
 *
 * A gang is in one queue at most (struct gang.place), so all queues share one set
 * of links.  It stands by its key as it was when it came (struct gang.queued); whoever
 * changes the key takes it out and puts it in again.  Which gang is how tall depends
 * on its index alone, never on a random number. */
#ifndef MUSTER_CORE_QUEUE_H
#define MUSTER_CORE_QUEUE_H

#include "core/queue/gangs.h"

#define QUEUE_LEVELS 8u

struct queue_links {
	uint32_t next[QUEUE_LEVELS];
};

struct queue {
	struct queue_links head;
	struct queue_links *tails[QUEUE_LEVELS]; /* the last on each level, or the head */
	struct queue_links *links;               /* of each gang; shared */
	struct gangs *gangs;
	uint32_t n;
	uint32_t levels; /* none that is in it is taller */
	enum gang_place place;
};

void queue_init(struct queue *q, struct gangs *gangs, struct queue_links *links,
                enum gang_place place);
void queue_clear(struct queue *q);
void queue_insert(struct queue *q, uint32_t gang);
void queue_remove(struct queue *q, uint32_t gang);

/* The first that stands behind others, ID_NONE when none does. */
uint32_t queue_first_behind(const struct queue *q);

/* Index of the first, ID_NONE when empty. */
static inline uint32_t queue_first(const struct queue *q)
{
	return q->head.next[0];
}

static inline uint32_t queue_next(const struct queue *q, uint32_t gang)
{
	return q->links[gang].next[0];
}

#endif
