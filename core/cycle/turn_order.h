/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which waiting gangs would be scheduled if each found capacity. */
#ifndef MUSTER_CORE_CYCLE_TURN_ORDER_H
#define MUSTER_CORE_CYCLE_TURN_ORDER_H

#include "core/share/share.h"

struct core;

struct turn {
	uint32_t gang; /* index: of a group, or limits.gangs + a lone pod */
	uint32_t generation;
	uint32_t queue;
	int32_t priority;
	bool extra;    /* a member beyond its quorum */
	bool inside;   /* its queue stays inside its guarantee with it */
	share_t share; /* shares_over() of its queue, without it and with all before it */
};

/* Fills out[0 .. most); returns how many.  With queues alone; sums are supposed meanwhile, and
 * nothing has changed afterwards. */
uint32_t turn_order(struct core *c, struct turn *out, uint32_t most);

#endif
