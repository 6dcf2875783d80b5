/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduling queue: the gangs that have something to plan, in the order of gang_before().
 *
 *   active         the gang itself changed: to be planned                  kube-scheduler: activeQ
 *   unschedulable  was planned and waits for capacity                      unschedulablePods
 *
 * When capacity may have grown, a walk goes over `unschedulable` from first to last and skips the
 * gangs that queueing hints exclude (core/queue/hints.h).  It lasts for as many scheduling cycles
 * as it needs.
 *
 * Only the functions below write struct scheduling_queue. */
#ifndef MUSTER_CORE_SCHEDULING_QUEUE_H
#define MUSTER_CORE_SCHEDULING_QUEUE_H

#include "core/queue/hints.h"
#include "core/queue/queue.h"

#include <assert.h>

struct scheduling_queue {
	struct gangs *gangs;
	struct queue_links *links; /* by gang */
	struct queue active, unschedulable;
	struct hints hints; /* of the gangs in `unschedulable` */
	uint32_t in_cycle;  /* the gang that is being planned, in no queue; ID_NONE: none */

	/* The walk. */
	uint32_t cursor;         /* the next gang of `unschedulable`; ID_NONE: no walk */
	bool walking;            /* hints_walk_end() is due when the cursor reaches the end */
	bool walk_refreshes;     /* it recomputes reasons, so it has to reach the end */
	uint32_t walk_round;     /* refresh round of the last walk */
	uint32_t walk_restarts;  /* since the cursor last reached the end */
	uint64_t walked_version; /* nodes.freed_version for which a walk began or was not needed */
};

void squeue_init(struct scheduling_queue *q, const struct limits *limits, struct gangs *gangs,
                 bool ask_all);
void squeue_free(struct scheduling_queue *q);

/* Empties it; versions and rounds stay. */
void squeue_clear(struct scheduling_queue *q);

/* Removes the gang from its queue, if it is in one. */
void squeue_remove(struct scheduling_queue *q, uint32_t index);

/* Moves the gang to `active`, by its present key.  Without effect for the gang in the cycle.  A
 * lone pod that is not pending leaves its queue instead: nothing about it is published. */
void squeue_activate(struct scheduling_queue *q, uint32_t index);

/* Puts the gang, which was planned without success, into `unschedulable` with its hint. */
void squeue_add_unschedulable(struct scheduling_queue *q, struct views *vs, uint32_t index);

/* Begin and end of a cycle for the gang. */
static inline void squeue_cycle_begin(struct scheduling_queue *q, uint32_t index)
{
	assert(q->in_cycle == ID_NONE && q->gangs->slots[index].queue == QUEUE_NONE);
	q->in_cycle = index;
}

static inline void squeue_cycle_end(struct scheduling_queue *q)
{
	q->in_cycle = ID_NONE;
}

/* Begins a walk if capacity may have grown and a hint, or a new refresh round, asks for one. */
void squeue_walk_begin(struct scheduling_queue *q, struct views *vs, uint32_t round);

/* Ends a walk that no remaining gang can profit from. */
void squeue_walk_cut(struct scheduling_queue *q, struct views *vs);

/* The next walk begins whether or not capacity has grown. */
static inline void squeue_walk_force(struct scheduling_queue *q)
{
	q->walked_version = 0;
}

/* What waits was planned with the capacity that there is. */
static inline void squeue_walk_skip(struct scheduling_queue *q, const struct nodes *ns)
{
	q->walked_version = ns->freed_version;
}

/* Removes and returns the next gang to plan; ID_NONE when there is none or the walk has used up
 * `most_steps` (struct budget) before it found the gang that is first. */
uint32_t squeue_pop(struct scheduling_queue *q, struct views *vs, uint32_t round,
                    uint64_t most_steps);

/* True if squeue_pop() may return a gang; `walks`: after squeue_walk_begin(). */
static inline bool squeue_has_work(const struct scheduling_queue *q, const struct nodes *ns,
                                   bool walks)
{
	return q->active.n > 0 || q->cursor != ID_NONE ||
	       (walks && q->unschedulable.n > 0 && q->walked_version != ns->freed_version);
}

#endif
