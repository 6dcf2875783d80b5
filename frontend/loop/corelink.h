/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to muster-core: socket, segments, rings and doorbell. */
#ifndef MUSTER_FRONTEND_CORELINK_H
#define MUSTER_FRONTEND_CORELINK_H

#include "frontend/base/env.h"
#include "frontend/loop/frontend.h"
#include "ipc/link.h"

#include <stdbool.h>
#include <stdint.h>

struct corelink;

struct corelink_config {
	const char *path; /* of the socket; outlives the link */
	uint64_t event_ring_bytes;
	uint64_t result_ring_bytes;
	const struct env *env;       /* for time stamps of records */
	void (*wake)(void *context); /* called from another thread when the core wrote a command */
	void *context;
};

/* 0, -EINVAL (a ring size), -ENOMEM, or the error of segment_create(). */
int corelink_new(const struct corelink_config *config, struct corelink **out);
void corelink_free(struct corelink *c);

/* As link_connect_within(). */
int corelink_connect(struct corelink *c, uint64_t answer_ns, struct link_error *e);
void corelink_close(struct corelink *c);
bool corelink_is_up(const struct corelink *c);

/* Of an open connection. */
int corelink_fd(const struct corelink *c); /* readable when the core has gone */
const struct limits *corelink_limits(const struct corelink *c);
uint64_t corelink_epoch(const struct corelink *c);
const struct ledger *corelink_ledger(const struct corelink *c);
struct observer; /* ipc/observe.h */
void corelink_observe(const struct corelink *c,
                      struct observer *out); /* valid while the connection is up */
/* Reads the rows of all gangs. */
void corelink_figures(const struct corelink *c, struct link_figures *out);
struct frontend_port corelink_port(struct corelink *c);

/* Copies the next command into `buffer` (RECORD_BYTES_MAX bytes): 1, 0 or -EPROTO. */
int corelink_read(struct corelink *c, struct record *buffer);
void corelink_release(struct corelink *c);

/* True if the core moved a ring's head out of bounds: close the connection. */
bool corelink_broken(const struct corelink *c);

/* For how long records have waited of which the core read none; 0: none waits.  To be called at
 * least every second: what is longer than two counts as two, since then this process was stopped.
 */
uint64_t corelink_stalled_ns(struct corelink *c);

/* Before sleeping in poll(): announces it; false if a command arrived meanwhile, then do not sleep.
 */
bool corelink_sleep(struct corelink *c);
void corelink_awake(struct corelink *c);

#endif
