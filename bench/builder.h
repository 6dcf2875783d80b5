/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a record of its parts. */
#ifndef MUSTER_BENCH_BUILDER_H
#define MUSTER_BENCH_BUILDER_H

#include "ipc/abi.h"

struct builder {
	alignas(8) unsigned char bytes[4096];
};

/* Of a body; those without bytes are left out. */
struct part {
	const void *at; /* NULL: the one before was the last */
	size_t bytes;
};

#define PARTS(...) ((const struct part[]){ __VA_ARGS__, { NULL, 0 } })
#define NO_PARTS (&(const struct part){ NULL, 0 })

/* The record of these parts, each padded to 8 bytes, in *b.  Ends the program when it gets too
 * long. */
struct record *builder_make(struct builder *b, enum record_kind kind, uint64_t time_ns,
                            const struct part *parts);

#endif
