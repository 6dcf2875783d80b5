/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim in a play of a log.  Tickets, answers, nominations and evictions are those of the daemons
 * (ipc/abi_victims.h); what differs is that a search takes no time.
 *
 *   core_step() ── ticket ──► trace_reclaim_answer() ── EVENT_ANSWER ──► core_step()
 *               └─ CMD_EVICT ─► the player, which submits the job again */
#ifndef MUSTER_BENCH_TRACE_RECLAIM_H
#define MUSTER_BENCH_TRACE_RECLAIM_H

#include "ipc/abi.h"

struct core;
struct trace_reclaim;

/* flags: PREEMPTION_RECLAIM, and PREEMPTION_FAIR for shares as well. */
struct trace_reclaim *trace_reclaim_new(const struct limits *limits, uint32_t flags);
void trace_reclaim_free(struct trace_reclaim *t);

/* The record that asks a core for this, right after EVENT_BEGIN. */
struct event_preemption trace_reclaim_terms(const struct trace_reclaim *t);

/* The core applied the record. */
void trace_reclaim_follow(struct trace_reclaim *t, const struct record *r);

/* The answer to an open ticket of the core, without epoch and time: memory of the caller.  NULL:
 * there is none. */
struct record *trace_reclaim_answer(const struct trace_reclaim *t, const struct core *core);

#endif
