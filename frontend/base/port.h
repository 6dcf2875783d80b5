/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to a connected core for modules that send records. */
#ifndef MUSTER_FRONTEND_PORT_H
#define MUSTER_FRONTEND_PORT_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* A connected core. */
/* On our monotonic clock, as the core reports them: only plausible values are used. */
struct command_times {
	uint64_t begun_ns;     /* the plan behind it */
	uint64_t published_ns; /* in the ring for us to read; UINT64_MAX: just now */
};

struct frontend_port {
	/* Space for an event's body, or NULL while the ring is full. */
	void *(*event)(void *context, enum record_kind kind, uint32_t body_bytes);
	/* False while the result ring is full. */
	bool (*result)(void *context, enum record_kind kind, const struct result *r);
	bool (*evict_result)(void *context, enum record_kind kind, const struct evict_result *r);
	/* Publishes what was written. */
	void (*publish)(void *context);
	/* True if the core has read every published event. */
	bool (*events_read)(void *context);
	/* Times of a command; commands are asked for in their order. NULL: unknown. */
	void (*times)(void *context, const struct record *command, struct command_times *out);
	void *context;
};

#endif
