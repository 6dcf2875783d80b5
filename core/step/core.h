/* SPDX-License-Identifier: Apache-2.0 */
/* The core: records in, commands out.
 *
 *   core_step(core, record)   changes the ledger, emits commands
 *
 * It is a function of its input: no clock, random number or address influences a decision, and the
 * same records give the same commands, byte for byte.  Time is that of the records.
 *
 * Records of nodes, shapes, gangs, pods and results change state only.  Plans are made on
 * EVENT_PLAN, which the caller feeds whenever core_wants_plan() is true and no other record waits;
 * it is recorded like the others, so a replay plans at the same points.
 *
 * Single-threaded.  Out of memory ends the process (ipc/memory.h). */
#ifndef MUSTER_CORE_CORE_H
#define MUSTER_CORE_CORE_H

#include "core/base/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;
struct evaluation; /* core/filter/evaluate.h */

/* Bytes of a ledger segment with these limits; 0 and *what (a static text) if a limit is 0, too
 * large, or not a power of two where one is required. */
uint64_t core_ledger_bytes(const struct limits *limits, const char **what);

/* How many of them have to exist from the start, even with config->make. */
uint64_t core_ledger_bytes_first(const struct limits *limits);

/* Zeroed memory for a ledger that no other process reads; a page of it costs nothing until it is
 * touched.  `bytes` is core_ledger_bytes().  NULL: there is no memory. */
struct ledger *core_ledger_new(uint64_t bytes);
void core_ledger_free(struct ledger *ledger, uint64_t bytes); /* NULL is none */

/* A core over `ledger`, zeroed memory of core_ledger_bytes() that outlives it.  NULL for limits
 * that core_ledger_bytes() refuses. */
struct core *core_new(const struct core_config *config, struct ledger *ledger);
void core_free(struct core *core);

/* Applies one record, header and body.
 *
 *   -EPROTO   malformed: a length, kind, index or generation is out of bounds
 *   -ENOSPC   a limit is reached (counted in limits_hit)
 *
 * On either error nothing has changed.  `record` is private memory of the caller, aligned to 8; the
 * core keeps no pointer to it. */
int core_step(struct core *core, const struct record *record);

/* The same in two parts, for many records in a row: core_show() publishes the rows of nodes and the
 * gauges. */
int core_apply(struct core *core, const struct record *record);
void core_show(struct core *core);

/* Why the last record was refused with -EPROTO: a static text. */
const char *core_fault(const struct core *core);

/* True if there is a gang to plan, or a command that was not accepted. */
bool core_wants_plan(const struct core *core);

/* The start that a waiting gang is promised (core/timeline/timeline.h); gang: its number, or
 * limits.gangs + the pod of a lone one.  False: none. */
struct core_promise {
	uint64_t first_ns; /* as first published */
	uint64_t at_ns;
	uint32_t earlier, later; /* moves */
	const char *reason;      /* of the last one to later; "": there was none */
};
bool core_promise(const struct core *core, uint32_t gang, struct core_promise *out);

/* Of all promises so far: how many were made, and their moves. */
struct core_promises {
	uint64_t made, earlier, later;
	uint64_t lost; /* no new time was found for them */
};
void core_promises(const struct core *core, struct core_promises *out);

/* The queues of config.queues as they are now; NULL: there are none. */
struct shares;
const struct shares *core_shares(const struct core *core);

/* True, and the reason in *out, if the gang may not start because of its queue as things are now;
 * numbered as for core_promise(). */
bool core_share_reason(const struct core *core, uint32_t gang, struct reason *out);

/* Evaluates a pending pod on each node, given the pods that are placed: filter reasons, or the
 * score. `out` is of this core's limits; nothing else changes.
 *
 *   -ENOENT   no such pod
 *   -EBUSY    it is placed */
int core_verdict(struct core *core, uint32_t pod, struct evaluation *out);

/* 1 if a rule of the shape over one node alone, but not over its cordon, rejects the node:
 * affinity, taints, volumes, flags; else 0.
 *
 *   -ENOENT  no such shape, or no such node */
int core_denies(const struct core *core, uint32_t shape, uint32_t node);

/* The devices that a pending pod would get on a node where it is feasible, as a CMD_DEVICES has
 * them: *head, and picks[DEVICE_PICKS_MAX].  False: it needs none.  Nothing changes. */
bool core_devices(const struct core *core, uint32_t pod, uint32_t node, struct cmd_devices *head,
                  struct device_pick *picks);

/* Recomputes every sum from the pods and compares; for tests and fsck.  False, and one line in
 * `why`, if one differs. */
bool core_valid(const struct core *core, char *why, size_t why_bytes);

#endif
