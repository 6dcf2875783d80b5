/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording (core/daemon/recording.h) step by step.  Nothing of the file is believed:
 * sums, sizes and kinds are checked before anything is handed on. */
#ifndef MUSTER_CTL_RECORDING_H
#define MUSTER_CTL_RECORDING_H

#include "core/daemon/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a recording ends. */
enum recording_tail {
	TAIL_OPEN,    /* between two blocks: the core was killed, or runs still */
	TAIL_CUT,     /* within a block: likewise, or the file was cut */
	TAIL_CRASHED, /* tail_arg: the signal, 0: out of memory */
	TAIL_ENDED,   /* tail_arg: enum recording_end */
};

/* One record and what the core said to it.  Good until the next recording_next(). */
struct recording_step {
	const struct record *record;
	const unsigned char *commands; /* struct recording_entry and body, one behind the other */
	uint64_t commands_bytes;
	uint32_t commands_n;
	int error;       /* what core_step() gave */
	bool refused;    /* one more command found no room */
	bool unfinished; /* the core crashed in it: nothing is known of how it ends */
	uint64_t number; /* from 1 */
	uint64_t offset; /* of the record in the file, unpacked */
};

struct recording {
	struct recording_head head;
	enum recording_tail tail; /* once recording_next() gave 0 */
	unsigned int tail_arg;
	char error[320]; /* in words, once something gave an error */

	void *file;
	unsigned char *block; /* the entries at hand */
	size_t room;
	uint64_t block_bytes, at;
	uint64_t block_offset;
	uint64_t offset; /* read so far */
	uint64_t blocks, steps;
	bool last;
};

/* "-" is standard input; what is packed by gzip is unpacked.  EXIT_DONE, EXIT_USAGE
 * or EXIT_CONFIG (another memory layout), the latter two with `error`. */
int recording_open(struct recording *r, const char *path);

/* 1: a step; 0: the end, see `tail`; -1: the file is damaged, see `error`. */
int recording_next(struct recording *r, struct recording_step *step);

void recording_close(struct recording *r);

/* How the recording ended, in words. */
const char *recording_tail_text(const struct recording *r, char *out, size_t out_bytes);

#endif
