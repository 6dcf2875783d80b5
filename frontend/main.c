/* SPDX-License-Identifier: Apache-2.0 */
/* muster-frontend: the loop's world is libcurl, the system's clocks, the socket of
 * muster-core and standard error. */
#include "frontend/serve/extender.h"
#include "frontend/daemon/confine.h"
#include "frontend/loop/corelink.h"
#include "frontend/api/curl.h"
#include "frontend/loop/frontend.h"
#include "frontend/api/kubeconfig.h"
#include "frontend/api/lease.h"
#include "frontend/base/log.h"
#include "frontend/serve/notify.h"
#include "frontend/config/options.h"
#include "frontend/base/probe.h"
#include "frontend/serve/serve.h"
#include "frontend/serve/state.h"
#include "ipc/confine.h"
#include "ipc/logline.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define RELEASE_NS (2 * NS_PER_S) /* for the lease, at the end */
#define EXIT_INPUT 2
#define EXIT_CONFIG 78
#define CONNECT_AGAIN_NS (100 * NS_PER_MS)
#define FIGURES_NS (5 * NS_PER_S) /* when nobody asks: that the loop runs */
#define START_AGAIN (-2)
#define DRAIN_NS (10 * NS_PER_S)
#define COMMANDS_AT_ONCE 1024
#define SLEEP_MAX_MS 1000
#define READY_NS (100 * NS_PER_MS) /* between two looks, until it is */
#define TIMEOUT_MAX_S 900

struct daemon {
	const struct options *options;
	int log_level;
	bool log_json;
	bool no_new_privileges;
	struct access access;
	struct env env;
	struct model *model;
	struct curl_transport *curl;
	struct corelink *link;
	struct frontend *frontend;
	struct serve *serve;
	struct metrics metrics;
	struct jsonout state; /* of the page; kept for its memory */
	char instance[128];
	char identity[160];  /* of this life of the process */
	uint64_t connect_ns; /* when to try the core again */
	uint64_t figures_ns;
	uint64_t ready_ns;    /* when to look whether we are ready; NEVER_NS: nobody asks, or told */
	char last_error[512]; /* of the connection, so that each is said once */
	_Alignas(8) unsigned char record[RECORD_BYTES_MAX];
	pthread_t signal_thread;
};

/* Of the process: what came while a life of it ended ends the next. */
static _Atomic int stop; /* the signal; 0: none */

/* ---- world --------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t world_monotonic_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_BOOTTIME);
}

static uint64_t world_wall_ns(void *context)
{
	(void)context;
	return clock_ns(CLOCK_REALTIME);
}

static uint64_t world_random(void *context)
{
	uint64_t n = 0;

	(void)context;
	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = clock_ns(CLOCK_MONOTONIC);
	return n;
}

/* logfmt, or the same as JSON; what comes from outside can't break out of its quotes or line. */
static void world_say(void *context, const char *level, const char *message,
                      const struct log_field *fields, size_t n)
{
	const struct daemon *d = context;
	uint64_t now = world_wall_ns(NULL);
	time_t seconds = (time_t)(now / NS_PER_S);
	char line[8192], object[9216], *out = line;
	char when[32];
	struct tm tm;
	size_t bytes;

	if (log_level_read(level) < d->log_level)
		return;
	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
	bytes = (size_t)snprintf(line, sizeof(line), "ts=%s.%03uZ level=%s msg=", when,
	                         (unsigned)(now % NS_PER_S / NS_PER_MS), level);
	bytes += logline_quote(line + bytes, 4096, message);
	bytes += log_fields_write(line + bytes, sizeof(line) - bytes - 1, fields, n);
	if (d->log_json) {
		bytes = logline_json(object, sizeof(object) - 1, line);
		out = object;
	}
	out[bytes++] = '\n';
	if (write(STDERR_FILENO, out, bytes) < 0)
		return; /* nobody reads: there is nobody to tell */
}

static void world_log(void *context, const char *level, const char *message)
{
	world_say(context, level, message, NULL, 0);
}

/* ---- signals: a thread waits for them and wakes the loop -------------------------- */

