/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that a core has records of in this epoch.  It has to refuse a record about an unknown
 * object, and one that contradicts an earlier record.  Records are valid by themselves
 * (support_layout.h) and within stream_limits. */
#ifndef MUSTER_TESTS_FUZZ_SUPPORT_TOLD_H
#define MUSTER_TESTS_FUZZ_SUPPORT_TOLD_H

#include "tests/fuzz/support_stream.h"

/* Something with a name; generation 0: unknown. */
struct told_thing {
	uint32_t generation;
	uint64_t name; /* hash */
};

struct told {
	uint64_t epoch;
	bool synced;
	bool names[STREAM_NAMES];
	struct told_thing nodes[STREAM_NODES], gangs[STREAM_GANGS], pods[STREAM_PODS];
	uint64_t shapes[STREAM_SHAPES]; /* hash of all of it; 0: unknown */
	struct event_pod pod[STREAM_PODS];
	struct event_node_devices devices[STREAM_NODES]; /* generation 0: none yet */
	struct event_question questions[QUESTIONS_MAX];  /* options_n 0: unknown */
};

/* NULL when there is no reason to refuse it. */
const char *told_fault(const struct told *t, const struct record *r);

/* The core took it. */
void told_add(struct told *t, const struct record *r);

#endif
