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
#define AUDIT_S 2.0
#define START_S 15.0 /* a program has to be there by then */

/* A job of three hours runs one second. */
#define TIME_SCALE "10800"

struct demo {
	const char *data;
	double arrive_s; /* all jobs are sent over that time */
	double limit_s;  /* after the first pod */
	bool plain, keep;

	struct trace trace;
	struct view view;
	struct audit audit;
	struct api *api;
	struct proc apisim, up;
	char folder[64], kubeconfig[128], socket[128];

	size_t setup_open;   /* nodes and namespaces not answered yet */
	size_t jobs_sent, pods_sent, pods_taken, refused;
	char refusal[400];   /* the first */
	bool list_open;
	double begun_s, first_s, last_s, setup_s; /* monotonic; 0: not yet */
	double rate_s;       /* when the rate was taken */
	uint64_t rate_bound;
	double rate;
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
	strcpy(d->folder, "/tmp/muster-demo-XXXXXX");
	if (mkdtemp(d->folder) == NULL)
		return say(d->folder, strerror(errno));
	snprintf(d->kubeconfig, sizeof(d->kubeconfig), "%s/kubeconfig", d->folder);
	snprintf(d->socket, sizeof(d->socket), "%s/muster.sock", d->folder);
	return true;
}

static void remove_folder(const struct demo *d)
{
	static const char *const names[] = {"kubeconfig", "muster.sock", "apisim.log", "muster.log"};
	char path[128];

	if (d->folder[0] == '\0')
		return;
	if (d->keep) {
		fprintf(stderr, "demo: kept: %s\n", d->folder);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", d->folder, names[i]);
		unlink(path);
	}
	rmdir(d->folder);
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

static void list_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->list_open = false;
	if (!refused(d, status, body))
		audit_pods(&d->audit, body, bytes);
}

static void send_list(struct demo *d)
{
	d->list_open = true;
	api_send(d->api, "/api/v1/pods", NULL, list_done, d);
}

static void show(struct demo *d, double now, bool over)
{
	struct moment m = {
		.trace = &d->trace,
		.view = &d->view,
		.seconds = now - d->first_s,
		.pods_sent = d->pods_sent,
		.jobs_sent = d->jobs_sent,
		.over = over,
	};

	view_read(&d->view);
	if (now - d->rate_s >= 1 || over) {
		if (now > d->rate_s)
			d->rate = (double)(d->view.binds_accepted - d->rate_bound) / (now - d->rate_s);
		d->rate_s = now;
		d->rate_bound = d->view.binds_accepted;
	}
	m.pods_per_s = d->rate;
	picture_show(&m);
}

/* Until all is bound, a limit is reached or somebody stops us. */
static bool run(struct demo *d)
{
	double drawn_s = 0, listed_s;

	d->first_s = d->rate_s = listed_s = now_s();
	picture_begin(d->plain);
	for (;;) {
		double now = now_s();

		send_due(d, now - d->first_s);
		api_run(d->api, 5);
		view_read_counts(&d->view);
		if (d->view.binds_accepted >= d->trace.pods_n) {
			d->last_s = now_s();
			show(d, d->last_s, true);
			return true;
		}
		if (now - drawn_s >= DRAW_S) {
			drawn_s = now;
			show(d, now, false);
		}
		if (now - listed_s >= AUDIT_S && !d->list_open) {
			listed_s = now;
			send_list(d);
		}
		if (stopped || d->refused > 0 || d->audit.error[0] != '\0' || !alive(d))
			return false;
		if (now - d->first_s > d->limit_s)
			return false;
	}
}

static void final_list(struct demo *d)
{
	double end = now_s() + 10;

	/* One that was asked for earlier doesn't count. */
	while (api_open(d->api) > 0 && now_s() < end)
		api_run(d->api, 20);
	send_list(d);
	while (d->list_open && now_s() < end)
		api_run(d->api, 20);
}

/* ---- the end -------------------------------------------------------------------- */

static void print_summary(const struct demo *d)
{
	const struct trace *t = &d->trace;
	const struct view *v = &d->view;
	const struct audit *a = &d->audit;
	double took = (d->last_s > 0 ? d->last_s : now_s()) - d->first_s;

	printf("\n"
	       "demo: nodes            %zu with %lu GPUs (openb), in the ledger after %.1f s\n"
	       "demo: gangs placed     %zu of %zu, %zu of %zu of those with 2 pods and more\n"
	       "demo: part-placed      %zu\n"
	       "demo: pods bound       %zu of %zu; %zu ran to their end, %zu were rejected by a kubelet\n"
	       "demo: GPUs asked for   %lu, %.1f times what there is\n"
	       "demo: nodes over       %zu, in %zu independent readings of all pods\n"
	       "demo: time             %.1f s from the first pod sent to the last binding\n"
	       "demo: speed            %.0f pods per second; jobs were sent over %.0f s\n"
	       "demo: core             %" PRIu64 " plans, %.1f us mean, %.1f us the longest\n",
	       t->nodes_n, t->gpus_there, d->setup_s, a->gangs_whole, t->jobs_n, a->several_whole, t->gangs_n,
	       a->gangs_part, a->bound, t->pods_n, a->ended - a->failed, a->failed, t->gpus_wanted,
	       (double)t->gpus_wanted / (double)t->gpus_there, a->nodes_over, a->lists, took, (double)a->bound / took,
	       d->arrive_s, v->plans, v->plans > 0 ? (double)v->plan_ns_sum / (double)v->plans / 1000 : 0,
	       (double)v->plan_ns_max / 1000);
}

