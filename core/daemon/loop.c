/* SPDX-License-Identifier: Apache-2.0 */
/* `state` is written by both threads, each from its own states only (core/daemon/loop.h).  All
 * other fields of struct loop belong to the planning thread once it runs; `peer` is handed over
 * with the state.
 *
 * Pairs in this file
 *   R1 -> A1   state: the peer and its rings, to the thread that owns the new state
 *   R2 -> A2   idle_doorbell: pokes while no frontend is connected
 * */
#include "core/daemon/loop.h"

#include "ipc/logline.h"
#include "core/base/probe.h"
#include "core/daemon/turns.h"
#include "core/world/answers.h"
#include "core/world/feed.h"
#include "ipc/clock.h"
#include "ipc/memory.h"
#include "ipc/published.h"
#include "ipc/ring.h"
#include "ipc/wake.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_NS                                                                                   \
	(NS_PER_S / 10) /* for records without a doorbell: see frontend/loop/corelink.c                \
	                 */
#define NAP_FIRST_NS NS_PER_MS
#define NAP_MOST_NS (4 * NAP_FIRST_NS)
#define DENSE_PER_MS 8u /* records; several times the rate of a client that waits for each pod */
#define BATCH 256u

struct loop {
	struct loop_config config;
	struct segment ledger;
	struct core *core;
	pthread_t thread;
	_Atomic uint32_t state; /* enum loop_peer */
	_Atomic uint32_t stop;
	_Atomic uint32_t idle_doorbell;
	uint64_t epoch;
	_Atomic uint64_t shown_epoch; /* the same, for the control thread */
	const struct link_peer *peer;
	struct ring_reader events, results;
	struct ring_writer commands;
	uint64_t turns_n; /* the ledger's `progress` */
	struct loop_turns turns;
	sem_t opened;      /* the thread has opened its files */
	uint64_t time_ns;  /* of the last record */
	uint64_t begun_ns; /* when the last plan began; for statistics only */
	bool begun;        /* EVENT_BEGIN of this epoch was applied */
	bool synced;       /* EVENT_SYNCED likewise */
	bool command_full;
	bool followed;       /* by a recorder or a world */
	uint64_t nap_ns;     /* 0: sleeps until the doorbell rings */
	uint64_t counted_ns; /* start of the present count ... */
	uint64_t counted;    /* ... of records */
	bool dense;
	bool limit_logged;
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
};

static struct ledger *ledger_of(const struct loop *l)
{
	return l->ledger.base;
}

static const struct intake *intake_of(const struct loop *l)
{
	return l->peer->intake.base;
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct loop *l = context;
	struct record *r = NULL;

	/* After the first command that was not accepted none is, not even a shorter one: so the number
	 * of accepted ones is all that a replay needs. */
	if (!l->command_full)
		r = ring_reserve(&l->commands, kind, bytes, l->begun_ns);
	if (!r) {
		l->command_full = true;
		PROBE(ring_out_full, (uint32_t)kind, l->epoch);
		return false;
	}
	PROBE(ring_out_reserved, (uint32_t)kind, l->epoch, r->sequence);
	memcpy(r + 1, body, bytes);
	PROBE(ring_out, (uint32_t)kind, l->epoch, r->sequence);
	if (l->followed) {
		if (l->config.recorder)
			recorder_output(l->config.recorder, kind, body, bytes);
		if (l->config.feed)
			feed_output(l->config.feed, kind, body, bytes);
	}
	return true;
}

static int make(void *context, uint64_t offset, uint64_t bytes)
{
	struct loop *l = context;
	int rc = segment_make(&l->ledger, offset, bytes);

	if (rc < 0)
		log_line(LOG_ERROR,
		         "msg=\"no memory for more of the shared memory of the ledger\" bytes=%llu "
		         "error=\"%s\"",
		         (unsigned long long)bytes, strerror(-rc));
	return rc;
}

static void peer_state(struct loop *l, enum loop_peer from, enum loop_peer to)
{
	uint32_t expected = (uint32_t)from;

	/* R1: the rings and the epoch, or that they are no longer used.  Fails only if the control
	 * thread takes the peer back at this moment. */
	if (atomic_compare_exchange_strong_explicit(&l->state, &expected, (uint32_t)to,
	                                            memory_order_release, memory_order_relaxed))
		l->config.notify(l->config.context);
}

