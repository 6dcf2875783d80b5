/* SPDX-License-Identifier: Apache-2.0 */
/* The core: events in, commands out.
 *
 *   core_step(core, record)   changes the ledger, appends commands
 *
 * It is a function of its input.  No clock, no random number and no address
 * decides anything: the same records give the same commands, byte for byte.
 * Time is what the records say it is.
 *
 * State records (nodes, shapes, gangs, pods, results) only note what they
 * change.  Plans are made when an EVENT_PLAN comes, which the loop that owns
 * the core feeds whenever core_wants_plan() says so and no other record is at
 * hand; a recorder keeps it with the rest, so a replay plans at the same
 * points.
 *
 * One thread. */
#ifndef MUSTER_CORE_CORE_H
#define MUSTER_CORE_CORE_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct judgement; /* core/filter/judge.h */

/* Append one command: body is `bytes` long, a multiple of 8.  False when there
 * is no room; the core then keeps what it has to say and offers it again. */
typedef bool (*core_emit_fn)(void *context, enum record_kind kind, const void *body,
                             uint32_t bytes);

/* Have these bytes of the ledger there, zeroed if they were not; they are asked for once.  0 or a
 * negative errno. */
typedef int (*core_make_fn)(void *context, uint64_t offset, uint64_t bytes);

enum score_policy {
	SCORE_KUBE,    /* the sum of kube-scheduler's default profile */
	SCORE_PACK,    /* MostAllocated of cpu and memory */
	SCORE_BESTFIT, /* least room left over; core/filter/score.h */
};

struct core_config {
	struct limits limits;
	enum score_policy score;
	uint64_t hold_after_ns; /* a gang that waited so long for room is held some; 0: never */
	/* Offline: a round is one gang, and one that found no room is not looked at again only
	 * because others were placed. */
	bool once;
	/* For tests: every waiting gang is asked after each change, whatever core/queue/waits.h knows.
	 */
	bool ask_all;
	core_emit_fn emit;
	core_make_fn make; /* NULL: all of the ledger is there */
	void *context;
	uint64_t (*clock_ns)(void); /* for statistics alone; may be NULL */
};

/* Bytes of a ledger segment with these limits; 0 and *what (a static text) when
 * a limit is 0, too large, or no power of two where one is needed. */
uint64_t core_ledger_bytes(const struct limits *limits, const char **what);

/* How many of them are there from the start, even with a `make`. */
uint64_t core_ledger_bytes_first(const struct limits *limits);

/* A core over `ledger`, zeroed memory of core_ledger_bytes() that outlives it.
 * NULL when memory is short. */
struct core *core_new(const struct core_config *config, struct ledger *ledger);
void core_free(struct core *core);

/* Apply one record, header and body.
 *
 *   -EPROTO   malformed: a length, kind, index or generation is out of bounds
 *   -ENOSPC   a limit is reached (counted in limits_hit)
 *   -ENOMEM
 *
 * On any error nothing has changed.  `record` is private memory of the
 * caller, aligned to 8, and not kept. */
int core_step(struct core *core, const struct record *record);

/* The same in two parts, for many records in a row: what they change is in the rows of nodes and in
 * the gauges only when it is shown. */
int core_apply(struct core *core, const struct record *record);
void core_show(struct core *core);

/* What was wrong with the last record that gave -EPROTO: a static text. */
const char *core_fault(const struct core *core);

/* Is there planning to do, or a command that found no room? */
bool core_wants_plan(const struct core *core);

/* Judge a pending pod as it stands, beside what the core knows to be placed: each node's reasons
 * or score.  `out` is good for this core's limits; nothing else is changed.
 *
 *   -ENOENT   no such pod
 *   -EBUSY    it is placed */
int core_verdict(const struct core *core, uint32_t pod, struct judgement *out);

/* Recompute every sum from the pods and compare; for tests and fsck.  True when
 * all agree; else false and one line in `why`. */
bool core_valid(const struct core *core, char *why, size_t why_bytes);

#endif
