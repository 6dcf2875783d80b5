/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster that changes at random, told to a core as records, and a slow and
 * obvious reference of what the core makes of it.  It shares nothing with core/ but
 * the records.
 *
 * Checked at each CMD_BIND: the pod may be planned, the rules allow the node, the node
 * has room for it by everything that is known, and for pods of one shape no node
 * scores better.  Checked at rest: no gang below its quorum was started, none that
 * could start waits, and whoever waits was told why. */
#ifndef MUSTER_TESTS_SUPPORT_SLOW_H
#define MUSTER_TESTS_SUPPORT_SLOW_H

#include "core/step/core.h"
#include "tests/unit/support_random.h"

#include <stdbool.h>

#define SLOW_NODES 6u
#define SLOW_GANGS 6u
#define SLOW_PODS 40u
#define SLOW_SHAPES 6u

struct slow;

/* `strict` checks everything and plans after every record; else the command ring
 * has random room, plans come at random, and only the core's own sums are checked. */
struct slow *slow_new(struct random *r, enum score_policy score, bool strict);
void slow_free(struct slow *s);
struct core *slow_core(struct slow *s);

/* Is the pod pending, and no room kept for it? */
bool slow_core_keeps_nothing(const struct core *c, pod_id id);

/* One random event, and in strict mode a plan and the check. */
void slow_step(struct slow *s);

/* Feed the core a broken copy of a record now and then; the reference is off. */
void slow_break(struct slow *s);

/* Tell a new core the same and check that it says the same; `ask_all`: one that asks every waiting
 * gang after each change. */
void slow_replay(const struct slow *s, bool ask_all);

/* The records of the random cluster again, and how many commands had room at each: *at is 0 at
 * first.  NULL: no more.  The record is good until the next call. */
const struct record *slow_log_next(struct slow *s, size_t *at, uint32_t *room);
/* Of its core, without emit() and make(). */
struct core_config slow_core_config(const struct slow *s);

struct slow_counts {
	unsigned records, binds, gangs_started, gangs_with_roles, gave_up, refused_records,
		accepted_broken;
};
struct slow_counts slow_counts(const struct slow *s);

#endif
