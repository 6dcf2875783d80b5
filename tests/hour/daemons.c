/* SPDX-License-Identifier: Apache-2.0 */
/* The two processes without sockets, doorbells and threads: a turn of the core is as in
 * core/daemon/loop.c, in the same order and with the same clock readings.  A turn takes no virtual
 * time, so the next one is at least 20 us (of the core) or 100 us (of the frontend) later.
 *
 * There is no world: --searchers 0, --preemption off. */
#include "bench/bench.h"
#include "tests/hour/hour.h"
#include "core/step/core.h"
#include "ctl/replay/replay_say.h"
#include "frontend/journal/journal.h"
#include "frontend/loop/frontend.h"
#include "frontend/model/valid.h"
#include "ipc/memory.h"
#include "ipc/segment.h"
#include "tests/sim/rings.h"

#include <stdalign.h>
#include <time.h>

#define BATCH 256u
#define CORE_TURN_NS (20 * HOUR_US)
#define CORE_SLEEP_NS (100 * HOUR_MS)
#define FRONTEND_TURN_NS (100 * HOUR_US)
#define CONNECTIONS_FIRST 12u /* as of frontend/main.c without flags */
#define CONNECTIONS_MOST 256u
#define EVENT_RING (8u << 20)
#define RESULT_RING (1u << 20)
#define COMPLAINTS 20u

struct daemons {
	struct hour *hour;
	struct env env;
	struct limits limits;
	struct model *model;
	struct frontend *frontend;
	struct core *core;
	struct segment ledger;
	struct rings rings;
	uint64_t time_ns; /* of the last record */
	bool begun, synced, command_full;
	uint64_t core_due_ns, frontend_due_ns, frontend_last_ns;
	struct core_turn turn; /* of the core, now */
	uint64_t side_cpu_ns;
	int64_t side_heap;
	unsigned complaints;
	struct daemons_figures figures;
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
};

/* jemalloc's; a sanitizer has none. */
extern int mallctl(const char *name, void *out, size_t *out_bytes, void *in, size_t in_bytes)
	__attribute__((weak));

static int64_t heap_bytes(void)
{
	static const uint64_t *allocated, *freed;
	size_t bytes = sizeof(allocated);

	if (mallctl == NULL)
		return 0;
	if (allocated == NULL &&
	    (mallctl("thread.allocatedp", (void *)&allocated, &bytes, NULL, 0) != 0 ||
	     mallctl("thread.deallocatedp", (void *)&freed, &bytes, NULL, 0) != 0))
		return 0;
	return (int64_t)(*allocated - *freed);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * HOUR_S + (uint64_t)t.tv_nsec;
}

static void side_begin(struct daemons *d)
{
	d->side_heap = heap_bytes();
	d->side_cpu_ns = cpu_ns();
}

/* Returns the CPU time since side_begin(). */
static uint64_t side_end(struct daemons *d, struct side *s)
{
	const uint64_t took = cpu_ns() - d->side_cpu_ns;

	s->cpu_ns += took;
	s->heap_bytes += heap_bytes() - d->side_heap;
	if (s->heap_bytes > s->heap_most)
		s->heap_most = s->heap_bytes;
	return took;
}

int64_t daemons_heap_begin(void)
{
	return heap_bytes();
}

void daemons_heap_end(struct daemons *d, int64_t before)
{
	d->side_heap += heap_bytes() - before;
}

void daemons_callback_begin(struct daemons *d)
{
	side_begin(d);
}

void daemons_callback_end(struct daemons *d)
{
	const uint64_t next_ns = d->frontend_last_ns + FRONTEND_TURN_NS, now_ns = d->hour->now_ns;

	histogram_add(&d->figures.frontend.turns, &buckets_fine, side_end(d, &d->figures.frontend));
	d->frontend_due_ns = next_ns > now_ns ? next_ns : now_ns;
}

static uint64_t env_monotonic(void *context)
{
	const struct daemons *d = context;

	return d->hour->now_ns + HOUR_S;
}

static uint64_t env_wall(void *context)
{
	const struct daemons *d = context;

	return d->hour->now_ns + HOUR_EPOCH_NS;
}

