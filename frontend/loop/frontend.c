/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/loop/frontend_impl.h"

#include "frontend/report/decisions.h"
#include "frontend/evict/evictor.h"
#include "frontend/evict/rights.h"
#include "frontend/serve/extender.h"
#include "frontend/serve/review.h"
#include "frontend/trace/latency.h"
#include "frontend/trace/waits.h"
#include "frontend/api/lease.h"
#include "frontend/base/log.h"
#include "frontend/base/probe.h"
#include "frontend/report/queue_status.h"
#include "frontend/report/report.h"
#include "frontend/bind/takeover.h"
#include "frontend/journal/journal.h"
#include "frontend/watch/watch.h"
#include "frontend/bind/binder.h"
#include "frontend/bind/claim_bind.h"
#include "frontend/bind/taint_rules.h"
#include "frontend/bind/volume_bind.h"

#include <stdlib.h>
#include <string.h>

#define TICK_IDLE_NS NS_PER_S
#define TICK_WAITING_NS (100 * NS_PER_MS)
#define ROOM_WAIT_NS NS_PER_S      /* usually several objects go at once */
#define ROOM_GAP_NS (5 * NS_PER_S) /* between lists for this reason ... */
#define ROOM_GAP_LISTS 10u         /* ... and as long as so many of them take ... */
#define ROOM_GAP_MOST_NS (600 * NS_PER_S)
#define CORELESS_LEASES                                                                            \
	2 /* lease durations without a core; longer than others wait for a dead leader, since a core   \
	     usually restarts at once */
#define REPORT_DELAY_NS NS_PER_S
/* From when a core has read everything until its rows have it: they are written each second, on
 * large clusters more seldom. */
#define ROWS_NS (10 * NS_PER_S)
#define FULL_NS NS_PER_MS /* a ring is full: retry after this */

void frontend_result_keep(void *context, const struct pending_result *r)
{
	struct frontend *f = context;

	if (!f->up) /* a new core gets it from the table and from binder_core_up() */
		return;
	/* Bounds the memory: results that were sent are dropped even if the core always lags. */
	if (f->results_first > 0 && f->results_first >= f->results_n / 2) {
		f->results_n -= f->results_first;
		memmove(f->results, f->results + f->results_first, f->results_n * sizeof(*f->results));
		f->results_first = 0;
	}
	f->results = must_reach(f->results, &f->results_cap, f->results_n, 256, sizeof(*f->results));
	f->results[f->results_n++] = *r;
}

static void result_keep(void *context, enum record_kind kind, const struct result *r)
{
	frontend_result_keep(context, &(struct pending_result){ .kind = kind, .result = *r });
	PROBE(result_kept, r->pod, r->generation, (uint32_t)kind);
}

static bool result_send(struct frontend *f, const struct pending_result *p)
{
	if (p->kind == RESULT_EVICT_SENT || p->kind == RESULT_EVICT_REFUSED ||
	    p->kind == RESULT_EVICT_NOT_SENT)
		return f->port.evict_result(f->port.context, p->kind, &p->evict_result);
	return f->port.result(f->port.context, p->kind, &p->result);
}

/* True when none is left. A new core must know the pods before their results. */
static bool results_send(struct frontend *f)
{
	if (!f->replayed && f->flushed && f->port.events_read(f->port.context)) {
		f->replayed = true;
		binder_core_read_all(f->binder);
	}
	if (!f->replayed)
		return f->results_first == f->results_n;
	while (f->results_first < f->results_n) {
		if (!result_send(f, &f->results[f->results_first]))
			return false;
		f->results_first++;
	}
	return true;
}

static void bind_noticed(void *context, const struct bind_notice *n)
{
	struct frontend *f = context;

	report_bind(f->report, n);
}

void frontend_pod_happened(struct frontend *f, const struct pod_view *pod,
                           enum report_happening what, const char *note)
{
	report_happened(f->report, &(struct report_event){ .what = what,
	                                                   .namespace = pod->namespace,
	                                                   .name = pod->name,
	                                                   .uid = pod->uid,
	                                                   .scheduler = pod->scheduler_name,
	                                                   .note = note });
}

