/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of a peer's segment, once for each connection.  Afterwards its parts are
 * accessed by the offsets and limits copied here, never by those in the segment,
 * which its writer can change at any time. */
#ifndef MUSTER_IPC_CHECK_H
#define MUSTER_IPC_CHECK_H

#include "ipc/abi.h"
#include "ipc/segment.h"

#include <stdbool.h>

/* Larger segments are rejected. */
#define INTAKE_BYTES_MAX (UINT64_C(1) << 30)
#define LEDGER_BYTES_MAX (UINT64_C(1) << 36)

/* The smallest ring of commands or results; events need RING_BYTES_MIN. */
#define SMALL_RING_BYTES_MIN UINT64_C(4096)

/* The parts after `struct intake`, copied and checked. */
struct intake_places {
	struct ring_place event_ring;
	struct ring_place result_ring;
};

/* The parts after `struct ledger`, copied and checked. */
struct ledger_places {
	struct limits limits;
	struct ring_place command_ring;
	uint64_t nodes_offset;
	uint64_t names_offset;
	uint64_t gangs_offset;
	uint64_t arena_offset;
	uint64_t amounts_offset;
	uint64_t queues_offset;
};

/* From the start of the segment. */
struct span_bytes {
	uint64_t offset, bytes;
};

/* Place and full size of a part, committed or not. */
struct span_bytes ledger_part(const struct ledger_places *places, enum ledger_part part);

/* 0, -EPROTONOSUPPORT (another layout hash) or -EPROTO. */
int intake_check(const struct segment *s, struct intake_places *places);
int ledger_check(const struct segment *s, struct ledger_places *places);

#endif
