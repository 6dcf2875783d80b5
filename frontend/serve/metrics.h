/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one moment: copied out by the loop, printed by the thread that
 * serves them. */
#ifndef MUSTER_FRONTEND_METRICS_H
#define MUSTER_FRONTEND_METRICS_H

#include "frontend/api/curl.h"
#include "frontend/trace/latency.h"
#include "frontend/api/lease.h"
#include "frontend/model/model.h"
#include "frontend/report/report.h"
#include "frontend/watch/watch.h"
#include "frontend/bind/settle.h"
#include "frontend/bind/writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define METRICS_WATCHES 32

struct frontend_counts {
	uint64_t core_connects;
	uint64_t commands;
	uint64_t binds_taken;
	uint64_t reasons_taken;
	uint64_t ring_full; /* flushes that left something for later */
};

/* Why a core was lost. */
struct core_losses {
	uint64_t gone;        /* its process ended or closed the connection */
	uint64_t bad_command; /* it said what makes no sense */
	uint64_t bad_ring;    /* ... or moved a ring to where it can't be */
};

struct extender_counts {
	uint64_t placed, nowhere, errors; /* answers */
	uint64_t ns_sum, ns_max;          /* from the request read to its answer */
};

struct metrics_watch {
	const char *resource; /* static */
	const char *group;
	struct watch_counts counts;
	uint64_t silence_ns; /* of the watch that runs */
	bool synced;
	bool absent;
	char error[640];
};

/* What the core writes in the ledger, read once. */
struct metrics_core {
	uint64_t events, bad_records, plans, plans_placed, plans_refused, plan_ns_sum, plan_ns_max;
	uint64_t binds_sent, binds_accepted, binds_refused, limits_hit, sleeps, saturated, epochs;
	uint64_t nodes, pods, pods_pending, pods_bound, gangs, gangs_waiting, gangs_binding,
		gangs_placed;
	uint64_t shapes, names, synced, holds, held, stale_results;
	uint64_t took[PLAN_BOUNDS + 1]; /* plans: ipc/plans.h */
};

struct ring_figures {
	uint64_t bytes;     /* its size */
	uint64_t published; /* ever */
	uint64_t used;      /* published and not released */
};

/* Of the connection that is up. */
struct link_figures {
	struct ring_figures events, results, commands;
	struct limits limits;
	uint64_t gangs[GANG_STATES];
	uint64_t waiting[WHY_KINDS]; /* those of GANG_INCOMPLETE and GANG_WAITING by their reason */
	uint64_t partial;            /* at rest with some members bound, and fewer than the quorum */
};

struct metrics {
	uint64_t taken_ns; /* monotonic: when; serving something old is an error */
	bool core_up;
	bool lists_in;
	struct core_losses lost;
	uint64_t rss_bytes, virtual_bytes, open_files, most_files;
	double cpu_seconds;
	double start_seconds; /* since 1970 */
	size_t watches_n;
	struct metrics_watch watches[METRICS_WATCHES];
	struct model_counts model;
	struct writer_counts writer;
	struct settle_counts settle;
	uint64_t binds_queued, binds_in_flight, binds_window;
	struct report_counts report;
	uint64_t reports_queued;
	struct frontend_counts frontend;
	struct extender_counts extender;
	bool extends;
	struct lease_counts lease;
	bool elects, leads;
	struct curl_counts curl;
	struct metrics_core core;
	struct link_figures link;
	struct latency_figures latency;
};

/* Read the core's figures. */
void metrics_read_core(struct metrics_core *out, const struct ledger *ledger);
/* Memory and time of this process. */
void metrics_read_process(struct metrics *m);

/* In Prometheus' text format. */
void metrics_write(const struct metrics *m, FILE *out);

/* All that metrics_write() may say, as a table: for docs/metrics.md. */
void metrics_help(FILE *out);

/* Is muster ready?  NULL, or why not (good as long as m and `text`). */
const char *metrics_not_ready(const struct metrics *m, char *text, size_t text_bytes);

#endif
