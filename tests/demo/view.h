/* SPDX-License-Identifier: Apache-2.0 */
/* What the demo shows, read from the live ledger by an observer. */
#ifndef MUSTER_DEMO_VIEW_H
#define MUSTER_DEMO_VIEW_H

#include "ipc/observe.h"
#include "tests/demo/trace.h"

#define WAITING_MAX 64

struct view_gang {
	struct gang_copy copy;
	char *reason; /* owned */
};

struct view {
	const struct trace *trace;
	struct observer observer;
	bool connected;
	char **names; /* of resources and taints, by id */

	size_t *order;       /* nodes of the trace as they are drawn: most GPUs first */
	unsigned char *heat; /* by position in that order: 0 to 100 % of its GPUs, 255: unknown */
	unsigned long gpus_used;

	/* Gangs by state. */
	size_t waiting, binding, placed, ended;
	struct view_gang gangs[WAITING_MAX]; /* waiting gangs: most members first */
	size_t gangs_n;

	/* Counters and gauges of the core. */
	uint64_t pods_pending, plans, plan_ns_sum, plan_ns_max, plan_ns_last;
	uint64_t limits_hit, bad_records;
};

void view_new(struct view *v, const struct trace *trace);
void view_free(struct view *v);

/* True once the cluster is in the ledger. */
bool view_connect(struct view *v, const char *socket);

/* Everything. */
void view_read(struct view *v);

#endif
