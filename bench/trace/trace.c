/* SPDX-License-Identifier: Apache-2.0 */
/* A log of jobs, played through the core: how long do jobs wait, and does one start later than it
 * was promised?  Published: KTH-SP2 on 100 nodes, EASY backfill with the users' times 92.6, with
 * true run times 71.7 (Gaussier et al., SC'15), which is --promise-depth 1. */
#include "bench/trace/trace.h"

#include "bench/bench.h"
#include "bench/trace/queues.h"
#include "bench/trace/world.h"
#include "ipc/clock.h"

#include <unistd.h>

#define BAR 40u
#define QUEUES_LISTED 40u /* rows, of BENCH_ROWS */

static void progress(void *context, uint32_t ended, uint32_t jobs)
{
	const uint32_t full = (uint32_t)((uint64_t)ended * BAR / jobs);
	uint32_t *shown = context;
	char bar[BAR + 1];

	if (full == *shown)
		return;
	*shown = full;
	memset(bar, ' ', BAR);
	memset(bar, '#', full);
	bar[BAR] = '\0';
	fprintf(stderr, "\r[%s] %u of %u jobs", bar, ended, jobs);
}

/* A log as it is, or with a busy user, and its play. */
struct run {
	const struct trace *t;
	struct play play;
	struct play_options options;
	double seconds;
};

/* False and a message. */
static bool run_play(struct run *r)
{
	uint32_t shown = UINT32_MAX;
	const uint64_t start_ns = clock_monotonic_ns();
	bool ok;

	if (isatty(STDERR_FILENO)) {
		r->options.progress = progress;
		r->options.context = &shown;
	}
	ok = trace_play(&r->play, r->t, &r->options);
	if (r->options.progress)
		fprintf(stderr, "\r\033[K");
	r->seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
	return ok;
}

static void fair_rows_add(struct bench_report *report, const struct run *r)
{
	const struct trace_queues *q = r->options.queues;
	uint32_t listed = 0;

	bench_add_one(report, "jain", "n", fair_jain(&r->play, r->t, q, r->options.nodes), true, 0);
	for (uint32_t i = 0; i < q->n && listed < QUEUES_LISTED; i++) {
		const double p99 = q->at[i].leaf ? fair_wait_p99(&r->play, r->t, q, i) : -1;
		char name[sizeof(report->rows[0].name)];

		if (p99 < 0)
			continue;
		listed++;
		snprintf(name, sizeof(name), "wait-p99/%.48s", q->at[i].name);
		bench_add_one(report, name, "s", p99, false, 0);
	}
}

/* What became of the recording's jobs, here and there, and how far it can be played. */
static void recording_rows_add(struct bench_report *report, const struct run *r)
{
	const struct world *w = r->t->world;
	struct play was;

	trace_recorded(&was, r->t);
	bench_add_one(report, "recorded-wait", "s", was.wait_s, false, 0);
	bench_add_one(report, "recorded-wait-p99", "s", fair_wait_p99(&was, r->t, NULL, QUEUE_MISSING),
	              false, 0);
	bench_add_one(report, "recorded-jobs-waiting", "n", was.waiting, false, 0);
	bench_add_one(report, "recorded-utilisation", "percent", 100 * was.utilisation, true, 0);
	bench_add_one(report, "jobs-waiting", "n", r->play.waiting, false, 0);
	bench_add_one(report, "jobs-unfinished", "n", w->unfinished, false, 0);
	bench_add_one(report, "jobs-with-rules", "n", w->with_rules, false, 0);
	bench_add_one(report, "nodes", "n", r->t->nodes, true, 0);
	play_free(&was);
}

static void reclaim_rows_add(struct bench_report *report, const struct play *p)
{
	bench_add_one(report, "reclaimed", "n", (double)p->lost_n, false, 0);
	bench_add_one(report, "reclaimed-pods", "n", (double)p->reclaimed_pods, false, 0);
	bench_add_one(report, "lost", "percent", 100 * p->lost_share, false, 0);
}

/* All rows of one run. */
static void rows_add(struct bench_report *report, const struct run *r)
{
	const struct play *p = &r->play;
	const struct trace *t = r->t;

	bench_add_one(report, "avebsld", "n", p->slowdown, false, 0);
	bench_add_one(report, "promises", "n", (double)p->promises, true, 0);
	bench_add_one(report, "promises-late", "n", (double)p->late, false, 0);
	bench_add_one(report, "promises-late-minute", "n", (double)p->late_minute, false, 0);
	bench_add_one(report, "promises-late-mean", "s", p->late_s, false, 0);
	bench_add_one(report, "promises-late-most", "s", (double)p->late_most_s, false, 0);
	bench_add_one(report, "promises-moved-later", "n", (double)p->moved_later, false, 0);
	bench_add_one(report, "utilisation", "percent", 100 * p->utilisation, true, 0);
	bench_add_one(report, "wait", "s", p->wait_s, false, 0);
	bench_add_one(report, "wait-p99", "s", fair_wait_p99(p, t, NULL, QUEUE_MISSING), false, 0);
	bench_add_one(report, "jobs", "n", (double)(t->jobs_n - p->left_out), true, 0);
	bench_add_one(report, "jobs-left-out", "n", (double)(t->unusable + p->left_out), false, 0);
	if (t->world)
		recording_rows_add(report, r);
	if (r->options.queues)
		fair_rows_add(report, r);
	if (r->options.reclaim)
		reclaim_rows_add(report, p);
}

