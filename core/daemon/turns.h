/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of the loop's turns went: struct core_loop of the ledger, for observers.
 *
 * The clock is read once for each part that did something, however many records it had, and
 * decides nothing.  A turn begins where the one before ended; time asleep is in no part. */
#ifndef MUSTER_CORE_DAEMON_TURNS_H
#define MUSTER_CORE_DAEMON_TURNS_H

#include "ipc/abi.h"

struct loop_turns {
	struct core_loop *shown; /* in the ledger */
	uint64_t last_ns;        /* the latest reading of the clock */
	uint64_t looked_ns;      /* when the kernel's count was read */
	int schedstat;           /* of the loop's thread; -1: the kernel has none */
};

/* In the loop's thread, before a filter of system calls forbids to open files. */
void loop_turns_open(struct loop_turns *t, struct core_loop *shown);
void loop_turns_close(struct loop_turns *t);

/* A turn begins now: after a sleep. */
void loop_turn_begin(struct loop_turns *t, uint64_t now_ns);

/* The part lasted from the latest reading until now. */
void loop_part_end(struct loop_turns *t, enum loop_part part, uint64_t now_ns);

#endif
