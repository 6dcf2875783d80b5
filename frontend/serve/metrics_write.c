/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/metrics_impl.h"

#include "ipc/promises.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Parts of the ledger of which all fields are counters. */
static void counters_read(void *out, const void *part, size_t bytes)
{
	_Atomic uint64_t *to = out;
	const _Atomic uint64_t *from = part;

	/* Relaxed: statistics; each value is whole, they need not be consistent. */
	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		atomic_init(&to[i], atomic_load_explicit(&from[i], memory_order_relaxed));
}

void metrics_read_core(struct metrics_core *out, const struct ledger *ledger)
{
#define READ(part) counters_read(&out->part, &ledger->part, sizeof(out->part))
	READ(stats);
	READ(gauges);
	READ(plans);
	READ(starts);
	READ(world);
	READ(searches);
	READ(preemption);
	READ(loop);
	out->progress = atomic_load_explicit(&ledger->progress, memory_order_relaxed);
#undef READ
}

void metrics_read_process(struct metrics *m)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	FILE *schedstat = fopen("/proc/thread-self/schedstat", "re"); /* proc(5) */
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
	if (schedstat) {
		if (fscanf(schedstat, "%*u %" SCNu64, &m->runqueue_ns) != 1)
			m->runqueue_ns = 0;
		fclose(schedstat);
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
		"The same relists by reason: the version was too old (410), an invalid event, objects beyond a limit that may "
		"fit now, or this instance became the leader.");
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
		{ "muster_lists_streamed_total", "counter", "Of these, as a stream (--stream-lists).",
		  offsetof(struct watch_counts, streamed) },
		{ "muster_relists_total", "counter",
		  "Lists repeated, for the reasons of muster_watch_relists_total.",
		  offsetof(struct watch_counts, relists) },
		{ "muster_watches_total", "counter", "Watches started.",
		  offsetof(struct watch_counts, watches) },
		{ "muster_watch_failures_total", "counter", "Lists and watches that failed.",
		  offsetof(struct watch_counts, failures) },
		{ "muster_watch_events_total", "counter", "Events received.",
		  offsetof(struct watch_counts, events) },
		{ "muster_watch_bookmarks_total", "counter", "Bookmarks received.",
		  offsetof(struct watch_counts, bookmarks) },
		{ "muster_watch_bad_objects_total", "counter",
		  "Objects that could not be decoded or stored.",
		  offsetof(struct watch_counts, bad_objects) },
		{ "muster_watch_too_large_total", "counter",
		  "Connections closed for an object over 10 MiB.",
		  offsetof(struct watch_counts, too_large) },
		{ "muster_watch_silences_total", "counter", "Watches closed because they received nothing.",
		  offsetof(struct watch_counts, silences) },
		{ "muster_watch_synced", "gauge", "1 once the resource was listed.", SIZE_MAX },
		{ "muster_watch_absent", "gauge", "1 while the cluster does not have the resource.",
		  SIZE_MAX - 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		family_write(out, rows[i].name, rows[i].type, rows[i].help);
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
	             "Time since the current watch received anything.");
	for (size_t n = 0; n < m->watches_n; n++)
		fprintf(out, "muster_watch_silence_seconds{group=\"%s\",resource=\"%s\"} %.9g\n",
		        m->watches[n].group, m->watches[n].resource,
		        (double)m->watches[n].silence_ns * 1e-9);
}