static void peer_begin(struct loop *l)
{
	struct ledger *ledger = ledger_of(l);
	const struct link_peer *peer = l->peer;
	const struct intake *intake = intake_of(l);
	const unsigned char *base = peer->intake.base;
	const struct ring_place *events = &peer->places.event_ring,
							*results = &peer->places.result_ring;

	l->epoch++;
	/* Relaxed: for the frontend it is ordered by the state, for observers it is only a number. */
	atomic_store_explicit(&l->shown_epoch, l->epoch, memory_order_relaxed);
	ring_reader_init(&l->events, base + events->offset, events->bytes, &intake->event_tail,
	                 &ledger->event_head, l->epoch);
	ring_reader_init(&l->results, base + results->offset, results->bytes, &intake->result_tail,
	                 &ledger->result_head, l->epoch);
	ring_writer_init(&l->commands, (unsigned char *)ledger + ledger->command_ring.offset,
	                 l->config.core.limits.command_ring_bytes, &ledger->command_tail,
	                 &intake->command_head, l->epoch);
	published_reset(&ledger->published);
	loop_turn_begin(&l->turns, clock_monotonic_ns());
	l->begun = l->synced = l->command_full = l->limit_logged = false;
	PROBE(epoch_started, l->epoch);
	log_line(LOG_DEBUG, "msg=\"frontend taken on\" epoch=%llu", (unsigned long long)l->epoch);
	peer_state(l, PEER_OFFERED, PEER_SERVED);
}

/* The frontend gave this process up, as one that stood still (decision 051): it may already have
 * reset the ends of the rings for the next epoch (link_connect()). */