/* In the words of kube-scheduler's PreBind of DynamicResources. */
static void conditions_noticed(void *context, pod_id id, uint32_t generation, const char *node)
{
	struct frontend *f = context;
	struct pod_view pod;
	char note[400];

	if (!model_pod(f->model, id, generation, &pod))
		return;
	snprintf(note, sizeof(note), "waiting for binding conditions for device on node %s", node);
	frontend_pod_happened(f, &pod, REPORT_CONDITIONS_PENDING, note);
}

/* By the wall clock, `since_ns` ago. */
static uint64_t served_ns(const struct frontend *f, uint64_t created_ns, uint64_t since_ns)
{
	const uint64_t wall = f->env->wall_ns(f->env->context);

	return wall > created_ns + since_ns ? wall - created_ns - since_ns : 0;
}

static void pod_put(void *context, uint64_t heard_ns)
{
	struct frontend *f = context;
	struct pod_put put;
	uint64_t now;

	if (!model_last_put(f->model, &put))
		return;
	PROBE(extracted, put.id, put.generation, put.node, heard_ns);
	now = env_now(f->env);
	if (put.ours && put.node == ID_NONE && put.created_ns > 0 &&
	    watch_synced(f->watches[RESOURCE_INDEX_PODS]))
		put.served_ns = served_ns(f, put.created_ns, now - heard_ns);
	latency_put(f->latency, &put, heard_ns, now);
}

struct frontend *frontend_new(const struct frontend_config *config, const struct env *env,
                              struct model *model)
{
	struct frontend *f = must_alloc(sizeof(*f));
	struct binder_config binder = {
		.env = env,
		.model = model,
		.connections = config->bind_connections,
		.connections_first = config->bind_connections_first,
		.deadline_ms = config->bind_deadline_ms,
		.result = result_keep,
		.notice = bind_noticed,
		.context = f,
	};
	struct report_config report = {
		.env = env,
		.model = model,
		.per_second = config->report_per_second,
		.connections = config->bind_connections,
		.connections_first = config->bind_connections_first,
		.queue_max = config->report_queue,
		.delay_ns = REPORT_DELAY_NS,
		.instance = config->instance,
		.volcano_queues = config->volcano_queues,
		.volcano_queues_n = config->volcano_queues_n,
	};

	f->config = *config;
	f->env = env;
	f->model = model;
	f->latency = binder.latency = latency_new();
	f->waits = waits_new();
	if (config->journal) {
		struct journal_config journal = *config->journal;

		journal.env = env;
		f->journal = binder.journal = journal_new(&journal);
	}
	if (model_live(model)) {
		f->claims = claim_bind_new(env, model, config->device_bind_ns);
		claim_bind_on_wait(f->claims, conditions_noticed, f);
		claims_rights_begin(f);
		f->prebind[binder.prebind_n++] = claim_bind_kind(f->claims);
	}
	if (config->volume_bind_ns > 0) {
		f->volume_bind = volume_bind_new(env, model, config->volume_bind_ns);
		f->prebind[binder.prebind_n++] = volume_bind_kind(f->volume_bind);
	}
	binder.prebind = f->prebind;
	f->binder = binder_new(&binder);
	f->takeover = takeover_new(env, model);
	report.binder = f->binder;
	f->decisions = report.decisions = decisions_new(env, model);
	f->report = report_new(&report);
	if (config->lease) {
		struct lease_config lease = *config->lease;

		lease.env = env;
		f->lease = lease_new(&lease);
		f->coreless_max_ns = CORELESS_LEASES * lease.duration_ns;
		f->core_lasts_ns = lease.duration_ns;
	}
	if (config->extender_keep_ms > 0) {
		struct extender_config extender = { .env = env,
			                                .model = model,
			                                .journal = f->journal,
			                                .keep_ms = config->extender_keep_ms,
			                                .reservations_max = config->extender_reservations };

		f->extender = extender_new(&extender);
		f->reviewer = reviewer_new(env);
	}
	preempt_begin(f);
	if (config->past)
		past_begin(f);
	if (config->queue_status)
		f->queue_status = queue_status_new(env, model);
	model_resources(model, &f->watches_n);
	f->room_freed_ns = NEVER_NS;
	f->watches = must_alloc(f->watches_n * sizeof(struct watch *));
	for (size_t i = 0; i < f->watches_n; i++) {
		f->watches[i] = watch_new(env, model, (int)i);
		watch_share_outage(f->watches[i], &f->outage);
		watch_limit_pages(f->watches[i], config->page_bytes_max);
		/* An optional one may be missing, which a page finds out at once. */
		if (config->stream_lists && !watch_resource(f->watches[i])->optional)
			watch_stream_lists(f->watches[i]);
		if (model_resource_fields(model, (int)i))
			watch_select_fields(f->watches[i], model_resource_fields(model, (int)i));
	}
	watch_follow(f->watches[RESOURCE_INDEX_PODS], pod_put, f);
	if (config->node_selector)
		watch_select(f->watches[RESOURCE_INDEX_NODES], config->node_selector);
	return f;
}

