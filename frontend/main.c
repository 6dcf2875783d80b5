/* SPDX-License-Identifier: Apache-2.0 */
/* muster-frontend: start-up.  The loop is in frontend/daemon/run.c. */
#include "frontend/daemon/confine.h"
#include "frontend/daemon/daemon.h"
#include "frontend/api/kubeconfig.h"
#include "frontend/api/lease.h"
#include "frontend/base/probe.h"
#include "frontend/journal/journal.h"
#include "frontend/model/model.h"
#include "frontend/page/page.h"
#include "frontend/serve/address.h"
#include "ipc/confine.h"
#include "ipc/size.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MAX_S 900
#define LATE_MS 4000

/* maxTimeout of kube-scheduler's permit plugins. */
static uint64_t timeout_ns(int64_t seconds)
{
	return seconds < 0 ? 0
	                   : (uint64_t)(seconds < TIMEOUT_MAX_S ? seconds : TIMEOUT_MAX_S) * NS_PER_S;
}

/* Of --max-memory: the program, rings and buffers, and lists and objects on their way; and of the
 * rest the part that the allocator loses between allocations. */
#define MEMORY_FIXED (UINT64_C(96) << 20)
#define MEMORY_LOST_PART 4u
#define MEMORY_LEAST (MEMORY_FIXED + MEMORY_LOST_PART) /* less leaves nothing, which means any */

#define PAGE_PART 128u /* of --max-memory: a page of a list, of which there may be several */
#define PAGE_LEAST (UINT64_C(8) << 20)

/* --max-memory; 0: any. */
static uint64_t max_memory(const struct options *o)
{
	uint64_t bytes = 0;

	if (o->max_memory)
		max_memory_read(o->max_memory, &bytes);
	return bytes;
}

/* What of it is for objects. */
static uint64_t memory_for_objects(uint64_t bytes)
{
	return bytes > 0 ? (bytes - MEMORY_FIXED) / MEMORY_LOST_PART * (MEMORY_LOST_PART - 1) : 0;
}

static uint64_t page_bytes_max(const struct options *o)
{
	const uint64_t part = max_memory(o) / PAGE_PART;

	return max_memory(o) == 0 || part > PAGE_LEAST ? part : PAGE_LEAST;
}