static bool peer_hung_up(const struct loop *l)
{
	struct pollfd p = { .fd = l->peer->fd };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

static bool peer_bad(struct loop *l, const char *ring, const struct record *r, int rc,
                     const char *why)
{
	if (peer_hung_up(l))
		log_line(LOG_INFO,
		         "msg=\"the frontend left while its records were read\" ring=%s why=\"%s\"", ring,
		         why);
	else
		log_line(LOG_ERROR,
		         "msg=\"the frontend sent a bad record, closing\" ring=%s kind=%u sequence=%llu "
		         "error=%d why=\"%s\"",
		         ring, r ? r->kind : 0, r ? (unsigned long long)r->sequence : 0, -rc, why);
	peer_state(l, PEER_SERVED, PEER_BROKEN);
	return false;
}

/* core_apply(), and what it gets and gives into the recording and to the world. */
static int apply_followed(struct loop *l, const struct record *r)
{
	int rc;

	if (l->config.recorder)
		recorder_input(l->config.recorder, r);
	if (l->config.feed)
		feed_input(l->config.feed, r);
	rc = core_apply(l->core, r);
	if (l->config.recorder)
		recorder_done(l->config.recorder, rc, l->command_full);
	if (l->config.feed)
		feed_done(l->config.feed, rc, l->command_full);
	return rc;
}

static bool step(struct loop *l, const char *ring, const struct record *r)
{
	int rc;

	l->time_ns = r->time_ns;
	l->command_full = false;
	rc = l->followed ? apply_followed(l, r) : core_apply(l->core, r);
	if (rc == -EPROTO)
		return peer_bad(l, ring, r, rc, core_fault(l->core));
	if (rc == -ENOSPC && !l->limit_logged) {
		l->limit_logged = true;
		log_line(LOG_WARN, "msg=\"a limit is reached: names\" flag=--max-name-bytes kind=%u",
		         r->kind);
	}
	l->begun = l->begun || r->kind == EVENT_BEGIN;
	l->synced = r->kind == EVENT_SYNCED || (l->synced && r->kind != EVENT_BEGIN);
	return true;
}

/* Results have their own ring; EVENT_PLAN and EVENT_ANSWER come from this process only. */
static bool belongs(const struct loop *l, const struct ring_reader *ring, uint16_t kind)
{
	if (ring == &l->results)
		return kind >= RESULT_BOUND && kind <= RESULT_EVICT_NOT_SENT;
	return kind >= EVENT_BEGIN && kind <= EVENT_PROMISED;
}

/* Applies up to BATCH records of one ring; how many, or -1 after a bad record. */
static int read_records(struct loop *l, const char *name, struct ring_reader *ring)
{
	struct record *r = (struct record *)(void *)l->buffer;
	int n = 0, rc = 0;

	while (n < (int)BATCH && (rc = ring_read(ring, r)) > 0) {
		if (!belongs(l, ring, r->kind)) {
			peer_bad(l, name, r, -EPROTO, "this kind of record does not belong on this ring");
			return -1;
		}
		PROBE(ring_in, (uint32_t)r->kind, l->epoch, r->sequence);
		if (!step(l, name, r))
			return -1;
		PROBE(ring_in_done, (uint32_t)r->kind, l->epoch, r->sequence);
		n++;
	}
	if (rc < 0) {
		peer_bad(l, name, NULL, rc, "the ring makes no sense");
		return -1;
	}
	return n;
}

/* The same, and publishes what they changed before the ring space is released. */
static int ring_serve(struct loop *l, const char *name, struct ring_reader *ring)
{
	const enum loop_part part = ring == &l->results ? LOOP_RESULTS : LOOP_EVENTS;
	const int n = read_records(l, name, ring);

	if (n == 0)
		return 0;
	core_show(l->core);
	if (n < 0)
		return n;
	PROBE(ring_in_release, (uint32_t)n, l->epoch);
	ring_release(ring);
	PROBE(ring_in_released, (uint32_t)n, l->epoch);
	l->counted += (uint64_t)n;
	loop_part_end(&l->turns, part, clock_monotonic_ns());
	return n;
}

/* Applies the answers of the searches beside the loop; how many.  One of an earlier epoch is about
 * objects that are gone. */
static int answers_serve(struct loop *l)
{
	struct record *r;
	int n = 0;

	while (l->config.answers && l->begun && (r = answers_pop(l->config.answers)) != NULL) {
		r->time_ns = l->time_ns;
		n += r->epoch == l->epoch;
		if (r->epoch == l->epoch)
			step(l, "none", r);
		free(r);
	}
	if (n > 0) {
		core_show(l->core);
		loop_part_end(&l->turns, LOOP_ANSWERS, clock_monotonic_ns());
	}
	return n;
}

static bool plan(struct loop *l)
{
	struct record r = {
		.bytes = sizeof(r), .kind = EVENT_PLAN, .epoch = l->epoch, .time_ns = l->time_ns
	};
	bool ok;

	l->begun_ns = l->turns.last_ns; /* the part before, or the sleep, has just ended */
	PROBE(cycle_started, l->epoch);
	ok = step(l, "none", &r);
	core_show(l->core);
	return ok;
}

static bool wants_plan(const struct loop *l)
{
	return l->begun && core_wants_plan(l->core);
}

static bool commands_waiting(const struct loop *l)
{
	return l->commands.tail_private != l->commands.tail_published;
}

/* Publishes the commands; planned: of plans, which end with it. */
static void commands_publish(struct loop *l, bool planned)
{
	struct ledger *ledger = ledger_of(l);
	const uint64_t last = l->commands.sequence;
	uint64_t now;

	PROBE(ring_out_publish, l->epoch, last);
	ring_publish(&l->commands);
	PROBE(ring_out_published, l->epoch, last);
	now = clock_monotonic_ns();
	published_add(&ledger->published, last, now);
	if (planned)
		loop_part_end(&l->turns, LOOP_PLANS, now);
	else
		loop_turn_begin(&l->turns, now);
	if (wake_up(&ledger->frontend_doorbell, &intake_of(l)->frontend_parked))
		loop_part_end(&l->turns, LOOP_DOORBELL, clock_monotonic_ns());
	PROBE(ring_out_rung, l->epoch, last);
}

/* One turn: results, then events, then answers, then a plan.  True when anything was done.  Results
 * are not read before EVENT_SYNCED: one may be of a pod whose record is still to come. */
static bool turn(struct loop *l)
{
	int results = l->synced ? ring_serve(l, "result", &l->results) : 0;
	int events = results < 0 ? -1 : ring_serve(l, "event", &l->events);
	int answers = events < 0 ? 0 : answers_serve(l);
	bool planned = false, tried;

	if (events < 0)
		return true;
	l->command_full = false;
	tried = wants_plan(l);
	if (tried) {
		if (!plan(l))
			return true;
		/* Waiting for space in the ring is no work. */
		planned = !l->command_full || commands_waiting(l);
	}
	if (l->commands.broken) {
		peer_bad(l, "command", NULL, -EPROTO, "its head makes no sense");
		return true;
	}
	if (commands_waiting(l))
		commands_publish(l, tried);
	else if (tried)
		loop_part_end(&l->turns, LOOP_PLANS, clock_monotonic_ns());
	return results + events + answers > 0 || planned;
}

static bool state_is(const struct loop *l, enum loop_peer state)
{
	/* A1 */
	return atomic_load_explicit(&l->state, memory_order_acquire) == (uint32_t)state;
}

static bool ring_has_news(const struct ring_reader *r)
{
	/* Relaxed: ring_read() loads it again with acquire. */
	return atomic_load_explicit(r->tail, memory_order_relaxed) != r->head_private;
}

/* True if there are records, ring space for a command, or a state for this thread.  Only loads. */
static bool ready(void *context)
{
	struct loop *l = context;

	if (ring_has_news(&l->events) || (l->synced && ring_has_news(&l->results)))
		return true;
	if (l->config.answers && l->begun && answers_wait(l->config.answers))
		return true;
	/* the largest */
	if (wants_plan(l) &&
	    (!l->command_full || ring_has_room(&l->commands, sizeof(struct cmd_assume))))
		return true;
	return !state_is(l, PEER_SERVED) || atomic_load_explicit(&l->stop, memory_order_relaxed);
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* False when something came while spinning, at most 16 pauses ago. */
static bool spin(struct loop *l)
{
	uint64_t now = l->config.spin_ns > 0 ? clock_monotonic_ns() : 0,
			 until_ns = now + l->config.spin_ns;

	for (; now < until_ns; now = clock_monotonic_ns()) {
		loop_turn_begin(&l->turns, now);
		for (int i = 0; i < 16; i++) {
			if (ready(l))
				return false;
			pause_cpu();
		}
	}
	return true;
}

/* True if records come so fast that a doorbell for each few of them costs too much.  Measured once
 * a millisecond, including the sleep before. */
static bool stream_is_dense(struct loop *l)
{
	uint64_t now = clock_monotonic_ns(), took = now - l->counted_ns;

	if (took >= NS_PER_MS) {
		l->dense = l->counted * NS_PER_MS / took >= DENSE_PER_MS;
		l->counted_ns = now;
		l->counted = 0;
	}
	return l->dense;
}

/* How long to nap without the doorbell; 0: not at all. */
static uint64_t next_nap_ns(const struct loop *l, bool dense)
{
	if (!dense)
		return 0;
	if (l->nap_ns == 0)
		return NAP_FIRST_NS;
	return l->nap_ns < NAP_MOST_NS ? 2 * l->nap_ns : NAP_MOST_NS;
}

/* Nothing to do.  A doorbell wakes at once and costs two system calls.  During a dense stream the
 * loop naps instead and takes what has come meanwhile, so that system calls of both processes grow
 * with time and not with records. */
static void serve_rest(struct loop *l)
{
	const struct intake *intake = intake_of(l);
	uint64_t nap_ns;

	if (l->config.feed)
		feed_wake(l->config.feed);
	if (!spin(l))
		return;
	PROBE(parked, l->epoch);
	atomic_fetch_add_explicit(&ledger_of(l)->stats.sleeps, 1, memory_order_relaxed); /* a counter */
	l->nap_ns = nap_ns = next_nap_ns(l, stream_is_dense(l));
	if (l->command_full && wants_plan(l))
		nap_ns = NAP_FIRST_NS; /* freed ring space has no doorbell */
	if (nap_ns > 0)
		wake_wait_doorbell(&intake->core_doorbell,
		                   atomic_load_explicit(&intake->core_doorbell, memory_order_relaxed),
		                   nap_ns);
	else
		wake_sleep(&ledger_of(l)->core_parked, &intake->core_doorbell, ready, l, SLEEP_NS);
	loop_turn_begin(&l->turns, clock_monotonic_ns());
}

static void *run(void *context)
{
	struct loop *l = context;

	if (l->config.recorder)
		recorder_here(l->config.recorder);
	loop_turns_open(&l->turns, &ledger_of(l)->loop);
	sem_post(&l->opened);
	while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
		/* A2, before the state: a poke after it is not lost. */
		uint32_t doorbell = atomic_load_explicit(&l->idle_doorbell, memory_order_acquire);

		/* Relaxed: observers only compare it. */
		atomic_store_explicit(&ledger_of(l)->progress, ++l->turns_n, memory_order_relaxed);
		switch ((enum loop_peer)atomic_load_explicit(&l->state, memory_order_acquire)) { /* A1 */
		case PEER_OFFERED:
			peer_begin(l);
			break;
		case PEER_SERVED:
			if (!turn(l))
				serve_rest(l);
			break;
		case PEER_LEAVING:
			peer_state(l, PEER_LEAVING, PEER_LEFT);
			break;
		default:
			wake_wait_doorbell(&l->idle_doorbell, doorbell, SLEEP_NS);
		}
	}
	return NULL;
}

static uint64_t first_epoch(void)
{
	uint32_t random = 0;

	/* Far from the epochs of another core; without randomness the clock suffices. */
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random) || random == 0)
		random = (uint32_t)clock_monotonic_ns() | 1;
	return (uint64_t)random << 32;
}

