/* SPDX-License-Identifier: Apache-2.0 */
/* muster-demo: the whole of muster on real input.
 *
 *   muster-apisim          an API server with simulated kubelets
 *   musterctl up           muster-core and muster-frontend, two processes
 *   this program           submits nodes and jobs, shows what happens, and at the end
 *                          reads everything back from the API server and adds it up
 *
 * Ends by itself within a minute: 0 when every gang was placed whole and no node was
 * over its allocatable, else 1 and a message.  A machine that is too slow for all of it
 * is a success with another message. */
#include "ctl/term/ctl.h"
#include "ipc/clock.h"
#include "tests/demo/demo.h"
#include "tests/demo/picture.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>

#define DRAW_S 0.1
#define STILL_S 10.0 /* no binding for so long: it has stalled */
#define SETTLE_S 3.0
#define SETTLE_TRIES 8 /* lists, until one has no gang that is being bound */

volatile sig_atomic_t demo_stopped;

static void on_signal(int signal_number)
{
	demo_stopped = signal_number;
}

double demo_now_s(void)
{
	return (double)clock_monotonic_ns() / 1e9;
}

bool demo_say(const char *what, const char *why)
{
	picture_end();
	fprintf(stderr, "demo: %s: %s\n", what, why);
	return false;
}

static void show(struct demo *d, double now, bool over)
{
	struct moment m = {
		.trace = &d->trace,
		.view = &d->view,
		.seconds = now - d->first_s,
		.pods_sent = d->pods_sent,
		.pods_bound = d->audit.bound,
		.over = over,
	};

	view_read(&d->view);
	if (now - d->rate_s >= 1 || over) {
		if (now > d->rate_s)
			d->rate = (double)(d->audit.bound - d->rate_bound) / (now - d->rate_s);
		if (d->rate > d->best_rate && now - d->rate_s >= 1)
			d->best_rate = d->rate;
		d->rate_s = now;
		d->rate_bound = d->audit.bound;
	}
	m.pods_per_s = d->rate;
	picture_show(&m);
}

/* Until all pods are bound, a limit is reached or a signal comes. */
static void run(struct demo *d)
{
	double drawn_s = 0;

	d->first_s = d->rate_s = demo_now_s();
	picture_begin(d->plain);
	for (;;) {
		double now = demo_now_s();

		demo_send_due(d, now - d->first_s);
		apiclient_run(d->api, 5);
		if (d->last_s > 0) {
			show(d, d->last_s, true);
			return;
		}
		if (now - drawn_s >= DRAW_S) {
			drawn_s = now;
			show(d, now, false);
		}
		if (demo_stopped || d->refused > 0 || d->audit.error[0] != '\0' ||
		    !apiclient_watching(d->api) || !demo_alive(d))
			return;
		d->out_of_time = now > d->end_s;
		if (d->out_of_time) {
			apiclient_forget(d->api);
			return;
		}
	}
}

static void print_summary(const struct demo *d)
{
	const struct trace *t = &d->trace;
	const struct view *v = &d->view;
	struct audit_gangs g = audit_gangs(&d->last);
	double took = (d->last_s > 0 ? d->last_s : demo_now_s()) - d->first_s;
	double speed = (double)d->last.bound / took;

	printf(
		"\n"
		"demo: nodes          %zu of openb with %lu GPUs, in the ledger %.1f s after the start\n"
		"demo: gangs placed   %zu of %zu; of the %zu with two pods and more: %zu\n"
		"demo: part-placed    %zu\n"
		"demo: pods bound     %zu of %zu; %zu have ended, %zu were rejected by a kubelet\n"
		"demo: GPUs wanted    %lu, %.1f times what there is\n"
		"demo: nodes over     %s, by the API server's accounts of %.0f bindings\n"
		"demo: time           %.1f s from the first pod %s\n"
		"demo: speed          %.0f pods per second, as capacity was released; %.0f in the fastest second\n"
		"demo: core           %" PRIu64 " plans, %.1f us mean, %.1f ms the longest\n",
		t->nodes_n, t->gpus_there, d->setup_s, g.whole, t->jobs_n, t->gangs_n, g.whole_of_several,
		g.part, d->last.bound, t->pods_n, d->last.ended, d->last.failed, t->gpus_wanted,
		(double)t->gpus_wanted / (double)t->gpus_there,
		d->stats.overcommitted == 0 ? "none" : "see below", d->stats.binds, took,
		d->last_s > 0 ? "to the last binding" : "until time was up", speed,
		/* A run of less than a second has no fastest second. */
		d->best_rate > speed ? d->best_rate : speed, v->plans,
		v->plans > 0 ? (double)v->plan_ns_sum / (double)v->plans / 1000 : 0,
		(double)v->plan_ns_max / 1e6);
}