static int model_start(struct daemon *d)
{
	const struct options *o = d->options;
	/* Until a core has sent its limits. */
	struct model_config config = {
		.scheduler_names = o->scheduler_names.at, .scheduler_names_n = o->scheduler_names.n,
		.limits = {
			.nodes = 5120, .pods = 65536, .gangs = 16384, .shapes = 8192, .names = 4096,
			.resources = 32,
			.name_bytes = 8u << 20, .command_ring_bytes = 1u << 20,
		},
		.binds_claims = o->volume_bind_s > 0,
		.judges_others = d->options->extender_keep_s > 0,
		.hash_key = {system_random(NULL), system_random(NULL)},
		.dialects_off = options_off(o),
		.policies_off = !o->policies,
		.job_deadlines = o->job_deadlines,
		.devices_live = strcmp(o->devices, "auto") == 0,
		.preemption = strcmp(o->preemption, "off") != 0,
		.may_evict = strcmp(o->preemption, "on") == 0,
		.preemption_flags =
			(strcmp(o->preemption_budgets, "best-effort") == 0 ? PREEMPTION_BEST_EFFORT : 0u) |
			(strcmp(o->preempt_victims, "all") == 0 ? PREEMPTION_ALL : 0u) |
			(strcmp(o->reclaim, "off") != 0 ? PREEMPTION_RECLAIM : 0u) |
			(strcmp(o->reclaim, "fair") == 0 ? PREEMPTION_FAIR : 0u),
		.preempt_min_run_s = (uint32_t)o->preempt_min_run_s,
		.preempt_cooldown_s = (uint32_t)o->preempt_cooldown_s,
		.preempt_patience_s = (uint32_t)o->preempt_patience_s,
		.reclaim_patience_s = (uint32_t)o->reclaim_patience_s,
		.queues = (enum model_queues_of)options_queues(o),
		.queues_namespace = d->queues.namespace,
		.queues_name = d->queues.name,
		.unshared = o->unshared.at,
		.unshared_n = o->unshared.n,
		.history_factor = (uint32_t)o->history_factor,
		.history_half_life_s = (uint32_t)o->history_half_life_s,
		.memory_bytes = memory_for_objects(max_memory(o)),
		.timeouts_ns = {
			[GROUP_TIMEOUT_COSCHEDULING] = timeout_ns(o->permit_s),
			[GROUP_TIMEOUT_CONFIGMAP] = timeout_ns(o->configmap_s),
			[GROUP_TIMEOUT_ANNOTATIONS] = timeout_ns(o->annotations_s),
		},
	};

	if (max_memory(o) > 0 && max_memory(o) < MEMORY_LEAST) {
		fprintf(stderr, "muster-frontend: --max-memory %s: %llu bytes are needed\n", o->max_memory,
		        (unsigned long long)MEMORY_LEAST);
		return EXIT_INPUT;
	}
	options_queues_place(o, &d->queues);
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

/* A Binding is not to land after another instance may lead, which is this long after this one may
 * write for the last time.  The API server counts it from the arrival of a request, the kernel from
 * the first byte that is not acknowledged. */
static uint32_t late_ms(const struct options *o)
{
	int64_t slack_ms = (o->lease_s - o->renew_s) * 1000 * 4 / 5;

	return o->leader_elect && slack_ms < LATE_MS ? (uint32_t)slack_ms : LATE_MS;
}

/* What a setting of 0 seeks its number in (frontend/base/window.h). */
#define BIND_CONNECTIONS_FIRST 12u
#define BIND_CONNECTIONS_MOST 256u
#define REASONS_AT_ONCE 4u /* of frontend/report/, beside the Events of bindings */

static unsigned connections_most(int64_t setting, unsigned most)
{
	return setting ? (unsigned)setting : most;
}

static int transport_start(struct daemon *d)
{
	struct access_options o = {
		.kubeconfig = d->options->kubeconfig,
		.context = d->options->context,
		.allow_insecure = d->options->insecure,
	};
	const unsigned connections =
		connections_most(d->options->bind_connections, BIND_CONNECTIONS_MOST);
	struct curl_config config = {
		.access = &d->access, .env = &d->env, .may_write = may_write, .context = d,
		.unacknowledged_ms = late_ms(d->options),
		/* A resource is either listed or watched: no list waits for another. */
		.lane_max = {
			[HTTP_WATCH] = 64, [HTTP_BIND] = connections,
			[HTTP_REPORT] = REASONS_AT_ONCE + connections,
			[HTTP_CALL] = 16,
			[HTTP_LIST] = 64, [HTTP_LEASE] = 1, [HTTP_JOURNAL] = 1,
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
		.wake = daemon_wake,
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

static int serve_begin(struct daemon *d)
{
	const struct options *o = d->options;
	struct serve_config config = {
		.listen = o->listen,
		.health_listen = o->health_listen,
		.allowed_hosts = o->allowed_hosts.at,
		.allowed_hosts_n = o->allowed_hosts.n,
		.env = &d->env,
		.wanted = daemon_wake,
		.context = d,
		.page = page_get(),
		.tls_cert = o->tls_cert,
		.tls_key = o->tls_key,
		.client_ca = o->client_ca,
		.extends = o->extender_keep_s > 0,
		.node_names = model_node_names(d->model),
		.auth = options_auth(o),
		.users = o->extender_users.at,
		.users_n = o->extender_users.n,
	};
	char error[256];
	int rc;

	if (address_is_off(o->listen) && address_is_off(o->health_listen))
		return -1;
	rc = serve_start(&config, &d->serve, error, sizeof(error));
	if (rc == 0)
		return -1;
	fprintf(stderr, "muster-frontend: %s\n", error);
	return rc == -EINVAL ? EXIT_INPUT : EXIT_CONFIG;
}

/* Queues whose objects have a scheduler that writes what they use. */
static bool writes_queue_status(const struct options *o)
{
	const enum model_queues_of of = (enum model_queues_of)options_queues(o);

	return o->queue_status && (of == MODEL_QUEUES_AUTO || of == MODEL_QUEUES_VOLCANO ||
	                           of == MODEL_QUEUES_KOORDINATOR);
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
	struct journal_config journal = {
		.namespace = d->journal.namespace,
		.name = d->journal.name,
		.identity = d->identity,
	};
	const struct past_config past = {
		.namespace = d->past.namespace,
		.name = d->past.name,
		.half_life_s = (uint32_t)o->history_half_life_s,
	};
	struct frontend_config config = {
		.bind_connections = connections_most(o->bind_connections, BIND_CONNECTIONS_MOST),
		.bind_connections_first = o->bind_connections ? 0 : BIND_CONNECTIONS_FIRST,
		.bind_deadline_ms = late_ms(o),
		.volume_bind_ns = (uint64_t)o->volume_bind_s * NS_PER_S,
		.device_bind_ns = (uint64_t)o->device_bind_s * NS_PER_S,
		.reviews_claims = true,
		.evicts = strcmp(o->preemption, "on") == 0,
		.evictions_per_second = (uint32_t)o->evictions_per_second,
		.evicts_best_effort = strcmp(o->preemption_budgets, "best-effort") == 0,
		.scheduler = o->scheduler_names.at[0],
		.report_per_second = (unsigned)d->options->report_per_second,
		.report_queue = 10000,
		.volcano_queues = d->options->volcano_queues.at,
		.volcano_queues_n = d->options->volcano_queues.n,
		.instance = d->instance,
		.node_selector = d->options->node_selector,
		.page_bytes_max = page_bytes_max(d->options),
		.stream_lists = strcmp(d->options->stream_lists, "auto") == 0,
		.extender_reservations = (uint32_t)o->extender_reservations,
		.extender_keep_ms = (uint32_t)d->options->extender_keep_s * 1000,
		.lease = o->leader_elect ? &lease : NULL,
		.journal = options_journal(o, &d->journal) ? &journal : NULL,
		.past = options_past(o, &d->past) ? &past : NULL,
		.queue_status = writes_queue_status(o),
	};
	char host[100] = "localhost";

	gethostname(host, sizeof(host) - 1);
	snprintf(d->instance, sizeof(d->instance), "muster-%s", host);
	snprintf(d->identity, sizeof(d->identity), "%s_%016llx%016llx", host,
	         (unsigned long long)system_random(NULL), (unsigned long long)system_random(NULL));
	d->frontend = frontend_new(&config, &d->env, d->model);
	d->metrics.start_seconds = (double)system_wall_ns(NULL) * 1e-9;
}

/* Options that change what muster schedules, and those that have no effect. */
static void log_options(struct daemon *d)
{
	const struct options *o = d->options;
	char names[400] = "";
	size_t n = 0;

	for (size_t i = 0; i < o->dialects_off.n && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "",
		                      o->dialects_off.at[i]);
	if (n > 0)
		env_log(&d->env, "info", "dialects that are off: %s", names);
	if (o->extender_keep_s > 0 && options_auth(o) == EXTENDER_AUTH_NONE)
		env_log(
			&d->env, "warn",
			"the extender asks its clients for no identity: each process of this host may reserve "
			"capacity; see --extender-auth");
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

static void log_start(struct daemon *d)
{
	const char *listen = d->options->listen, *health = d->options->health_listen;
	char serving[160] = "";
	size_t n = 0;

	if (!address_is_off(listen))
		n = (size_t)snprintf(serving, sizeof(serving), ", serving on %.*s:%u",
		                     (int)(strrchr(listen, ':') - listen), listen, serve_port(d->serve));
	if (!address_is_off(health))
		snprintf(serving + n, sizeof(serving) - n, ", health on %s", health);
	env_log(&d->env, "info", "muster-frontend %s: API server %s (%s)%s", MUSTER_VERSION,
	        d->access.server, d->access.source, serving);
	log_options(d);
}

/* Drops privileges and filters system calls.  A failure is logged; it does not keep the daemon from
 * serving.  The filter stays for a restart in the same process. */
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
		rc = frontend_confine(log_is_json());
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
	int code;

	signals_block();
	d->ready_ns = getenv("NOTIFY_SOCKET") != NULL ? 0 : NEVER_NS;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* RLIMIT_FSIZE is then EFBIG of the write() */
	d->env = system_env();
	if ((code = transport_start(d)) >= 0 || (code = model_start(d)) >= 0 ||
	    (code = link_start(d)) >= 0 || (code = serve_begin(d)) >= 0)
		return code;
	frontend_begin(d);
	PROBE(started);
	signals_start(d);
	log_start(d);
	confine_daemon(d);
	return -1;
}

static void daemon_free(struct daemon *d)
{
	if (d->signal_thread) {
		pthread_cancel(d->signal_thread);
		pthread_join(d->signal_thread, NULL);
	}
	frontend_free(d->frontend); /* answers open requests of the extender */
	serve_stop(d->serve);
	metrics_queues_give(&d->metrics);
	jsonout_free(&d->answer);
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
	char text[96];
	cpu_set_t cpus;

	if (d->options->cpu < 0)
		return;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)d->options->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) == 0)
		return;
	snprintf(text, sizeof(text), "can't run on CPU %d: %s", (int)d->options->cpu, strerror(errno));
	log_message(LOG_WARN, text, NULL, 0);
}

/* What a restart in the process keeps. */
struct kept {
	bool core_stalled;
	struct history *history;
};

static int run_once(const struct options *o, bool no_new_privileges, struct kept *kept)
{
	struct daemon *d = must_alloc(sizeof(*d));
	enum log_level level;
	int code;

	d->options = o;
	d->no_new_privileges = no_new_privileges;
	d->core_stalled = &kept->core_stalled;
	d->history = kept->history;
	if (log_level_read(o->log_level, &level))
		log_set_level(level);
	log_set_json(strcmp(o->log_format, "json") == 0);
	pin(d);
	code = daemon_start(d);
	if (code < 0)
		code = daemon_run(d);
	daemon_free(d);
	return code;
}

int main(int argc, char **argv)
{
	bool no_new_privileges = confine_privileges();
	struct kept kept = { .history = history_new() };
	struct options o;
	int code = options_read(argc, argv, &o);

	if (code < 0)
		do
			code = run_once(&o, no_new_privileges, &kept);
		while (code == START_AGAIN);
	options_free(&o);
	history_free(kept.history);
	return code;
}
