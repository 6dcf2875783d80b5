/* muster-demo: the main job on real input.
 *
 *   muster-apisim          an API server with simulated kubelets
 *   musterctl up           muster-core and muster-frontend, two processes
 *   this program           submits nodes and jobs, shows what happens, and at the end
 *                          reads everything back from the API server and adds it up
 *
 * Ends by itself within a minute: 0 when every gang was placed whole and no node was
 * over its allocatable, else 1 and what is wrong. */
#include "ctl/ctl.h"
#include "ctl/folder.h"
#include "ctl/supervise.h"
#include "tests/demo/api.h"
#include "tests/demo/audit.h"
#include "tests/demo/objects.h"
#include "tests/demo/picture.h"
#include "tests/demo/procs.h"
#include "tests/demo/view.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LANES 8
#define DRAW_S 0.1
#define START_S 15.0 /* a program has to be there by then */

/* A job of two hours runs one second. */
#define TIME_SCALE "7200"

struct demo {
	const char *data;
	double arrive_s; /* all jobs are sent over that time */
	double limit_s;  /* after the first pod */
	size_t jobs_max;
	bool plain, keep;

	struct trace trace;
	struct view view;
	struct audit audit; /* follows the watch */
	struct audit last;  /* the list at the end */
	struct api *api;
	struct proc apisim, up;
	char folder[FOLDER_BYTES], kubeconfig[FOLDER_BYTES + 16], socket[FOLDER_BYTES + 16];

	size_t setup_open;   /* nodes and namespaces not answered yet */
	size_t jobs_sent, pods_sent, pods_taken, refused;
	char refusal[400];   /* the first */
	bool list_open;
	double begun_s, first_s, last_s, setup_s; /* monotonic; 0: not yet */
	double rate_s;       /* when the rate was taken */
	size_t rate_bound;
	double rate, best_rate;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
	stopped = signal_number;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool say(const char *what, const char *why)
{
	picture_end();
	fprintf(stderr, "demo: %s: %s\n", what, why);
	return false;
}

/* ---- starting and stopping ------------------------------------------------ */

static char *find_program(const char *name)
{
	char *path = supervise_find(name);

	if (path == NULL)
		say(name, "not built; run make");
	return path;
}

static bool alive(struct demo *d)
{
	struct proc *procs[] = {&d->apisim, &d->up};

	for (size_t i = 0; i < 2; i++) {
		if (procs[i]->name == NULL || proc_alive(procs[i]))
			continue;
		say(procs[i]->name, "ended too early");
		proc_show_log(procs[i]);
		return false;
	}
	return true;
}

/* Wait for `ready`, while nothing dies and nobody stops us. */
static bool wait_for(struct demo *d, const char *what, bool (*ready)(struct demo *d))
{
	double end = now_s() + START_S;

	while (!ready(d)) {
		const struct timespec pause = {.tv_nsec = 10000000};

		if (stopped || !alive(d))
			return false;
		if (now_s() > end)
			return say(what, "not there in time");
		nanosleep(&pause, NULL);
	}
	return true;
}

static bool has_kubeconfig(struct demo *d)
{
	return access(d->kubeconfig, R_OK) == 0;
}

static bool has_ledger(struct demo *d)
{
	return view_connect(&d->view, d->socket);
}

static bool start_apisim(struct demo *d)
{
	char *path = find_program("muster-apisim");
	char log[128], error[512];
	char *argv[] = {path, (char[]){"--port"}, (char[]){"0"}, (char[]){"--kubeconfig-out"}, d->kubeconfig,
	                (char[]){"--time-scale"}, (char[]){TIME_SCALE}, NULL};
	bool ok;

	snprintf(log, sizeof(log), "%s/apisim.log", d->folder);
	ok = path != NULL && proc_start(&d->apisim, "muster-apisim", log, argv);
	free(path);
	if (!ok || !wait_for(d, "muster-apisim", has_kubeconfig))
		return false;
	d->api = api_new(d->kubeconfig, LANES, error, sizeof(error));
	return d->api != NULL || say(d->kubeconfig, error);
}

static bool start_muster(struct demo *d)
{
	char *path = find_program("musterctl");
	char log[128];
	char *argv[] = {path, (char[]){"up"}, (char[]){"--kubeconfig"}, d->kubeconfig, (char[]){"--socket"}, d->socket,
	                (char[]){"--listen"}, (char[]){"127.0.0.1:0"}, NULL};
	bool ok;

	snprintf(log, sizeof(log), "%s/muster.log", d->folder);
	ok = path != NULL && proc_start(&d->up, "musterctl up", log, argv);
	free(path);
	return ok && wait_for(d, "the ledger of muster-core", has_ledger);
}

static bool make_folder(struct demo *d)
{
	if (!folder_make(d->folder))
		return say("a folder for sockets and logs", strerror(errno));
	snprintf(d->kubeconfig, sizeof(d->kubeconfig), "%s/kubeconfig", d->folder);
	snprintf(d->socket, sizeof(d->socket), "%s/muster.sock", d->folder);
	return true;
}

static void remove_folder(const struct demo *d)
{
	if (!d->keep)
		folder_remove(d->folder);
	else
		fprintf(stderr, "demo: kept: %s\n", d->folder);
}

/* ---- submitting ------------------------------------------------------------ */

static bool refused(struct demo *d, int status, const char *body)
{
	if (status >= 200 && status < 300)
		return false;
	if (d->refused++ == 0)
		snprintf(d->refusal, sizeof(d->refusal), "%d: %.300s", status, body);
	return true;
}

static void setup_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	(void)bytes;
	d->setup_open--;
	if (status != 409) /* a namespace that was there before us */
		refused(d, status, body);
}