static int loop_make(struct loop *l, const char **what)
{
	struct core_config core = l->config.core;
	uint64_t bytes = core_ledger_bytes(&l->config.core.limits, what);
	int rc;

	if (bytes == 0)
		return -EINVAL;
	*what = "the shared memory of the ledger";
	rc = segment_create_bare(&l->ledger, "muster-ledger", bytes);
	if (rc == 0)
		rc = segment_make(&l->ledger, 0, core_ledger_bytes_first(&l->config.core.limits));
	if (rc < 0)
		return rc;
	core.emit = emit;
	core.make = make;
	core.context = l;
	core.clock_ns = clock_monotonic_ns;
	l->core = core_new(&core, l->ledger.base);
	*what = "the core's thread";
	sem_init(&l->opened, 0, 0);
	rc = -pthread_create(&l->thread, NULL, run, l);
	while (rc == 0 && sem_wait(&l->opened) != 0)
		; /* a signal */
	return rc;
}

static void loop_unmake(struct loop *l)
{
	core_free(l->core);
	if (l->ledger.base)
		segment_close(&l->ledger);
	free(l);
}

/* Pins the calling thread to that CPU; *before is its previous set.  A new thread inherits it, and
 * memory comes from the NUMA node of the thread that touches it first. */
static bool pin(int cpu, cpu_set_t *before)
{
	cpu_set_t cpus;

	if (cpu < 0 || pthread_getaffinity_np(pthread_self(), sizeof(*before), before) != 0)
		return false;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)cpu, &cpus);
	if (pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) == 0)
		return true;
	log_line(LOG_WARN, "msg=\"can't run on that CPU\" cpu=%d", cpu);
	return false;
}

