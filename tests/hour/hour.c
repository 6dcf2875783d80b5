/* SPDX-License-Identifier: Apache-2.0 */
/* What does a large cluster cost for an hour: 130,000 nodes and 1,000 pods a second, as GKE has
 * published, with nodes that join and leave?  How long is the longest turn of the core's loop, and
 * is anything overfilled or torn? */
#include "tests/hour/hour.h"

#include "bench/bench.h"
#include "ctl/replay/replay_say.h"
#include "tests/apisim/call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/resource.h>

#define SYNC_S 600u   /* for the first lists */
#define AFTER_S 60u   /* for pods that wait at the end */
#define REPORT_S 300u /* between two lines about the progress */
#define TURN_GOAL_MS 2
#define HISTORY 20000u /* events of the API server */

void hour_fail(struct hour *h, const char *format, ...)
{
	va_list args;

	if (h->failed)
		return;
	h->failed = true;
	va_start(args, format);
	vsnprintf(h->why, sizeof(h->why), format, args);
	va_end(args);
}

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t hour_random(struct hour *h, uint64_t below)
{
	return mix(&h->random) % below;
}

static uint64_t api_random(void *context)
{
	return mix(&((struct hour *)context)->api_random);
}

void hour_after(struct hour *h, uint64_t delay_ns, enum timer_kind kind, uint32_t index,
                uint32_t serial)
{
	timers_add(&h->timers,
	           (struct timer){
				   .at_ns = h->now_ns + delay_ns, .kind = kind, .index = index, .serial = serial });
}