/* Reads every pod at the end. When time is up the scheduler is still working, so a gang may be
 * partially bound: lists again until none is. */
static bool read_end(struct demo *d)
{
	for (unsigned i = 0; i < SETTLE_TRIES; i++) {
		audit_free(&d->last);
		audit_new(&d->last, &d->trace);
		if (!demo_read_list(d))
			return false;
		if (!d->out_of_time || audit_gangs(&d->last).part == 0)
			break;
		if (demo_now_s() > d->end_s + SETTLE_S)
			break;
		apiclient_run(d->api, 50);
	}
	return demo_read_stats(d);
}

/* True if the only problem is that the machine is too slow. */
static bool is_slow(const struct demo *d)
{
	return d->out_of_time && d->last.bound > 0 && demo_now_s() - d->moved_s < STILL_S;
}

/* The failure, or NULL. */
static const char *verdict(const struct demo *d, char *out, size_t out_bytes)
{
	struct audit_gangs g = audit_gangs(&d->last);
	const struct view_gang *waits = d->view.gangs_n > 0 ? &d->view.gangs[0] : NULL;

	if (demo_stopped)
		snprintf(out, out_bytes, "stopped: %s", strsignal(demo_stopped));
	else if (d->refused > 0)
		snprintf(out, out_bytes, "the API server refused a request: %s", d->refusal);
	else if (d->audit.error[0] != '\0' || d->last.error[0] != '\0')
		snprintf(out, out_bytes, "%s", d->audit.error[0] != '\0' ? d->audit.error : d->last.error);
	else if (d->stats.overcommitted > 0 || d->stats.unknown_node > 0)
		snprintf(out, out_bytes,
		         "%.0f pods put a node over its allocatable, %.0f were bound to no node",
		         d->stats.overcommitted, d->stats.unknown_node);
	else if (g.part > 0)
		snprintf(out, out_bytes, "%zu gangs are part-placed", g.part);
	else if (d->last.failed > 0)
		snprintf(out, out_bytes, "kubelets rejected %zu pods", d->last.failed);
	else if (!d->listed)
		snprintf(out, out_bytes, "the API server could not be read at the end");
	else if (is_slow(d))
		return NULL;
	else if (d->last.bound < d->trace.pods_n)
		snprintf(out, out_bytes, "%zu pods are not bound after %.0f s; %s waits: %s",
		         d->trace.pods_n - d->last.bound, demo_now_s() - d->begun_s,
		         waits != NULL ? waits->copy.name : "no gang", waits != NULL ? waits->reason : "");
	else if (d->audit.bound != d->last.bound)
		snprintf(out, out_bytes, "the watch saw %zu pods bound, the list has %zu", d->audit.bound,
		         d->last.bound);
	else
		return NULL;
	return out;
}

static void print_slow(const struct demo *d)
{
	struct audit_gangs g = audit_gangs(&d->last);

	printf(
		"demo: time is up: %zu of %zu gangs placed whole, 0 part-placed, after %.0f s; %zu of %zu pods were "
		"created; a longer --limit or a faster machine gets further\n",
		g.whole, d->trace.jobs_n, demo_now_s() - d->begun_s, d->pods_taken, d->trace.pods_n);
}

static int end(struct demo *d)
{
	char why[1024];
	const char *wrong;

	picture_end();
	d->listed = !demo_stopped && demo_alive(d) && read_end(d);
	if (d->listed)
		print_summary(d);
	wrong = verdict(d, why, sizeof(why));
	demo_stop(d);
	if (wrong == NULL && (process_exit_code(&d->up) != 0 || process_exit_code(&d->apisim) != 0)) {
		snprintf(why, sizeof(why), "musterctl up ended with %d, muster-apisim with %d",
		         process_exit_code(&d->up), process_exit_code(&d->apisim));
		wrong = why;
	}
	if (wrong != NULL) {
		printf("demo: failed: %s\n", wrong);
		return EXIT_NO;
	}
	if (d->last_s == 0) {
		print_slow(d);
		return EXIT_DONE;
	}
	printf("demo: ok: %zu gangs placed whole, 0 part-placed, %zu pods in %.1f s\n", d->trace.jobs_n,
	       d->last.bound, d->last_s - d->first_s);
	return EXIT_DONE;
}