int loop_start(struct loop **out, const struct loop_config *config, const char **what)
{
	struct loop *l = aligned_alloc(alignof(struct loop), sizeof(*l));
	cpu_set_t before;
	bool pinned;
	int rc;

	if (!l)
		fatal_memory();
	memset(l, 0, sizeof(*l));
	l->config = *config;
	l->followed = config->recorder || config->feed;
	l->epoch = first_epoch();
	pinned = pin(config->cpu, &before);
	rc = loop_make(l, what);
	if (pinned)
		pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	if (rc < 0) {
		loop_unmake(l);
		return rc;
	}
	*out = l;
	return 0;
}

void loop_poke(struct loop *l)
{
	const struct link_peer *peer = l->peer;

	atomic_fetch_add_explicit(&l->idle_doorbell, 1, memory_order_release); /* R2 */
	wake_poke(&l->idle_doorbell);
	if (peer)
		wake_poke(&((const struct intake *)peer->intake.base)->core_doorbell);
}

void loop_stop(struct loop *l)
{
	struct timespec until;

	/* Relaxed: the loop polls it. */
	atomic_store_explicit(&l->stop, 1, memory_order_relaxed);
	do {
		loop_poke(l);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 10000000;
		if (until.tv_nsec >= (long)NS_PER_S) {
			until.tv_sec++;
			until.tv_nsec -= (long)NS_PER_S;
		}
	} while (pthread_timedjoin_np(l->thread, NULL, &until) == ETIMEDOUT);
	loop_turns_close(&l->turns);
	loop_unmake(l);
}

const struct segment *loop_ledger(const struct loop *l)
{
	return &l->ledger;
}

enum loop_peer loop_peer(const struct loop *l)
{
	return (enum loop_peer)atomic_load_explicit(&l->state, memory_order_acquire); /* A1 */
}

uint64_t loop_epoch(const struct loop *l)
{
	return atomic_load_explicit(&l->shown_epoch, memory_order_relaxed);
}

void loop_offer(struct loop *l, const struct link_peer *peer)
{
	assert(loop_peer(l) == PEER_FREE);
	l->peer = peer;
	atomic_store_explicit(&l->state, PEER_OFFERED, memory_order_release); /* R1 */
	loop_poke(l);
}

void loop_take_back(struct loop *l)
{
	assert(loop_peer(l) == PEER_SERVED || loop_peer(l) == PEER_BROKEN);
	atomic_store_explicit(&l->state, PEER_LEAVING, memory_order_release); /* R1 */
	loop_poke(l);
}

void loop_free(struct loop *l)
{
	assert(loop_peer(l) == PEER_LEFT);
	l->peer = NULL;
	atomic_store_explicit(&l->state, PEER_FREE, memory_order_release); /* R1 */
}
