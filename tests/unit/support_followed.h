/* SPDX-License-Identifier: Apache-2.0 */
/* A core whose steps go into a feed, and a world that follows it. */
#ifndef MUSTER_TESTS_SUPPORT_FOLLOWED_H
#define MUSTER_TESTS_SUPPORT_FOLLOWED_H

#include "core/world/follower.h"

struct model;

/* The loop's side. */
struct loop {
	struct core *core;
	struct ledger *ledger;
	struct feed *feed;
	struct follower *world;
	struct core_world stats;
	uint32_t room;
	bool refused;
	uint64_t commands;
	uint64_t epoch, time_ns;
	uint32_t preemption; /* flags that are added to those of the frontend */
	/* Gets each command that was accepted; may be NULL. */
	void (*command)(enum record_kind kind, const void *body);
};

void loop_new(struct loop *l, struct core_config config, uint64_t bytes);
void loop_end(struct loop *l);

/* One record, with so many commands accepted. */
void loop_step(struct loop *l, const struct record *r, uint32_t room);

/* All that the model has to send, then plans until there is nothing to plan; the world is up to
 * date afterwards. */
void loop_flush(struct loop *l, struct model *m);

#endif
