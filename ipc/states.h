/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the states of a gang, for all programs. */
#ifndef MUSTER_IPC_STATES_H
#define MUSTER_IPC_STATES_H

#include "ipc/abi.h"

#include <stdbool.h>

/* Of a live gang: "Running", "Waiting", ...; "Unknown" for other numbers. */
const char *gang_state_text(uint32_t state);

/* Of its placement alone, as records have it: "Placed", "Incomplete", ... */
const char *gang_placement_text(uint32_t state);

/* The word that live commands had for the state before version 0.2: what its placement is called;
 * "Incomplete" of an ended gang.  `placement` is that of the row. */
const char *gang_state_former(uint32_t state, uint32_t placement);

/* The state with that text, or the former one, in any case; GANG_STATES: none.  "Placed" is
 * GANG_PLACED, "Incomplete" is GANG_INCOMPLETE. */
uint32_t gang_state_find(const char *text);

/* True if all of its quorum runs, or has ended: it waits for nothing. */
static inline bool gang_state_is_done(uint32_t state)
{
	return state == GANG_PLACED || state == GANG_FINISHED || state == GANG_FAILED;
}

/* True if a gang in this state of its placement, waiting for this reason, is in the scheduling
 * queue: one whose members have gates or are refused has no position there. */
static inline bool gang_is_queued(uint32_t placement, uint32_t why)
{
	return placement == GANG_WAITING && why != WAIT_GATED && why != WAIT_REFUSED;
}

/* Rank in lists: what waits comes first. */
uint32_t gang_state_rank(uint32_t state);

#endif
