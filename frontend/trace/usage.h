/* SPDX-License-Identifier: Apache-2.0 */
/* What the nodes of a ledger have, use and have free, by resource. */
#ifndef MUSTER_FRONTEND_USAGE_H
#define MUSTER_FRONTEND_USAGE_H

#include "ipc/abi.h"

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

/* It visits all nodes. */
void usage_read(struct usage_figures *out, const struct observer *o);

#endif