static void objects_write(const struct metrics *m, FILE *out)
{
	const struct model_counts *c = &m->model;

	FIGURES(
		out, GAUGE("muster_objects_nodes", "Nodes known.", c->nodes),
		GAUGE("muster_objects_pods", "Pods known.", c->pods),
		GAUGE("muster_objects_pods_pending", "Pods of muster that are not bound.",
	          c->pods_ours_pending),
		GAUGE("muster_objects_gangs", "Gangs known.", c->gangs),
		GAUGE("muster_objects_shapes", "Shapes in use, or kept for the next pod.", c->shapes),
		GAUGE(
			"muster_objects_referred",
			"Namespaces, services, controllers, policies, objects of volumes and ConfigMaps known.",
			c->referred),
		COUNTER("muster_objects_put_total", "Objects read.", c->objects_put),
		COUNTER("muster_objects_removed_total", "Objects removed.", c->objects_removed),
		COUNTER("muster_objects_stale_total", "Objects older than what was known.",
	            c->objects_stale),
		COUNTER("muster_objects_bad_total", "Objects that could not be read.", c->objects_bad),
		COUNTER("muster_limits_hit_total", "Objects left out because of a limit.", c->limits_hit));
}

static void binder_write(const struct metrics *m, FILE *out)
{
	const struct binder_counts *w = &m->binder;

	LABELLED(out, "muster_binds_total", "result", "Bindings by result.", { "bound", w->bound },
	         { "refused", w->refused });
	LABELLED(out, "muster_ambiguous_binds_total", "outcome",
	         "Bindings without a conclusive answer, by outcome.", { "bound", w->ambiguous_bound },
	         { "refused", w->ambiguous_refused });
	FIGURES(out, COUNTER("muster_bind_posts_total", "Bindings sent, repeats included.", w->posts),
	        COUNTER("muster_bind_seconds_total", "Time of all binding requests together.",
	                w->post_ns_sum * 1e-9),
	        COUNTER("muster_binds_ambiguous_total", "Bindings without a conclusive answer.",
	                w->ambiguous),
	        COUNTER("muster_bind_reads_total",
	                "Pods read to resolve a binding without a conclusive answer.", w->reads),
	        COUNTER("muster_bind_fences_total",
	                "Status writes that invalidate an old binding in flight.", w->fences),
	        COUNTER("muster_binds_cancelled_total",
	                "Bindings of an earlier frontend that the core cancelled.", w->cancelled),
	        COUNTER("muster_takeover_pods_fenced_total",
	                "Waiting pods of partially bound gangs that were fenced before the first plan.",
	                m->takeover.fenced),
	        COUNTER("muster_takeover_pods_failed_total", "The same where the write failed.",
	                m->takeover.left),
	        COUNTER("muster_group_reads_total",
	                "Groups read before the first binding of their gang.", w->group_reads),
	        COUNTER("muster_plans_outdated_total",
	                "Plans returned to the core because the group had changed.", w->groups_changed),
	        COUNTER("muster_bind_slowed_total", "Bindings answered with 429.", w->slowed),
	        COUNTER("muster_bind_not_sent_total", "Bindings that did not reach the API server.",
	                w->retries),
	        GAUGE("muster_binds_queued", "Bindings not sent yet.", m->binds_queued),
	        GAUGE("muster_binds_held",
	              "Bindings that wait until what their gang needs is written, such as volumes.",
	              m->binds_held),
	        GAUGE("muster_binds_in_flight", "Binding requests in flight.", m->binds_in_flight),
	        GAUGE("muster_binds_window", "Binding requests allowed at once.", m->binds_window));
}

static void report_write(const struct metrics *m, FILE *out)
{
	FIGURES(
		out,
		COUNTER("muster_report_conditions_total", "PodScheduled conditions written.",
	            m->report.conditions),
		COUNTER("muster_report_statuses_total", "Statuses of groups' objects written.",
	            m->report.statuses),
		COUNTER("muster_report_events_total", "Events written.", m->report.events),
		COUNTER("muster_report_unchanged_total", "Conditions that were up to date already.",
	            m->report.unchanged),
		COUNTER("muster_report_coalesced_total",
	            "Reasons replaced by newer ones before they were written.", m->report.coalesced),
		COUNTER("muster_report_deferred_total",
	            "Reports that were not written; a sweep, every 30 s, retries.", m->report.deferred),
		COUNTER("muster_report_dropped_total",
	            "Reports that are lost: invalid, an hour late, or beyond the limit.",
	            m->report.dropped),
		COUNTER("muster_report_terminating_total",
	            "Events not written since their namespace is being deleted.",
	            m->report.terminating),
		GAUGE("muster_reports_queued", "Reports not written yet.", m->reports_queued),
		GAUGE("muster_events_window", "Events of bindings allowed at once.", m->events_window));
}

