/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of nodes with the same taints, so that tolerations of a shape are evaluated once for each
 * set.
 *
 * Clusters have few of them.  Nodes with other taints than those of the TAINT_SETS_MOST sets, and
 * cordoned nodes, are in no set and are evaluated one by one. */
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
/* Sets of nodes get so many words; not fewer than before. */
void taint_sets_reach(struct taint_sets *ts, uint32_t words);
void taint_sets_clear(struct taint_sets *ts);

/* Moves the node to the set of these taints.  False: it has taints and no set is left for them. */
bool taint_sets_put(struct taint_sets *ts, node_id id, const struct taint *taints,
                    uint32_t taints_n);

#endif
