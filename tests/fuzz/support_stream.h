/* SPDX-License-Identifier: Apache-2.0 */
/* The records that a frontend sends of tests/fuzz/world.json: those of one epoch, valid at first.
 */
#ifndef MUSTER_TESTS_FUZZ_SUPPORT_STREAM_H
#define MUSTER_TESTS_FUZZ_SUPPORT_STREAM_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

#define STREAM_RECORDS 256
#define STREAM_TIME_NS UINT64_C(1000000000) /* of all records */

struct stream {
	struct record *at[STREAM_RECORDS]; /* bytes and kind are set; epoch, sequence and time are 0 */
	size_t n;
};

/* Limits of the core: small, so that all tables are nearly full. */
enum {
	STREAM_NODES = 16,
	STREAM_PODS = 64,
	STREAM_GANGS = 48,
	STREAM_SHAPES = 64,
	STREAM_NAMES = 48,
	STREAM_RESOURCES = 8
};
extern const struct limits stream_limits;

/* Made once, from the folder that the fuzzers run in. */
const struct stream *stream_get(void);

/* A frontend's model of the same objects, the caller's; judges_others: as for the extender. */
struct model *stream_model(bool judges_others);

#endif