static void loop_wake(void *context)
{
	struct daemon *d = context;

	curl_transport_wake(d->curl);
}

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

static bool stop_wanted(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed) != 0;
}

static void *signal_run(void *context)
{
	struct daemon *d = context;
	static uint64_t first_ns; /* as `stop` */
	sigset_t set;
	int signal;

	stop_signals(&set);
	for (;;) {
		if (sigwait(&set, &signal) != 0)
			continue;
		/* The second one does not wait for answers, unless it is the first once more: a service
		 * manager sends SIGTERM to all of its group, and our parent among them does too. */
		if (stop_wanted() && (signal == SIGINT || world_monotonic_ns(NULL) - first_ns >= NS_PER_S))
			_exit(1);
		if (stop_wanted())
			continue;
		first_ns = world_monotonic_ns(NULL);
		/* Relaxed: it carries nothing else. */
		atomic_store_explicit(&stop, signal, memory_order_relaxed);
		loop_wake(d);
	}
	return NULL;
}

/* ---- the core --------------------------------------------------------------------- */

static void core_lost(struct daemon *d, const char *why)
{
	env_log(&d->env, "warn", "%s; waiting for a new core", why);
	PROBE(core_lost, corelink_epoch(d->link));
	corelink_close(d->link);
	frontend_core_down(d->frontend);
	d->connect_ns = 0;
}

static void core_accept(struct daemon *d)
{
	struct frontend_port port = corelink_port(d->link);
	const struct limits *l = corelink_limits(d->link);

	if (frontend_core_up(d->frontend, l, &port) < 0) {
		env_log(
			&d->env, "error",
			"the cluster is larger than the limits of muster-core (%u nodes, %u pods, %u gangs, "
			"%u shapes, %u names): start it with larger ones",
			l->nodes, l->pods, l->gangs, l->shapes, l->names);
		corelink_close(d->link);
		d->connect_ns = env_now(&d->env) + 10 * NS_PER_S;
		return;
	}
	d->last_error[0] = '\0';
	env_log(&d->env, "info",
	        "connected to muster-core at %s, epoch %llu, room for %u nodes and %u pods",
	        d->options->socket, (unsigned long long)corelink_epoch(d->link), l->nodes, l->pods);
}

/* -1 to go on, else the exit code. */
static int core_connect(struct daemon *d)
{
	struct link_error e = { 0 };
	uint64_t now = env_now(&d->env);

	if (corelink_is_up(d->link) || now < d->connect_ns || stop_wanted())
		return -1;
	if (corelink_connect(d->link, &e) == 0) {
		PROBE(core_connected, corelink_epoch(d->link));
		core_accept(d);
		return -1;
	}
	if (e.rc == -EPROTONOSUPPORT) {
		env_log(&d->env, "error", "%s", e.text);
		return EXIT_CONFIG;
	}
	if (strcmp(d->last_error, e.text) != 0) {
		env_log(&d->env, e.rc == -ENOENT || e.rc == -ECONNREFUSED ? "info" : "warn",
		        "%s; trying again", e.text);
		snprintf(d->last_error, sizeof(d->last_error), "%s", e.text);
	}
	d->connect_ns = now + CONNECT_AGAIN_NS;
	return -1;
}

/* Take commands; true when there may be more. */
static bool commands_take(struct daemon *d)
{
	struct record *r = (struct record *)d->record;

	if (!corelink_is_up(d->link))
		return false;
	for (int i = 0; i < COMMANDS_AT_ONCE; i++) {
		int rc = corelink_read(d->link, r);

		if (rc == 0) {
			PROBE(ring_out_release, (uint32_t)i);
			corelink_release(d->link);
			return false;
		}
		if (rc > 0) {
			PROBE(ring_out_read, (uint32_t)r->kind, r->epoch, r->sequence);
			rc = frontend_command(d->frontend, r);
		}
		if (rc < 0) {
			d->metrics.lost.bad_command++;
			core_lost(d, "muster-core sent a command that makes no sense; connection closed");
			return false;
		}
	}
	corelink_release(d->link);
	return true;
}

/* ---- loop --------------------------------------------------------------------------- */