static uint64_t env_random(void *context)
{
	const struct daemons *d = context;

	return hour_random(d->hour, UINT64_MAX);
}

static void env_say(void *context, const char *level, const char *message)
{
	struct daemons *d = context;

	if (strcmp(level, "error") != 0 && strcmp(level, "warn") != 0)
		return;
	if (d->complaints++ < COMPLAINTS)
		fprintf(stderr, "muster-hour: %.3f s: %s: %s\n", (double)d->hour->now_ns * 1e-9, level,
		        message);
}

static uint64_t record_time(const struct daemons *d)
{
	return d->hour->now_ns + HOUR_EPOCH_NS;
}

static void *port_event(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct daemons *d = context;

	return rings_event(&d->rings, kind, body_bytes, record_time(d));
}

static bool port_result(void *context, enum record_kind kind, const struct result *result)
{
	struct daemons *d = context;

	return rings_result(&d->rings, kind, result, sizeof(*result), record_time(d));
}

static bool port_evict_result(void *context, enum record_kind kind,
                              const struct evict_result *result)
{
	struct daemons *d = context;

	return rings_result(&d->rings, kind, result, sizeof(*result), record_time(d));
}

static void port_publish(void *context)
{
	struct daemons *d = context;
	const uint64_t wake_ns = d->hour->now_ns + CORE_TURN_NS;

	rings_publish(&d->rings);
	if (d->core_due_ns > wake_ns)
		d->core_due_ns = wake_ns;
}

static bool port_events_read(void *context)
{
	return rings_events_read(&((struct daemons *)context)->rings);
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct daemons *d = context;

	return rings_command(&d->rings, &d->command_full, kind, body, bytes, d->time_ns);
}

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	struct daemons *d = context;

	return segment_make(&d->ledger, offset, bytes);
}

/* Applies a record; false after a failure. */
static bool step(struct daemons *d, const struct record *r)
{
	const uint64_t began_ns = bench_now_ns();
	uint64_t took;
	int rc;

	d->time_ns = r->time_ns;
	d->command_full = false;
	rc = core_apply(d->core, r);
	took = bench_now_ns() - began_ns;
	if (took > d->turn.slowest_ns) {
		d->turn.slowest_ns = took;
		d->turn.slowest_kind = r->kind;
	}
	if (rc < 0)
		hour_fail(d->hour, "the core answers %d to %s: %s", rc, record_kind_text(r->kind),
		          rc == -EPROTO ? core_fault(d->core) : "a limit");
	d->begun = d->begun || r->kind == EVENT_BEGIN;
	d->synced = r->kind == EVENT_SYNCED || (d->synced && r->kind != EVENT_BEGIN);
	return rc == 0;
}

static uint32_t ring_serve(struct daemons *d, struct ring_reader *ring)
{
	struct record *r = (struct record *)(void *)d->buffer;
	uint32_t n = 0;
	int rc = 0;

	while (n < BATCH && (rc = ring_read(ring, r)) > 0) {
		if (!step(d, r))
			return n;
		n++;
	}
	if (rc < 0)
		hour_fail(d->hour, "a ring towards the core makes no sense");
	if (n > 0) {
		core_show(d->core);
		ring_release(ring);
	}
	return n;
}

static void part_end(struct daemons *d, enum loop_part part, uint64_t *last_ns)
{
	const uint64_t now = cpu_ns();

	d->turn.parts_ns[part] = now - *last_ns;
	*last_ns = now;
}

/* True when a plan was made, but for one that waits for space in the ring. */
static bool plan(struct daemons *d)
{
	struct record r = { .bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = 1, .time_ns = d->time_ns };

	d->command_full = false;
	if (!d->begun || !core_wants_plan(d->core) || !step(d, &r))
		return false;
	core_show(d->core);
	return !d->command_full ||
	       d->rings.commands_out.tail_private != d->rings.commands_out.tail_published;
}

