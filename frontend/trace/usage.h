/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes of a ledger have, use and have free, by resource. */
#ifndef MUSTER_FRONTEND_USAGE_H
#define MUSTER_FRONTEND_USAGE_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

#define USAGE_NAME_MAX 320 /* the longest name of a resource: 253 bytes, "/", 63 */

struct observer; /* ipc/observe.h */

/* Of one resource, over all nodes, in the unit of the ledger. */
struct usage_row {
	char name[USAGE_NAME_MAX];
	double allocatable, used;
	double free;         /* on nodes that take new pods */
	double fragmented;   /* ... of which part is used */
	double largest_free; /* on one node */
};

struct usage_figures {
	uint32_t n;
	struct usage_row rows[RESOURCES_MAX];
};

/* True if nodes have too little of the resource: elsewhere a rule excludes them, whatever is free.
 */
bool usage_is_short(const struct reason *r, uint32_t resource);

/* The row of a shortfall of that reason if more is free than the members can use; else NULL. */
const struct usage_row *usage_pieces(const struct usage_figures *u, const struct reason *r,
                                     const struct shortfall *s);

/* It visits all nodes. */
void usage_read(struct usage_figures *out, const struct observer *o);

#endif