static void extender_metrics_write(const struct metrics *m, FILE *out)
{
	const struct extender_counts *x = &m->extender;

	if (!m->extends)
		return;
	LABELLED(out, "muster_extender_answers_total", "result",
	         "Answers to /filter and /prioritize by result.", { "placed", x->placed },
	         { "nowhere", x->nowhere }, { "error", x->errors });
	LABELLED(out, "muster_extender_unreserved_total", "reason",
	         "Questions to /filter answered without a reservation: no uid, "
	         "--extender-reservations-max, --extender-keep, or the journal could not be written.",
	         { "uid", x->unreserved[UNRESERVED_UID] }, { "limit", x->unreserved[UNRESERVED_LIMIT] },
	         { "time", x->unreserved[UNRESERVED_TIME] },
	         { "journal", x->unreserved[UNRESERVED_JOURNAL] });
	FIGURES(out,
	        COUNTER("muster_extender_seconds_total",
	                "Time of all answers together, from a request read to its answer.",
	                x->ns_sum * 1e-9),
	        GAUGE("muster_extender_seconds_max", "The longest of them.", x->ns_max * 1e-9));
}

static void lease_metrics_write(const struct metrics *m, FILE *out)
{
	if (!m->elects)
		return;
	family_write(out, "leader_election_master_status", "gauge",
	             "1 while this instance holds the lease.");
	fprintf(out, "leader_election_master_status{name=\"muster\"} %d\n", m->leads);
	FIGURES(out, GAUGE("muster_leading", "1 while this instance holds the lease.", m->leads),
	        COUNTER("muster_lease_renewals_total", "Times the lease was taken or renewed.",
	                m->lease.renewals),
	        COUNTER("muster_lease_failures_total", "Requests for the lease that failed.",
	                m->lease.failures));
}

static void journal_metrics_write(const struct metrics *m, FILE *out)
{
	const struct journal_counts *j = &m->journal;

	if (!m->journals)
		return;
	FIGURES(
		out,
		GAUGE("muster_journal_writable",
	          "0 while the journal can't be read or written: no pod is bound.",
	          !m->journal_fault[0]),
		GAUGE("muster_journal_intents", "Intents that are not completed yet.", m->journal_intents),
		COUNTER("muster_journal_writes_total", "Writes of the journal that were accepted.",
	            j->writes),
		COUNTER("muster_journal_failures_total", "Requests for the journal that failed.",
	            j->failures),
		COUNTER("muster_journal_conflicts_total",
	            "Writes of the journal that found another version.", j->conflicts),
		COUNTER("muster_journal_durable_total", "Intents that were written.", j->intents),
		COUNTER("muster_journal_wait_seconds_total",
	            "Time from intents to the journal that had them, together.",
	            (double)j->wait_ns_sum * 1e-9),
		COUNTER("muster_journal_full_total",
	            "Times that intents waited since the journal was full.", j->full),
		COUNTER("muster_journal_unreadable_total",
	            "Times that the ConfigMap's data was not a valid journal.", j->unreadable));
}

