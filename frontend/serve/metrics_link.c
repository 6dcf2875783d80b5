/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/metrics_impl.h"

#include "frontend/model/base/limits.h"
#include "ipc/plans.h"

#include <inttypes.h>
#include <string.h>

void family_write(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void labelled_write(FILE *out, const char *name, const char *type, const char *label,
                    const char *help, const struct labelled *l, size_t n)
{
	family_write(out, name, type, help);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, l[i].value, l[i].n);
}

/* Old names are served beside the new ones for one version; CHANGELOG.md lists them. */
static const struct {
	const char *from, *to;
} renamed[] = {
	{ "muster_binds_withdrawn_total", "muster_binds_cancelled_total" },
	{ "muster_pods_settled_total", "muster_takeover_pods_fenced_total" },
	{ "muster_pods_unsettled_total", "muster_takeover_pods_failed_total" },
};

void figures_write(FILE *out, const struct figure *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		family_write(out, f[i].name, f[i].type, f[i].help);
		fprintf(out, "%s %.17g\n", f[i].name, f[i].value);
		for (size_t k = 0; k < sizeof(renamed) / sizeof(renamed[0]); k++)
			if (strcmp(f[i].name, renamed[k].to) == 0)
				fprintf(out, "# HELP %s Deprecated: %s.\n# TYPE %s %s\n%s %.17g\n", renamed[k].from,
				        f[i].name, renamed[k].from, f[i].type, renamed[k].from, f[i].value);
	}
}

void buckets_rows_write(const struct ledger_buckets *b, unsigned first, const char *name,
                        const char *labels, FILE *out)
{
	const int bare = *labels ? (int)strlen(labels) - 1 : 0; /* without the trailing comma */
	uint64_t below = 0;

	for (unsigned i = 0; i < b->n; i++) {
		below += b->counts[i];
		if (i >= first)
			fprintf(out, "%s_bucket{%sle=\"%.10g\"} %" PRIu64 "\n", name, labels,
			        (double)b->bound(i) * b->unit, below);
	}
	below += b->counts[b->n];
	fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, below);
	if (bare > 0)
		fprintf(out, "%s_sum{%.*s} %.17g\n%s_count{%.*s} %" PRIu64 "\n", name, bare, labels,
		        (double)b->sum * b->unit, name, bare, labels, below);
	else
		fprintf(out, "%s_sum %.17g\n%s_count %" PRIu64 "\n", name, (double)b->sum * b->unit, name,
		        below);
}

void buckets_write(const struct ledger_buckets *b, unsigned first, const char *name,
                   const char *help, FILE *out)
{
	family_write(out, name, "histogram", help);
	buckets_rows_write(b, first, name, "", out);
}

static void rings_write(const struct link_figures *l, FILE *out)
{
	static const struct {
		const char *name, *type, *help;
		size_t offset;
	} rows[] = {
		{ "muster_ring_bytes", "gauge", "Size of a ring between core and frontend.",
		  offsetof(struct ring_figures, bytes) },
		{ "muster_ring_used_bytes", "gauge", "Bytes in it that are not read yet.",
		  offsetof(struct ring_figures, used) },
		{ "muster_ring_written_bytes_total", "counter",
		  "Bytes written to it since the core was connected.",
		  offsetof(struct ring_figures, published) },
	};
	const struct {
		const char *name;
		const struct ring_figures *ring;
	} rings[] = { { "event", &l->events }, { "result", &l->results }, { "command", &l->commands } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		family_write(out, rows[i].name, rows[i].type, rows[i].help);
		for (size_t k = 0; k < sizeof(rings) / sizeof(rings[0]); k++)
			fprintf(
				out, "%s{ring=\"%s\"} %" PRIu64 "\n", rows[i].name, rings[k].name,
				*(const uint64_t *)(const void *)((const char *)rings[k].ring + rows[i].offset));
	}
}

