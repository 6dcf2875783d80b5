/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of all metrics: copied by the loop, printed by the serving thread. */
#ifndef MUSTER_FRONTEND_METRICS_H
#define MUSTER_FRONTEND_METRICS_H

#include "frontend/api/curl.h"
#include "frontend/trace/latency.h"
#include "frontend/trace/turns.h"
#include "frontend/trace/usage.h"
#include "frontend/trace/waits.h"
#include "frontend/api/lease.h"
#include "frontend/journal/journal.h"
#include "frontend/model/model.h"
#include "frontend/report/report.h"
#include "frontend/watch/watch.h"
#include "frontend/bind/takeover.h"
#include "frontend/bind/claim_bind.h"
#include "frontend/bind/claims_figures.h"
#include "frontend/bind/volume_bind.h"
#include "frontend/bind/binder.h"
#include "frontend/devices/figures.h"
#include "frontend/evict/evictor.h"
#include "frontend/serve/grants.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define METRICS_WATCHES 32

struct frontend_counts {
	uint64_t core_connects;
	uint64_t commands;
	uint64_t binds_taken;
	uint64_t reasons_taken;
	uint64_t ring_full; /* flushes that the full ring cut short */
};

/* Reasons for a lost core. */
struct core_losses {
	uint64_t gone;        /* its process ended or closed the connection */
	uint64_t bad_command; /* it sent a malformed command */
	uint64_t bad_ring;    /* ... or moved a ring's position out of bounds */
	uint64_t stalled;     /* records waited for too long */
};

struct extender_counts {
	uint64_t placed, nowhere, errors; /* answers */
	uint64_t unreserved[UNRESERVED_N];
	uint64_t ns_sum, ns_max; /* from reading the request to its answer */
};

/* Why the port turned a request away. */
enum port_refusal {
	PORT_HOST,      /* Host is not an allowed one */
	PORT_ORIGIN,    /* a page of another site */
	PORT_TYPE,      /* Content-Type is not application/json */
	PORT_LENGTH,    /* no Content-Length, or one above the limit of a body */
	PORT_BYTES,     /* the limit of all bodies is reached */
	PORT_IDENTITY,  /* no credential, or a bad one */
	PORT_FORBIDDEN, /* a good credential of another user */
	PORT_REVIEW,    /* the credential could not be reviewed */
	PORT_REFUSALS
};

enum { PORT_MAIN, PORT_HEALTH, PORT_LISTENERS };

struct connection_counts {
	uint64_t open, accepted;
	uint64_t late;    /* shut down: the deadline passed */
	uint64_t evicted; /* shut down: the listener was full */
};

struct port_counts {
	uint64_t refused[PORT_REFUSALS];
	uint64_t body_bytes; /* reserved for bodies and their answers */
	struct connection_counts listeners[PORT_LISTENERS];
};

struct metrics_watch {
	const char *resource; /* static */
	const char *group;
	struct watch_counts counts;
	uint64_t silence_ns; /* of the running watch */
	bool synced;
	bool absent;
	char error[640];
};

/* A copy of the core's statistics in the ledger. */
struct metrics_core {
	struct core_stats stats;
	struct core_gauges gauges;
	struct core_plans plans;
	struct core_starts starts;
	struct core_world world;
	struct core_searches searches;
	struct core_preemption preemption;
	struct core_loop loop;
	uint64_t progress;
};

struct ring_figures {
	uint64_t bytes;     /* its size */
	uint64_t published; /* total */
	uint64_t used;      /* published and not released */
};

/* Of the open connection. */
struct link_figures {
	struct ring_figures events, results, commands;
	struct limits limits;
	uint64_t gangs[GANG_STATES];
	uint64_t waiting[WAIT_REASONS]; /* gangs in GANG_INCOMPLETE and GANG_WAITING, by reason */
	uint64_t partial;               /* at rest with some members bound, fewer than the quorum */
	uint64_t extras;                /* members beyond the quorums of their gangs, with a node */
	uint64_t oldest_ns; /* how long the gang that has waited longest for capacity has done so */
};

#define QUEUES_SHOWN 1000u /* by name; the others together are one more */

struct queue_figures {
	char name[QUEUE_NAME_MAX];
	double waiting, placed;
	double share; /* below 0: infinite */
	struct {
		double used, asked, guarantee, limit, history; /* limit below 0: none */
	} amounts[RESOURCES_MAX];
};

/* Shared by the loop and the threads that serve it. */
struct queues_figures {
	_Atomic uint32_t refs;
	size_t n;
	char resources[RESOURCES_MAX][512]; /* OBSERVE_NAME_MAX */
	struct queue_figures rows[];
};

struct metrics {
	uint64_t taken_ns; /* monotonic time of the snapshot; serving an old one is an error */
	bool core_up;
	bool core_stalled; /* closed since it made no progress; none was connected since */
	bool lists_in;
	struct core_losses lost;
	uint64_t rss_bytes, virtual_bytes, open_files, most_files;
	double cpu_seconds;
	uint64_t runqueue_ns; /* in which the loop's thread could run and had no CPU */
	struct turns turns;
	double start_seconds; /* since 1970 */
	size_t watches_n;
	struct metrics_watch watches[METRICS_WATCHES];
	struct model_counts model;
	struct binder_counts binder;
	struct takeover_counts takeover;
	struct volume_bind_counts volumes;
	struct histogram volumes_phase;
	/* Zeros while devices are off. */
	bool has_devices, claims_denied;
	struct claim_bind_counts claims;
	struct histogram claims_phase;
	struct device_figures devices;    /* only for who asks: frontend_devices() */
	struct claims_figures claims_now; /* likewise */
	uint64_t binds_queued, binds_held, binds_in_flight, binds_window, events_window;
	struct report_counts report;
	uint64_t reports_queued;
	struct frontend_counts frontend;
	struct extender_counts extender;
	bool extends;
	struct port_counts port; /* set by the serving thread */
	struct lease_counts lease;
	bool elects, leads;
	struct evictor_counts evictor;
	bool evicts, evicts_granted, evicts_best_effort;
	uint64_t evicts_queued;
	struct journal_counts journal;
	bool journals;
	uint64_t journal_intents;
	char journal_fault[640]; /* "": it can be written */
	struct curl_counts curl;
	struct metrics_core core;
	struct link_figures link;
	struct latency_figures latency;
	struct waits_figures waits;
	struct usage_figures usage;    /* only for who asks: usage_read() */
	struct queues_figures *queues; /* likewise; NULL: none */
	uint64_t queues_refused;
};

/* Reads the core's statistics. */
void metrics_read_core(struct metrics_core *out, const struct ledger *ledger);
struct observer; /* ipc/observe.h */

/* The queues of a ledger, in place of those that it has; metrics_queues_give() when done. */
void metrics_queues_read(struct metrics *m, const struct observer *o);
void metrics_queues_hold(const struct metrics *m);
void metrics_queues_give(struct metrics *m);
/* Memory and CPU time of this process. */
void metrics_read_process(struct metrics *m);

/* Writes Prometheus' text format. */
void metrics_write(const struct metrics *m, FILE *out);

/* A table of everything that metrics_write() can print, for docs/metrics.md. */
void metrics_help(FILE *out);

/* NULL if muster makes progress, else the reason. */
const char *metrics_not_live(const struct metrics *m);

/* NULL if muster is ready, else the reason (valid as long as m and `text`). */
const char *metrics_not_ready(const struct metrics *m, char *text, size_t text_bytes);

#endif