static void http_write(const struct metrics *m, FILE *out)
{
	const uint64_t *r = m->curl.requests, *c = m->curl.by_class;

	static_assert(HTTP_LANES == 7, "a label for each");
	LABELLED(out, "muster_http_requests_total", "lane", "Requests to the API server.",
	         { "watch", r[HTTP_WATCH] }, { "bind", r[HTTP_BIND] }, { "report", r[HTTP_REPORT] },
	         { "call", r[HTTP_CALL] }, { "list", r[HTTP_LIST] }, { "lease", r[HTTP_LEASE] },
	         { "journal", r[HTTP_JOURNAL] });
	LABELLED(out, "muster_http_answers_total", "code",
	         "Answers of the API server by class of status.", { "1xx", c[1] }, { "2xx", c[2] },
	         { "3xx", c[3] }, { "4xx", c[4] }, { "5xx", c[5] });
	FIGURES(
		out,
		COUNTER("muster_http_not_sent_total", "Requests that found no connection.",
	            m->curl.not_sent),
		COUNTER("muster_http_broken_total", "Requests whose answer did not come.", m->curl.broken),
		COUNTER("muster_http_connects_total", "Connections opened.", m->curl.connects),
		COUNTER("muster_token_renewals_total", "Times the token was read again after a 401.",
	            m->curl.renewals));
}

/* For victims of gangs that wait: core/world/lookout.h.  Nothing with --searchers 0. */
static void searches_write(const struct metrics_core *c, FILE *out)
{
	const _Atomic uint64_t *n = c->searches.answers;

	LABELLED(out, "muster_searches_total", "result", "Searches for victims of gangs that wait.",
	         { "proved", n[VICTIMS_ROW_PROVED] }, { "gave_up", n[VICTIMS_ROW_GAVE_UP] },
	         { "impossible", n[VICTIMS_ROW_IMPOSSIBLE] }, { "never", n[VICTIMS_ROW_NEVER] },
	         { "fits", n[VICTIMS_ROW_FITS] }, { "devices", n[VICTIMS_ROW_DEVICES] });
	FIGURES(out,
	        COUNTER("muster_search_steps_total", "Their work, in steps of about 10 ns.",
	                c->searches.steps),
	        COUNTER("muster_search_seconds_total", "The time that they took.",
	                (double)c->searches.ns * 1e-9),
	        COUNTER("muster_search_made_seconds_total",
	                "The time to make the cores that they search.",
	                (double)c->searches.made_ns * 1e-9),
	        GAUGE("muster_search_kept_bytes", "Records that are kept for them.",
	              c->searches.kept_bytes));
}

/* The histogram of promise_error_bound_s(): its sum may fall. */
static void start_errors_write(const struct metrics_core *c, FILE *out)
{
	uint64_t n = 0;

	fputs("# HELP muster_promise_error_seconds Start of a promised gang minus the first "
	      "promise.\n# TYPE muster_promise_error_seconds histogram\n",
	      out);
	for (unsigned i = 0; i + 1 < PROMISE_ERRORS; i++) {
		n += c->starts.errors[i];
		fprintf(out, "muster_promise_error_seconds_bucket{le=\"%" PRId64 "\"} %" PRIu64 "\n",
		        promise_error_bound_s(i), n);
	}
	n += c->starts.errors[PROMISE_ERRORS - 1];
	fprintf(out,
	        "muster_promise_error_seconds_bucket{le=\"+Inf\"} %" PRIu64
	        "\nmuster_promise_error_seconds_sum %" PRId64
	        "\nmuster_promise_error_seconds_count %" PRIu64 "\n",
	        n, (int64_t)(c->starts.late_s - c->starts.early_s), n);
}

static void starts_write(const struct metrics_core *c, FILE *out)
{
	FIGURES(
		out, GAUGE("muster_promises", "Promised starts in effect.", c->starts.standing),
		COUNTER("muster_promises_lost_total",
	            "Promises for which no new time was found, or whose queue refuses the gang by now.",
	            c->starts.lost));
	fputs("# HELP muster_promises_moved_total Moves of promised starts, and why.\n"
	      "# TYPE muster_promises_moved_total counter\n",
	      out);
	fprintf(out, "muster_promises_moved_total{direction=\"earlier\",reason=\"\"} %" PRIu64 "\n",
	        c->starts.earlier);
	for (uint32_t i = MOVE_NONE + 1; i < MOVES; i++)
		fprintf(out, "muster_promises_moved_total{direction=\"later\",reason=\"%s\"} %" PRIu64 "\n",
		        promise_move_name(i), c->starts.later[i]);
	start_errors_write(c, out);
	FIGURES(out, COUNTER("muster_backfilled_total",
	                     "Gangs that started before one that was promised a start before them.",
	                     c->starts.backfilled));
	LABELLED(out, "muster_overruns_total", "kind",
	         "Pods that outlived their known end: an enforced or an expected one, or their grace "
	         "period when evicted.",
	         { "hard", c->starts.overruns[OVERRUN_HARD] },
	         { "soft", c->starts.overruns[OVERRUN_SOFT] },
	         { "evicted", c->starts.overruns[OVERRUN_EVICTED] });
}

