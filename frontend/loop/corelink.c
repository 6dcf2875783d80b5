/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/loop/corelink.h"

#include "frontend/base/log.h"
#include "frontend/base/probe.h"
#include "ipc/clock.h"
#include "ipc/observe.h"
#include "ipc/published.h"
#include "ipc/ring.h"
#include "ipc/wake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MAX_NS (2 * NS_PER_S)
#define DOORBELL_NS (250 * NS_PER_MS) /* a lost signal delays the end of the thread by this */

struct corelink {
	struct corelink_config config;
	struct segment intake;
	struct link link;
	bool up;
	struct ring_writer events;
	struct ring_writer results;
	struct ring_reader commands;
	const struct record *last;      /* reserved; its body is written afterwards */
	bool urgent;                    /* a record since the last doorbell needs one */
	uint64_t wall_ns, monotonic_ns; /* at connect */
	uint64_t core_ns;               /* the core's clock then */
	struct published_reader published;
	uint64_t head_seen; /* of the event ring, at the last check */
	uint64_t checked_ns, stalled_ns;
	pthread_t doorbell_thread;
	_Atomic bool doorbell_stop;
};

static struct intake *intake_of(const struct corelink *c)
{
	return c->intake.base;
}

int corelink_new(const struct corelink_config *config, struct corelink **out)
{
	struct corelink *c = must_alloc(sizeof(*c));
	int rc;

	c->config = *config;
	c->link.fd = -1;
	rc = link_make_intake(&c->intake, config->event_ring_bytes, config->result_ring_bytes);
	if (rc < 0) {
		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void corelink_free(struct corelink *c)
{
	if (!c)
		return;
	corelink_close(c);
	segment_close(&c->intake);
	free(c);
}

/* The loop sleeps in poll(), which a futex cannot end: this thread waits on the futex. */
static void *doorbell_run(void *context)
{
	struct corelink *c = context;
	const struct ledger *ledger = c->link.ledger.base;
	uint32_t seen = 0, doorbell;

	/* Relaxed: checked again after each wait. */
	while (!atomic_load_explicit(&c->doorbell_stop, memory_order_relaxed)) {
		doorbell = wake_wait_doorbell(&ledger->frontend_doorbell, seen, DOORBELL_NS);
		if (doorbell != seen)
			c->config.wake(c->config.context);
		seen = doorbell;
	}
	return NULL;
}

int corelink_connect(struct corelink *c, uint64_t answer_ns, struct link_error *e)
{
	struct intake *intake = intake_of(c);
	unsigned char *base = c->intake.base;
	const struct ledger *ledger;
	int rc;

	/* Relaxed: the core is not connected yet. */
	atomic_store_explicit(&intake->frontend_parked, 0, memory_order_relaxed);
	PROBE(core_hello);
	rc = link_connect_within(c->config.path, LINK_FRONTEND, &c->intake, answer_ns, &c->link, e);
	if (rc < 0)
		return rc;
	c->wall_ns = c->config.env->wall_ns(c->config.env->context);
	c->monotonic_ns = env_now(c->config.env);
	c->core_ns = clock_monotonic_ns(); /* the clock of its commands */
	c->checked_ns = c->monotonic_ns;
	c->head_seen = c->stalled_ns = 0;
	ledger = c->link.ledger.base;
	ring_writer_init(&c->events, base + intake->event_ring.offset, intake->event_ring.bytes,
	                 &intake->event_tail, &ledger->event_head, c->link.epoch);
	ring_writer_init(&c->results, base + intake->result_ring.offset, intake->result_ring.bytes,
	                 &intake->result_tail, &ledger->result_head, c->link.epoch);
	ring_reader_init(&c->commands,
	                 (const unsigned char *)ledger + c->link.places.command_ring.offset,
	                 c->link.places.command_ring.bytes, &ledger->command_tail,
	                 &intake->command_head, c->link.epoch);
	c->published = (struct published_reader){ 0 };
	c->last = NULL;
	c->urgent = false;
	atomic_store_explicit(&c->doorbell_stop, false, memory_order_relaxed);
	rc = pthread_create(&c->doorbell_thread, NULL, doorbell_run, c);
	if (rc != 0) {
		link_close(&c->link);
		*e = (struct link_error){ .rc = -rc };
		snprintf(e->text, sizeof(e->text), "can't start a thread: %s", strerror(rc));
		return -rc;
	}
	c->up = true;
	return 0;
}

void corelink_close(struct corelink *c)
{
	const struct ledger *ledger = c->link.ledger.base;

	if (!c->up)
		return;
	/* Relaxed: the thread checks it at least every DOORBELL_NS. */
	atomic_store_explicit(&c->doorbell_stop, true, memory_order_relaxed);
	wake_poke(&ledger->frontend_doorbell);
	pthread_join(c->doorbell_thread, NULL);
	link_close(&c->link);
	c->up = false;
}

bool corelink_is_up(const struct corelink *c)
{
	return c->up;
}

int corelink_fd(const struct corelink *c)
{
	return c->up ? c->link.fd : -1;
}

const struct limits *corelink_limits(const struct corelink *c)
{
	return &c->link.limits;
}

uint64_t corelink_epoch(const struct corelink *c)
{
	return c->link.epoch;
}

const struct ledger *corelink_ledger(const struct corelink *c)
{
	return c->link.ledger.base;
}

void corelink_observe(const struct corelink *c, struct observer *out)
{
	*out = (struct observer){ .places = c->link.places,
		                      .ledger = c->link.ledger.base,
		                      .segment = c->link.ledger };
}

/* Relaxed, as everything here: statistics; each value is whole, they need not be consistent. */
static struct ring_figures ring_figures(uint64_t bytes, uint64_t tail, const _Atomic uint64_t *head)
{
	uint64_t used = tail - atomic_load_explicit(head, memory_order_relaxed);

	return (
		struct ring_figures){ .bytes = bytes, .published = tail, .used = used <= bytes ? used : 0 };
}

/* The core's only clock. It is steady when the wall clock is set: backoffs would otherwise not end
 * for as long as it went back. */
static uint64_t wall_ns(const struct corelink *c)
{
	return c->wall_ns + (env_now(c->config.env) - c->monotonic_ns);
}

/* A row that is being written is counted as found: each of its numbers is whole. */
static void gang_count(const volatile struct gang_row *row, uint64_t now_ns,
                       struct link_figures *out)
{
	const uint64_t since = row->waiting_since_ns;
	uint32_t state = row->state, why = row->reason.why, bound = row->bound;
	uint64_t quorum = row->quorum, ended = row->succeeded;

	if (state >= GANG_STATES || why >= WAIT_REASONS)
		return;
	if (row->members == 0 && row->succeeded == 0 && row->failed == 0)
		return; /* without a member of ours */
	out->gangs[state]++;
	if (since > 0 && since < now_ns && now_ns - since > out->oldest_ns)
		out->oldest_ns = now_ns - since;
	if (state == GANG_INCOMPLETE || state == GANG_WAITING || state == GANG_DEGRADED)
		out->waiting[why]++;
	/* Succeeded members count, as in searches for victims (core/search/search.h). */
	quorum -= ended < quorum ? ended : quorum;
	out->extras += bound > quorum ? bound - quorum : 0;
	out->partial += state != GANG_BINDING && state != GANG_PLACED && bound > 0;
}

void corelink_figures(const struct corelink *c, struct link_figures *out)
{
	const struct ledger *ledger = corelink_ledger(c);
	const struct gang_row *rows =
		(const struct gang_row *)((const unsigned char *)c->link.ledger.base +
	                              c->link.places.gangs_offset);
	uint64_t live = atomic_load_explicit(&ledger->gauges.gangs, memory_order_relaxed);
	const struct intake *intake = intake_of(c);
	const uint64_t now_ns = wall_ns(c);
	struct observer observer;
	uint32_t there;

	corelink_observe(c, &observer);
	there = observe_gangs_there(&observer);
	*out = (struct link_figures){ .limits = c->link.limits };
	out->events =
		ring_figures(intake->event_ring.bytes, c->events.tail_published, &ledger->event_head);
	out->results =
		ring_figures(intake->result_ring.bytes, c->results.tail_published, &ledger->result_head);
	out->commands = ring_figures(c->link.places.command_ring.bytes,
	                             atomic_load_explicit(&ledger->command_tail, memory_order_relaxed),
	                             &intake->command_head);
	/* Ids are allocated from the lowest: there are none above the highest in use. */
	for (uint32_t i = 0; i < there && live > 0; i++)
		if (rows[i].generation != 0) {
			gang_count(&rows[i], now_ns, out);
			live--;
		}
}

/* A record that only confirms that a pod is where the core put it lets no gang start: it rings no
 * doorbell, and the core reads it with the next one, after 100 ms at most. So a placed pod costs
 * the core no system call (docs/decisions/005). */
static bool is_urgent(const struct record *r)
{
	const struct event_pod *pod = (const void *)(r + 1);

	return r->kind != EVENT_POD || pod->node == ID_NONE ||
	       (pod->flags & (POD_BINDING | POD_INTENTS)) != 0;
}

static void note_last(struct corelink *c)
{
	c->urgent = c->urgent || (c->last && is_urgent(c->last));
	c->last = NULL;
}

static void *port_event(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct corelink *c = context;
	struct record *r;

	note_last(c);
	r = ring_reserve(&c->events, kind, body_bytes, wall_ns(c));
	if (r)
		PROBE(ring_in_reserved, (uint32_t)kind, c->link.epoch, r->sequence);
	else
		PROBE(ring_in_full, (uint32_t)kind, c->link.epoch);
	c->last = r;
	return r ? r + 1 : NULL;
}

static bool result_write(struct corelink *c, enum record_kind kind, const void *body,
                         uint32_t bytes, pod_id pod)
{
	struct record *r = ring_reserve(&c->results, kind, bytes, wall_ns(c));

	if (!r)
		return false;
	memcpy(r + 1, body, bytes);
	PROBE(result_written, pod, (uint32_t)kind, c->link.epoch, r->sequence);
	c->urgent = c->urgent || kind != RESULT_BOUND;
	return true;
}

static bool port_result(void *context, enum record_kind kind, const struct result *result)
{
	return result_write(context, kind, result, sizeof(*result), result->pod);
}

static bool port_evict_result(void *context, enum record_kind kind,
                              const struct evict_result *result)
{
	return result_write(context, kind, result, sizeof(*result), result->pod);
}

/* A ring that fills up is rung, whatever it contains. */
static bool is_filling(const struct ring_writer *w)
{
	/* Relaxed: a hint; ring_reserve() reads it again with acquire. */
	return w->tail_published - atomic_load_explicit(w->head, memory_order_relaxed) >
	       (w->mask + 1) / 4;
}

static void port_publish(void *context)
{
	struct corelink *c = context;
	const struct ledger *ledger = c->link.ledger.base;
	bool news = c->events.tail_private != c->events.tail_published ||
	            c->results.tail_private != c->results.tail_published;

	if (!news)
		return;
	note_last(c);
	PROBE(ring_in_publish, c->link.epoch, c->events.sequence);
	ring_publish(&c->events);
	PROBE(ring_in_published, c->link.epoch, c->events.sequence);
	ring_publish(&c->results);
	PROBE(results_published, c->link.epoch, c->results.sequence);
	if (!c->urgent && !is_filling(&c->events) && !is_filling(&c->results))
		return;
	wake_up(&intake_of(c)->core_doorbell, &ledger->core_parked);
	PROBE(ring_in_rung, c->link.epoch, c->events.sequence);
	c->urgent = false;
}

static bool port_events_read(void *context)
{
	struct corelink *c = context;
	const struct ledger *ledger = c->link.ledger.base;

	/* Acquire is not needed here: the core's release of the space orders it. */
	return atomic_load_explicit(&ledger->event_head, memory_order_acquire) ==
	       c->events.tail_published;
}

static void port_times(void *context, const struct record *command, struct command_times *out)
{
	struct corelink *c = context;
	const struct ledger *ledger = c->link.ledger.base;
	const uint64_t ns = published_find(&c->published, &ledger->published, command->sequence);

	*out = (struct command_times){
		.begun_ns = command->time_ns - c->core_ns + c->monotonic_ns,
		.published_ns = ns > 0 ? ns - c->core_ns + c->monotonic_ns : UINT64_MAX,
	};
}

static void port_observe(void *context, struct observer *out)
{
	corelink_observe(context, out);
}

struct frontend_port corelink_port(struct corelink *c)
{
	return (struct frontend_port){
		.event = port_event,
		.result = port_result,
		.evict_result = port_evict_result,
		.publish = port_publish,
		.events_read = port_events_read,
		.times = port_times,
		.observe = port_observe,
		.context = c,
	};
}

int corelink_read(struct corelink *c, struct record *buffer)
{
	return ring_read(&c->commands, buffer);
}

void corelink_release(struct corelink *c)
{
	ring_release(&c->commands);
}

bool corelink_broken(const struct corelink *c)
{
	return c->events.broken || c->results.broken;
}

uint64_t corelink_stalled_ns(struct corelink *c)
{
	const struct ledger *ledger = c->link.ledger.base;
	uint64_t now = env_now(c->config.env), gap = now - c->checked_ns;
	/* Relaxed: only compared. */
	uint64_t head = atomic_load_explicit(&ledger->event_head, memory_order_relaxed);

	c->checked_ns = now;
	if (head == c->events.tail_published || head != c->head_seen)
		c->stalled_ns = 0;
	else
		c->stalled_ns += gap < CHECK_MAX_NS ? gap : CHECK_MAX_NS;
	c->head_seen = head;
	return c->stalled_ns;
}

bool corelink_sleep(struct corelink *c)
{
	const struct ledger *ledger = c->link.ledger.base;

	wake_announce(&intake_of(c)->frontend_parked);
	/* Relaxed: the announcement's fence orders it; the read itself acquires. */
	if (atomic_load_explicit(&ledger->command_tail, memory_order_relaxed) ==
	    c->commands.head_private)
		return true;
	wake_retract(&intake_of(c)->frontend_parked);
	return false;
}

void corelink_awake(struct corelink *c)
{
	wake_retract(&intake_of(c)->frontend_parked);
}
