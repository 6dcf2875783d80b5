/* SPDX-License-Identifier: Apache-2.0 */
/* The follower: a *world*, which is a second core that follows the loop's, step by step, from a
 * feed of the records that the loop applied.
 *
 *   loop ── feed: record, commands, result of each step ──► world: a struct core of its own
 *
 * The core is a function of its records and of how many commands were accepted, so after a step
 * the world's state is what the loop's was, by the same code.  That is checked: the commands and
 * the result of each step are compared.  A difference is a bug; it is counted and logged, and the
 * world is dropped.  So is a world whose feed was full.  A dropped world does not come back: only
 * one that got every record since the start of the loop has its state.
 *
 *   FOLLOWS --a step differs--> MISMATCH
 *      |-------feed full------> FULL
 *
 * One thread uses a world. */
#ifndef MUSTER_CORE_FOLLOWER_H
#define MUSTER_CORE_FOLLOWER_H

#include "core/step/core.h"
#include "core/world/feed.h"

struct follower;
struct keeper;

struct follower_config {
	struct core_config core;  /* of the loop that it follows, without emit and make */
	struct feed *feed;        /* outlives the world */
	struct core_world *stats; /* zeroed; outlives the world */
};

/* -ENOMEM: no address space for its ledger. */
int follower_new(struct follower **out, const struct follower_config *config);
void follower_free(struct follower *w);

/* Applies what is in the feed, at most so many steps; how many. */
uint32_t follower_run(struct follower *w, uint32_t most);

/* WORLD_FOLLOWS, or why it was dropped. */
enum world_state follower_state(const struct follower *w);

/* Its core while it follows, else NULL; good until the next follower_run(). */
struct core *follower_core(struct follower *w);

/* Steps applied so far. */
uint64_t follower_position(const struct follower *w);

/* Sleeps until there is a step, feed_wake() or the timeout. */
void follower_sleep(struct follower *w, bool (*ready)(void *), void *context, uint64_t timeout_ns);

/* The records that searches need (core/world/keeper.h); good as long as the world. */
struct keeper *follower_keeper(struct follower *w);

/* Bytes that wait in its feed. */
uint64_t follower_waiting(const struct follower *w);

/* True if there is a step. */
bool follower_has_news(const struct follower *w);

#endif