/* Nothing with --searchers 0. */
static void world_write(const struct metrics_core *c, FILE *out)
{
	const bool follows = c->world.state == WORLD_FOLLOWS;

	if (c->world.state == WORLD_OFF)
		return;
	FIGURES(
		out, GAUGE("muster_world_follows", "0 once the world was dropped.", follows),
		COUNTER("muster_world_mismatch_total",
	            "Steps in which the world differed from the loop: a bug, and it was dropped.",
	            c->world.mismatches),
		GAUGE("muster_world_lag_records", "Records that the loop has applied and the world not.",
	          follows && c->stats.events > c->world.events ? c->stats.events - c->world.events : 0),
		GAUGE("muster_world_waiting_bytes", "Bytes that wait in the world's ring.",
	          c->world.waiting_bytes),
		COUNTER("muster_snapshots_total", "Snapshots of the world.", c->world.snapshots),
		COUNTER("muster_snapshot_chunks_copied_total", "Chunks of 64 nodes that differed.",
	            c->world.chunks_copied),
		COUNTER("muster_snapshot_chunks_shared_total", "Chunks that the snapshot before had.",
	            c->world.chunks_shared),
		COUNTER("muster_snapshots_put_off_total",
	            "Snapshots skipped because readers kept earlier ones.", c->world.snapshots_put_off),
		COUNTER("muster_snapshot_audits_total", "Times that sums of nodes were recomputed.",
	            c->world.audits),
		COUNTER("muster_snapshot_audit_faults_total", "Of them, with a wrong sum: a bug.",
	            c->world.audit_faults));
}

