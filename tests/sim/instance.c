/* SPDX-License-Identifier: Apache-2.0 */
/* The two processes of an instance. The core's loop follows core/daemon/loop.c, without sockets,
 * doorbells and threads: either process stops or dies between two turns, and what was unread on a
 * ring is lost then. */
#include "core/step/core.h"
#include "frontend/api/lease.h"
#include "frontend/base/log.h"
#include "frontend/journal/journal.h"
#include "frontend/model/model.h"
#include "frontend/model/valid.h"
#include "tests/sim/beside.h"
#include "tests/sim/rings.h"
#include "tests/sim/sim.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BATCH 64

struct instance {
	struct sim *sim;
	uint32_t instance;
	uint64_t rate_permille; /* of its monotonic clock */
	uint64_t stood_ns;      /* for how long its clocks stood still so far */
	uint64_t resumed_ns;    /* when they went on last; 0: never */
	struct env env;
	struct limits limits;

	struct model *model;
	struct frontend *frontend;  /* NULL: dead */
	char identity[32];          /* of this one */
	uint64_t frontend_up_ns;    /* when it starts again */
	uint64_t frontend_stops_ns; /* stopped until then */
	uint64_t frontend_due_ns;

	struct core *core;     /* NULL: dead */
	struct beside *beside; /* as the core */
	struct ledger *ledger;
	uint64_t ledger_bytes;
	uint64_t core_up_ns;
	uint64_t core_stops_ns;
	uint64_t core_due_ns;
	uint64_t time_ns; /* of the last record */
	bool begun, synced, command_full;