void frontend_free(struct frontend *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->watches_n; i++)
		watch_free(f->watches[i]);
	free(f->watches);
	takeover_free(f->takeover);
	binder_free(f->binder);
	volume_bind_free(f->volume_bind);
	claim_bind_free(f->claims);
	report_free(f->report);
	queue_status_free(f->queue_status);
	extender_free(f->extender);
	preempt_end(f);
	rights_free(f->claims_rights);
	taint_rules_free(f->taint_rules);
	if (f->past)
		past_end(f);
	journal_free(f->journal);
	reviewer_free(f->reviewer);
	lease_free(f->lease);
	latency_free(f->latency);
	waits_free(f->waits);
	decisions_free(f->decisions);
	free(f->results);
	free(f);
}

/* Objects above the last core's limits are not stored: list them again. */
static void relist_for_room(struct frontend *f, const struct limits *limits)
{
	struct model_counts counts;

	model_counts(f->model, &counts);
	if (!f->started || counts.limits_hit == 0 || memcmp(limits, &f->limits, sizeof(*limits)) == 0)
		return;
	for (size_t i = 0; i < f->watches_n; i++)
		watch_relist(f->watches[i], RELIST_ROOM);
}

int frontend_core_up(struct frontend *f, const struct limits *limits,
                     const struct frontend_port *port)
{
	int rc = model_set_limits(f->model, limits);

	if (rc < 0)
		return rc;
	relist_for_room(f, limits);
	f->limits = *limits;
	f->port = *port;
	f->up = true;
	f->up_ns = env_now(f->env);
	if (f->started && frontend_may_write(f))
		f->coreless_ns += f->up_ns - f->down_ns;
	f->started = true;
	f->flushed = false;
	f->replayed = false;
	f->ticked_ns = 0;
	f->counts.core_connects++;
	PROBE(replay_begins);
	model_restart(f->model);
	binder_core_up(f->binder);
	if (f->extender)
		extender_core_up(f->extender);
	PROBE(replay_begun);
	return 0;
}

void frontend_core_down(struct frontend *f)
{
	if (f->up && f->past)
		past_core_down(f);
	f->rows_known_ns = 0;
	if (f->up) {
		f->down_ns = env_now(f->env);
		if (f->down_ns - f->up_ns >= f->core_lasts_ns)
			f->coreless_ns = 0;
	}
	f->up = false;
	f->results_first = f->results_n = 0;
	binder_core_down(f->binder);
	if (f->evictor)
		evictor_core_down(f->evictor);
	if (f->extender)
		extender_core_down(f->extender);
}

void frontend_core_stalled(struct frontend *f)
{
	frontend_core_down(f);
	f->coreless = f->lease && lease_held(f->lease);
}

void frontend_extender_request(struct frontend *f, struct extender_job *job)
{
	extender_ask(f->extender, job);
}

bool frontend_may_write(const struct frontend *f)
{
	return (!f->lease || lease_held(f->lease)) && !(f->journal && journal_is_lost(f->journal));
}

bool frontend_lost_lease(const struct frontend *f)
{
	return (f->lease && lease_lost(f->lease)) || (f->journal && journal_is_lost(f->journal));
}

bool frontend_release_lease(struct frontend *f)
{
	if (f->lease)
		lease_release(f->lease);
	return !f->lease || lease_released(f->lease);
}

void frontend_review(struct frontend *f, struct review_job *job)
{
	reviewer_ask(f->reviewer, job);
}

/* A follower without a core does not compete for the lease. A leader without one keeps it for a
 * while, then counts as dead, since others could act. */