/* True when anything was done. */
static bool core_turn(struct daemons *d)
{
	uint64_t last_ns = d->side_cpu_ns;
	uint32_t n = d->synced ? ring_serve(d, &d->rings.results) : 0;
	bool planned;

	if (n > 0)
		part_end(d, LOOP_RESULTS, &last_ns);
	d->turn.records = n;
	n = ring_serve(d, &d->rings.events);
	if (n > 0)
		part_end(d, LOOP_EVENTS, &last_ns);
	d->turn.records += n;
	planned = plan(d);
	ring_publish(&d->rings.commands_out);
	if (planned)
		part_end(d, LOOP_PLANS, &last_ns);
	return planned || d->turn.records > 0;
}

static void turn_keep(struct daemons_figures *f, const struct core_turn *t)
{
	unsigned i = TURNS_KEPT;

	for (unsigned part = 0; part < LOOP_PARTS; part++)
		if (t->parts_ns[part] > f->parts_most_ns[part])
			f->parts_most_ns[part] = t->parts_ns[part];
	if (t->cpu_ns <= f->longest[TURNS_KEPT - 1].cpu_ns)
		return;
	for (; --i > 0 && t->cpu_ns > f->longest[i - 1].cpu_ns;)
		f->longest[i] = f->longest[i - 1];
	f->longest[i] = *t;
}

static void core_run(struct daemons *d)
{
	struct daemons_figures *f = &d->figures;
	const uint64_t sent = d->rings.commands_out.tail_published;
	const bool starts = !d->synced;
	bool done;

	d->turn = (struct core_turn){ .at_ns = d->hour->now_ns };
	side_begin(d);
	done = core_turn(d);
	d->turn.cpu_ns = side_end(d, &f->core);
	d->core_due_ns = d->hour->now_ns + (done ? CORE_TURN_NS : CORE_SLEEP_NS);
	if (d->rings.commands_out.tail_published != sent)
		d->frontend_due_ns = d->hour->now_ns + CORE_TURN_NS;
	if (done && starts) {
		f->start_most_ns = f->start_most_ns > d->turn.cpu_ns ? f->start_most_ns : d->turn.cpu_ns;
	} else if (done) {
		histogram_add(&f->core.turns, &buckets_fine, d->turn.cpu_ns);
		turn_keep(f, &d->turn);
	}
}

static void frontend_run(struct daemons *d)
{
	struct record *r = (struct record *)(void *)d->buffer;
	uint64_t next;
	int rc;

	side_begin(d);
	while ((rc = ring_read(&d->rings.commands, r)) > 0)
		if (frontend_command(d->frontend, r) < 0)
			hour_fail(d->hour, "the frontend refuses %s", record_kind_text(r->kind));
	if (rc < 0)
		hour_fail(d->hour, "the ring of commands makes no sense");
	ring_release(&d->rings.commands);
	next = frontend_poll(d->frontend);
	histogram_add(&d->figures.frontend.turns, &buckets_fine, side_end(d, &d->figures.frontend));
	if (frontend_must_restart(d->frontend))
		hour_fail(d->hour, "the frontend wants to start again");
	d->frontend_last_ns = d->hour->now_ns;
	d->frontend_due_ns = next == UINT64_MAX ? HOUR_NEVER : next > HOUR_S ? next - HOUR_S : 0;
	if (d->frontend_due_ns < d->hour->now_ns + FRONTEND_TURN_NS)
		d->frontend_due_ns = d->hour->now_ns + FRONTEND_TURN_NS;
}

void daemons_run(struct daemons *d)
{
	if (d->hour->now_ns >= d->frontend_due_ns)
		frontend_run(d);
	if (d->hour->now_ns >= d->core_due_ns)
		core_run(d);
}

uint64_t daemons_due_ns(const struct daemons *d)
{
	return d->core_due_ns < d->frontend_due_ns ? d->core_due_ns : d->frontend_due_ns;
}

bool daemons_synced(const struct daemons *d)
{
	return d->synced;
}

const struct daemons_figures *daemons_figures(const struct daemons *d)
{
	return &d->figures;
}

void daemons_check(struct daemons *d)
{
	char why[400] = "";

	if (!core_valid(d->core, why, sizeof(why)) || !model_valid(d->model, why, sizeof(why)))
		hour_fail(d->hour, "sums: %s", why);
}