	bool connected;
	uint64_t connect_ns; /* when it is tried next */
	uint64_t epoch;
	uint64_t connected_ns; /* the clocks at the connect */
	struct rings rings;
	uint64_t crashes;
	struct net *net;
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* For the story: the process by its name, and its number when there are two. */
static const char *who(const struct instance *p, const char *process)
{
	static char text[32];

	if (p->sim->script->instances == 1)
		return process;
	snprintf(text, sizeof(text), "%u %s", p->instance, process);
	return text;
}

/* How long its clocks have run; stood_ns has the whole pause from its beginning on. */
static uint64_t run_ns(const struct instance *p)
{
	uint64_t now = p->sim->now_ns;

	return (now < p->resumed_ns ? p->resumed_ns : now) - p->stood_ns;
}

static uint64_t env_monotonic(void *context)
{
	const struct instance *p = context;

	return run_ns(p) / 1000 * p->rate_permille + SIM_S;
}

/* The time of the simulation at which its clock has that value, rounded up. */
static uint64_t virtual_ns(const struct instance *p, uint64_t monotonic_ns)
{
	return monotonic_ns == NEVER_NS ? SIM_NEVER
	       : monotonic_ns > SIM_S
	           ? ((monotonic_ns - SIM_S) / p->rate_permille + 1) * 1000 + p->stood_ns
	           : 0;
}

static uint64_t env_wall(void *context)
{
	const struct instance *p = context;
	const struct sim *s = p->sim;

	return (uint64_t)((int64_t)(SIM_EPOCH_NS + run_ns(p)) + s->wall_jump_ns);
}

static uint64_t env_random(void *context)
{
	return sim_next(&((struct instance *)context)->sim->random);
}

static void env_say(void *context, const char *level, const char *message)
{
	const struct instance *p = context;

	story_tell(p->sim, "%s%s: %s", who(p, "frontend "), level, message);
	if (strcmp(level, "error") == 0 && strstr(message, "makes no sense") != NULL)
		sim_fail(p->sim, "protocol: %s", message);
}

static uint64_t record_time(const struct instance *p)
{
	return p->connected_ns + env_monotonic((void *)(uintptr_t)p);
}

static void *port_event(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct instance *p = context;

	return rings_event(&p->rings, kind, body_bytes, record_time(p));
}

static bool port_result(void *context, enum record_kind kind, const struct result *result)
{
	struct instance *p = context;

	return rings_result(&p->rings, kind, result, sizeof(*result), record_time(p));
}

static bool port_evict_result(void *context, enum record_kind kind,
                              const struct evict_result *result)
{
	struct instance *p = context;

	return rings_result(&p->rings, kind, result, sizeof(*result), record_time(p));
}

static void port_publish(void *context)
{
	rings_publish(&((struct instance *)context)->rings);
}

static bool port_events_read(void *context)
{
	return rings_events_read(&((struct instance *)context)->rings);
}

static void note_bind(struct instance *p, const struct cmd_bind *cmd)
{
	const char *node = model_node(p->model, cmd->node, cmd->node_generation);
	struct pod_view pod;

	if (node != NULL && model_pod(p->model, cmd->pod, cmd->pod_generation, &pod)) {
		story_tell(p->sim, "%sbinds %s to %s", who(p, "core    "), pod.name, node);
		invariants_core_binds(p->sim->invariants, p->instance, pod.uid, node);
	}
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct instance *p = context;

	if (!rings_command(&p->rings, &p->command_full, kind, body, bytes, p->time_ns))
		return false;
	beside_output(p->beside, kind, body, bytes);
	if (kind == CMD_BIND || kind == CMD_RETRY_BIND)
		note_bind(p, body);
	return true;
}

/* What the checker needs of the core's records, read by their layout. */
static void note_event(struct instance *p, const struct record *r)
{
	const void *body = r + 1;

	if (r->kind == EVENT_BEGIN) {
		invariants_core_began(p->sim->invariants, p->instance);
	} else if (r->kind == EVENT_NODE) {
		const struct event_node *e = body;
		char name[64];
		size_t at =
			sizeof(*e) + e->amounts_n * sizeof(struct amount) + e->labels_n * sizeof(struct label) +
			e->taints_n * sizeof(struct taint) + e->images_n * sizeof(struct node_image) +
			e->limits_n * sizeof(struct attach_limit) + e->attached_n * sizeof(struct attachment);

		snprintf(name, sizeof(name), "%.*s", (int)e->name_bytes, (const char *)body + at);
		invariants_core_node(p->sim->invariants, p->instance, name,
		                     (const struct amount *)(const void *)(e + 1),
		                     (e->flags & NODE_PRESENT) != 0 ? e->amounts_n : 0);
	} else if (r->kind == EVENT_POD) {
		const struct event_pod *e = body;

		/* One that is being bound by muster may be elsewhere by now. */
		invariants_core_pod(p->sim->invariants, p->instance, e->uid,
		                    e->node != ID_NONE && !(e->flags & (POD_BINDING | POD_INTENTS)) ? ""
		                                                                                    : NULL);
	}
}

static bool step(struct instance *p, const struct record *r)
{
	int rc;

	p->time_ns = r->time_ns;
	p->command_full = false;
	note_event(p, r);
	beside_input(p->beside, r);
	rc = core_step(p->core, r);
	beside_done(p->beside, rc, p->command_full);
	if (rc == -EPROTO)
		sim_fail(p->sim, "protocol: the core refuses a record of kind %u: %s", r->kind,
		         core_fault(p->core));
	else if (rc < 0)
		sim_fail(p->sim, "limit: the core answers %d to a record of kind %u", rc, r->kind);
	p->begun = p->begun || r->kind == EVENT_BEGIN;
	p->synced = r->kind == EVENT_SYNCED || (p->synced && r->kind != EVENT_BEGIN);
	return rc == 0;
}

static int drain(struct instance *p, struct ring_reader *ring)
{
	struct record *r = (struct record *)(void *)p->buffer;
	int n = 0, rc = 0;

	while (n < BATCH && (rc = ring_read(ring, r)) > 0) {
		if (!step(p, r))
			return -1;
		n++;
	}
	if (rc < 0)
		sim_fail(p->sim, "protocol: a ring towards the core makes no sense (%d)", rc);
	ring_release(ring);
	return rc < 0 ? -1 : n;
}

/* Answers of searches, found in an earlier turn.  Those of an earlier epoch are dropped, as in
 * core/daemon/loop.c. */
static bool answers_apply(struct instance *p)
{
	struct record *r;
	bool ok = true;

	while (ok && p->begun && (r = beside_answer(p->beside)) != NULL) {
		r->time_ns = p->time_ns;
		ok = r->epoch != p->epoch || step(p, r);
		free(r);
	}
	return ok;
}

/* True when anything was done. */
static bool core_turn(struct instance *p)
{
	int results = p->synced ? drain(p, &p->rings.results) : 0;
	int events = results < 0 ? -1 : drain(p, &p->rings.events);
	bool planned = false;
	const char *wrong;

	if (events < 0 || !answers_apply(p))
		return false;
	p->command_full = false;
	if (p->begun && core_wants_plan(p->core)) {
		struct record r = {
			.bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = p->epoch, .time_ns = p->time_ns
		};
		uint64_t before = p->rings.commands_out.tail_private;

		if (!step(p, &r))
			return false;
		planned = !p->command_full || p->rings.commands_out.tail_private != before;
	}
	ring_publish(&p->rings.commands_out);
	wrong = beside_fault(p->beside, p->sim->now_ns);
	if (wrong != NULL)
		sim_fail(p->sim, "world: %s", wrong);
	return results + events > 0 || planned;
}

static bool core_runs(const struct instance *p)
{
	return p->core != NULL && p->connected && p->sim->now_ns >= p->core_stops_ns;
}

static void core_begin(struct instance *p)
{
	struct core_config config = {
		.limits = p->limits,
		.score = SCORE_KUBE,
		.reserve_after_ns = p->sim->script->reserve_after_ns,
		.promise_depth = script_promises(p->sim->script),
		.promise_grain_ns = p->sim->script->seed % 2 == 0 ? SIM_S : 12 * SIM_S,
		.promise_window_ns = script_promise_window_ns(p->sim->script),
		.backfill_by_soft = p->sim->script->seed % 5 < 2,
		.look_steps = p->sim->script->seed % 3 == 0 ? 1 : 0, /* one picture a cycle */
		.emit = emit,
		.context = p,
	};

	core_ledger_free(p->ledger, p->ledger_bytes);
	p->ledger = core_ledger_new(p->ledger_bytes);
	p->core = p->ledger != NULL ? core_new(&config, p->ledger) : NULL;
	if (p->core == NULL)
		as_die("no memory for a core");
	p->beside = beside_new(&config);
	p->time_ns = 0;
	story_tell(p->sim, "%sstarts", who(p, "core    "));
}

static void disconnect(struct instance *p)
{
	if (!p->connected)
		return;
	p->connected = false;
	p->begun = p->synced = p->command_full = false;
	p->connect_ns = p->sim->now_ns + 10 * SIM_MS;
	if (p->frontend != NULL)
		frontend_core_down(p->frontend);
}

void instance_core_dies(struct instance *p, uint64_t down_ns)
{
	if (p->core != NULL) {
		story_tell(p->sim, "%sdies", who(p, "core    "));
		disconnect(p);
		core_free(p->core);
		p->core = NULL;
		beside_free(p->beside);
		p->beside = NULL;
		p->crashes++;
		invariants_core_died(p->sim->invariants, p->instance);
	}
	p->core_up_ns = p->sim->now_ns + down_ns;
}

static void frontend_begin(struct instance *p)
{
	static const char *const names[] = { "muster" };
	const struct knobs *k = &p->sim->script->knobs;
	const bool evicts = script_evicts(p->sim->script);
	struct model_config model = {
		.scheduler_names = names,
		.scheduler_names_n = 1,
		.limits = p->limits,
		.hash_key = { env_random(p), env_random(p) },
		.preemption = true,
		.may_evict = evicts,
		.devices_live = script_claims(p->sim->script),
		.preemption_flags = script_reclaims(p->sim->script),
		.reclaim_patience_s = 20,
	};
	struct lease_config lease = {
		.namespace = "kube-system",
		.name = "muster",
		.identity = p->instance == 0 ? "sim-0" : "sim-1",
		.duration_ns = k->lease_ns,
		.renew_ns = k->lease_ns / 3 * 2,
		.retry_ns = k->lease_ns * 2 / 15,
	};
	const struct journal_config journal = { .namespace = "kube-system",
		                                    .name = "muster-journal",
		                                    .identity = p->identity,
		                                    .gather_ns = k->journal_gather_ns,
		                                    .remove_ns = k->journal_remove_ns,
		                                    .intents_most = k->journal_intents };
	struct frontend_config config = {
		.bind_connections = k->bind_connections,
		.bind_connections_first = k->bind_connections_first,
		.bind_deadline_ms = k->bind_deadline_ms,
		.device_bind_ns = 30 * SIM_S,
		.stream_lists = p->sim->script->seed % 8 >= 4,
		.report_per_second = k->report_per_second,
		.report_queue = k->report_queue,
		.instance = "muster-sim",
		.lease = p->sim->script->instances > 1 ? &lease : NULL,
		.journal = &journal,
		.evicts = evicts,
		.evictions_per_second = 20,
		.scheduler = "muster",
	};

	snprintf(p->identity, sizeof(p->identity), "sim-%u-%u", p->instance,
	         p->sim->frontends[p->instance]++);

	queues_configure(p->sim->script, &model);
	p->model = model_new(&model);
	if (p->model == NULL)
		as_die("no memory for a model");
	p->frontend = frontend_new(&config, &p->env, p->model);
	p->frontend_due_ns = p->sim->now_ns;
	story_tell(p->sim, "%sstarts", who(p, "frontend "));
}

static void frontend_end(struct instance *p)
{
	frontend_free(p->frontend);
	model_free(p->model);
	net_orphan(p->net, p->sim->script->late_percent);
	p->frontend_stops_ns = 0;
	p->frontend = NULL;
	p->model = NULL;
}

void instance_frontend_dies(struct instance *p, uint64_t down_ns)
{
	if (p->frontend != NULL) {
		struct frontend *f = p->frontend;

		story_tell(p->sim, "%sdies", who(p, "frontend "));
		p->frontend = NULL; /* it gets no callbacks */
		disconnect(p);
		p->frontend = f;
		frontend_end(p);
		p->crashes++;
	}
	p->frontend_up_ns = p->sim->now_ns + down_ns;
}

void instance_core_stops(struct instance *p, uint64_t ns)
{
	p->core_stops_ns = p->sim->now_ns + ns;
}

void instance_frontend_stops(struct instance *p, uint64_t ns)
{
	if (p->frontend == NULL)
		return;
	p->frontend_stops_ns = later(p->frontend_stops_ns, p->sim->now_ns + ns);
	net_freeze(p->net, p->frontend_stops_ns);
}

void instance_pauses(struct instance *p, uint64_t ns)
{
	if (p->sim->now_ns < p->frontend_stops_ns || p->sim->now_ns < p->core_stops_ns ||
	    p->frontend == NULL)
		return;
	instance_core_stops(p, ns);
	instance_frontend_stops(p, ns);
	net_pause(p->net, ns);
	p->stood_ns += ns;
	p->resumed_ns = p->sim->now_ns + ns;
}

uint64_t instance_resumed_ns(const struct instance *p)
{
	return p->resumed_ns;
}

static void instance_connect(struct instance *p)
{
	struct frontend_port port = {
		.event = port_event,
		.result = port_result,
		.evict_result = port_evict_result,
		.publish = port_publish,
		.events_read = port_events_read,
		.context = p,
	};

	rings_connect(&p->rings, p->ledger, ++p->epoch);
	p->connected = true;
	p->connected_ns = env_wall(p) - env_monotonic(p);
	p->core_due_ns = p->frontend_due_ns = p->sim->now_ns;
	if (frontend_core_up(p->frontend, &p->limits, &port) < 0)
		sim_fail(p->sim, "limit: frontend_core_up fails");
	story_tell(p->sim, "%sand frontend connect, epoch %llu", who(p, "core "),
	           (unsigned long long)p->epoch);
}

static void commands_take(struct instance *p)
{
	struct record *r = (struct record *)(void *)p->buffer;
	int rc;

	while ((rc = ring_read(&p->rings.commands, r)) > 0) {
		if (frontend_command(p->frontend, r) < 0) {
			sim_fail(p->sim, "protocol: the frontend refuses a command of kind %u", r->kind);
			return;
		}
	}
	if (rc < 0)
		sim_fail(p->sim, "protocol: the ring of commands makes no sense");
	ring_release(&p->rings.commands);
}

/* A turn that is due then may come before. */
static uint64_t early(struct instance *p, uint64_t due_ns)
{
	struct sim *s = p->sim;

	if (due_ns == SIM_NEVER || due_ns <= s->now_ns + 20000 || s->script->knobs.early_percent == 0 ||
	    !sim_percent(&s->faults_random, s->script->knobs.early_percent))
		return due_ns;
	return s->now_ns + 10000 + sim_below(&s->faults_random, due_ns - s->now_ns - 10000);
}

static void frontend_turn(struct instance *p)
{
	uint64_t next;

	if (p->connected)
		commands_take(p);
	next = frontend_poll(p->frontend);
	p->frontend_due_ns = early(p, virtual_ns(p, next));
	if (p->frontend_due_ns <= p->sim->now_ns)
		p->frontend_due_ns = p->sim->now_ns + 10000;
	/* The core wakes a little later. */
	if (p->connected && p->core_due_ns > p->sim->now_ns + SIM_MS)
		p->core_due_ns = p->sim->now_ns + 10000 + sim_below(&p->sim->faults_random, SIM_MS);
	if (frontend_must_restart(p->frontend) || frontend_lost_lease(p->frontend)) {
		story_tell(p->sim, "%sstarts over", who(p, "frontend "));
		instance_frontend_dies(p, 0);
	}
}

static void core_turns(struct instance *p)
{
	uint64_t before = p->rings.commands_out.tail_published;
	bool done = core_turn(p);

	p->core_due_ns = early(p, p->sim->now_ns + (done ? 20000 : 100 * SIM_MS));
	if (p->connected && p->rings.commands_out.tail_published != before &&
	    p->frontend_due_ns > p->sim->now_ns + SIM_MS)
		p->frontend_due_ns = p->sim->now_ns + 10000 + sim_below(&p->sim->faults_random, SIM_MS);
}

void instance_run(struct instance *p, bool heard)
{
	uint64_t now = p->sim->now_ns;

	if (p->core == NULL && now >= p->core_up_ns)
		core_begin(p);
	if (p->frontend == NULL && now >= p->frontend_up_ns)
		frontend_begin(p);
	if (!p->connected && p->core != NULL && p->frontend != NULL && now >= p->connect_ns &&
	    now >= p->core_stops_ns && now >= p->frontend_stops_ns)
		instance_connect(p);
	if (p->frontend != NULL && (heard || now >= p->frontend_due_ns) && now >= p->frontend_stops_ns)
		frontend_turn(p);
	if (core_runs(p) && now >= p->core_due_ns)
		core_turns(p);
}

uint64_t instance_due_ns(const struct instance *p)
{
	uint64_t due = SIM_NEVER, own;

	if (p->core == NULL)
		due = p->core_up_ns;
	if (p->frontend == NULL)
		due = p->frontend_up_ns < due ? p->frontend_up_ns : due;
	if (p->frontend != NULL) {
		own = later(p->frontend_due_ns, p->frontend_stops_ns);
		due = own < due ? own : due;
	}
	if (p->core != NULL && p->frontend != NULL && !p->connected) {
		own = later(later(p->connect_ns, p->core_stops_ns), p->frontend_stops_ns);
		due = own < due ? own : due;
	}
	if (p->core != NULL && p->connected) {
		own = later(p->core_due_ns, p->core_stops_ns);
		due = own < due ? own : due;
	}
	return due;
}

const char *instance_busy(const struct instance *p)
{
	struct metrics m = { 0 };

	if (p->core == NULL || p->frontend == NULL || !p->connected)
		return "a process is down";
	if (!p->synced)
		return "the core was not told all";
	if (core_wants_plan(p->core))
		return "the core wants to plan";
	if (p->rings.events_out.tail_private != p->rings.events.head_private)
		return "events are unread";
	if (p->rings.results_out.tail_private != p->rings.results.head_private)
		return "results are unread";
	if (p->rings.commands_out.tail_private != p->rings.commands.head_private)
		return "commands are unread";
	frontend_metrics(p->frontend, &m);
	if (!frontend_idle(p->frontend))
		return "bindings are not answered";
	if (m.binds_queued > 0)
		return "bindings are not sent";
	return m.reports_queued > 0 ? "reports are not sent" : NULL;
}

bool instance_may_write(void *instance)
{
	return instance_leads(instance);
}

bool instance_queues_at_rest(const struct instance *p, char *why, size_t why_bytes)
{
	return queues_at_rest(p->sim, p->core, why, why_bytes);
}

struct model *instance_model(const struct instance *p)
{
	return p->model;
}

bool instance_leads(const struct instance *p)
{
	return p->frontend != NULL && frontend_may_write(p->frontend);
}

/* Before a pod of that priority.  A gang whose first placement is under way needs no priority for
 * that, but members that are bound, by the API server's history. */
static bool is_before(const struct instance *p, uint32_t gang, int32_t priority)
{
	const char *name;
	size_t bytes;

	if (beside_priority(p->beside, gang) >= priority)
		return true;
	name = beside_started(p->beside, gang, &bytes);
	return name != NULL && invariants_partly_bound(p->sim->invariants, name, bytes);
}

bool instance_holds(const struct instance *p, int32_t priority)
{
	const uint64_t owner = p->core ? atomic_load(&p->ledger->gauges.reserved_gang) : 0;

	if (owner != 0 &&
	    (script_queues(p->sim->script) || is_before(p, (uint32_t)owner - 1, priority)))
		return true;
	return p->core != NULL && atomic_load(&p->ledger->starts.standing) != 0;
}

void instance_check(struct instance *p, bool thorough)
{
	char why[512] = "";

	if (!thorough)
		return;
	if (p->core != NULL && !core_valid(p->core, why, sizeof(why)))
		sim_fail(p->sim, "core_valid: %s", why);
	if (p->model != NULL && !model_valid(p->model, why, sizeof(why)))
		sim_fail(p->sim, "model_valid: %s", why);
}

uint64_t instance_crashes(const struct instance *p)
{
	return p->crashes;
}

struct instance *instance_new(struct sim *s, uint32_t instance, struct net *net)
{
	struct instance *p = as_alloc(sizeof(*p));
	const char *what = "";