static void figures_take(struct daemon *d)
{
	d->metrics.taken_ns = env_now(&d->env);
	d->metrics.core_up = corelink_is_up(d->link);
	if (d->metrics.core_up) {
		metrics_read_core(&d->metrics.core, corelink_ledger(d->link));
		corelink_figures(d->link, &d->metrics.link);
	}
	metrics_read_process(&d->metrics);
	d->metrics.curl = *curl_transport_counts(d->curl);
	frontend_metrics(d->frontend, &d->metrics);
}

/* What the page shows: rows of the ledger, with the names and texts that only the model knows. */
static void state_update(struct daemon *d)
{
	struct observer ledger;
	bool up = corelink_is_up(d->link);

	if (up)
		corelink_observe(d->link, &ledger);
	state_write(up ? &ledger : NULL, d->model, &d->metrics, world_wall_ns(NULL), &d->state);
	serve_state_update(d->serve, d->state.at, d->state.bytes);
}

/* Figures, for whoever asks; both kinds of them are of one moment. */
static void serve_turn(struct daemon *d)
{
	uint64_t now = env_now(&d->env);
	bool figures, state;

	if (!d->serve)
		return;
	figures = serve_is_wanted(d->serve) || now >= d->figures_ns;
	state = serve_state_is_wanted(d->serve);
	if (!figures && !state)
		return;
	figures_take(d);
	if (figures) {
		d->figures_ns = now + FIGURES_NS;
		serve_update(d->serve, &d->metrics);
	}
	if (state)
		state_update(d);
}

/* Tell a service manager once what /readyz says. */
static void ready_update(struct daemon *d)
{
	uint64_t now = env_now(&d->env);
	char text[1024];
	int rc;

	if (now < d->ready_ns)
		return;
	figures_take(d);
	d->ready_ns = now + READY_NS;
	if (metrics_not_ready(&d->metrics, text, sizeof(text)) != NULL)
		return;
	d->ready_ns = NEVER_NS;
	rc = notify_send("READY=1");
	if (rc < 0)
		env_log(&d->env, "warn", "NOTIFY_SOCKET=%s: %s", getenv("NOTIFY_SOCKET"), strerror(-rc));
}

