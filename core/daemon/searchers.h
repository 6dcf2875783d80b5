/* SPDX-License-Identifier: Apache-2.0 */
/* The threads beside the loop: one that keeps a world up to date (core/world/follower.h) and
 * publishes snapshots of it (core/world/snapshot.h) when one is wanted, at most every 100 ms; and
 * searchers, which read them under RCU.
 *
 * The world's thread also searches for victims of gangs that wait (core/world/lookout.h), if the
 * frontend asks for that, and answers questions (core/world/what_if.h, core/world/live_verdict.h),
 * which it may spend a fifth of its time on.
 *
 * What searchers do so far: every ten seconds in which something changed they recompute the free
 * capacity of each node from the pods there, each its share of the chunks.  A difference is logged
 * and counted.
 *
 * The loop writes to the feed and wakes the world's thread when it has nothing to do; it never
 * waits for it.  Everything here may fail or be dropped while the loop serves on. */
#ifndef MUSTER_CORE_SEARCHERS_H
#define MUSTER_CORE_SEARCHERS_H

#include "core/step/core.h"

#define SEARCHERS_MOST 16u

struct answers;
struct feed;
struct questions;
struct searchers;

struct searchers_config {
	struct core_config core;         /* of the loop that they follow */
	uint32_t searchers;              /* 1 to SEARCHERS_MOST */
	void (*answered)(void *context); /* after each answer to a question, in the world's thread */
	void *context;
};

/* Makes the feed.  -ENOMEM or another negative errno. */
int searchers_open(struct searchers **out, const struct searchers_config *config);

/* What the loop writes to. */
struct feed *searchers_feed(const struct searchers *s);
/* The answers of the world's thread; likewise the loop's to read. */
struct answers *searchers_answers(const struct searchers *s);

/* The control thread asks, and wakes the world's thread then. */
struct questions *searchers_questions(const struct searchers *s);
void searchers_wake(struct searchers *s);

/* Starts the threads, before the first record.  On an error there are none, and nothing is read. */
int searchers_start(struct searchers *s, struct ledger *ledger);

/* Ends the threads, which write to the ledger: before the loop frees its ledger.  NULL: nothing. */
void searchers_stop(struct searchers *s);

/* Frees the rest, after the loop has stopped.  NULL: nothing. */
void searchers_close(struct searchers *s);

#endif