	p->sim = s;
	p->instance = instance;
	p->rate_permille = instance > 0 ? s->script->rate_permille : 1000;
	p->net = net;
	net_context(p->net, p);
	p->env = (struct env){
		.transport = net_transport(p->net),
		.monotonic_ns = env_monotonic,
		.wall_ns = env_wall,
		.random = env_random,
		.log = env_say,
		.context = p,
	};
	p->limits = (struct limits){
		.nodes = 32,
		.pods = 256,
		.gangs = 256,
		.shapes = s->script->tenants ? 64 : 256,
		.names = 64,
		.resources = s->script->tenants ? 8 : 16,
		.name_bytes = 1u << 16,
		.command_ring_bytes = s->script->command_ring_bytes,
	};
	p->ledger_bytes = core_ledger_bytes(&p->limits, &what);
	if (p->ledger_bytes == 0)
		as_die("limits of the simulator: %s", what);
	rings_make(&p->rings, s->script->event_ring_bytes, s->script->result_ring_bytes);
	return p;
}

void instance_free(struct instance *p)
{
	if (p->core != NULL)
		core_free(p->core);
	beside_free(p->beside);
	if (p->frontend != NULL)
		frontend_end(p);
	core_ledger_free(p->ledger, p->ledger_bytes);
	rings_free(&p->rings);
	free(p);
}