static uint32_t sleep_ms(const struct daemon *d, uint64_t next_ns)
{
	uint64_t now = env_now(&d->env), ms;

	if (!corelink_is_up(d->link) && d->connect_ns < next_ns)
		next_ns = d->connect_ns;
	if (d->ready_ns < next_ns)
		next_ns = d->ready_ns;
	if (next_ns <= now)
		return 0;
	if (next_ns == NEVER_NS)
		return SLEEP_MAX_MS;
	ms = (next_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms < SLEEP_MAX_MS ? (uint32_t)ms : SLEEP_MAX_MS;
}

static void questions_take(struct daemon *d)
{
	struct extender_job *job;

	while (d->serve && (job = serve_take_job(d->serve)) != NULL)
		frontend_ask(d->frontend, job);
}

static void loop_turn(struct daemon *d)
{
	bool more = commands_take(d), gone = false, asleep = false;
	uint64_t next;
	uint32_t ms;

	questions_take(d);
	next = frontend_poll(d->frontend);
	serve_turn(d);
	ready_update(d);
	ms = more ? 0 : sleep_ms(d, next);
	if (ms > 0 && corelink_is_up(d->link)) {
		asleep = corelink_sleep(d->link);
		if (!asleep)
			ms = 0;
	}
	curl_transport_poll(d->curl, ms, corelink_fd(d->link), &gone);
	if (asleep)
		corelink_awake(d->link);
	if (gone) {
		d->metrics.lost.gone++;
		core_lost(d, "muster-core is gone");
	} else if (corelink_is_up(d->link) && corelink_broken(d->link)) {
		d->metrics.lost.bad_ring++;
		core_lost(d, "muster-core moved a ring to where it can't be; connection closed");
	}
}

static void lease_check(const struct daemon *d)
{
	if (!frontend_lost_lease(d->frontend))
		return;
	env_log(&d->env, "error", "the lease is lost: ending at once");
	_exit(1); /* nothing more goes out, not even what is half written */
}

/* No new binding; those that were sent are waited for: whoever comes next does not know of them. */
static void loop_drain(struct daemon *d)
{
	uint64_t until = env_now(&d->env) + DRAIN_NS;

	PROBE(draining);
	frontend_stop(d->frontend);
	while (!frontend_idle(d->frontend) && env_now(&d->env) < until) {
		lease_check(d);
		loop_turn(d);
	}
	if (corelink_is_up(d->link))
		frontend_poll(d->frontend);
	PROBE(drained);
	if (!frontend_idle(d->frontend))
		env_log(&d->env, "warn", "some bindings were not answered");
}

/* Whoever comes next need not wait until the lease is over, be it our own next life. */
static void loop_end(struct daemon *d)
{
	uint64_t until;

	loop_drain(d);
	until = env_now(&d->env) + RELEASE_NS;
	while (!frontend_release_lease(d->frontend) && env_now(&d->env) < until)
		loop_turn(d);
}

static int loop_run(struct daemon *d)
{
	while (!stop_wanted()) {
		int code = core_connect(d);

		if (code >= 0)
			return code;
		lease_check(d);
		loop_turn(d);
		/* In a cluster the token may be rotated any moment; a kubeconfig is what
		 * the user gave. */
		if (!d->access.in_cluster && frontend_refused_at_start(d->frontend))
			return EXIT_INPUT;
		if (frontend_must_restart(d->frontend)) {
			env_log(&d->env, "warn", "starting over with nothing known");
			loop_end(d);
			return stop_wanted() ? 0 : START_AGAIN;
		}
	}
	env_log(&d->env, "info", "stopping");
	loop_end(d);
	env_log(&d->env, "info", "stopped");
	return 0;
}

/* ---- start -------------------------------------------------------------------------- */

/* Upstream holds nothing for longer. */
static uint64_t timeout_ns(int64_t seconds)
{
	return seconds < 0 ? 0
	                   : (uint64_t)(seconds < TIMEOUT_MAX_S ? seconds : TIMEOUT_MAX_S) * NS_PER_S;
}

static int model_start(struct daemon *d)
{
	const struct options *o = d->options;
	/* Until a core says what it has room for. */
	struct model_config config = {
		.scheduler_names = o->scheduler_names.at, .scheduler_names_n = o->scheduler_names.n,
		.limits = {
			.nodes = 5120, .pods = 65536, .gangs = 16384, .shapes = 8192, .names = 4096, .resources = 32,
			.name_bytes = 8u << 20, .command_ring_bytes = 1u << 20,
		},
		.judges_others = d->options->extender_keep_s > 0,
		.hash_key = {world_random(NULL), world_random(NULL)},
		.dialects_off = options_off(o),
		.policies_off = !o->policies,
		.timeouts_ns = {
			[GROUP_TIMEOUT_COSCHEDULING] = timeout_ns(o->permit_s),
			[GROUP_TIMEOUT_CONFIGMAP] = timeout_ns(o->configmap_s),
			[GROUP_TIMEOUT_ANNOTATIONS] = timeout_ns(o->annotations_s),
		},
	};

	d->model = model_new(&config);
	if (!d->model)
		fatal_memory();
	return -1;
}

static bool may_write(void *context)
{
	const struct daemon *d = context;

	return frontend_may_write(d->frontend);
}

static int transport_start(struct daemon *d)
{
	struct access_options o = {
		.kubeconfig = d->options->kubeconfig,
		.context = d->options->context,
		.allow_insecure = d->options->insecure,
	};
	struct curl_config config = {
		.access = &d->access, .env = &d->env, .may_write = may_write, .context = d,
		/* A resource is either listed or watched: no list waits for that of another. */
		.lane_max = {
			[HTTP_WATCH] = 64, [HTTP_BIND] = (unsigned)d->options->bind_connections, [HTTP_REPORT] = 4, [HTTP_CALL] = 16,
			[HTTP_LIST] = 64, [HTTP_LEASE] = 1,
		},
	};
	const char *why;
	char error[1024];

	if (access_load(&d->access, &o, error, sizeof(error)) < 0) {
		fprintf(stderr, "muster-frontend: %s\n", error);
		return EXIT_INPUT;
	}
	d->curl = curl_transport_new(&config, &why);
	if (!d->curl) {
		fprintf(stderr, "muster-frontend: %s: server %s: %s\n", d->access.source, d->access.server,
		        why);
		return EXIT_INPUT;
	}
	d->env.transport = curl_transport_interface(d->curl);
	return -1;
}

static int link_start(struct daemon *d)
{
	struct corelink_config config = {
		.path = d->options->socket,
		.event_ring_bytes = (uint64_t)d->options->event_ring_bytes,
		.result_ring_bytes = (uint64_t)d->options->result_ring_bytes,
		.env = &d->env,
		.wake = loop_wake,
		.context = d,
	};
	int rc = corelink_new(&config, &d->link);

	if (rc == 0)
		return -1;
	fprintf(stderr, "muster-frontend: shared memory of %llu bytes: %s\n",
	        (unsigned long long)(config.event_ring_bytes + config.result_ring_bytes),
	        strerror(-rc));
	return 1;
}

static bool serves(const struct daemon *d)
{
	return *d->options->listen && strcmp(d->options->listen, "off") != 0;
}

static int serve_begin(struct daemon *d)
{
	struct serve_config config = {
		.listen = d->options->listen,
		.monotonic_ns = world_monotonic_ns,
		.wanted = loop_wake,
		.context = d,
		.extends = d->options->extender_keep_s > 0,
	};
	char error[256];
	int rc;

	if (!serves(d))
		return -1;
	rc = serve_start(&config, &d->serve, error, sizeof(error));
	if (rc == 0)
		return -1;
	fprintf(stderr, "muster-frontend: --listen: %s\n", error);
	return rc == -EINVAL ? EXIT_INPUT : EXIT_CONFIG;
}

static void frontend_begin(struct daemon *d)
{
	const struct options *o = d->options;
	struct lease_config lease = {
		.namespace = o->lease_namespace,
		.name = o->lease_name,
		.identity = d->identity,
		.duration_ns = (uint64_t)o->lease_s * NS_PER_S,
		.renew_ns = (uint64_t)o->renew_s * NS_PER_S,
		.retry_ns = (uint64_t)o->retry_s * NS_PER_S,
	};
	struct frontend_config config = {
		.bind_connections = (unsigned)d->options->bind_connections,
		.report_per_second = (unsigned)d->options->report_per_second,
		.report_queue = 10000,
		.instance = d->instance,
		.node_selector = d->options->node_selector,
		.extender_keep_ms = (uint32_t)d->options->extender_keep_s * 1000,
		.lease = o->leader_elect ? &lease : NULL,
	};
	char host[100] = "localhost";

	gethostname(host, sizeof(host) - 1);
	snprintf(d->instance, sizeof(d->instance), "muster-%s", host);
	snprintf(d->identity, sizeof(d->identity), "%s_%016llx%016llx", host,
	         (unsigned long long)world_random(NULL), (unsigned long long)world_random(NULL));
	d->frontend = frontend_new(&config, &d->env, d->model);
	d->metrics.start_seconds = (double)world_wall_ns(NULL) * 1e-9;
}

/* What was asked for and makes muster another one, or does nothing. */
static void say_options(struct daemon *d)
{
	const struct options *o = d->options;
	char names[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < o->dialects_off.n && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "",
		                      o->dialects_off.at[i]);
	if (n > 0)
		env_log(&d->env, "info", "dialects that are off: %s", names);
	if (o->node_selector && *o->node_selector)
		env_log(&d->env, "info", "only nodes with these labels: %s", o->node_selector);
	names[0] = '\0';
	n = 0;
	for (size_t i = 0; i < settings_n && n < sizeof(names); i++)
		if (settings[i].without_effect && (o->from_file & setting_bit(&settings[i])))
			n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n > 0 ? ", " : "",
			                      settings[i].path);
	if (n > 0)
		env_log(&d->env, "info",
		        "no effect: %s: a gang is planned whole and holds nothing while it waits, so that "
		        "nothing is to be rejected or backed off",
		        names);
}