/* Plays the log again with the busy user; the rows are those of that play. */
static bool busy_rows_add(struct bench_report *report, const struct run *before,
                          const struct bench_options *options)
{
	const uint32_t user = trace_user(before->t, options->busy);
	const double wait_s = fair_others_wait(&before->play, before->t, user);
	struct run r = { .options = before->options };
	struct trace busy;
	double busy_s;

	if (!trace_multiply(&busy, before->t, user, options->busy_times))
		return false;
	r.t = &busy;
	if (!run_play(&r)) {
		trace_free(&busy);
		return false;
	}
	busy_s = fair_others_wait(&r.play, &busy, user);
	rows_add(report, &r);
	bench_add_one(report, "others-mean-wait", "s", busy_s, false, 0);
	bench_add_one(report, "others-mean-wait-before", "s", wait_s, false, 0);
	bench_add_one(report, "others-wait-grows", "percent",
	              wait_s > 0 ? 100 * (busy_s - wait_s) / wait_s : 0, false, 0);
	bench_add_one(report, "seconds", "s", before->seconds + r.seconds, false, 0);
	play_free(&r.play);
	trace_free(&busy);
	return true;
}

static bool rows_of(struct bench_report *report, struct run *r, const struct bench_options *options)
{
	bool ok;

	if (!run_play(r))
		return false;
	if (options->busy) {
		ok = busy_rows_add(report, r, options);
	} else {
		rows_add(report, r);
		bench_add_one(report, "seconds", "s", r->seconds, false, 0);
		ok = true;
	}
	ok = ok && (!options->gantt || play_gantt(&r->play, r->t, r->options.nodes, options->gantt));
	play_free(&r->play);
	return ok;
}

/* What the log has to say for these options; false and a message. */
static bool log_suits(const struct trace *t, const struct bench_options *options)
{
	if (options->nodes > 0 && t->world) {
		fprintf(stderr, "muster-bench: --nodes: %s has nodes of its own: --add-nodes\n",
		        options->file);
		return false;
	}
	if (options->nodes == 0 && t->nodes == 0) {
		fprintf(stderr, "muster-bench: %s does not say how many nodes there are: --nodes\n",
		        options->file);
		return false;
	}
	if (options->busy && trace_user(t, options->busy) == t->users_n) {
		fprintf(stderr, "muster-bench: --busy \"%s\": %s has no job of that user\n", options->busy,
		        options->file);
		return false;
	}
	if (options->reclaim && (!options->queues || t->world)) {
		fprintf(stderr, "muster-bench: --reclaim: %s\n",
		        t->world ? "not with a recording" : "--queues is missing");
		return false;
	}
	return true;
}

/* What the added nodes have. */
static void say_added(const struct world *w, uint32_t n)
{
	const struct world_kind *k = &w->kinds[w->kind_added];

	fprintf(stderr, "muster-bench: %u nodes more, each as %u of the recording:", n,
	        w->kind_added_n);
	for (uint32_t i = 0; i < k->amounts_n; i++)
		fprintf(stderr, " %s%s=%lld", w->columns[k->amounts[i].resource],
		        k->amounts[i].resource == RESOURCE_CPU ? " (milli)" : "",
		        (long long)k->amounts[i].value);
	fputc('\n', stderr);
}

/* The flags of a run; of a recording, what they leave open is as recorded. */
static bool recording_prepare(struct trace *t, const struct bench_options *options,
                              struct play_options *o)
{
	const struct world *w = t->world;

	if (options->add_nodes > 0 && w->kind_added_n == 0) {
		fprintf(stderr, "muster-bench: --add-nodes: %s has no node\n", options->file);
		return false;
	}
	if (options->add_nodes > WORLD_NODES_MOST - t->nodes) {
		fprintf(stderr, "muster-bench: --add-nodes: there would be more than %u nodes\n",
		        WORLD_NODES_MOST);
		return false;
	}
	if (options->add_nodes > 0) {
		say_added(w, options->add_nodes);
		world_grow(t, options->add_nodes);
	}
	o->nodes = t->nodes;
	if (!options->has_depth)
		o->promise_depth = w->config.promise_depth;
	if (!options->has_score)
		o->score = w->config.score;
	return true;
}

bool bench_trace(struct bench_report *report, const struct bench_options *options)
{
	struct trace_queues *queues = NULL;
	struct trace t;
	struct run r = { .t = &t };
	bool ok;

	report->bad_input = true;
	if (!trace_read(&t, options->file))
		return false;
	ok = log_suits(&t, options);
	if (ok && options->queues)
		ok = (queues = trace_queues_new(&t, options->queues));
	else if (ok && t.world && t.world->queues_n > 0)
		ok = (queues = trace_queues_recorded(&t));
	r.options = (struct play_options){ .nodes = (options->nodes > 0 ? options->nodes : t.nodes) +
		                                        options->add_nodes,
		                               .promise_depth = options->depth,
		                               .score = (enum score_policy)options->score,
		                               .true_times = options->true_times,
		                               .queues = queues,
		                               .reclaim = options->reclaim };
	if (ok && t.world)
		ok = recording_prepare(&t, options, &r.options);
	report->bad_input = !ok;
	ok = ok && rows_of(report, &r, options);
	trace_queues_free(queues);
	trace_free(&t);
	return ok;
}
