/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/metrics_impl.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Relaxed: figures for people; each is whole, and they need not agree. */
static uint64_t look(const _Atomic uint64_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

void metrics_read_core(struct metrics_core *out, const struct ledger *ledger)
{
	const struct core_stats *s = &ledger->stats;
	const struct core_gauges *g = &ledger->gauges;

	*out = (struct metrics_core){
		.events = look(&s->events),
		.bad_records = look(&s->bad_records),
		.plans = look(&s->plans),
		.plans_placed = look(&s->plans_placed),
		.plans_refused = look(&s->plans_refused),
		.plan_ns_sum = look(&s->plan_ns_sum),
		.plan_ns_max = look(&s->plan_ns_max),
		.binds_sent = look(&s->binds_sent),
		.binds_accepted = look(&s->binds_accepted),
		.binds_refused = look(&s->binds_refused),
		.limits_hit = look(&s->limits_hit),
		.sleeps = look(&s->sleeps),
		.saturated = look(&s->saturated),
		.epochs = look(&s->epochs),
		.nodes = look(&g->nodes),
		.pods = look(&g->pods),
		.pods_pending = look(&g->pods_pending),
		.pods_bound = look(&g->pods_bound),
		.gangs = look(&g->gangs),
		.gangs_waiting = look(&g->gangs_waiting),
		.gangs_binding = look(&g->gangs_binding),
		.gangs_placed = look(&g->gangs_placed),
		.shapes = look(&g->shapes),
		.names = look(&g->names),
		.synced = look(&g->synced),
		.holds = look(&g->holds),
		.held = look(&g->held),
		.stale_results = look(&s->stale_results),
	};
	for (unsigned i = 0; i <= PLAN_BOUNDS; i++)
		out->took[i] = look(&ledger->plans.took[i]);
}

void metrics_read_process(struct metrics *m)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	DIR *files = opendir("/proc/self/fd");
	struct rlimit limit;
	struct rusage usage;
	unsigned long size = 0, resident = 0;

	if (statm) {
		if (fscanf(statm, "%lu %lu", &size, &resident) == 2) {
			m->rss_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
			m->virtual_bytes = (uint64_t)size * (uint64_t)sysconf(_SC_PAGESIZE);
		}
		fclose(statm);
	}
	m->open_files = 0;
	while (files && readdir(files))
		m->open_files++;
	if (files) {
		m->open_files = m->open_files > 3 ? m->open_files - 3 : 0; /* ., .. and this folder */
		closedir(files);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		m->most_files = limit.rlim_cur;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		m->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void relists_write(const struct metrics *m, FILE *out)
{
	static const char *const reasons[RELIST_REASONS] = {
		[RELIST_EXPIRED] = "expired",
		[RELIST_FAILED] = "failed",
		[RELIST_ROOM] = "room",
		[RELIST_LEADING] = "leading",
	};

	family_write(
		out, "muster_watch_relists_total", "counter",
		"The same relists by reason: the version was too old (410), what came made no sense, objects were left "
		"out that may have room now, or this instance began to lead.");
	for (size_t n = 0; n < m->watches_n; n++)
		for (int i = 0; i < RELIST_REASONS; i++)
			fprintf(
				out,
				"muster_watch_relists_total{group=\"%s\",reason=\"%s\",resource=\"%s\"} %" PRIu64
				"\n",
				m->watches[n].group, reasons[i], m->watches[n].resource,
				m->watches[n].counts.relists_for[i]);
}

static void watches_write(const struct metrics *m, FILE *out)
{
	static const struct {
		const char *name, *type, *help;
		size_t offset; /* in struct watch_counts; SIZE_MAX, SIZE_MAX - 1: synced, absent */
	} rows[] = {
		{ "muster_lists_total", "counter", "Lists finished.",
		  offsetof(struct watch_counts, lists) },
		{ "muster_relists_total", "counter", "Lists started because a watch could not go on.",
		  offsetof(struct watch_counts, relists) },
		{ "muster_watches_total", "counter", "Watches started.",
		  offsetof(struct watch_counts, watches) },
		{ "muster_watch_failures_total", "counter", "Lists and watches that failed.",
		  offsetof(struct watch_counts, failures) },
		{ "muster_watch_events_total", "counter", "Events received.",
		  offsetof(struct watch_counts, events) },
		{ "muster_watch_bookmarks_total", "counter", "Bookmarks received.",
		  offsetof(struct watch_counts, bookmarks) },
		{ "muster_watch_bad_objects_total", "counter", "Objects that could not be taken.",
		  offsetof(struct watch_counts, bad_objects) },
		{ "muster_watch_too_large_total", "counter", "Connections closed for an object over 4 MiB.",
		  offsetof(struct watch_counts, too_large) },
		{ "muster_watch_silences_total", "counter", "Watches given up because nothing came.",
		  offsetof(struct watch_counts, silences) },
		{ "muster_watch_synced", "gauge", "1 once the resource was listed.", SIZE_MAX },
		{ "muster_watch_absent", "gauge", "1 while the cluster does not have the resource.",
		  SIZE_MAX - 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", rows[i].name, rows[i].help, rows[i].name,
		        rows[i].type);
		for (size_t n = 0; n < m->watches_n; n++) {
			const struct metrics_watch *w = &m->watches[n];
			uint64_t value;

			if (rows[i].offset == SIZE_MAX)
				value = w->synced;
			else if (rows[i].offset == SIZE_MAX - 1)
				value = w->absent;
			else
				memcpy(&value, (const char *)&w->counts + rows[i].offset, sizeof(value));
			fprintf(out, "%s{group=\"%s\",resource=\"%s\"} %" PRIu64 "\n", rows[i].name, w->group,
			        w->resource, value);
		}
	}
	relists_write(m, out);
	family_write(out, "muster_watch_silence_seconds", "gauge",
	             "How long nothing came on the watch that runs.");
	for (size_t n = 0; n < m->watches_n; n++)
		fprintf(out, "muster_watch_silence_seconds{group=\"%s\",resource=\"%s\"} %.9g\n",
		        m->watches[n].group, m->watches[n].resource,
		        (double)m->watches[n].silence_ns * 1e-9);
}

static void objects_write(const struct metrics *m, FILE *out)
{
	const struct model_counts *c = &m->model;

	FIGURES(
		out, { "muster_objects_nodes", "gauge", "Nodes known.", (double)c->nodes },
		{ "muster_objects_pods", "gauge", "Pods known.", (double)c->pods },
		{ "muster_objects_pods_pending", "gauge", "Pods of ours that are not bound.",
	      (double)c->pods_ours_pending },
		{ "muster_objects_gangs", "gauge", "Gangs known.", (double)c->gangs },
		{ "muster_objects_shapes", "gauge", "Shapes in use.", (double)c->shapes },
		{ "muster_objects_referred", "gauge",
	      "Namespaces, services, controllers, policies, objects of volumes and ConfigMaps known.",
	      (double)c->referred },
		{ "muster_objects_put_total", "counter", "Objects read.", (double)c->objects_put },
		{ "muster_objects_removed_total", "counter", "Objects removed.",
	      (double)c->objects_removed },
		{ "muster_objects_stale_total", "counter", "Objects older than what was known.",
	      (double)c->objects_stale },
		{ "muster_objects_bad_total", "counter", "Objects that could not be read.",
	      (double)c->objects_bad },
		{ "muster_limits_hit_total", "counter", "Objects for which a limit left no room.",
	      (double)c->limits_hit });
}

static void writer_write(const struct metrics *m, FILE *out)
{
	const struct writer_counts *w = &m->writer;

	fprintf(out,
	        "# HELP muster_binds_total Bindings by result.\n# TYPE muster_binds_total counter\n"
	        "muster_binds_total{result=\"bound\"} %" PRIu64
	        "\nmuster_binds_total{result=\"refused\"} %" PRIu64 "\n",
	        w->bound, w->refused);
	family_write(out, "muster_ambiguous_binds_total", "counter",
	             "Bindings whose answer did not say whether they hold, by what became of them.");
	fprintf(out,
	        "muster_ambiguous_binds_total{outcome=\"bound\"} %" PRIu64
	        "\nmuster_ambiguous_binds_total{outcome="
	        "\"refused\"} %" PRIu64 "\n",
	        w->ambiguous_bound, w->ambiguous_refused);
	FIGURES(
		out,
		{ "muster_bind_posts_total", "counter", "Bindings sent, repeats included.",
	      (double)w->posts },
		{ "muster_bind_seconds_total", "counter", "Time of all binding requests together.",
	      (double)w->post_ns_sum * 1e-9 },
		{ "muster_binds_ambiguous_total", "counter",
	      "Bindings whose answer did not say whether they hold.", (double)w->ambiguous },
		{ "muster_bind_reads_total", "counter", "Pods read to learn what became of a binding.",
	      (double)w->reads },
		{ "muster_bind_fences_total", "counter",
	      "Status writes that keep an old binding from landing.", (double)w->fences },
		{ "muster_binds_withdrawn_total", "counter",
	      "Bindings of an earlier frontend that were to be taken back.", (double)w->withdrawn },
		{ "muster_pods_settled_total", "counter",
	      "Waiting pods of gangs that had begun, whose version was moved on before the "
	      "first plan.",
	      (double)m->settle.settled },
		{ "muster_pods_unsettled_total", "counter", "The same where that failed.",
	      (double)m->settle.left },
		{ "muster_group_reads_total", "counter",
	      "Groups read before the first binding of their gang.", (double)w->group_reads },
		{ "muster_plans_outdated_total", "counter",
	      "Plans given back to the core since the group had changed.", (double)w->groups_changed },
		{ "muster_bind_slowed_total", "counter", "Bindings answered with 429.", (double)w->slowed },
		{ "muster_bind_not_sent_total", "counter", "Bindings that did not reach the API server.",
	      (double)w->retries },
		{ "muster_binds_queued", "gauge", "Bindings not sent yet.", (double)m->binds_queued },
		{ "muster_binds_in_flight", "gauge", "Binding requests under way.",
	      (double)m->binds_in_flight },
		{ "muster_binds_window", "gauge", "Binding requests allowed at once.",
	      (double)m->binds_window },
		{ "muster_report_conditions_total", "counter", "PodScheduled conditions written.",
	      (double)m->report.conditions },
		{ "muster_report_statuses_total", "counter", "Statuses of groups' objects written.",
	      (double)m->report.statuses },
		{ "muster_report_events_total", "counter", "Events written.", (double)m->report.events },
		{ "muster_report_unchanged_total", "counter", "Conditions that said it already.",
	      (double)m->report.unchanged },
		{ "muster_report_coalesced_total", "counter",
	      "Reasons replaced by newer ones before they were written.", (double)m->report.coalesced },
		{ "muster_report_dropped_total", "counter", "Reports dropped.", (double)m->report.dropped },
		{ "muster_reports_queued", "gauge", "Reports not written yet.",
	      (double)m->reports_queued });
}

static void extender_metrics_write(const struct metrics *m, FILE *out)
{
	const struct extender_counts *x = &m->extender;

	if (!m->extends)
		return;
	fprintf(out,
	        "# HELP muster_extender_answers_total Answers to /filter and /prioritize by result.\n"
	        "# TYPE muster_extender_answers_total counter\n"
	        "muster_extender_answers_total{result=\"placed\"} %" PRIu64
	        "\nmuster_extender_answers_total{result=\"nowhere\"} "
	        "%" PRIu64 "\nmuster_extender_answers_total{result=\"error\"} %" PRIu64 "\n",
	        x->placed, x->nowhere, x->errors);
	FIGURES(out,
	        { "muster_extender_seconds_total", "counter",
	          "Time of all answers together, from a request read to its answer.",
	          (double)x->ns_sum * 1e-9 },
	        { "muster_extender_seconds_max", "gauge", "The longest of them.",
	          (double)x->ns_max * 1e-9 });
}

static void lease_metrics_write(const struct metrics *m, FILE *out)
{
	if (!m->elects)
		return;
	family_write(out, "leader_election_master_status", "gauge",
	             "1 while this instance holds the lease.");
	fprintf(out, "leader_election_master_status{name=\"muster\"} %d\n", m->leads);
	FIGURES(out, { "muster_leading", "gauge", "1 while this instance holds the lease.", m->leads },
	        { "muster_lease_renewals_total", "counter", "Times the lease was taken or renewed.",
	          (double)m->lease.renewals },
	        { "muster_lease_failures_total", "counter", "Requests for the lease that failed.",
	          (double)m->lease.failures });
}

static void http_write(const struct metrics *m, FILE *out)
{
	static const char *const lanes[HTTP_LANES] = { "watch", "bind", "report",
		                                           "call",  "list", "lease" };

	fprintf(out, "# HELP muster_http_requests_total Requests to the API server.\n"
	             "# TYPE muster_http_requests_total counter\n");
	for (int i = 0; i < HTTP_LANES; i++)
		fprintf(out, "muster_http_requests_total{lane=\"%s\"} %" PRIu64 "\n", lanes[i],
		        m->curl.requests[i]);
	fprintf(out, "# HELP muster_http_answers_total Answers of the API server by class of status.\n"
	             "# TYPE muster_http_answers_total counter\n");
	for (int i = 1; i < 6; i++)
		fprintf(out, "muster_http_answers_total{code=\"%dxx\"} %" PRIu64 "\n", i,
		        m->curl.by_class[i]);
	FIGURES(out,
	        { "muster_http_not_sent_total", "counter", "Requests that found no connection.",
	          (double)m->curl.not_sent },
	        { "muster_http_broken_total", "counter", "Requests whose answer did not come.",
	          (double)m->curl.broken },
	        { "muster_http_connects_total", "counter", "Connections opened.",
	          (double)m->curl.connects },
	        { "muster_token_renewals_total", "counter",
	          "Times the token was read again after a 401.", (double)m->curl.renewals });
}

static void core_write(const struct metrics *m, FILE *out)
{
	const struct metrics_core *c = &m->core;

	family_write(out, "muster_core_lost_total", "counter", "Cores that were lost, by reason.");
	fprintf(out,
	        "muster_core_lost_total{reason=\"gone\"} %" PRIu64
	        "\nmuster_core_lost_total{reason=\"command\"} %" PRIu64
	        "\nmuster_core_lost_total{reason=\"ring\"} %" PRIu64 "\n",
	        m->lost.gone, m->lost.bad_command, m->lost.bad_ring);
	FIGURES(out, { "muster_core_up", "gauge", "1 while the core is connected.", m->core_up },
	        { "muster_core_connects_total", "counter", "Times a core was connected.",
	          (double)m->frontend.core_connects },
	        { "muster_core_commands_total", "counter", "Commands taken from the core.",
	          (double)m->frontend.commands },
	        { "muster_core_bad_commands_total", "counter",
	          "Connections closed for a command that made no sense.", (double)m->lost.bad_command },
	        { "muster_ring_full_total", "counter", "Times that a ring towards the core was full.",
	          (double)m->frontend.ring_full });
	if (!m->core_up)
		return;
	FIGURES(
		out,
		{ "muster_core_events_total", "counter", "Records applied by the core.",
	      (double)c->events },
		{ "muster_core_bad_records_total", "counter", "Records refused by the core.",
	      (double)c->bad_records },
		{ "muster_core_plans_total", "counter", "Gangs looked at.", (double)c->plans },
		{ "muster_core_plans_placed_total", "counter", "Gangs reserved.", (double)c->plans_placed },
		{ "muster_core_plans_refused_total", "counter", "Gangs refused with a reason.",
	      (double)c->plans_refused },
		{ "muster_core_plan_seconds_total", "counter", "Time in plan and reserve.",
	      (double)c->plan_ns_sum * 1e-9 },
		{ "muster_core_plan_seconds_max", "gauge", "The longest plan.",
	      (double)c->plan_ns_max * 1e-9 },
		{ "muster_core_binds_sent_total", "counter", "Bindings commanded.", (double)c->binds_sent },
		{ "muster_core_binds_accepted_total", "counter", "Bindings that hold.",
	      (double)c->binds_accepted },
		{ "muster_core_binds_refused_total", "counter", "Bindings refused.",
	      (double)c->binds_refused },
		{ "muster_core_limits_hit_total", "counter", "Records for which a limit left no room.",
	      (double)c->limits_hit },
		{ "muster_core_sleeps_total", "counter", "Times the core slept.", (double)c->sleeps },
		{ "muster_core_saturated_total", "counter", "Sums that hit the end of 64 bits.",
	      (double)c->saturated },
		{ "muster_nodes", "gauge", "Nodes in the ledger.", (double)c->nodes },
		{ "muster_pods", "gauge", "Pods in the ledger.", (double)c->pods },
		{ "muster_pods_pending", "gauge", "Pods that wait.", (double)c->pods_pending },
		{ "muster_pods_bound", "gauge", "Pods that have a node.", (double)c->pods_bound },
		{ "muster_gangs", "gauge", "Gangs in the ledger.", (double)c->gangs },
		{ "muster_gangs_waiting", "gauge", "Gangs that wait.", (double)c->gangs_waiting },
		{ "muster_gangs_binding", "gauge", "Gangs whose bindings are on their way.",
	      (double)c->gangs_binding },
		{ "muster_gangs_placed", "gauge", "Gangs whose quorum is bound.", (double)c->gangs_placed },
		{ "muster_core_synced", "gauge", "1 once the lists are in the ledger.",
	      (double)c->synced });
}

void metrics_write(const struct metrics *m, FILE *out)
{
	watches_write(m, out);
	objects_write(m, out);
	writer_write(m, out);
	extender_metrics_write(m, out);
	lease_metrics_write(m, out);
	http_write(m, out);
	core_write(m, out);
	if (m->core_up)
		metrics_link_write(m, out);
	metrics_pods_write(m, out);
	FIGURES(
		out,
		{ "process_virtual_memory_bytes", "gauge", "Virtual memory.", (double)m->virtual_bytes },
		{ "process_open_fds", "gauge", "Open files.", (double)m->open_files },
		{ "process_max_fds", "gauge", "Files that may be open.", (double)m->most_files },
		{ "process_resident_memory_bytes", "gauge", "Resident memory.", (double)m->rss_bytes },
		{ "process_cpu_seconds_total", "counter", "User and system time.", m->cpu_seconds },
		{ "process_start_time_seconds", "gauge", "When the process began, since 1970.",
	      m->start_seconds });
	fprintf(out,
	        "# HELP muster_build_info The version.\n# TYPE muster_build_info gauge\n"
	        "muster_build_info{version=\"%s\"} 1\n",
	        MUSTER_VERSION);
}

const char *metrics_not_ready(const struct metrics *m, char *text, size_t text_bytes)
{
	if (!m->core_up)
		return "muster-core is not connected";
	for (size_t i = 0; i < m->watches_n; i++) {
		const struct metrics_watch *w = &m->watches[i];

		if (!w->synced) {
			snprintf(text, text_bytes, "%s%s%s not listed yet%s%s", w->resource,
			         *w->group ? "." : "", w->group, *w->error ? ": " : "", w->error);
			return text;
		}
	}
	if (m->elects && !m->leads) /* it stands by, and could act at once */
		return NULL;
	return m->core.synced ? NULL : "the lists are not in the ledger yet";
}