static int demo(struct demo *d)
{
	char error[512];
	bool ready;
	int rc = EXIT_NO;

	if (!trace_read(&d->trace, d->data, d->jobs_max, error, sizeof(error))) {
		demo_say("the traces", error);
		return EXIT_USAGE;
	}
	view_new(&d->view, &d->trace);
	audit_new(&d->audit, &d->trace);
	audit_new(&d->last, &d->trace);
	printf(
		"demo: %zu nodes with %lu GPUs; %zu jobs, %zu pods, %lu GPUs; starting the API server and muster\n",
		d->trace.nodes_n, d->trace.gpus_there, d->trace.jobs_n, d->trace.pods_n,
		d->trace.gpus_wanted);
	fflush(stdout);
	d->begun_s = demo_now_s();
	d->end_s = d->begun_s + d->limit_s;
	ready = demo_make_folder(d) && demo_start_apisim(d) && demo_send_setup(d) &&
	        demo_start_watch(d) && demo_start_muster(d);
	d->setup_s = demo_now_s() - d->begun_s;
	if (ready) {
		run(d);
		rc = end(d);
	} else if (demo_stopped)
		demo_say("stopped", strsignal(demo_stopped));
	demo_stop(d);
	picture_end();
	apiclient_free(d->api);
	view_free(&d->view);
	audit_free(&d->audit);
	audit_free(&d->last);
	trace_free(&d->trace);
	demo_remove_folder(d);
	return rc;
}

static void print_help(void)
{
	fputs("muster-demo [--data FOLDER] [--jobs N] [--arrive S] [--limit S] [--plain]\n"
	      "            [--keep]\n"
	      "\n"
	      "Runs jobs of a real trace on nodes of another, through an embedded API server and\n"
	      "both daemons, shows what happens, and checks the end by reading the API server.\n"
	      "\n"
	      "  --data FOLDER   the traces (tests/demo/data)\n"
	      "  --jobs N        only the first N jobs (all)\n"
	      "  --arrive S      seconds over which the jobs are sent (6)\n"
	      "  --limit S       show what there is after that long (45)\n"
	      "  --plain         lines even on a terminal\n"
	      "  --keep          keep the logs\n"
	      "\n"
	      "Exit status: 0 all gangs were placed whole, or as many as the limit let;\n"
	      "1 something is wrong, 2 usage.\n",
	      stdout);
}

/* A positive number; ends the program if it is not. */
static double number(const char *flag, const char *text, bool whole)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest != text && *rest == '\0' && value > 0 && value < 100000 &&
	    (!whole || value == (double)(unsigned)value))
		return value;
	fprintf(stderr, "muster-demo: --%s %s: not a %snumber above 0 and below 100000\n", flag, text,
	        whole ? "whole " : "");
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	static const struct option flags[] = {
		{ "data", required_argument, NULL, 'd' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "arrive", required_argument, NULL, 'a' },
		{ "limit", required_argument, NULL, 'l' },
		{ "plain", no_argument, NULL, 'p' },
		{ "keep", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	static struct demo d = {
		.data = "tests/demo/data", .jobs_max = SIZE_MAX, .arrive_s = 6, .limit_s = 45
	};
	const struct sigaction action = { .sa_handler = on_signal };
	int c;

	while ((c = getopt_long(argc, argv, "h", flags, NULL)) != -1) {
		switch (c) {
		case 'd':
			d.data = optarg;
			break;
		case 'j':
			d.jobs_max = (size_t)number("jobs", optarg, true);
			break;
		case 'a':
			d.arrive_s = number("arrive", optarg, false);
			break;
		case 'l':
			d.limit_s = number("limit", optarg, false);
			break;
		case 'p':
			d.plain = true;
			break;
		case 'k':
			d.keep = true;
			break;
		case 'h':
			print_help();
			return EXIT_DONE;
		case 'v':
			puts("muster-demo " MUSTER_VERSION);
			return EXIT_DONE;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		return ctl_usage("muster-demo", "unexpected argument \"%s\"", argv[optind]);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	return demo(&d);
}
