/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for victims of the gangs that wait for capacity, beside the loop: who would have to go.
 * No pod is evicted.  And searches that tickets ask for (core/lifecycle/tickets.h), whose answers
 * go into the loop.
 *
 *   world, keeper ──► lookout_run(): when something changed, at most every two seconds, a core of
 *                     its own (core/world/keeper.h), a search for each gang that is due
 *                 ──► rows that observers read (struct victims_row), counters
 *   tickets       ──► answers: within a tenth of a second, as far as the time allows
 *
 * The gangs of the highest priority are searched for, VICTIMS_ROWS at most.  After `impossible`, or
 * a search that gave up, a gang is due again after two seconds, then four, up to a minute.  No more
 * than a twentieth of the time is spent, by the caller's clock.  A search ends early when half of
 * the feed is full: the world has to follow.
 *
 * One thread uses a lookout. */
#ifndef MUSTER_CORE_LOOKOUT_H
#define MUSTER_CORE_LOOKOUT_H

#include "core/world/follower.h"

#define LOOKOUT_STEPS UINT64_C(100000000) /* of a search */

struct lookout;

struct lookout_config {
	struct follower *follower;   /* outlives it */
	struct core_searches *stats; /* both: of the ledger, which outlives it */
	struct victims_row *rows;    /* VICTIMS_ROWS of them, zeroed */
	uint64_t steps_most;
	uint64_t feed_bytes;            /* of the feed; a search ends when half of them wait */
	uint64_t (*clock_ns)(void);     /* NULL: searches take no time */
	bool (*stopped)(void *context); /* true ends a search; NULL: never */
	/* Takes an EVENT_ANSWER with its epoch, which is the callee's then; NULL: tickets stay open. */
	void (*answer)(void *context, struct record *r);
	void *context;
};

struct lookout *lookout_new(const struct lookout_config *config);
void lookout_free(struct lookout *l);

/* Searches for the gangs that are due at that time. */
void lookout_run(struct lookout *l, uint64_t now_ns);

/* Clears the rows: what they say no longer holds. */
void lookout_clear(struct lookout *l);

/* When the next one is due if nothing changes until then; UINT64_MAX: none. */
uint64_t lookout_due_ns(const struct lookout *l);

#endif
