/* SPDX-License-Identifier: Apache-2.0 */
/* The frontend's loop between watch and binding.
 *
 *   watches ──► model ──► events ──►┐          ┌──► results
 *                                   │   core   │       ▲
 *   reports ◄── reasons ◄───────────┤          │       │
 *   binder  ◄── bindings ◄──────────┘          └───────┘ binder
 *
 * It decides nothing: objects go to the core, commands go to the API server. All I/O goes through
 * struct env and struct frontend_port, so the simulator drives the code that runs in production.
 * One thread. */
#ifndef MUSTER_FRONTEND_FRONTEND_H
#define MUSTER_FRONTEND_FRONTEND_H

#include "frontend/base/env.h"
#include "frontend/base/port.h"
#include "frontend/serve/metrics.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct lease_config;   /* frontend/api/lease.h */
struct journal_config; /* frontend/journal/journal.h */

/* The ConfigMap that keeps what queues used in the past. */
struct past_config {
	const char *namespace, *name; /* outlive the frontend */
	uint32_t half_life_s;
};

struct frontend_config {
	unsigned bind_connections;       /* at most */
	unsigned bind_connections_first; /* seek more than these; 0: bind_connections from the start */
	unsigned report_per_second;
	const char *const *volcano_queues; /* struct report_config */
	size_t volcano_queues_n;
	size_t report_queue;       /* of reasons, and of events of bindings */
	uint32_t bind_deadline_ms; /* of a Binding at the API server; 0: none */
	uint64_t volume_bind_ns;   /* for the claims of a pod; 0: none are bound */
	uint64_t device_bind_ns;   /* for binding conditions of devices */
	const char *instance;      /* reportingInstance of Events */
	const char *node_selector; /* other nodes are ignored; NULL: all are used */
	size_t page_bytes_max;     /* of a list; 0: what the transport takes */
	bool stream_lists;         /* where the server can (frontend/watch/watch.h) */
	const struct lease_config
		*lease;          /* NULL: no election, active from the start; copied, its env is ours */
	bool reviews_claims; /* asks whether it may write claims of devices, and says if not */
	bool evicts;         /* victims of the core's are evicted, ... */
	uint32_t evictions_per_second;        /* ... so many */
	bool evicts_best_effort;              /* ... whatever PodDisruptionBudgets say */
	const char *scheduler;                /* a name of ours, for Events of victims; outlives it */
	uint32_t extender_reservations;       /* for other schedulers' pods at once */
	const struct journal_config *journal; /* NULL: none is kept; copied, its env is ours */
	const struct past_config *past; /* NULL: it does not count, or there are no queues; copied */
	bool queue_status;              /* what queues use is written into their objects */
	uint32_t extender_keep_ms; /* how long capacity is reserved for another scheduler's pod; 0: no
	                              extender */
};

struct frontend;

/* env and model outlive it. */
struct frontend *frontend_new(const struct frontend_config *config, const struct env *env,
                              struct model *model);
void frontend_free(struct frontend *f);

/* Connects a core: it gets all objects. The first one starts the watches.
 *
 *   -ENOSPC  the cluster is larger than its limits; nothing has changed */
int frontend_core_up(struct frontend *f, const struct limits *limits,
                     const struct frontend_port *port);

/* The core went away. Bindings in flight continue; those not sent are dropped. */
void frontend_core_down(struct frontend *f);

/* The core made no progress and was disconnected: frontend_core_down(), and a leader gives its
 * lease up (frontend_must_restart()). */
void frontend_core_stalled(struct frontend *f);

/* Handles one command, a private copy aligned to 8.
 *
 *   -EPROTO  malformed; close the connection */
int frontend_command(struct frontend *f, const struct record *record);

struct extender_job; /* frontend/serve/extender.h */

/* A request of kube-scheduler to the extender. */
void frontend_extender_request(struct frontend *f, struct extender_job *job);

struct review_job; /* frontend/serve/review.h */

/* A token of a client of the extender. */
void frontend_review(struct frontend *f, struct review_job *job);

/* Performs due work: requests, events, results. Returns the monotonic time of the next call in ns;
 * call earlier after any answer or command. */
uint64_t frontend_poll(struct frontend *f);

/* Stops sending bindings; those in flight complete while !frontend_idle(). */
void frontend_stop(struct frontend *f);
bool frontend_idle(const struct frontend *f);

/* True if the first answer to a list was 401 after the token was read twice. */
bool frontend_refused_at_start(const struct frontend *f);

/* True if the API server's state is older than what was seen, or this instance led without a core
 * for two lease durations (accumulated until a core has lasted for one), or with a stalled one.
 * Nothing is repaired in place: release the lease, free it, and start with a new one and a new
 * model, which does not compete for the lease without a core. */
bool frontend_must_restart(const struct frontend *f);

/* True if a write may be sent now. */
bool frontend_may_write(const struct frontend *f);

/* True if another instance holds the lease, or has written the journal: the process must end, and
 * restarts as standby. */
bool frontend_lost_lease(const struct frontend *f);

/* After frontend_stop(), when idle: releases the lease. True once that is done. */
bool frontend_release_lease(struct frontend *f);

/* Times of the stages of pods; the frontend's. */
const struct latency *frontend_latency(const struct frontend *f);

/* Fills its part of the metrics. */
void frontend_metrics(const struct frontend *f, struct metrics *out);
/* What takes longer, for who asks: devices and their claims. */
void frontend_devices(const struct frontend *f, struct metrics *out);

#endif
