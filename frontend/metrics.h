/* The figures of one moment: copied out by the loop, printed by the thread that
 * serves them. */
#ifndef MUSTER_FRONTEND_METRICS_H
#define MUSTER_FRONTEND_METRICS_H

#include "frontend/curl.h"
#include "frontend/lease.h"
#include "frontend/model.h"
#include "frontend/report.h"
#include "frontend/watch.h"
#include "frontend/writer.h"

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

struct extender_counts {
	uint64_t placed, nowhere, errors; /* answers */
	uint64_t ns_sum, ns_max;          /* from the request read to its answer */
};

struct metrics_watch {
	const char *resource; /* static */
	const char *group;
	struct watch_counts counts;
	bool synced;
	bool absent;
	char error[640];
};

/* What the core writes in the ledger, read once. */
struct metrics_core {
	uint64_t events, bad_records, plans, plans_placed, plans_refused, plan_ns_sum, plan_ns_max;
	uint64_t binds_sent, binds_accepted, binds_refused, limits_hit, sleeps, saturated, epochs;
	uint64_t nodes, pods, pods_pending, pods_bound, gangs, gangs_waiting, gangs_binding, gangs_placed;
	uint64_t shapes, names, synced;
};

struct metrics {
	uint64_t taken_ns; /* monotonic: when; serving something old is an error */
	bool core_up;
	bool lists_in;
	uint64_t bad_commands; /* connections closed for a bad record of the core */
	uint64_t rss_bytes;
	double cpu_seconds;
	double start_seconds; /* since 1970 */
	size_t watches_n;
	struct metrics_watch watches[METRICS_WATCHES];
	struct model_counts model;
	struct writer_counts writer;
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
};

/* Read the core's figures. */
void metrics_read_core(struct metrics_core *out, const struct ledger *ledger);
/* Memory and time of this process. */
void metrics_read_process(struct metrics *m);

/* In Prometheus' text format. */
void metrics_write(const struct metrics *m, FILE *out);

/* Is muster ready?  NULL, or why not (good as long as m and `text`). */
const char *metrics_not_ready(const struct metrics *m, char *text, size_t text_bytes);

#endif
