/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one record, piece by piece. */
#ifndef MUSTER_BENCH_BUILDER_H
#define MUSTER_BENCH_BUILDER_H

#include "ipc/abi.h"

struct builder {
	alignas(8) unsigned char bytes[4096];
	size_t used;
};

void builder_begin(struct builder *b, enum record_kind kind, uint64_t time_ns);

/* The next part, padded to 8 bytes; ends the program when the record gets too long. */
void builder_add(struct builder *b, const void *what, size_t bytes);

/* The complete record; good until the next builder_begin(). */
const struct record *builder_end(struct builder *b);

#endif