static void group_done(void *context, int status, const char *body, size_t bytes)
{
	(void)bytes;
	refused(context, status, body);
}

static void pod_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	(void)bytes;
	d->pods_taken += !refused(d, status, body);
}

static bool seen_before(const struct trace *t, size_t job)
{
	for (size_t i = 0; i < job; i++)
		if (strcmp(t->jobs[i].namespace, t->jobs[job].namespace) == 0)
			return true;
	return false;
}

static bool send_setup(struct demo *d)
{
	double end = now_s() + START_S;

	for (size_t i = 0; i < d->trace.nodes_n; i++, d->setup_open++)
		api_send(d->api, "/api/v1/nodes", object_node(&d->trace.nodes[i]), setup_done, d);
	for (size_t i = 0; i < d->trace.jobs_n; i++) {
		if (seen_before(&d->trace, i))
			continue;
		d->setup_open++;
		api_send(d->api, "/api/v1/namespaces", object_namespace(d->trace.jobs[i].namespace), setup_done, d);
	}
	while (d->setup_open > 0) {
		if (stopped || !alive(d))
			return false;
		if (now_s() > end)
			return say("nodes and namespaces", "not answered in time");
		api_run(d->api, 50);
	}
	return d->refused == 0 || say("the API server refused an object", d->refusal);
}

static void send_job(struct demo *d, const struct trace_job *job)
{
	char path[160];

	snprintf(path, sizeof(path), GROUP_PATH "/namespaces/%s/podgroups", job->namespace);
	api_send(d->api, path, object_group(job), group_done, d);
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", job->namespace);
	for (unsigned i = 0; i < job->pods; i++, d->pods_sent++)
		api_send(d->api, path, object_pod(job, i), pod_done, d);
	d->jobs_sent++;
}

/* The trace's order at the trace's pace, the whole span in arrive_s. */
static void send_due(struct demo *d, double at_s)
{
	const struct trace *t = &d->trace;
	double span = t->jobs_n > 0 ? t->jobs[t->jobs_n - 1].submit_min : 0;

	while (d->jobs_sent < t->jobs_n) {
		const struct trace_job *job = &t->jobs[d->jobs_sent];

		if (span > 0 && job->submit_min / span * d->arrive_s > at_s)
			return;
		send_job(d, job);
	}
}

/* ---- watching ---------------------------------------------------------------- */

static void pod_line(void *context, const char *line, size_t bytes)
{
	struct demo *d = context;

	audit_line(&d->audit, line, bytes);
	if (d->audit.bound == d->trace.pods_n && d->last_s == 0)
		d->last_s = now_s();
}

static void list_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->list_open = false;
	if (!refused(d, status, body))
		audit_list(&d->last, body, bytes);
}

