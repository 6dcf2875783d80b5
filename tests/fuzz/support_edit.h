/* SPDX-License-Identifier: Apache-2.0 */
/* Edits of the records of a small cluster: of bytes, of a field of a record, of its arrays, of
 * their order.  A script is edits of eight bytes each. */
#ifndef MUSTER_TESTS_FUZZ_SUPPORT_EDIT_H
#define MUSTER_TESTS_FUZZ_SUPPORT_EDIT_H

#include "tests/fuzz/support_stream.h"

#define EDIT_BYTES 8
#define EDITS_MOST 128

/* Of a raw one: to be 0. */
#define EDIT_EPOCH_0 (UINT64_C(1) << 63)

struct item {
	struct record *r; /* epoch and sequence are the user's to write */
	bool own;         /* ours to free; else the stream's */
	bool raw; /* its header stays as it is: the epoch and sequence are what is added, the length may
	             lie */
};

struct edited {
	struct item items[STREAM_RECORDS + EDITS_MOST];
	size_t n;
	uint64_t tail_add; /* what the tail of the ring lies */
};

/* All of the stream as it is; what was there before is freed. */
void edited_begin(struct edited *d);
void edited_end(struct edited *d);

/* As many whole edits as there are, at the most EDITS_MOST. */
void edited_change(struct edited *d, const uint8_t *script, size_t bytes);

#endif