static void say_start(struct daemon *d)
{
	const char *listen = d->options->listen;
	char serving[160] = "";

	if (serves(d))
		snprintf(serving, sizeof(serving), ", serving on %.*s:%u",
		         (int)(strrchr(listen, ':') - listen), listen, serve_port(d->serve));
	env_log(&d->env, "info", "muster-frontend %s: API server %s (%s)%s", MUSTER_VERSION,
	        d->access.server, d->access.source, serving);
	say_options(d);
}

/* What can't be given up is said, and no reason not to serve.  For good: a second life of this
 * process has it as the first. */
static void confine_daemon(struct daemon *d)
{
	static bool confined;
	struct log_field fields[] = {
		{ .key = "no_new_privileges", .text = d->no_new_privileges ? "yes" : "no" },
		{ .key = "seccomp" },
	};
	const char *how = "on";
	int rc;

	if (strcmp(d->options->seccomp, "off") == 0) {
		how = "off";
	} else if (!CONFINE_POSSIBLE) {
		how = "not in this build";
	} else if (!confined) {
		rc = frontend_confine(d->log_json);
		confined = rc == 0;
		if (rc < 0) {
			env_log(&d->env, "warn", "system calls can't be filtered here: %s", strerror(-rc));
			how = "unavailable";
		}
	}
	fields[1].text = how;
	env_tell(&d->env, "info", "confined", fields, sizeof(fields) / sizeof(fields[0]));
}