static uint64_t lease_turn(struct frontend *f)
{
	uint64_t next, until = f->down_ns + f->coreless_max_ns - f->coreless_ns;

	if (!f->lease || (!f->up && !frontend_may_write(f)))
		return NEVER_NS;
	next = lease_poll(f->lease);
	if (f->up || f->coreless || f->stopping)
		return next;
	if (env_now(f->env) < until)
		return until < next ? until : next;
	f->coreless = true;
	env_log(f->env, "error", "no muster-core for %llu s%s: another instance may have the lease",
	        (unsigned long long)(f->coreless_max_ns / NS_PER_S),
	        f->coreless_ns > 0 ? ", in parts" : "");
	return env_now(f->env);
}

/* What is not needed to place pods is not waited for: it may never be listed. */
bool frontend_lists_in(const struct frontend *f)
{
	for (size_t i = 0; i < f->watches_n; i++)
		if (model_resource_awaited(f->model, (int)i) && !watch_synced(f->watches[i]))
			return false;
	return true;
}

/* The core's time advances only with records: send ticks often enough for its timeouts. */
static uint64_t tick_send(struct frontend *f)
{
	uint64_t now = env_now(f->env), gap;
	struct model_counts counts;

	model_counts(f->model, &counts);
	gap = counts.pods_ours_pending > 0 ? TICK_WAITING_NS : TICK_IDLE_NS;
	if (now < f->ticked_ns + gap)
		return f->ticked_ns + gap;
	if (!f->flushed || !f->port.event(f->port.context, EVENT_TICK, 0))
		return now + FULL_NS;
	PROBE(tick);
	f->ticked_ns = now;
	return now + gap;
}

/* Inspects each record on its way to the core once its body is written: with the next one, or at
 * the end. */
struct looking {
	struct frontend *f;
	enum record_kind kind;
	void *body; /* NULL: none since */
};

static void look_at(struct looking *l)
{
	const struct event_pod *pod = l->body;
	const struct event_drop *drop = l->body;

	if (l->body && l->kind == EVENT_POD) {
		PROBE(sent, pod->pod, pod->generation, pod->gang, pod->node);
		latency_sent(l->f->latency, pod->pod, pod->generation, env_now(l->f->env));
	} else if (l->body && l->kind == EVENT_POD_DROP) {
		latency_dropped(l->f->latency, drop->id, drop->generation);
	}
	l->body = NULL;
}

static void *looking_reserve(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct looking *l = context;

	look_at(l);
	l->kind = kind;
	l->body = l->f->port.event(l->f->port.context, kind, body_bytes);
	return l->body;
}

static bool model_send(struct frontend *f)
{
	struct looking looking = { .f = f };
	struct model_sink sink = { .reserve = looking_reserve, .context = &looking };
	bool all = model_flush(f->model, &sink);

	look_at(&looking);
	return all;
}

/* This instance became leader. A hanging connection is noticed only after the lease changed hands,
 * so a watch may lack what the last leader bound: everything is listed again (docs/decisions/041).
 */
static void on_elected(struct frontend *f)
{
	f->led_ns = env_now(f->env);
	for (size_t i = 0; i < f->watches_n; i++)
		watch_relist(f->watches[i], RELIST_LEADING);
}

static bool listed_since(const struct frontend *f, uint64_t since_ns)
{
	for (size_t i = 0; i < f->watches_n; i++)
		if (model_resource_awaited(f->model, (int)i) && !watch_absent(f->watches[i]) &&
		    watch_listed_ns(f->watches[i]) < since_ns)
			return false;
	return true;
}

/* An earlier instance that still runs writes no intent once our epoch is in the journal; what is
 * listed after that has all that its other intents led to. */
static bool journal_ready(const struct frontend *f)
{
	if (!f->journal)
		return true;
	journal_claim(f->journal);
	return journal_is_open(f->journal);
}

static void intent_adopt(void *context, struct intent *i, pod_id pod, uint32_t generation)
{
	struct frontend *f = context;

	if (intent_line(i)->kind == INTENT_ASSUME && f->extender)
		extender_adopt(f->extender, i, pod, generation);
	else if (intent_line(i)->kind == INTENT_NOMINATE && f->evictor)
		evictor_adopt(f->evictor, i, pod, generation);
	else
		journal_remove(f->journal, i);
}

