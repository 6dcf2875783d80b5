/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/queue.h"

#include <assert.h>
#include <string.h>

void queue_init(struct queue *q, struct gangs *gangs, struct queue_links *links,
                enum gang_queue which)
{
	*q = (struct queue){ .gangs = gangs, .links = links, .which = which };
	queue_clear(q);
}

void queue_clear(struct queue *q)
{
	memset(&q->head, 0xff, sizeof(q->head)); /* ID_NONE everywhere */
	for (uint32_t level = 0; level < QUEUE_LEVELS; level++)
		q->tails[level] = &q->head;
	q->n = q->levels = 0;
}

/* 1 for 3 of 4 gangs, 2 for 3 of 16 ...: two bits of a hash for each level. */
static uint32_t height(uint32_t gang)
{
	uint64_t hash = (gang + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t levels = 1;

	for (hash ^= hash >> 29; levels < QUEUE_LEVELS && (hash & 3) == 0; hash >>= 2)
		levels++;
	return levels;
}

/* On each level: the links of the gang before this one. */
static void before(struct queue *q, uint32_t gang, struct queue_links **last)
{
	const bool first = queue_first(q) == gang; /* the common case of a removal */
	struct queue_links *at = &q->head;

	for (uint32_t level = q->levels; level-- > 0;) {
		while (!first && at->next[level] != ID_NONE && at->next[level] != gang &&
		       gang_queued_before(q->gangs, at->next[level], gang))
			at = &q->links[at->next[level]];
		last[level] = at;
	}
}

/* True if the gang belongs at the end: the common case, since the youngest gang does. */
static bool comes_last(const struct queue *q, uint32_t gang)
{
	const struct queue_links *tail = q->tails[0];

	return tail == &q->head || gang_queued_before(q->gangs, (uint32_t)(tail - q->links), gang);
}

static void link_set(struct queue *q, uint32_t level, struct queue_links *at, uint32_t next)
{
	at->next[level] = next;
	if (next == ID_NONE)
		q->tails[level] = at;
}

uint32_t queue_first_of_last_band(const struct queue *q)
{
	const struct queue_links *at = &q->head;

	for (uint32_t level = q->levels; level-- > 0;)
		while (at->next[level] != ID_NONE && !gang_in_last_band(&q->gangs->slots[at->next[level]]))
			at = &q->links[at->next[level]];
	return at->next[0];
}

void queue_insert(struct queue *q, uint32_t gang)
{
	struct queue_links *last[QUEUE_LEVELS];
	uint32_t levels = height(gang);

	assert(q->gangs->slots[gang].queue == QUEUE_NONE);
	q->gangs->slots[gang].queued = gang_key(&q->gangs->slots[gang]);
	q->levels = levels > q->levels ? levels : q->levels;
	if (comes_last(q, gang))
		memcpy(last, q->tails, sizeof(last));
	else
		before(q, gang, last);
	for (uint32_t level = 0; level < levels; level++) {
		link_set(q, level, &q->links[gang], last[level]->next[level]);
		last[level]->next[level] = gang;
	}
	q->gangs->slots[gang].queue = (uint8_t)q->which;
	q->n++;
}

void queue_remove(struct queue *q, uint32_t gang)
{
	struct queue_links *last[QUEUE_LEVELS];

	assert(q->gangs->slots[gang].queue == q->which);
	before(q, gang, last);
	for (uint32_t level = 0; level < q->levels && last[level]->next[level] == gang; level++)
		link_set(q, level, last[level], q->links[gang].next[level]);
	while (q->levels > 0 && q->head.next[q->levels - 1] == ID_NONE)
		q->levels--;
	q->gangs->slots[gang].queue = QUEUE_NONE;
	q->n--;
}