/* Names of nodes have 9 letters, those of gangs some 20. */
static struct limits limits_for(const struct hour_settings *s)
{
	const uint64_t alive = (uint64_t)s->rate * (3 * s->life_s / 2 + 60);
	struct limits l = {
		.nodes = s->nodes + s->nodes / 8 + 64,
		.pods = (uint32_t)(alive * 3 / 2) + 32 * s->gang + 4096,
		.shapes = 4096,
		.names = 4096,
		.resources = 32,
		.command_ring_bytes = 1u << 20,
	};

	l.gangs = l.pods / 4 + 1024;
	l.name_bytes = 96 * ((uint64_t)l.nodes + l.gangs + l.names);
	return l;
}

static void core_begin(struct daemons *d)
{
	const struct core_config config = {
		.limits = d->limits,
		.score = SCORE_KUBE,
		.reserve_after_ns = 60 * HOUR_S,
		.retain_for_ns = 600 * HOUR_S,
		.emit = emit,
		.make = make,
		.context = d,
		.clock_ns = bench_now_ns,
	};
	const char *what = "";

	d->figures.ledger_bytes = core_ledger_bytes(&d->limits, &what);
	if (d->figures.ledger_bytes == 0 ||
	    segment_create_bare(&d->ledger, "muster-hour", d->figures.ledger_bytes) < 0 ||
	    segment_make(&d->ledger, 0, core_ledger_bytes_first(&d->limits)) < 0 ||
	    (d->core = core_new(&config, d->ledger.base)) == NULL)
		hour_fail(d->hour, "no core with these limits: %s", what);
}

static void frontend_begin(struct daemons *d)
{
	static const char *const names[] = { "muster" };
	const struct model_config model = {
		.scheduler_names = names,
		.scheduler_names_n = 1,
		.limits = d->limits,
		.hash_key = { env_random(d), env_random(d) },
	};
	const struct journal_config journal = { .namespace = "kube-system",
		                                    .name = "muster-journal",
		                                    .identity = "hour" };
	const struct frontend_config config = {
		.bind_connections = CONNECTIONS_MOST,
		.bind_connections_first = CONNECTIONS_FIRST,
		.bind_deadline_ms = 4000,
		.report_per_second = 200,
		.report_queue = 10000,
		.instance = "muster-hour",
		.journal = &journal,
		.scheduler = "muster",
	};

	d->env = (struct env){
		.transport = hour_net_transport(d->hour->net),
		.monotonic_ns = env_monotonic,
		.wall_ns = env_wall,
		.random = env_random,
		.log = env_say,
		.context = d,
	};
	d->model = model_new(&model);
	if (d->model == NULL)
		fatal_memory();
	d->frontend = frontend_new(&config, &d->env, d->model);
}

struct daemons *daemons_new(struct hour *h)
{
	struct daemons *d = must_alloc(sizeof(*d));
	const struct frontend_port port = {
		.event = port_event,
		.result = port_result,
		.evict_result = port_evict_result,
		.publish = port_publish,
		.events_read = port_events_read,
		.context = d,
	};

	d->hour = h;
	h->daemons = d;
	d->limits = limits_for(&h->settings);
	side_begin(d);
	core_begin(d);
	side_end(d, &d->figures.core);
	if (h->failed)
		return d;
	side_begin(d);
	frontend_begin(d);
	rings_make(&d->rings, EVENT_RING, RESULT_RING);
	rings_connect(&d->rings, d->ledger.base, 1);
	if (frontend_core_up(d->frontend, &d->limits, &port) < 0)
		hour_fail(h, "the frontend refuses the core's limits");
	side_end(d, &d->figures.frontend);
	return d;
}

void daemons_free(struct daemons *d)
{
	if (d->frontend != NULL) {
		frontend_free(d->frontend);
		model_free(d->model);
	}
	core_free(d->core);
	if (d->ledger.base != NULL)
		segment_close(&d->ledger);
	rings_free(&d->rings);
	free(d);
}
