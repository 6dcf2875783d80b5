/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to muster-core: socket, segments, rings and bell. */
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
	const struct env *env;       /* for the time in records */
	void (*wake)(void *context); /* from another thread: the core has news */
	void *context;
};

/* 0, -EINVAL (a ring size), -ENOMEM or what segment_create() says. */
int corelink_new(const struct corelink_config *config, struct corelink **out);
void corelink_free(struct corelink *c);

/* As link_connect(). */
int corelink_connect(struct corelink *c, struct link_error *e);
void corelink_close(struct corelink *c);
bool corelink_is_up(const struct corelink *c);

/* Of the connection that is up. */
int corelink_fd(const struct corelink *c); /* readable when the core is gone */
const struct limits *corelink_limits(const struct corelink *c);
uint64_t corelink_epoch(const struct corelink *c);
const struct ledger *corelink_ledger(const struct corelink *c);
struct observer;                                                       /* ipc/observe.h */
void corelink_observe(const struct corelink *c, struct observer *out); /* good while it is up */
/* Walks over the rows of all gangs. */
void corelink_figures(const struct corelink *c, struct link_figures *out);
struct frontend_port corelink_port(struct corelink *c);

/* Next command into `buffer` (RECORD_BYTES_MAX bytes): 1, 0 or -EPROTO. */
int corelink_read(struct corelink *c, struct record *buffer);
void corelink_release(struct corelink *c);

/* The core moved a ring's head to where it can't be: close the connection. */
bool corelink_broken(const struct corelink *c);

/* Around a sleep elsewhere: announce it; false when a command came meanwhile, then
 * don't sleep. */
bool corelink_sleep(struct corelink *c);
void corelink_awake(struct corelink *c);

#endif
