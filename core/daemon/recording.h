/* SPDX-License-Identifier: Apache-2.0 */
/* The file format of a recording: all records and commands of a core, in order.
 *
 *   struct recording_head
 *   struct recording_block, entries     any number of times
 *   struct recording_block              the last one, of kind BLOCK_END; missing if the
 *                                       core was killed or still runs
 *
 * Entries start with a first word as records do and are multiples of 8 bytes:
 *
 *   an event, result or EVENT_PLAN      struct record and its body: one step begins
 *   a command                           struct recording_entry and its body
 *   about the step                      struct recording_note; only if there is something to note
 *
 * A block consists of whole steps, except that the last step of a BLOCK_CRASH may be incomplete.
 *
 * The core is a function of its records, its configuration, and of how many of a step's commands
 * were accepted, so a recording suffices to run it again. */
#ifndef MUSTER_CORE_RECORDING_H
#define MUSTER_CORE_RECORDING_H

#include "ipc/abi.h"

#define RECORDING_MAGIC UINT64_C(0x3130635264736d6d) /* "mmsdRc01" */
#define RECORDING_VERSION 2u
#define BLOCK_MAGIC UINT32_C(0x6b6c426d) /* "mBlk" */

/* Most bytes of entries in one block. */
#define BLOCK_BYTES_MAX (UINT64_C(1) << 26)

struct recording_head {
	uint64_t magic;
	uint32_t version;     /* of this format */
	uint32_t bytes;       /* of this head */
	uint64_t layout_hash; /* layout of the entries (ipc/abi.h) */
	uint64_t created_ns;  /* since 1970 */
	struct limits limits;
	char score[16];            /* core/daemon/policy.h, ended by a zero */
	char program[32];          /* the version that recorded */
	uint64_t reserve_after_ns; /* as in struct core_config */
	uint64_t retain_for_ns;
	uint64_t promise_grain_ns;
	uint64_t promise_window_ns;
	uint32_t promise_depth;
	uint32_t backfill_by_soft;
	uint64_t sum; /* of all before it */
};

enum block_kind {
	BLOCK_ENTRIES = 1,
	BLOCK_CRASH, /* the last entries; arg: the signal, 0: out of memory */
	BLOCK_END,   /* none; arg: enum recording_end */
	BLOCK_KINDS
};

/* Why a recording ended. */
enum recording_end {
	END_STOPPED, /* the core was stopped */
	END_LIMIT,   /* --record-bytes */
	END_SLOW,    /* the file could not be written as fast as events came */
	END_FAILED,  /* write() failed: a full disk, for one */
	END_KINDS
};

struct recording_block {
	uint32_t magic;
	uint16_t kind; /* enum block_kind */
	uint16_t arg;
	uint64_t number; /* from 0, no gaps */
	uint64_t bytes;  /* of entries that follow */
	uint64_t entries_sum;
	uint64_t sum; /* of all before it */
};

struct recording_entry {
	uint32_t bytes; /* with this word */
	uint16_t kind;  /* enum record_kind; RECORD_PAD: a note */
	uint16_t flags; /* 0 */
};

enum note_flags {
	NOTE_REFUSED = 1u << 0, /* the next command was not accepted; the step had no further one */
	NOTE_ERROR = 1u << 1,   /* core_step() returned `error` */
};

struct recording_note {
	struct recording_entry head; /* kind RECORD_PAD, flags: enum note_flags */
	int32_t error;
	uint32_t reserved;
};

static_assert(sizeof(struct recording_head) % 8 == 0 && sizeof(struct recording_block) == 40,
              "heads");
static_assert(sizeof(struct recording_entry) == 8 && sizeof(struct recording_note) == 16,
              "entries");

#define SUM_START UINT64_C(0x9e3779b97f4a7c15)

/* Checksum of a multiple of 8 bytes, aligned to 8.  Each step is invertible, so one changed word
 * always changes the sum. */
static inline uint64_t recording_sum(uint64_t sum, const void *data, uint64_t bytes)
{
	const uint64_t *words = data;

	for (uint64_t i = 0; i < bytes / 8; i++) {
		sum = (sum ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
		sum ^= sum >> 32;
	}
	return sum;
}

#endif
