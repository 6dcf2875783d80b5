/* SPDX-License-Identifier: Apache-2.0 */
/* A log of jobs, played through the core: how long do jobs wait, and does one start later than it
 * was promised?  Published: KTH-SP2 on 100 nodes, EASY backfill with the users' times 92.6, with
 * true run times 71.7 (Gaussier et al., SC'15), which is --promise-depth 1. */
#include "bench/trace.h"

#include "bench/bench.h"
#include "ipc/clock.h"

#include <unistd.h>

#define BAR 40u

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

/* All rows of one run. */
static void rows_add(struct bench_report *report, const struct play *p, const struct trace *t,
                     double seconds)
{
	bench_add_one(report, "avebsld", "n", p->slowdown, false, 0);
	bench_add_one(report, "promises", "n", (double)p->promises, true, 0);
	bench_add_one(report, "promises-late", "n", (double)p->late, false, 0);
	bench_add_one(report, "promises-moved-later", "n", (double)p->moved_later, false, 0);
	bench_add_one(report, "utilisation", "percent", 100 * p->utilisation, true, 0);
	bench_add_one(report, "wait", "s", p->wait_s, false, 0);
	bench_add_one(report, "jobs", "n", (double)(t->jobs_n - p->left_out), true, 0);
	bench_add_one(report, "jobs-left-out", "n", (double)(t->unusable + p->left_out), false, 0);
	bench_add_one(report, "seconds", "s", seconds, false, 0);
}

bool bench_trace(struct bench_report *report, const struct bench_options *options)
{
	uint32_t shown = UINT32_MAX;
	struct play_options o = { .promise_depth = options->depth,
		                      .score = (enum score_policy)options->score,
		                      .true_times = options->true_times };
	struct trace t;
	struct play p;
	uint64_t start_ns;
	bool ok;

	if (!trace_read(&t, options->file))
		return false;
	o.nodes = (options->nodes > 0 ? options->nodes : t.nodes) + options->add_nodes;
	if (options->nodes == 0 && t.nodes == 0) {
		fprintf(stderr, "muster-bench: %s does not say how many nodes there are: --nodes\n",
		        options->file);
		trace_free(&t);
		return false;
	}
	if (isatty(STDERR_FILENO)) {
		o.progress = progress;
		o.context = &shown;
	}
	start_ns = clock_monotonic_ns();
	ok = trace_play(&p, &t, &o);
	if (o.progress)
		fprintf(stderr, "\r\033[K");
	if (ok) {
		rows_add(report, &p, &t, (double)(clock_monotonic_ns() - start_ns) / 1e9);
		ok = !options->gantt || play_gantt(&p, &t, o.nodes, options->gantt);
		play_free(&p);
	}
	trace_free(&t);
	return ok;
}
