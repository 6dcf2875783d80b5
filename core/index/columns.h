/* SPDX-License-Identifier: Apache-2.0 */
/* Packed columns: what the score of a node by resources depends on (struct node_fit), in single
 * precision and by rank, as a structure of arrays for steps of eight nodes.
 *
 * Columns are computed from struct node_fit when all nodes are scanned, and then follow the log of
 * changed nodes and of their order; a change of a node costs nothing here.  A node with numbers
 * that single precision does not hold exactly is marked, so that it is scanned in double precision.
 */
#ifndef MUSTER_CORE_COLUMNS_H
#define MUSTER_CORE_COLUMNS_H

#include "core/cluster/nodes.h"

#define COLUMN_LANES 8u
#define COLUMN_BLOCK 64u /* nodes whose bits are one word */

#define COLUMN_UNIT 0x1p20f /* bytes of memory */
#define COLUMN_MOST 0x1p24f /* whole numbers below are exact */
#define COLUMN_PODS 0x1p20f /* a node takes fewer pods */

/* Negative amounts are 0. */
struct columns_step {
	float cpu_free[COLUMN_LANES];    /* whole; allocatable less requests */
	float memory_free[COLUMN_LANES]; /* the same, rounded down to units */
	float cpu_left[COLUMN_LANES];    /* percent; allocatable less what scores count */
	float memory_left[COLUMN_LANES];
	float cpu_share[COLUMN_LANES];    /* percent of allocatable that one milli-CPU is */
	float memory_share[COLUMN_LANES]; /* percent of allocatable that one unit is */
	uint32_t others[COLUMN_LANES];    /* pods that fit by their number; from bit COLUMN_RATIO on the
	                                   * node's ratio; from bit COLUMN_BALANCE on COLUMN_EVEN -
	                                   * balance */
};

#define COLUMN_RATIO 20
#define COLUMN_BALANCE 24
#define COLUMN_RATIO_BITS ((1 << COLUMN_BALANCE) - (1 << COLUMN_RATIO))
#define COLUMN_RATIOS 15u
/* A new balance plus this, less the old one, halved is the score of fit_points() and the 1 of a
 * key. */
#define COLUMN_EVEN 152

/* Marks a node that is not exact: every pod fits once, and one unit of memory is so many percent
 * that no score is certain. */
#define COLUMN_UNSURE 2.0f

/* Allocatable CPU by allocatable memory, both whole. */
struct column_ratio {
	double cpu, units;
};

struct columns {
	struct columns_step *steps; /* zeros from the last node to the end of its block */
	void *memory;               /* of `steps`, by must_lines() */
	/* by block: id of its first node if the ids of all are consecutive, else ID_NONE */
	uint32_t *first;
	uint32_t *from;         /* by rank, while nodes that joined or left are followed */
	uint32_t most;          /* pods are cut off here */
	uint64_t position;      /* in the log of nodes */
	uint64_t order_version; /* of the ranks; UINT64_MAX: never computed */
	uint64_t order_log;     /* position in the log of the order */
	uint32_t nodes;         /* that have a rank */
	struct column_ratio ratios[COLUMN_RATIOS]; /* the first that were met */
	uint32_t ratios_n;
};

void columns_init(struct columns *c, const struct limits *limits);
void columns_free(struct columns *c);

/* Applies the changes of nodes; the ranks are up to date. */
void columns_follow(struct columns *c, const struct nodes *ns);

/* The ratio of these whole amounts, from 1; 0: no node has it.  A node has it in its column if its
 * requests have it too, or there are none: after a pod of the same ratio the shares of both that
 * are requested are equal, and the balance is 100. */
uint32_t columns_ratio(const struct columns *c, double cpu, double units);

#endif
