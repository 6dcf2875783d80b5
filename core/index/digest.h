/* SPDX-License-Identifier: Apache-2.0 */
/* What a node's score by room depends on (core/cluster/fit.h) in short: by column, so that eight
 * nodes are looked at in one step, in single precision and by rank.
 *
 * It is worked out from the lines when somebody looks at all nodes, and then follows the log of
 * changed nodes; whoever changes a node pays nothing for it.  Numbers of a node that singles can't
 * hold as below are left out: that node is to be looked at by its line. */
#ifndef MUSTER_CORE_DIGEST_H
#define MUSTER_CORE_DIGEST_H

#include "core/cluster/nodes.h"

#define DIGEST_LANES 8u
#define DIGEST_BLOCK 64u /* nodes whose bits are a word */

#define DIGEST_UNIT 0x1p20f /* bytes of memory */
#define DIGEST_MOST 0x1p24f /* whole numbers up to here are exact */
#define DIGEST_PODS 0x1p20f /* a node takes fewer */

/* Of a node that has less than nothing it is nothing. */
struct digest_step {
	float cpu_room[DIGEST_LANES];    /* whole, allocatable less requests */
	float memory_room[DIGEST_LANES]; /* ... cut off to whole units */
	float cpu_left[DIGEST_LANES];    /* percent, allocatable less what scores count */
	float memory_left[DIGEST_LANES];
	float cpu_share[DIGEST_LANES];    /* percent of allocatable that one is */
	float memory_share[DIGEST_LANES]; /* ... that one unit is */
	uint32_t others[DIGEST_LANES];    /* so many pods at most; DIGEST_EVEN - balance from bit
	                                     DIGEST_BALANCE on */
};

#define DIGEST_BALANCE 24
/* With it a change of the balance is halved as fit_points() does it, and counts 50 more, and the 1
 * of a key. */
#define DIGEST_EVEN 152

/* Instead of numbers that singles don't hold: every pod fits once, and a unit of memory is so much
 * that no percents are sure. */
#define DIGEST_UNSURE 2.0f

struct digest {
	struct digest_step *steps; /* zeros from the last node on */
	uint32_t *first; /* for each block the id of its first node if the others follow in the order of
	                    ids, else ID_NONE */
	uint32_t most;   /* pods that count */
	uint64_t position;      /* in the log of nodes */
	uint64_t order_version; /* of the ranks; UINT64_MAX: never worked out */
};

/* -ENOMEM */
int digest_init(struct digest *d, const struct limits *limits);
void digest_free(struct digest *d);

/* Takes in what changed; the ranks are up to date. */
void digest_follow(struct digest *d, const struct nodes *ns);

#endif