/* What is wrong, or NULL. */
static const char *verdict(const struct demo *d, char *out, size_t out_bytes)
{
	const struct audit *a = &d->audit;

	if (stopped)
		return "stopped";
	if (d->refused > 0)
		snprintf(out, out_bytes, "the API server refused a request: %s", d->refusal);
	else if (a->error[0] != '\0')
		snprintf(out, out_bytes, "%s", a->error);
	else if (a->nodes_over > 0)
		snprintf(out, out_bytes, "a node is over its allocatable: %s", a->over);
	else if (a->gangs_part > 0)
		snprintf(out, out_bytes, "%zu gangs are part-placed", a->gangs_part);
	else if (a->failed > 0)
		snprintf(out, out_bytes, "kubelets rejected %zu pods", a->failed);
	else if (a->bound < d->trace.pods_n)
		snprintf(out, out_bytes, "%zu pods are not bound after %.0f s; %s waits: %s", d->trace.pods_n - a->bound,
		         d->limit_s, d->view.gangs_n > 0 ? d->view.gangs[0].copy.name : "nobody",
		         d->view.gangs_n > 0 ? d->view.gangs[0].reason : "");
	else
		return NULL;
	return out;
}

static int end(struct demo *d, bool ran)
{
	char why[1024];
	const char *wrong;
	int core_rc, server_rc;

	if (ran || (d->first_s > 0 && !stopped))
		final_list(d);
	picture_end();
	if (d->first_s > 0)
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
	printf("demo: ok: %zu gangs placed, 0 part-placed, %zu pods in %.1f s\n", d->audit.gangs_whole, d->audit.bound,
	       d->last_s - d->first_s);
	return EXIT_DONE;
}

static int demo(struct demo *d)
{
	char error[512];
	bool ready;
	int rc = EXIT_NO;

	if (!trace_read(&d->trace, d->data, error, sizeof(error))) {
		say("the traces", error);
		return EXIT_USAGE;
	}
	view_new(&d->view, &d->trace);
	audit_new(&d->audit, &d->trace);
	printf("demo: %zu nodes with %lu GPUs; %zu jobs, %zu pods, %lu GPUs; starting the API server and muster\n",
	       d->trace.nodes_n, d->trace.gpus_there, d->trace.jobs_n, d->trace.pods_n, d->trace.gpus_wanted);
	fflush(stdout);
	d->begun_s = now_s();
	ready = make_folder(d) && start_apisim(d) && send_setup(d) && start_muster(d);
	d->setup_s = now_s() - d->begun_s;
	if (ready)
		rc = end(d, run(d));
	else if (stopped)
		say("stopped", strsignal(stopped));
	proc_stop(&d->up);
	proc_stop(&d->apisim);
	picture_end();
	api_free(d->api);
	view_free(&d->view);
	trace_free(&d->trace);
	remove_folder(d);
	return rc;
}

static void print_help(void)
{
	fputs("muster-demo [--data FOLDER] [--arrive S] [--limit S] [--plain] [--keep]\n"
	      "\n"
	      "Runs jobs of a real trace on nodes of another, through an embedded API server and\n"
	      "both daemons, shows what happens, and checks the end by reading the API server.\n"
	      "\n"
	      "  --data FOLDER   the traces (tests/demo/data)\n"
	      "  --arrive S      seconds over which the jobs are sent (8)\n"
	      "  --limit S       give up that long after the first pod (45)\n"
	      "  --plain         lines even on a terminal\n"
	      "  --keep          keep the logs\n"
	      "\n"
	      "Exit status: 0 all gangs were placed whole, 1 not, 2 usage.\n",
	      stdout);
}

static double seconds(const char *flag, const char *text)
{
	char *rest;
	double value = strtod(text, &rest);

	if (rest != text && *rest == '\0' && value > 0 && value < 100000)
		return value;
	fprintf(stderr, "muster-demo: --%s %s: not a number of seconds\n", flag, text);
	exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
	static const struct option flags[] = {
		{"data", required_argument, NULL, 'd'},  {"arrive", required_argument, NULL, 'a'},
		{"limit", required_argument, NULL, 'l'}, {"plain", no_argument, NULL, 'p'},
		{"keep", no_argument, NULL, 'k'},        {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'v'},     {0},
	};
	static struct demo d = {.data = "tests/demo/data", .arrive_s = 8, .limit_s = 45};
	const struct sigaction action = {.sa_handler = on_signal};
	int c;

	while ((c = getopt_long(argc, argv, "", flags, NULL)) != -1) {
		switch (c) {
		case 'd':
			d.data = optarg;
			break;
		case 'a':
			d.arrive_s = seconds("arrive", optarg);
			break;
		case 'l':
			d.limit_s = seconds("limit", optarg);
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
