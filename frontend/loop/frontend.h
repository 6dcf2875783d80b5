/* SPDX-License-Identifier: Apache-2.0 */
/* The frontend's loop between watch and binding.
 *
 *   watches ──► model ──► events ──►┐          ┌──► results
 *                                   │   core   │       ▲
 *   reports ◄── reasons ◄───────────┤          │       │
 *   writer  ◄── bindings ◄──────────┘          └───────┘ writer
 *
 * It decides nothing: what the API server says goes to the core, what the core
 * says goes to the API server.  It touches the world through struct env and
 * struct frontend_port alone, so the simulator drives the code that runs in
 * production.  One thread. */
#ifndef MUSTER_FRONTEND_FRONTEND_H
#define MUSTER_FRONTEND_FRONTEND_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"
#include "frontend/serve/metrics.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_config; /* frontend/api/lease.h */

struct frontend_config {
	unsigned bind_connections;
	unsigned report_per_second;
	size_t report_queue;       /* of reasons, and of events of bindings */
	const char *instance;      /* who reports, for Events */
	const char *node_selector; /* other nodes do not exist; NULL: all do */
	const struct lease_config
		*lease; /* NULL: no election, we act from the start; copied, its env is ours */
	uint32_t extender_keep_ms; /* room for another scheduler's pod is kept so long; 0: there is no
	                              extender */
};

/* A core that is connected. */
struct frontend_port {
	/* Room for an event's body, or NULL while its ring is full. */
	void *(*event)(void *context, enum record_kind kind, uint32_t body_bytes);
	/* False while the ring of results is full. */
	bool (*result)(void *context, enum record_kind kind, const struct result *r);
	/* Let the core see what was written. */
	void (*publish)(void *context);
	/* Has the core read every event that was published? */
	bool (*events_read)(void *context);
	/* When the core began the plan that this command came from, on our monotonic clock as the core
	 * says, so not to be believed further than a number can be; NULL: nobody knows. */
	uint64_t (*begun_ns)(void *context, const struct record *command);
	void *context;
};

struct frontend;

/* env and model outlive it. */
struct frontend *frontend_new(const struct frontend_config *config, const struct env *env,
                              struct model *model);
void frontend_free(struct frontend *f);

/* A core is there: it is told everything.  The first one starts the watches.
 *
 *   -ENOSPC  the cluster is larger than its limits; nothing has changed */
int frontend_core_up(struct frontend *f, const struct limits *limits,
                     const struct frontend_port *port);

/* It is gone.  Bindings that were sent go on; those that were not are forgotten. */
void frontend_core_down(struct frontend *f);

/* Take one command: a private copy of it, aligned to 8.
 *
 *   -EPROTO  it makes no sense; close the connection */
int frontend_command(struct frontend *f, const struct record *record);

struct extender_job; /* frontend/serve/extender.h */

/* A question of another scheduler. */
void frontend_ask(struct frontend *f, struct extender_job *job);

/* Do what is due: requests, events, results.  Returns when to call again, in
 * monotonic ns; sooner after any answer or command. */
uint64_t frontend_poll(struct frontend *f);

/* Send no more bindings; those under way are waited for while !frontend_idle(). */
void frontend_stop(struct frontend *f);
bool frontend_idle(const struct frontend *f);

/* The first answer to a list was 401, after the token was read twice. */
bool frontend_refused_at_start(const struct frontend *f);

/* The API server's state is older than what was seen, or it led without a core for two lease
 * durations; those add up until a core has lasted for one. Nothing is repaired in place: release
 * the lease, free it, and start with a new one and a new model, which does not want the lease
 * before there is a core. */
bool frontend_must_restart(const struct frontend *f);

/* May a request that changes something go out now? */
bool frontend_may_write(const struct frontend *f);

/* The lease is another's: the process must end, and start as one that stands by. */
bool frontend_lost_lease(const struct frontend *f);

/* After frontend_stop(), when idle: let another instance have the lease.  True once that is done.
 */
bool frontend_release_lease(struct frontend *f);

/* Its part of the figures. */
void frontend_metrics(const struct frontend *f, struct metrics *out);

#endif
