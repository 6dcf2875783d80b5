/* SPDX-License-Identifier: Apache-2.0 */
/* What the queues of a core use.  Apart from sim.h: some names of the frontend are other ones in
 * core/lifecycle/state.h. */
#ifndef MUSTER_TESTS_USES_H
#define MUSTER_TESTS_USES_H

#include <stdbool.h>
#include <stdint.h>

struct core;

struct uses_queue {
	const char *name;
	uint32_t parent; /* of the root: 0 */
	int64_t cpu_milli;
};

/* Queue i, the root is the first; false: there are no more. */
bool uses_queue(const struct core *c, uint32_t i, struct uses_queue *out);

#endif