static void take_over(struct frontend *f)
{
	if (f->taking_over)
		return;
	f->taking_over = true;
	if (f->journal)
		binder_take_over(f->binder, f->takeover, intent_adopt, f);
	takeover_begin(f->takeover, f->journal ? journal_fence(f->journal) : INTENTS_FENCE_BEGUN);
}

/* The core may plan once the lists are complete and the takeover is over. Returns the time of the
 * next call. A standby is kept warm: its core has all objects and plans nothing. */
static uint64_t try_sync(struct frontend *f)
{
	uint64_t next;
	bool past_read;

	if (f->synced || !frontend_may_write(f))
		return NEVER_NS;
	if (!journal_ready(f))
		return journal_poll(f->journal);
	if (f->lease && f->led_ns == 0) {
		on_elected(f);
		return f->led_ns;
	}
	past_read = !f->past || past_ready(f); /* beside the lists */
	if (!frontend_lists_in(f) || !listed_since(f, f->led_ns) || !past_read)
		return NEVER_NS;
	take_over(f);
	next = takeover_poll(f->takeover);
	if (!takeover_over(f->takeover) || !preempt_ready(f))
		return next;
	if (f->journal)
		journal_fenced(f->journal);
	if (f->journal && takeover_counts(f->takeover)->left == 0)
		binder_fenced(f->binder);
	PROBE(lists_in);
	if (f->past)
		past_restore(f);
	model_set_synced(f->model);
	report_lists_in(f->report);
	f->synced = true;
	return NEVER_NS;
}

static uint64_t core_send(struct frontend *f)
{
	uint64_t now = env_now(f->env), next, due = try_sync(f);

	f->flushed = model_send(f);
	PROBE(flushed, (uint32_t)f->flushed);
	if (!f->flushed)
		f->counts.ring_full++;
	next = tick_send(f);
	next = due < next ? due : next;
	f->port.publish(f->port.context);
	if (!results_send(f))
		f->counts.ring_full++;
	f->port.publish(f->port.context);
	if (!f->flushed || model_has_more(f->model) || !f->replayed || f->results_first < f->results_n)
		next = now + FULL_NS;
	return next;
}

/* Objects were left out. */
static bool lacks_room(const struct frontend *f)
{
	for (size_t i = 0; i < f->watches_n; i++)
		if (watch_lacks_room(f->watches[i]))
			return true;
	return false;
}

/* Until the next lists of what was left out: tenants may cause them at any time, by one object that
 * is left out and others that they delete. */
static uint64_t room_gap_ns(const struct frontend *f)
{
	uint64_t gap = 0;

	for (size_t i = 0; i < f->watches_n; i++)
		if (watch_lacks_room(f->watches[i]))
			gap += watch_list_ns(f->watches[i]) * ROOM_GAP_LISTS;
	if (gap > ROOM_GAP_MOST_NS)
		gap = ROOM_GAP_MOST_NS;
	return gap > ROOM_GAP_NS ? gap : ROOM_GAP_NS;
}

static uint64_t room_entries(const struct model_counts *c)
{
	return c->nodes + c->pods + c->non_member_pods + c->referred + c->gangs + c->shapes + c->terms +
	       c->names;
}

static void room_anew(struct frontend *f, const struct model_counts *c)
{
	model_lacks_anew(f->model);
	f->room_entries = room_entries(c);
	f->room_memory = c->memory_parts;
	f->room_columns = c->columns_changed;
	f->room_entries_hit = c->limits_hit - c->memory_hit;
	f->room_memory_hit = c->memory_hit;
	f->room_freed_ns = NEVER_NS;
}

/* True if what was left out may have space now: entries if a limit of these was hit since the last
 * such lists, else memory alone.  Highest usage is that since the limit was hit. */
static bool room_is_free(struct frontend *f, const struct model_counts *c)
{
	const uint64_t entries = room_entries(c);
	const bool memory = c->memory_hit > f->room_memory_hit;
	const bool counts = !memory || c->limits_hit - c->memory_hit > f->room_entries_hit;

	if (c->columns_changed != f->room_columns || (counts && entries < f->room_entries) ||
	    (memory && (c->memory_free || c->memory_parts < f->room_memory)))
		return true;
	f->room_entries = entries;
	f->room_memory = c->memory_parts;
	return false;
}

