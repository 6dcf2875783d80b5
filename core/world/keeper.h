/* SPDX-License-Identifier: Apache-2.0 */
/* The latest record of each object, kept so that a core can be made to search in.
 *
 *   records of the loop ──► keeper ──┐
 *                           world ───┴─► keeper_make(): a core with the pods where the world has
 *                                        them, and the facts that searches need
 *
 * Of a pod's record little is kept, since the world has the rest: a keeper is of use with the core
 * alone that applied the same records.
 *
 * A search releases and allocates pods, makes views and spends from the budget of its core.  After
 * that the core plans the same, but not with the same work, and a plan ends by work.  So the world,
 * which is compared with the loop step by step, is never searched: docs/decisions/065.
 *
 * Nothing is kept until an EVENT_PREEMPTION asks for searches, which has to be the first record of
 * the epoch.  One thread uses a keeper. */
#ifndef MUSTER_CORE_KEEPER_H
#define MUSTER_CORE_KEEPER_H

#include "core/base/config.h"
#include "core/search/search.h"

struct core;
struct keeper;

struct keeper *keeper_new(const struct limits *limits);
void keeper_free(struct keeper *k);
void keeper_clear(struct keeper *k);

/* A record that a core of these limits accepted. */
void keeper_take(struct keeper *k, const struct record *record);

/* The pod was evicted: the budgets that it is in allow one less, until records say otherwise.
 * `world` is the core that applied the records, and still has the pod. */
void keeper_spend(struct keeper *k, const struct core *world, uint32_t pod);

/* True if searches are asked for, and every record since the begin of the epoch is here. */
bool keeper_is_on(const struct keeper *k);
/* enum preemption_flags of the epoch. */
uint32_t keeper_flags(const struct keeper *k);
/* Records that may change an answer, so far. */
uint64_t keeper_changes(const struct keeper *k);
/* At most; the kernel has no pages for slots that no pod used. */
uint64_t keeper_bytes(const struct keeper *k);

/* What reclaim would take if it had run for long enough (core/cycle/reclaim.h). */
struct reclaim_young {
	uint32_t pods;
	uint32_t until_s; /* the first of them has by then, since 1970; 0: none has started */
};

/* A core of its own and the facts about it, by the terms of the epoch; `ends` and `steps_most` are
 * the caller's. */
struct kept {
	struct core *core;
	const struct core *world; /* from whose records it was made */
	struct search_facts facts;
	struct reclaim_young young; /* of the latest reclaim_marks() */
	struct kept_memory *memory;
};

struct keeper_hooks {
	bool devices; /* the core has those of the world; else pods that ask for some fit nowhere */
	/* The core has queues, promises and the backfill reservation of the world, and what waits was
	 * tried there: core/world/keeper_whole.h. */
	bool whole;
	bool (*ends)(void *context); /* asked every 256 objects: true ends the making; NULL: never */
	/* Of each record before it is applied, which it may change but for its length; false leaves the
	 * object out.  NULL: nothing changes. */
	bool (*edit)(void *context, struct record *r);
	/* Of keeper_make(): the commands of the core, with `context`, which outlives it.  NULL: they
	 * have no effect. */
	core_emit_fn emit;
	void *context;
};

/* `world`: the core that applied these records; `hooks` may be NULL.
 *
 *   -ECANCELED   it was to end
 *   -ENOMEM   no address space
 *   -EPROTO, -ENOSPC   the core refuses a record that the world accepted: a bug, or a full table */
int keeper_make(const struct keeper *k, const struct core *world, const struct keeper_hooks *hooks,
                struct kept *out);
/* The same in the core that *out has of an earlier call, with the same keeper and the same `whole`;
 * all zero: there is none.  The memory of a core, most of which is touched by each making, is
 * allocated once.  After an error *out has none. */
int keeper_make_again(const struct keeper *k, const struct core *world,
                      const struct keeper_hooks *hooks, struct kept *out);
/* Nothing for one that is all zero. */
void kept_free(struct kept *k);

/* One more record, whose time and epoch are set: core_apply(). */
int kept_apply(struct kept *k, const struct core *world, struct record *r);

#endif
