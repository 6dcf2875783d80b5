/* SPDX-License-Identifier: Apache-2.0 */
/* The rings between a core and a frontend that run in one thread, without sockets and doorbells:
 * the frontend's side is as in frontend/loop/corelink.c, the core's as in core/daemon/loop.c. */
#ifndef MUSTER_TESTS_RINGS_H
#define MUSTER_TESTS_RINGS_H

#include "ipc/abi.h"
#include "ipc/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct rings {
	struct intake *intake;
	struct ledger *ledger;
	unsigned char *event_data, *result_data;
	uint64_t event_bytes, result_bytes;
	/* The frontend's ends, and the core's. */
	struct ring_writer events_out, results_out;
	struct ring_reader commands;
	struct ring_reader events, results;
	struct ring_writer commands_out;
};

void rings_make(struct rings *r, uint64_t event_bytes, uint64_t result_bytes);
void rings_free(struct rings *r);

/* Both sides begin an epoch; what was unread is lost. */
void rings_connect(struct rings *r, struct ledger *ledger, uint64_t epoch);

/* Of struct frontend_port.  NULL and false: the ring is full. */
void *rings_event(struct rings *r, enum record_kind kind, uint32_t body_bytes, uint64_t time_ns);
bool rings_result(struct rings *r, enum record_kind kind, const void *body, uint32_t bytes,
                  uint64_t time_ns);
void rings_publish(struct rings *r);
bool rings_events_read(const struct rings *r);

/* Of struct core_config.  Once *full, by this or an earlier command, nothing is written. */
bool rings_command(struct rings *r, bool *full, enum record_kind kind, const void *body,
                   uint32_t bytes, uint64_t time_ns);

#endif