/* Every pod as it is now. */
static bool read_list(struct demo *d)
{
	double end = now_s() + 10;

	d->list_open = true;
	api_send(d->api, "/api/v1/pods", NULL, list_done, d);
	while (d->list_open && now_s() < end && !stopped)
		api_run(d->api, 20);
	return !d->list_open;
}

static bool start_watch(struct demo *d)
{
	char path[160];

	if (!read_list(d) || d->last.version[0] == '\0')
		return say("pods", "can't be listed");
	snprintf(path, sizeof(path), "/api/v1/pods?watch=true&timeoutSeconds=3600&resourceVersion=%s", d->last.version);
	api_watch(d->api, path, pod_line, d);
	return true;
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

/* Until all is bound, a limit is reached or somebody stops us. */
static void run(struct demo *d)
{
	double drawn_s = 0;

	d->first_s = d->rate_s = now_s();
	picture_begin(d->plain);
	for (;;) {
		double now = now_s();

		send_due(d, now - d->first_s);
		api_run(d->api, 5);
		if (d->last_s > 0) {
			show(d, d->last_s, true);
			return;
		}
		if (now - drawn_s >= DRAW_S) {
			drawn_s = now;
			show(d, now, false);
		}
		if (stopped || d->refused > 0 || d->audit.error[0] != '\0' || !api_watching(d->api) || !alive(d))
			return;
		if (now - d->first_s > d->limit_s)
			return;
	}
}

/* ---- the end -------------------------------------------------------------------- */

static void print_summary(const struct demo *d)
{
	const struct trace *t = &d->trace;
	const struct view *v = &d->view;
	struct audit_gangs g = audit_gangs(&d->last);
	double took = (d->last_s > 0 ? d->last_s : now_s()) - d->first_s;

	printf("\n"
	       "demo: nodes          %zu of openb with %lu GPUs, in the ledger %.1f s after the start\n"
	       "demo: gangs placed   %zu of %zu; of the %zu with two pods and more: %zu\n"
	       "demo: part-placed    %zu\n"
	       "demo: pods bound     %zu of %zu; none twice, %zu have ended, %zu were rejected by a kubelet\n"
	       "demo: GPUs wanted    %lu, %.1f times what there is\n"
	       "demo: nodes over     %s in %zu events of an independent watch\n"
	       "demo: time           %.1f s from the first pod to the last binding; jobs came over %.0f s\n"
	       "demo: speed          %.0f pods per second, as room came free; %.0f in the fastest second\n"
	       "demo: core           %" PRIu64 " plans, %.1f us mean, %.1f ms the longest\n",
	       t->nodes_n, t->gpus_there, d->setup_s, g.whole, t->jobs_n, t->gangs_n, g.whole_of_several, g.part,
	       d->last.bound, t->pods_n, d->last.ended, d->last.failed, t->gpus_wanted,
	       (double)t->gpus_wanted / (double)t->gpus_there, d->audit.error[0] == '\0' ? "none" : "see below",
	       d->audit.events, took, d->arrive_s, (double)d->last.bound / took,
	       d->best_rate, v->plans,
	       v->plans > 0 ? (double)v->plan_ns_sum / (double)v->plans / 1000 : 0, (double)v->plan_ns_max / 1e6);
}

/* What is wrong, or NULL. */
static const char *verdict(const struct demo *d, char *out, size_t out_bytes)
{
	struct audit_gangs g = audit_gangs(&d->last);
	const struct view_gang *waits = d->view.gangs_n > 0 ? &d->view.gangs[0] : NULL;

	if (stopped)
		snprintf(out, out_bytes, "stopped: %s", strsignal(stopped));
	else if (d->refused > 0)
		snprintf(out, out_bytes, "the API server refused a request: %s", d->refusal);
	else if (d->audit.error[0] != '\0' || d->last.error[0] != '\0')
		snprintf(out, out_bytes, "%s", d->audit.error[0] != '\0' ? d->audit.error : d->last.error);
	else if (g.part > 0)
		snprintf(out, out_bytes, "%zu gangs are part-placed", g.part);
	else if (d->last.failed > 0)
		snprintf(out, out_bytes, "kubelets rejected %zu pods", d->last.failed);
	else if (d->last.bound < d->trace.pods_n)
		snprintf(out, out_bytes, "%zu pods are not bound after %.0f s; %s waits: %s", d->trace.pods_n - d->last.bound,
		         d->limit_s, waits != NULL ? waits->copy.name : "no gang", waits != NULL ? waits->reason : "");
	else if (d->audit.bound != d->last.bound)
		snprintf(out, out_bytes, "the watch saw %zu pods bound, the list has %zu", d->audit.bound, d->last.bound);
	else
		return NULL;
	return out;
}

static int end(struct demo *d)
{
	char why[1024];
	const char *wrong;
	int core_rc, server_rc;

	picture_end();
	audit_free(&d->last);
	audit_new(&d->last, &d->trace);
	if (!stopped && alive(d) && read_list(d))
		print_summary(d);
	wrong = verdict(d, why, sizeof(why));
	core_rc = proc_stop(&d->up);
	server_rc = proc_stop(&d->apisim);
	if (wrong == NULL && (core_rc != 0 || server_rc != 0)) {
		snprintf(why, sizeof(why), "musterctl up ended with %d, muster-apisim with %d", core_rc, server_rc);
		wrong = why;
	}
	if (wrong != NULL) {
		printf("demo: failed: %s\n", wrong);
		return EXIT_NO;
	}
	printf("demo: ok: %zu gangs placed whole, 0 part-placed, %zu pods in %.1f s\n", d->trace.jobs_n, d->last.bound,
	       d->last_s - d->first_s);
	return EXIT_DONE;
}

static int demo(struct demo *d)
{
	char error[512];
	bool ready;
	int rc = EXIT_NO;

	if (!trace_read(&d->trace, d->data, d->jobs_max, error, sizeof(error))) {
		say("the traces", error);
		return EXIT_USAGE;
	}
	view_new(&d->view, &d->trace);
	audit_new(&d->audit, &d->trace);
	audit_new(&d->last, &d->trace);
	printf("demo: %zu nodes with %lu GPUs; %zu jobs, %zu pods, %lu GPUs; starting the API server and muster\n",
	       d->trace.nodes_n, d->trace.gpus_there, d->trace.jobs_n, d->trace.pods_n, d->trace.gpus_wanted);
	fflush(stdout);
	d->begun_s = now_s();
	ready = make_folder(d) && start_apisim(d) && send_setup(d) && start_watch(d) && start_muster(d);
	d->setup_s = now_s() - d->begun_s;
	if (ready) {
		run(d);
		rc = end(d);
	}
	else if (stopped)
		say("stopped", strsignal(stopped));
	proc_stop(&d->up);
	proc_stop(&d->apisim);
	picture_end();
	api_free(d->api);
	view_free(&d->view);
	audit_free(&d->audit);
	audit_free(&d->last);
	trace_free(&d->trace);
	remove_folder(d);
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
	      "  --limit S       give up that long after the first pod (45)\n"
	      "  --plain         lines even on a terminal\n"
	      "  --keep          keep the logs\n"
	      "\n"
	      "Exit status: 0 all gangs were placed whole, 1 not, 2 usage.\n",
	      stdout);
}

/* A positive number, or the end. */
static double number(const char *flag, const char *text)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest != text && *rest == '\0' && value > 0 && value < 100000)
		return value;
	fprintf(stderr, "muster-demo: --%s %s: not a number from 0 to 100000\n", flag, text);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	static const struct option flags[] = {
		{"data", required_argument, NULL, 'd'},
		{"jobs", required_argument, NULL, 'j'},
		{"arrive", required_argument, NULL, 'a'},
		{"limit", required_argument, NULL, 'l'},
		{"plain", no_argument, NULL, 'p'},
		{"keep", no_argument, NULL, 'k'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},
		{0},
	};
	static struct demo d = {.data = "tests/demo/data", .jobs_max = SIZE_MAX, .arrive_s = 6, .limit_s = 45};
	const struct sigaction action = {.sa_handler = on_signal};
	int c;

	while ((c = getopt_long(argc, argv, "", flags, NULL)) != -1) {
		switch (c) {
		case 'd':
			d.data = optarg;
			break;
		case 'j':
			d.jobs_max = (size_t)number("jobs", optarg);
			break;
		case 'a':
			d.arrive_s = number("arrive", optarg);
			break;
		case 'l':
			d.limit_s = number("limit", optarg);
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