static void core_write(const struct metrics *m, FILE *out)
{
	const struct metrics_core *c = &m->core;

	LABELLED(out, "muster_core_lost_total", "reason", "Cores that were lost, by reason.",
	         { "gone", m->lost.gone }, { "command", m->lost.bad_command },
	         { "ring", m->lost.bad_ring }, { "stalled", m->lost.stalled });
	FIGURES(
		out, GAUGE("muster_core_up", "1 while the core is connected.", m->core_up),
		GAUGE(
			"muster_core_stalled",
			"1 after the core was disconnected because it read no records, until one is connected.",
			m->core_stalled),
		COUNTER("muster_core_connects_total", "Times a core was connected.",
	            m->frontend.core_connects),
		COUNTER("muster_core_commands_total", "Commands taken from the core.",
	            m->frontend.commands),
		COUNTER("muster_core_bad_commands_total",
	            "Connections closed because of an invalid command.", m->lost.bad_command),
		COUNTER("muster_ring_full_total", "Times that a ring towards the core was full.",
	            m->frontend.ring_full));
	if (!m->core_up)
		return;
	FIGURES(
		out, COUNTER("muster_core_events_total", "Records applied by the core.", c->stats.events),
		COUNTER("muster_core_bad_records_total", "Records rejected by the core.",
	            c->stats.bad_records),
		COUNTER("muster_core_plans_total", "Plans made for gangs and pods.", c->stats.plans),
		COUNTER("muster_core_plans_placed_total", "Plans that were reserved.",
	            c->stats.plans_placed),
		COUNTER("muster_core_plans_refused_total", "Plans that failed, with a reason.",
	            c->stats.plans_refused),
		COUNTER("muster_core_plan_seconds_total", "Time in plan and reserve.",
	            c->stats.plan_ns_sum * 1e-9),
		GAUGE("muster_core_plan_seconds_max", "The longest plan.", c->stats.plan_ns_max * 1e-9),
		COUNTER("muster_core_binds_sent_total", "Bindings commanded.", c->stats.binds_sent),
		COUNTER("muster_core_binds_accepted_total", "Bindings accepted.", c->stats.binds_accepted),
		COUNTER("muster_core_binds_refused_total", "Bindings refused.", c->stats.binds_refused),
		COUNTER("muster_core_limits_hit_total", "Records left out because of a limit.",
	            c->stats.limits_hit),
		COUNTER("muster_core_progress_total",
	            "Iterations of the core's loop: at least ten a second.", c->progress),
		COUNTER("muster_core_sleeps_total", "Times the core slept.", c->stats.sleeps),
		COUNTER("muster_core_saturated_total", "Sums that saturated at 64 bits.",
	            c->stats.saturated),
		GAUGE("muster_nodes", "Nodes in the ledger.", c->gauges.nodes),
		GAUGE("muster_pods", "Pods in the ledger.", c->gauges.pods),
		GAUGE("muster_pods_pending", "Pods that wait.", c->gauges.pods_pending),
		GAUGE("muster_pods_bound", "Pods that have a node.", c->gauges.pods_bound),
		GAUGE("muster_gangs", "Gangs in the ledger.", c->gauges.gangs),
		GAUGE("muster_gangs_waiting", "Gangs that wait.", c->gauges.gangs_waiting),
		GAUGE("muster_gangs_binding", "Gangs with bindings in flight.", c->gauges.gangs_binding),
		GAUGE("muster_gangs_placed", "Gangs whose quorum is bound.", c->gauges.gangs_placed),
		GAUGE("muster_core_synced", "1 once the lists are in the ledger.", c->gauges.synced));
	starts_write(c, out);
	world_write(c, out);
	if (c->world.state != WORLD_OFF)
		searches_write(c, out);
}

void metrics_write(const struct metrics *m, FILE *out)
{
	watches_write(m, out);
	objects_write(m, out);
	binder_write(m, out);
	metrics_claims_write(m, out);
	report_write(m, out);
	extender_metrics_write(m, out);
	lease_metrics_write(m, out);
	journal_metrics_write(m, out);
	metrics_evictions_write(m, out);
	http_write(m, out);
	metrics_port_write(m, out);
	core_write(m, out);
	if (m->core_up) {
		metrics_link_write(m, out);
		metrics_usage_write(m, out);
		metrics_queues_write(m, out);
	}
	metrics_waits_write(m, out);
	metrics_turns_write(m, out);
	metrics_pods_write(m, out);
	FIGURES(out, GAUGE("process_virtual_memory_bytes", "Virtual memory.", m->virtual_bytes),
	        GAUGE("process_open_fds", "Open files.", m->open_files),
	        GAUGE("process_max_fds", "Files that may be open.", m->most_files),
	        GAUGE("process_resident_memory_bytes", "Resident memory.", m->rss_bytes),
	        COUNTER("process_cpu_seconds_total", "User and system time.", m->cpu_seconds),
	        GAUGE("process_start_time_seconds", "When the process began, since 1970.",
	              m->start_seconds));
	fprintf(out,
	        "# HELP muster_build_info The version.\n# TYPE muster_build_info gauge\n"
	        "muster_build_info{version=\"%s\"} 1\n",
	        MUSTER_VERSION);
}

const char *metrics_not_live(const struct metrics *m)
{
	return m->core_stalled ? "muster-core makes no progress" : NULL;
}

const char *metrics_not_ready(const struct metrics *m, char *text, size_t text_bytes)
{
	if (metrics_not_live(m))
		return metrics_not_live(m);
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
	if (m->elects && !m->leads) /* a standby that could act at once */
		return NULL;
	if (m->journal_fault[0])
		return m->journal_fault;
	return m->core.gauges.synced ? NULL : "the lists are not in the ledger yet";
}