static int daemon_start(struct daemon *d)
{
	sigset_t set;
	int code;

	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* inherited by every thread */
	d->ready_ns = getenv("NOTIFY_SOCKET") != NULL ? 0 : NEVER_NS;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of who makes or writes one */
	d->env = (struct env){
		.monotonic_ns = world_monotonic_ns,
		.wall_ns = world_wall_ns,
		.random = world_random,
		.log = world_log,
		.say = world_say,
		.context = d,
	};
	if ((code = transport_start(d)) >= 0 || (code = model_start(d)) >= 0 ||
	    (code = link_start(d)) >= 0 || (code = serve_begin(d)) >= 0)
		return code;
	frontend_begin(d);
	PROBE(started);
	if (pthread_create(&d->signal_thread, NULL, signal_run, d) != 0)
		fatal_memory();
	say_start(d);
	confine_daemon(d);
	return -1;
}

static void daemon_free(struct daemon *d)
{
	if (d->signal_thread) {
		pthread_cancel(d->signal_thread);
		pthread_join(d->signal_thread, NULL);
	}
	frontend_free(d->frontend); /* answers what it was asked */
	serve_stop(d->serve);
	jsonout_free(&d->state);
	corelink_free(d->link);
	curl_transport_free(d->curl);
	if (d->model)
		model_free(d->model);
	access_free(&d->access);
	free(d);
}

/* Before any other thread, so that all of them inherit it. */
static void pin(struct daemon *d)
{
	char said[96];
	cpu_set_t cpus;

	if (d->options->cpu < 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)d->options->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0)
		return;
	snprintf(said, sizeof(said), "can't run on CPU %d: %s", (int)d->options->cpu, strerror(errno));
	world_log(d, "warn", said);
}

static int run_once(const struct options *o, bool no_new_privileges)
{
	struct daemon *d = must_alloc(sizeof(*d));
	int code;

	d->options = o;
	d->no_new_privileges = no_new_privileges;
	d->log_level = log_level_read(o->log_level);
	d->log_json = strcmp(o->log_format, "json") == 0;
	pin(d);
	code = daemon_start(d);
	if (code < 0)
		code = loop_run(d);
	daemon_free(d);
	return code;
}

int main(int argc, char **argv)
{
	bool no_new_privileges = confine_privileges();
	struct options o;
	int code = options_read(argc, argv, &o);

	if (code < 0)
		do
			code = run_once(&o, no_new_privileges);
		while (code == START_AGAIN);
	options_free(&o);
	return code;
}
