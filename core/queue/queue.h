/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered queue of gangs: a skip list (Pugh, CACM 33(6), 1990).
 *
 * A gang is in one queue at most (struct gang.queue), so all queues share one array of links.  A
 * gang is ordered by the key that it had when it was inserted (struct gang.queued); a caller that
 * changes the key removes the gang and inserts it again.  The height of a gang in the list is a
 * hash of its index, so the structure is a function of its contents. */
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
	struct queue_links *links;               /* by gang; shared, owned by the caller */
	struct gangs *gangs;
	uint32_t n;
	uint32_t levels; /* the height of the tallest gang in it, or more */
	enum gang_queue which;
};

void queue_init(struct queue *q, struct gangs *gangs, struct queue_links *links,
                enum gang_queue which);
void queue_clear(struct queue *q);
void queue_insert(struct queue *q, uint32_t gang);
void queue_remove(struct queue *q, uint32_t gang);

/* The first gang of BAND_LAST; ID_NONE: none. */
uint32_t queue_first_of_last_band(const struct queue *q);

/* Index of the first gang; ID_NONE: the queue is empty. */
static inline uint32_t queue_first(const struct queue *q)
{
	return q->head.next[0];
}

static inline uint32_t queue_next(const struct queue *q, uint32_t gang)
{
	return q->links[gang].next[0];
}

#endif