int hour_request(struct hour *h, const char *method, const char *target, const char *format, ...)
{
	struct as_request request = {
		.method = method,
		.target = target,
		.content_type =
			strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json",
		.now_ns = HOUR_EPOCH_NS + h->now_ns,
	};
	struct as_response response;
	char body[2048];
	va_list args;

	va_start(args, format);
	request.body_bytes = (size_t)vsnprintf(body, sizeof(body), format, args);
	va_end(args);
	if (request.body_bytes >= sizeof(body))
		as_die("a request of %zu bytes", request.body_bytes);
	request.body = body;
	as_api_handle(h->api, &request, &response);
	as_text_free(&response.body);
	return response.status;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Everything that is due now. */
static void step(struct hour *h)
{
	if (timers_due_ns(&h->timers) <= h->now_ns) {
		const struct timer t = timers_take(&h->timers);

		if (t.kind == TIMER_CALL)
			hour_net_timer(h->net, t.call);
		else
			load_timer(h->load, &t);
	}
	if (hour_net_due_ns(h->net) <= h->now_ns)
		hour_net_watches(h->net);
	daemons_run(h->daemons);
}

static void run_until(struct hour *h, uint64_t until_ns)
{
	while (!h->failed) {
		const uint64_t due_ns = least(least(timers_due_ns(&h->timers), hour_net_due_ns(h->net)),
		                              daemons_due_ns(h->daemons));

		if (due_ns > until_ns)
			break;
		if (due_ns > h->now_ns)
			h->now_ns = due_ns;
		step(h);
	}
	h->now_ns = h->failed ? h->now_ns : until_ns;
}

static void say_progress(const struct hour *h, uint64_t s)
{
	const struct load_figures *f = load_figures(h->load);

	fprintf(stderr,
	        "muster-hour: %" PRIu64 " s: %" PRIu64 " pods bound, %" PRIu64
	        " wait, %.0f %% of the cpu taken, longest turn %.2f ms\n",
	        s, f->bound, f->waiting, 100 * room_taken(h->room),
	        (double)daemons_figures(h->daemons)->longest[0].cpu_ns * 1e-6);
}

static void play(struct hour *h)
{
	const struct hour_settings *s = &h->settings;
	uint64_t begun_ns;

	while (!daemons_synced(h->daemons) && !h->failed) {
		run_until(h, h->now_ns + HOUR_S);
		if (h->now_ns > SYNC_S * HOUR_S)
			hour_fail(h, "the first lists are not complete after %u s", SYNC_S);
	}
	begun_ns = h->now_ns;
	load_start(h->load);
	for (uint64_t at = REPORT_S; at <= s->seconds && !h->failed; at += REPORT_S) {
		run_until(h, begun_ns + at * HOUR_S);
		say_progress(h, at);
	}
	run_until(h, begun_ns + s->seconds * HOUR_S);
	load_stop(h->load);
	run_until(h, h->now_ns + AFTER_S * HOUR_S);
	if (!h->failed)
		room_check(h->room, h);
	if (!h->failed)
		daemons_check(h->daemons);
}

static void add_histogram(struct bench_report *report, const char *name, const char *unit,
                          const struct histogram *f, double scale, double goal)
{
	static const double shares[] = { 0, 0.5, 0.99, 0.999 };
	double at[4];
	char text[64];

	for (int i = 0; i < 4; i++)
		at[i] = (double)least(histogram_quantile(f, &buckets_fine, shares[i]), f->max) * scale;
	bench_add_one(report, name, unit, at[1], false, 0);
	report->rows[report->rows_n - 1].best = at[0];
	report->rows[report->rows_n - 1].p99 = at[2];
	snprintf(text, sizeof(text), "%s-p99.9", name);
	bench_add_one(report, text, unit, at[3], false, 0);
	snprintf(text, sizeof(text), "%s-max", name);
	bench_add_one(report, text, unit, (double)f->max * scale, false, goal);
}

static void add_turns(struct bench_report *report, const struct daemons_figures *f)
{
	add_histogram(report, "turn", "ms", &f->core.turns, 1e-6, TURN_GOAL_MS);
	bench_add_one(report, "turn-max-results", "ms", (double)f->parts_most_ns[LOOP_RESULTS] * 1e-6,
	              false, 0);
	bench_add_one(report, "turn-max-events", "ms", (double)f->parts_most_ns[LOOP_EVENTS] * 1e-6,
	              false, 0);
	bench_add_one(report, "turn-max-plans", "ms", (double)f->parts_most_ns[LOOP_PLANS] * 1e-6,
	              false, 0);
	bench_add_one(report, "turn-max-start", "ms", (double)f->start_most_ns * 1e-6, false, 0);
	add_histogram(report, "frontend-turn", "ms", &f->frontend.turns, 1e-6, 0);
}

static void say_turns(const struct daemons_figures *f)
{
	for (unsigned i = 0; i < TURNS_KEPT && f->longest[i].cpu_ns > 0; i++) {
		const struct core_turn *t = &f->longest[i];

		fprintf(stderr,
		        "muster-hour: turn of %.3f ms at %.3f s: results %.3f, events %.3f, plans %.3f; "
		        "%u records; the slowest was %s, %.3f ms\n",
		        (double)t->cpu_ns * 1e-6, (double)t->at_ns * 1e-9,
		        (double)t->parts_ns[LOOP_RESULTS] * 1e-6, (double)t->parts_ns[LOOP_EVENTS] * 1e-6,
		        (double)t->parts_ns[LOOP_PLANS] * 1e-6, t->records,
		        record_kind_text(t->slowest_kind), (double)t->slowest_ns * 1e-6);
	}
}

static double cpu_s(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1e-6;
}

static void add_costs(struct bench_report *report, const struct hour *h)
{
	const struct daemons_figures *f = daemons_figures(h->daemons);
	const double pods = (double)load_figures(h->load)->bound;
	const double core = (double)f->core.cpu_ns, frontend = (double)f->frontend.cpu_ns;
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	bench_add_one(report, "core-cpu", "us", core * 1e-3 / pods, false, 0);
	bench_add_one(report, "frontend-cpu", "us", frontend * 1e-3 / pods, false, 0);
	bench_add_one(report, "others-cpu", "us", (cpu_s(&u) * 1e6 - (core + frontend) * 1e-3) / pods,
	              false, 0);
	bench_add_one(report, "all-cpu", "s", cpu_s(&u), false, 0);
	bench_add_one(report, "core-heap", "bytes", (double)f->core.heap_most, false, 0);
	bench_add_one(report, "core-ledger", "bytes", (double)f->ledger_bytes, false, 0);
	bench_add_one(report, "frontend-heap", "bytes", (double)f->frontend.heap_most, false, 0);
	bench_add_one(report, "all-rss", "bytes", (double)u.ru_maxrss * 1024, false, 0);
}

static void add_rows(struct bench_report *report, const struct hour *h)
{
	const struct load_figures *f = load_figures(h->load);
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{ "pods-bound", f->bound },      { "pods-lost", f->lost },
		{ "pods-waiting", f->waiting },  { "gangs", f->gangs },
		{ "gangs-lost", f->gangs_lost }, { "node-joins", f->joins },
		{ "node-leaves", f->leaves },    { "bound-late", f->late },
		{ "violations", h->failed },
	};

	bench_add_one(report, "bindings", "per_s", (double)f->bound / h->settings.seconds, true, 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		bench_add_one(report, counts[i].name, "n", (double)counts[i].n, false, 0);
	add_turns(report, daemons_figures(h->daemons));
	add_histogram(report, "wait-lone", "ms", &f->wait_lone, 1e-6, 0);
	add_histogram(report, "wait-gang", "ms", &f->wait_gang, 1e-6, 0);
	add_costs(report, h);
}

static void begin(struct hour *h)
{
	char *why = NULL;

	h->api = as_api_new(&(struct as_config){
		.history = HISTORY, .random = api_random, .context = h, .now_ns = HOUR_EPOCH_NS });
	if (as_api_add_custom(h->api, "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true,
	                      true, HOUR_EPOCH_NS, &why) < 0)
		as_die("groups: %s", why);
	h->load = load_new(h);
	h->net = hour_net_new(h);
	daemons_new(h);
}

static void end(struct hour *h)
{
	daemons_free(h->daemons);
	hour_net_free(h->net);
	load_free(h->load);
	room_free(h->room);
	free(h->timers.at);
	as_api_free(h->api);
}

bool hour_run(struct bench_report *report, const struct hour_settings *settings)
{
	struct hour h = { .settings = *settings, .random = 1, .api_random = 2 };

	begin(&h);
	play(&h);
	if (h.failed)
		fprintf(stderr, "muster-hour: at %.6f s: %s\n", (double)h.now_ns * 1e-9, h.why);
	else
		add_rows(report, &h);
	say_turns(daemons_figures(h.daemons));
	end(&h);
	return !h.failed;
}
