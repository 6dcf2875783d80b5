/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration of a core. */
#ifndef MUSTER_CORE_CONFIG_H
#define MUSTER_CORE_CONFIG_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends one command; body is `bytes` long, a multiple of 8.  False when the ring is full; the
 * core then keeps the command and calls again later. */
typedef bool (*core_emit_fn)(void *context, enum record_kind kind, const void *body,
                             uint32_t bytes);

/* Commits these bytes of the ledger, zeroed; called once for each range.  0 or a negative errno. */
typedef int (*core_make_fn)(void *context, uint64_t offset, uint64_t bytes);

enum score_policy {
	SCORE_KUBE,    /* total of kube-scheduler's default profile */
	SCORE_PACK,    /* MostAllocated of cpu and memory */
	SCORE_BESTFIT, /* least free capacity left over; core/filter/score.h */
	SCORE_FGD,     /* least loss of GPUs to later pods; core/filter/gpus.h */
	SCORE_MUSTER,  /* the same, measured in three ways */
};

/* Devices of pods, chosen outside of the core: offline only. */
struct device_filter {
	void *context;
	/* FILTER_BIT of each reason why the node has no devices for a shape's `devices`; 0: it has.
	 * With FILTER_DEVICES_FAILED the attempt fails on all nodes. */
	uint32_t (*filter)(void *context, uint32_t devices, uint32_t node);
	/* Points of a node that has them, before they are normalised. */
	uint32_t (*points)(void *context, uint32_t node);
};

struct share_set; /* core/share/share.h */

struct core_config {
	struct limits limits;
	enum score_policy score;
	uint64_t reserve_after_ns; /* wait before a backfill reservation; 0: there is none */
	/* How many promises of a start stand at most (core/timeline/timeline.h); 0: there are none, and
	 * nothing is kept for them.  Known ends are rounded up to the grain, 0: 60 s. */
	uint32_t promise_depth;
	uint64_t promise_grain_ns;
	uint64_t promise_window_ns; /* no start is promised further ahead; 0: 7 days */
	bool backfill_by_soft; /* the expected length of a gang that waits counts, else its enforced one
	                        */
	uint64_t retain_for_ns; /* of a partially bound gang, from the first failure on: how long it has
	                         * precedence; 0: for ever, in tests */
	/* Offline: a scheduling cycle is one gang, and an unschedulable gang is not retried because
	 * others were placed; with EVENT_PREEMPTION it is, as else. */
	bool once;
	/* Offline: steps of about 10 ns that packing members of several classes may take for each gang
	 * (core/pack/pack.h), once the bounded search gave up; 0: it is not tried. */
	uint64_t pack_steps;
	/* For tests: steps of a cycle in which promises are tried earlier; 0: LOOK_STEPS. */
	uint64_t look_steps;
	/* For tests: every unschedulable gang is retried after each change, without queueing hints. */
	bool ask_all;
	const struct device_filter *devices; /* NULL: a shape that asks for devices fits nowhere */
	const struct share_set *queues;      /* of gangs, offline; outlives the core.  NULL: none */
	core_emit_fn emit;
	core_make_fn make; /* NULL: all of the ledger is committed */
	void *context;
	uint64_t (*clock_ns)(void); /* for statistics alone; may be NULL */
};

#endif
