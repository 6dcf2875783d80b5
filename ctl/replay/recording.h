/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording (core/daemon/recording.h) step by step. The file is not trusted: sums, sizes
 * and kinds are checked first. */
#ifndef MUSTER_CTL_RECORDING_H
#define MUSTER_CTL_RECORDING_H

#include "core/daemon/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a recording ends. */
enum recording_tail {
	TAIL_OPEN,    /* between two blocks: the core was killed, or still runs */
	TAIL_CUT,     /* within a block: the same, or the file was cut */
	TAIL_CRASHED, /* tail_arg: the signal, 0: out of memory */
	TAIL_ENDED,   /* tail_arg: enum recording_end */
};

/* One record and the core's commands. Good until the next recording_next(). */
struct recording_step {
	const struct record *record;
	const unsigned char *commands; /* struct recording_entry and body, one after the other */
	uint64_t commands_bytes;
	uint32_t commands_n;
	int error;       /* the result of core_step() */
	bool refused;    /* the ring was full for one more command */
	bool unfinished; /* the core crashed in it: its end is unknown */
	uint64_t number; /* from 1 */
	uint64_t offset; /* of the record in the file, unpacked */
};

struct recording {
	struct recording_head head;
	enum recording_tail tail; /* once recording_next() gave 0 */
	unsigned int tail_arg;
	char error[320]; /* once something returned an error */

	void *file;
	unsigned char *block; /* the current entries */
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

/* How the recording ended, as text. */
const char *recording_tail_text(const struct recording *r, char *out, size_t out_bytes);

#endif