static void limits_write(const struct metrics *m, FILE *out)
{
	const struct limits *l = &m->link.limits;
	const struct {
		const char *name;
		uint64_t used, limit;
	} rows[] = {
		{ "nodes", m->core.gauges.nodes, l->nodes }, { "pods", m->core.gauges.pods, l->pods },
		{ "gangs", m->core.gauges.gangs, l->gangs }, { "shapes", m->core.gauges.shapes, l->shapes },
		{ "terms", m->model.terms, terms_limit(l) }, { "names", m->core.gauges.names, l->names },
	};

	family_write(out, "muster_limit", "gauge",
	             "Limits of muster-core, by its flags; terms: 2 for each of --max-shapes.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "muster_limit{of=\"%s\"} %" PRIu64 "\n", rows[i].name, rows[i].limit);
	family_write(out, "muster_limit_used", "gauge", "What it uses of that.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "muster_limit_used{of=\"%s\"} %" PRIu64 "\n", rows[i].name, rows[i].used);
}

static void gangs_write(const struct link_figures *l, FILE *out)
{
	static const char *const states[GANG_STATES] = {
		[GANG_NONE] = "none",         [GANG_INCOMPLETE] = "pending", [GANG_WAITING] = "waiting",
		[GANG_BINDING] = "binding",   [GANG_PLACED] = "running",     [GANG_FINISHED] = "finished",
		[GANG_DEGRADED] = "degraded", [GANG_FAILED] = "failed",
	};
	/* The words of muster_gangs_by_state, which is served for one version more. */
	const struct {
		const char *name;
		uint64_t n;
	} former[] = {
		{ "none", l->gangs[GANG_NONE] },
		{ "incomplete", l->gangs[GANG_INCOMPLETE] + l->gangs[GANG_DEGRADED] +
		                    l->gangs[GANG_FAILED] + l->gangs[GANG_FINISHED] },
		{ "waiting", l->gangs[GANG_WAITING] },
		{ "binding", l->gangs[GANG_BINDING] },
		{ "placed", l->gangs[GANG_PLACED] },
	};
	static const char *const reasons[WAIT_REASONS] = {
#define WAIT_REASON(code, name) [WAIT_##code] = name,
#include "ipc/reasons.def"
	};

	family_write(out, "muster_gangs_in_state", "gauge",
	             "Gangs with members, by state; \"none\": not planned yet.");
	for (int i = 0; i < GANG_STATES; i++)
		fprintf(out, "muster_gangs_in_state{state=\"%s\"} %" PRIu64 "\n", states[i], l->gangs[i]);
	family_write(out, "muster_gangs_by_state", "gauge",
	             "Deprecated: muster_gangs_in_state. The states of former versions.");
	for (size_t i = 0; i < sizeof(former) / sizeof(former[0]); i++)
		fprintf(out, "muster_gangs_by_state{state=\"%s\"} %" PRIu64 "\n", former[i].name,
		        former[i].n);
	family_write(out, "muster_gangs_by_reason", "gauge",
	             "Gangs that are pending, waiting or degraded, by reason.");
	for (int i = 0; i < WAIT_REASONS; i++)
		fprintf(out, "muster_gangs_by_reason{reason=\"%s\"} %" PRIu64 "\n", reasons[i],
		        l->waiting[i]);
	FIGURES(
		out,
		GAUGE("muster_partial_gangs",
	          "Gangs at rest with some members bound, and fewer than their quorum.", l->partial),
		GAUGE("muster_extras", "Members with a node beyond the quorums of their gangs.", l->extras),
		GAUGE("muster_gang_oldest_waiting_seconds",
	          "For how long the gang that has waited longest for capacity has waited; 0: none.",
	          (double)l->oldest_ns * 1e-9));
}

void metrics_link_write(const struct metrics *m, FILE *out)
{
	const struct metrics_core *c = &m->core;
	/* One set of counters as two families: kube-scheduler's buckets begin at a millisecond. */
	const struct ledger_buckets plans = { .counts = c->plans.took,
		                                  .n = PLAN_BOUNDS,
		                                  .bound = plans_bound_ns,
		                                  .unit = 1e-9,
		                                  .sum = c->stats.plan_ns_sum };

	buckets_write(
		&plans, 10, "scheduler_scheduling_algorithm_duration_seconds",
		"[BETA] Scheduling algorithm latency in seconds: plan and reserve of a gang, or of a pod without one.",
		out);
	buckets_write(&plans, 0, "muster_plan_duration_seconds", "The same, from a microsecond on.",
	              out);
	rings_write(&m->link, out);
	limits_write(m, out);
	gangs_write(&m->link, out);
	FIGURES(out,
	        COUNTER("muster_backfill_reservations_total",
	                "Backfill reservations, each for a gang that had waited too long.",
	                c->gauges.reservations),
	        GAUGE("muster_backfill_reserved", "1 while there is a backfill reservation.",
	              c->gauges.reserved_gang != 0),
	        COUNTER("muster_holds_total", "Former name of muster_backfill_reservations_total.",
	                c->gauges.reservations),
	        GAUGE("muster_held", "Former name of muster_backfill_reserved.",
	              c->gauges.reserved_gang != 0),
	        COUNTER("muster_core_stale_results_total", "Results without a binding in flight.",
	                c->stats.stale_results));
}
