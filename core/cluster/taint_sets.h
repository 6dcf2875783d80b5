/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that bear the same taints, so that a shape is asked once for all of them.
 *
 * Clusters have few such sets.  Nodes beyond the most that are kept, and those that are cordoned as
 * well, are in none and judged one by one. */
#ifndef MUSTER_CORE_TAINT_SETS_H
#define MUSTER_CORE_TAINT_SETS_H

#include "ipc/abi.h"

#include <stdbool.h>

#define TAINT_SETS_MOST 8u

struct taint_set {
	struct taint *taints;
	uint32_t taints_n;
	uint32_t count;  /* nodes; 0: unused */
	uint64_t *nodes; /* a bit each; NULL: never used */
};

struct taint_sets {
	struct taint_set at[TAINT_SETS_MOST];
	uint32_t words; /* of a node set */
};

void taint_sets_init(struct taint_sets *ts, uint32_t words);
void taint_sets_clear(struct taint_sets *ts);

/* The node has these taints now; none: it is in no set.  False when it has some and is in none. */
bool taint_sets_put(struct taint_sets *ts, node_id id, const struct taint *taints,
                    uint32_t taints_n);

#endif
