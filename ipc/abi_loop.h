/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ipc/abi.h: times of the core's loop in the ledger: plans, parts of its turns,
 * publications of commands. */
#ifndef MUSTER_IPC_ABI_LOOP_H
#define MUSTER_IPC_ABI_LOOP_H

#include <stdatomic.h>
#include <stdint.h>

/* Histogram of the time of plan and reserve, with the bounds of ipc/plans.h; the last bucket
 * counts what took longer. */
#define PLAN_BOUNDS 25
struct core_plans {
	_Atomic uint64_t took[PLAN_BOUNDS + 1];
	_Atomic uint64_t reserved[6];
};

/* Parts of a turn of the core's loop (core/daemon/turns.h). */
enum loop_part {
	LOOP_RESULTS,  /* records of the result ring */
	LOOP_EVENTS,   /* records of the event ring */
	LOOP_ANSWERS,  /* answers of the searches beside the loop */
	LOOP_PLANS,    /* plans, until their commands are published */
	LOOP_DOORBELL, /* waking the frontend */
	LOOP_PARTS
};

/* How long they took, with the bounds of ipc/plans.h: all else waited for so long. */
struct core_loop {
	_Atomic uint64_t took[LOOP_PARTS][PLAN_BOUNDS + 1];
	_Atomic uint64_t ns[LOOP_PARTS];
	_Atomic uint64_t
		runqueue_ns; /* the loop could run and had no CPU; 0: the kernel has no count */
};

/* When commands were published: the latest PUBLISHED_KEPT publications (ipc/published.h). */
#define PUBLISHED_KEPT 64u
struct publication {
	_Atomic uint64_t sequence; /* of its last record */
	_Atomic uint64_t ns;       /* of the core's monotonic clock */
};

struct core_published {
	_Atomic uint64_t n; /* of this epoch */
	uint64_t reserved[7];
	struct publication at[PUBLISHED_KEPT];
};

#endif