static uint64_t relist_if_space(struct frontend *f)
{
	const uint64_t now = env_now(f->env);
	struct model_counts c;
	uint64_t due, soonest;

	model_counts(f->model, &c);
	if (!lacks_room(f)) {
		room_anew(f, &c);
		f->room_entries = f->room_memory = 0; /* what goes before one is left out is none */
		return NEVER_NS;
	}
	if (f->room_freed_ns == NEVER_NS && room_is_free(f, &c))
		f->room_freed_ns = now;
	if (f->room_freed_ns == NEVER_NS)
		return NEVER_NS;
	due = f->room_freed_ns + ROOM_WAIT_NS;
	soonest = f->room_listed_ns > 0 ? f->room_listed_ns + room_gap_ns(f) : 0;
	due = due > soonest ? due : soonest;
	if (now < due)
		return due;
	for (size_t i = 0; i < f->watches_n; i++)
		if (watch_lacks_room(f->watches[i]))
			watch_relist(f->watches[i], RELIST_ROOM);
	room_anew(f, &c);
	f->room_listed_ns = now;
	return NEVER_NS;
}

/* The core has read all that the model has. */
static bool core_knows(const struct frontend *f)
{
	return f->up && f->synced && f->flushed && f->replayed;
}

uint64_t frontend_rows_known(struct frontend *f)
{
	if (f->rows_known_ns == 0 && core_knows(f))
		f->rows_known_ns = env_now(f->env) + ROWS_NS;
	return f->rows_known_ns;
}

static uint64_t extender_turn(struct frontend *f)
{
	return f->extender ? extender_poll(f->extender, core_knows(f) ? &f->port : NULL, &f->limits)
	                   : NEVER_NS;
}

uint64_t frontend_poll(struct frontend *f)
{
	uint64_t next, due;

	if (!f->started)
		return extender_turn(f);
	next = relist_if_space(f);
	for (size_t i = 0; i < f->watches_n; i++) {
		due = watch_poll(f->watches[i]);
		next = due < next ? due : next;
	}
	if (f->journal && frontend_may_write(f)) {
		due = journal_poll(f->journal);
		next = due < next ? due : next;
	}
	if (f->claims && f->synced && frontend_may_write(f)) {
		due = claim_bind_poll(f->claims, f->binder);
		next = due < next ? due : next;
		due = claims_rights_poll(f);
		next = due < next ? due : next;
	}
	due = binder_poll(f->binder);
	next = due < next ? due : next;
	due = preempt_poll(f, binder_queued(f->binder) > 0);
	next = due < next ? due : next;
	due = lease_turn(f);
	next = due < next ? due : next;
	if (frontend_may_write(f)) {
		due = report_poll(f->report, binder_queued(f->binder) > 0);
		next = due < next ? due : next;
	}
	if (f->synced) {
		due = model_respread(f->model, env_now(f->env));
		next = due < next ? due : next;
	}
	if (f->up) {
		due = core_send(f);
		next = due < next ? due : next;
	}
	if (f->past) {
		due = past_poll(f);
		next = due < next ? due : next;
	}
	if (f->queue_status) {
		due = queue_status_turn(f);
		next = due < next ? due : next;
	}
	due = extender_turn(f);
	return due < next ? due : next;
}

void frontend_stop(struct frontend *f)
{
	f->stopping = true;
	binder_core_down(f->binder); /* what was never sent */
	if (f->evictor)
		evictor_core_down(f->evictor);
	if (f->past)
		past_stop(f);
}

bool frontend_idle(const struct frontend *f)
{
	return binder_unknown(f->binder) == 0 && f->results_first == f->results_n &&
	       (!f->evictor || evictor_flying(f->evictor) == 0) && (!f->past || past_is_idle(f));
}

bool frontend_refused_at_start(const struct frontend *f)
{
	for (size_t i = 0; i < f->watches_n; i++)
		if (watch_refused_at_start(f->watches[i]))
			return true;
	return false;
}

bool frontend_must_restart(const struct frontend *f)
{
	if (f->coreless)
		return true;
	for (size_t i = 0; i < f->watches_n; i++)
		if (watch_went_back(f->watches[i]))
			return true;
	return false;
}

const struct latency *frontend_latency(const struct frontend *f)
{
	return f->latency;
}
