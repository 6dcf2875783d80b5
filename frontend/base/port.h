/* SPDX-License-Identifier: Apache-2.0 */
/* A connected core, for modules that write events and results. */
#ifndef MUSTER_FRONTEND_PORT_H
#define MUSTER_FRONTEND_PORT_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* On the frontend's monotonic clock; latency_commanded() bounds them. */
struct command_times {
	uint64_t begun_ns;     /* start of its plan */
	uint64_t published_ns; /* in the command ring; UINT64_MAX: unknown, taken as now */
};

struct observer; /* ipc/observe.h */

struct frontend_port {
	/* Space for an event's body, valid until the next call; NULL while the ring is full. */
	void *(*event)(void *context, enum record_kind kind, uint32_t body_bytes);
	/* False while the result ring is full. */
	bool (*result)(void *context, enum record_kind kind, const struct result *r);
	bool (*evict_result)(void *context, enum record_kind kind, const struct evict_result *r);
	/* Publishes events and results. */
	void (*publish)(void *context);
	/* True if the core has read every published event. */
	bool (*events_read)(void *context);
	/* Times of a command, called in the order of the ring.  NULL: unknown. */
	void (*times)(void *context, const struct record *command, struct command_times *out);
	/* Its ledger, valid while it is connected.  NULL: unknown. */
	void (*observe)(void *context, struct observer *out);
	void *context;
};

#endif
