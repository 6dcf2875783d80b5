/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"

#include "core/base/span.h"
#include "core/lifecycle/assume.h"
#include "core/lifecycle/backfill_state.h"
#include "core/lifecycle/inflight.h"
#include "core/cycle/cycle.h"
#include "core/cycle/promises.h"
#include "core/cycle/queues.h"
#include "core/cycle/turns.h"
#include "core/lifecycle/groups.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/tickets.h"
#include "core/base/probe.h"
#include "core/filter/gpus.h"
#include "core/plan/reason.h"
#include "core/step/devices.h"
#include "core/shm/records.h"
#include "core/lifecycle/state.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PROMISE_GRAIN_NS (60 * UINT64_C(1000000000))
#define PROMISE_WINDOW_NS (7 * 86400 * UINT64_C(1000000000))

uint64_t core_ledger_bytes(const struct limits *limits, const char **what)
{
	return ledger_bytes(limits, what);
}

uint64_t core_ledger_bytes_first(const struct limits *limits)
{
	return ledger_bytes_first(limits);
}

struct ledger *core_ledger_new(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void core_ledger_free(struct ledger *ledger, uint64_t bytes)
{
	if (ledger != NULL)
		munmap(ledger, bytes);
}

static void lists_clear(struct core *c)
{
	squeue_clear(&c->queue);
	refresh_clear(&c->refresh);
	backfill_clear(c);
	pod_list_init(&c->sends);
	pod_list_init(&c->backoff);
	c->backoff_due_ns = UINT64_MAX;
	c->retaining_n = 0;
	c->outbox = (struct outbox){ 0 };
	assumes_clear(&c->assumes);
	tickets_clear(c);
	nominations_forget(c);
}

/* A hook of the pod counts. */
static void class_gone(void *context, class_id class)
{
	struct core *c = context;

	views_forget(&c->views, class);
}

static void core_init(struct core *c, const struct limits *l, struct ledger *ledger)
{
	ledger_open(&c->ledger, ledger, l, c->config.make, c->config.context);
	pods_init(&c->pods, l);
	nodes_init(&c->nodes, l, &c->ledger);
	lasting_init(&c->lasting, l);
	shapes_init(&c->shapes, l);
	pod_counts_init(&c->pod_counts, l, &c->nodes, &c->shapes, &c->pods);
	views_init(&c->views, l, &c->pod_counts, &c->budget, c->config.score);
	c->pod_counts.hooks =
		(struct pod_counts_hooks){ .context = c, .moved = pod_moved, .class_gone = class_gone };
	c->pod_counts.devices = c->config.devices;
	c->pod_counts.gpus = c->config.score > SCORE_BESTFIT ? gpus_new() : NULL;
	gangs_init(&c->gangs, l, &c->pods);
	squeue_init(&c->queue, l, &c->gangs, c->config.ask_all);
	refresh_init(&c->refresh, c->gangs.n);
	backfill_init(c);
	if (c->config.promise_depth > 0)
		c->promises.timeline = timeline_new(
			l, &c->nodes, &c->shapes, &c->budget, c->config.promise_depth,
			c->config.promise_grain_ns > 0 ? c->config.promise_grain_ns : PROMISE_GRAIN_NS,
			c->config.promise_window_ns > 0 ? c->config.promise_window_ns : PROMISE_WINDOW_NS,
			c->config.backfill_by_soft);
	if (c->config.queues)
		turns_init(c);
	plan_init(&c->plan, l);
	c->plan.pack_steps = c->config.pack_steps;
	c->own = must_array(l->nodes, sizeof(*c->own));
	c->tally = tally_new(l);
	lists_clear(c);
}

struct core *core_new(const struct core_config *config, struct ledger *ledger)
{
	struct core *c;

	if (ledger_bytes(&config->limits, NULL) == 0)
		return NULL;
	c = must_alloc(sizeof(*c));
	c->config = *config;
	core_init(c, &config->limits, ledger);
	return c;
}

void core_free(struct core *c)
{
	if (!c)
		return;
	squeue_free(&c->queue);
	refresh_free(&c->refresh);
	backfill_free(c);
	timeline_free(c->promises.timeline);
	turns_free(c);
	taken_clear(&c->taken);
	free(c->promises.places);
	tickets_clear(c);
	nominations_clear(c);
	free(c->promises.before);
	gangs_free(&c->gangs);
	pods_free(&c->pods);
	inventory_free(c->pod_counts.inventory);
	gpus_free(c->pod_counts.gpus);
	pod_counts_free(&c->pod_counts);
	nodes_free(&c->nodes);
	lasting_free(&c->lasting);
	shapes_free(&c->shapes);
	views_free(&c->views);
	plan_free(&c->plan);
	assumes_clear(&c->assumes);
	tally_free(c->tally);
	free(c->own);
	free(c->inflight);
	free(c);
}

const char *core_fault(const struct core *core)
{
	return core->fault ? core->fault : "";
}

static int on_begin(struct core *c, const struct record *r)
{
	size_t inflight_n;
	struct inflight *inflight = inflight_collect(c, &inflight_n);

	core_show(c); /* what others don't see yet can't be cleared */
	PROBE(tables_clear, r->epoch, inflight_n);
	free(c->inflight);
	c->inflight = inflight;
	c->inflight_n = inflight_n;
	lists_clear(c);
	gangs_clear(&c->gangs);
	pods_clear(&c->pods);
	views_clear(&c->views);
	inventory_free(c->pod_counts.inventory);
	c->pod_counts.inventory = NULL;
	gpus_forget(&c->pod_counts);
	pod_counts_clear(&c->pod_counts);
	shapes_clear(&c->shapes);
	nodes_clear(&c->nodes);
	lasting_clear(&c->lasting);
	if (c->promises.timeline)
		promises_clear(c);
	turns_clear(c);
	taken_clear(&c->taken);
	ledger_clear(&c->ledger);
	assert(c->nodes.count == 0 && c->nodes.present == 0);
	assert(c->shapes.count == 0);
	assert(c->gangs.count == 0);
	assert(c->pods.count == 0);
	PROBE(tables_cleared, r->epoch, inflight_n);
	c->names_n = 0;
	c->synced = false;
	c->epoch = r->epoch;
	/* Nothing waits for a time now, so the clock of the new frontend may be behind. */
	c->now_ns = r->time_ns;
	atomic_store_explicit(&c->ledger.ledger->epoch, r->epoch, memory_order_relaxed);
	stat_add(&core_stats(c)->epochs, 1);
	return 0;
}

static int on_synced(struct core *c)
{
	if (c->synced)
		return refuse(c, "synced twice");
	PROBE(synced, c->epoch, c->pods.count);
	c->synced = true;
	views_prepare(&c->views);
	inflight_resolve(c);
	c->tickets.renominates = c->tickets.flags & PREEMPTION_ON;
	PROBE(inflight_resolved, c->epoch, c->sends.n);
	return 0;
}

static int on_name(struct core *c, const struct record *r)
{
	struct name_record record;
	struct name_row *row;
	struct name name, old;
	const char *fault = record_name(r, &c->ledger.limits, &record);
	int rc;

	if (fault)
		return refuse(c, fault);
	row = &c->ledger.names[record.body->id];
	old = (struct name){ .offset = row->offset, .bytes = row->bytes };
	if (old.bytes == record.body->bytes &&
	    memcmp(name_text(&c->ledger, old), record.text, old.bytes) == 0)
		return 0;
	if (record.body->kind == NAME_RESOURCE) {
		nodes_reach(&c->nodes, record.body->id + 1);
	}
	rc = name_add(&c->ledger, record.text, record.body->bytes, &name);
	if (rc < 0)
		return rc;
	*row =
		(struct name_row){ .offset = name.offset, .bytes = name.bytes, .kind = record.body->kind };
	c->names_n += old.bytes == 0;
	name_drop(&c->ledger, &old);
	return 0;
}

/* The name of an extended resource comes before the first record that uses it. */
static bool resources_known(const struct core *c, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (amounts[i].resource >= RESOURCE_EXTENDED &&
		    c->ledger.names[amounts[i].resource].bytes == 0)
			return false;
	return true;
}

static int node_forget(struct core *c, node_id id)
{
	const bool existed = node_present(&c->nodes.slots[id]);

	if (c->nodes.slots[id].named > 0)
		return refuse(c, "drop of a node that has pods");
	node_leave(c, id);
	PROBE(node_dropped, id);
	if (c->pod_counts.inventory)
		inventory_node_drop(c->pod_counts.inventory, id);
	nodes_drop(&c->nodes, id);
	pod_counts_node_drop(&c->pod_counts, id, existed);
	shapes_follow(&c->shapes, id, &c->nodes.slots[id]);
	nodes_publish(&c->nodes); /* its row has a name that may be reused */
	return 0;
}

static const char *node_fault(const struct core *c, const struct node_record *record)
{
	if (!resources_known(c, record->amounts, record->body->amounts_n))
		return "node with an unnamed resource";
	for (uint32_t i = 0; i < record->body->taints_n; i++)
		if (c->ledger.names[record->taints[i].name].bytes == 0)
			return "node with an unnamed taint";
	return NULL;
}

/* Before a node beyond the span is stored.  Views have pointers to what moves. */
static void node_reach(struct core *c, node_id id)
{
	const uint32_t from = c->nodes.span;

	ledger_reach_node(&c->ledger, id);
	if (id < from)
		return;
	c->nodes.span = span_with(from, id, c->nodes.limit);
	assert(id < c->nodes.span && c->nodes.span <= c->nodes.limit);
	shapes_reach(&c->shapes, c->nodes.span);
	pod_counts_reach(&c->pod_counts, from);
	views_reach(&c->views);
}

static int node_set(struct core *c, const struct node_record *record)
{
	const node_id id = record->body->node;
	struct node *n = &c->nodes.slots[id];
	const bool existed = node_present(n);
	bool rules, differs;
	int rc;

	node_reach(c, id);
	rc = nodes_set(&c->nodes, record, &rules);

	if (rc < 0)
		return rc == -EPROTO ? refuse(c, "a node changed its name") : rc;
	differs = pod_counts_node_set(&c->pod_counts, record, existed);
	if (rules)
		shapes_follow(&c->shapes, id, n);
	if (differs) {
		nodes_touch(&c->nodes, id);
		c->pod_counts.rules_version++;
		c->pod_counts.has_version++;
	}
	PROBE(node_set, id, n->generation);
	node_unreserve(c, id);
	return 0;
}

static int on_node(struct core *c, const struct record *r)
{
	struct node_record record;
	const struct node *n;
	const char *fault = record_node(r, &c->ledger.limits, &record);
	int rc;

	if (!fault)
		fault = node_fault(c, &record);
	if (fault)
		return refuse(c, fault);
	n = &c->nodes.slots[record.body->node];
	if (n->generation && n->generation != record.body->generation) {
		rc = node_forget(c, record.body->node);
		if (rc < 0)
			return rc;
	}
	return node_set(c, &record);
}

static int on_node_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, c->ledger.limits.nodes, &drop);
	const struct node *n;

	if (fault)
		return refuse(c, fault);
	n = nodes_find(&c->nodes, drop->id);
	if (!n || n->generation != drop->generation)
		return refuse(c, "drop of an unknown node");
	return node_forget(c, drop->id);
}

static void shape_leaves(struct core *c, shape_id id)
{
	pod_counts_shape_drop(&c->pod_counts, id);
	if (c->promises.timeline)
		timeline_shape_drop(c->promises.timeline, id);
}

static int on_shape(struct core *c, const struct record *r)
{
	struct shape_record record;
	struct shape_links *links;
	struct shape fresh;
	shape_id id;
	const char *fault = record_shape(r, &c->ledger.limits, &record);
	int rc;

	if (fault)
		return refuse(c, fault);
	id = record.body->shape;
	if (!resources_known(c, record.amounts, record.body->amounts_n))
		return refuse(c, "shape with an unnamed resource");
	nodes_widen(&c->nodes, &record);
	rc = shapes_make(&c->shapes, &record, c->nodes.slots, c->nodes.used, &fresh);
	if (rc == -EPROTO)
		return refuse(c, "a shape changed while pods had it");
	if (rc != 0)
		return 0;
	links = pod_counts_links_make(&c->pod_counts, &fresh);
	if (shapes_find(&c->shapes, id))
		shape_leaves(c, id);
	shapes_put(&c->shapes, &fresh);
	PROBE(shape_set, id);
	pod_counts_links_set(&c->pod_counts, id, links);
	return 0;
}

static int on_shape_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, c->ledger.limits.shapes, &drop);
	const struct shape *s;

	if (fault)
		return refuse(c, fault);
	s = shapes_find(&c->shapes, drop->id);
	if (!s)
		return refuse(c, "drop of an unknown shape");
	if (s->pods > 0)
		return refuse(c, "drop of a shape that pods have");
	shape_leaves(c, drop->id);
	PROBE(shape_dropped, drop->id);
	shapes_drop(&c->shapes, drop->id);
	return 0;
}

static int on_gang(struct core *c, const struct record *r)
{
	struct gang_record record;
	const char *fault = record_gang(r, &c->ledger.limits, &record);

	if (fault)
		return refuse(c, fault);
	if (!resources_known(c, record.amounts, record.body->amounts_n))
		return refuse(c, "gang with an unnamed resource");
	return group_event(c, &record);
}

static int on_gang_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, c->ledger.limits.gangs, &drop);

	return fault ? refuse(c, fault) : group_drop(c, drop);
}

static int on_namespace(struct core *c, const struct record *r)
{
	struct namespace_record record;
	const char *fault = record_namespace(r, &record);

	if (fault)
		return refuse(c, fault);
	pod_counts_namespace_set(&c->pod_counts, &record);
	return 0;
}

static int on_namespace_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, UINT32_MAX, &drop);

	if (fault)
		return refuse(c, fault);
	pod_counts_namespace_drop(&c->pod_counts, drop->id);
	return 0;
}

/* The most frequent record.  In core_apply(), which has all the others, the compiler would reach
 * its limit of growth before record_pod(), and call it. */
__attribute__((noinline)) static int on_pod(struct core *c, const struct record *r)
{
	struct pod_record record;
	const char *fault = record_pod(r, &c->ledger.limits, &record);

	return fault ? refuse(c, fault) : pod_event(c, &record, r->time_ns);
}

static int on_pod_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, c->ledger.limits.pods, &drop);

	return fault ? refuse(c, fault) : pod_drop(c, drop);
}

/* For searches (core/world/keeper.h); only gangs that evict need facts here. */
static int on_facts(struct core *c, const struct record *r)
{
	const struct event_preemption *preemption;
	const struct event_pod_facts *facts;
	struct budget_record budget;
	const char *fault;

	if (r->kind == EVENT_PREEMPTION)
		fault = record_preemption(r, &preemption);
	else if (r->kind == EVENT_BUDGET)
		fault = record_budget(r, &budget);
	else
		fault = record_pod_facts(r, &c->ledger.limits, &facts);
	if (!fault && r->kind == EVENT_PREEMPTION)
		tickets_set(c, preemption);
	if (!fault && r->kind == EVENT_POD_FACTS && c->tickets.facts)
		facts_keep(&c->tickets.facts[facts->pod], facts, r->time_ns);
	return fault ? refuse(c, fault) : 0;
}

static int on_assume(struct core *c, const struct record *r)
{
	struct assume_record record;
	const char *fault = record_assume(r, &c->ledger.limits, &record);

	return fault ? refuse(c, fault) : assume_event(c, &record);
}

static int on_queue(struct core *c, const struct record *r)
{
	struct queue_record record;
	const char *fault = record_queue(r, &c->ledger.limits, &record);

	if (fault)
		return refuse(c, fault);
	for (uint32_t i = 0; i < record.body->amounts_n; i++)
		if (record.amounts[i].resource >= RESOURCE_EXTENDED &&
		    c->ledger.names[record.amounts[i].resource].bytes == 0)
			return refuse(c, "queue with an unnamed resource");
	turns_record(c, &record);
	return 0;
}

static int on_queue_terms(struct core *c, const struct record *r)
{
	const struct event_queue_terms *terms;
	const char *fault = record_queue_terms(r, &terms);

	if (fault)
		return refuse(c, fault);
	turns_terms(c, terms);
	return 0;
}

static int on_queue_past(struct core *c, const struct record *r)
{
	struct queue_past_record past;
	const char *fault = record_queue_past(r, &c->ledger.limits, &past);

	if (fault)
		return refuse(c, fault);
	turns_past(c, &past);
	return 0;
}

static int on_promised(struct core *c, const struct record *r)
{
	const struct event_promised *promised;
	const char *fault = record_promised(r, &c->ledger.limits, &promised);

	if (!fault && c->synced)
		fault = "a promise of before, after the initial lists";
	if (fault)
		return refuse(c, fault);
	if (c->promises.timeline)
		promises_before(c, promised);
	return 0;
}

static int on_result(struct core *c, const struct record *r)
{
	const struct result *result;
	const char *fault = record_result(r, &c->ledger.limits, &result);

	if (fault)
		return refuse(c, fault);
	pod_answered(c, (enum record_kind)r->kind, result, r->time_ns);
	return 0;
}

static int on_answer(struct core *c, const struct record *r)
{
	struct answer_record answer;
	const char *fault = record_answer(r, &c->ledger.limits, &answer);

	if (fault)
		return refuse(c, fault);
	ticket_answered(c, r, &answer);
	return 0;
}

static int on_evicted(struct core *c, const struct record *r)
{
	const struct evict_result *result;
	const char *fault = record_evicted(r, &c->ledger.limits, &result);

	if (fault)
		return refuse(c, fault);
	nominations_result(c, (enum record_kind)r->kind, result);
	return 0;
}

static int apply(struct core *c, const struct record *r)
{
	switch ((enum record_kind)r->kind) {
	case EVENT_BEGIN:
		return on_begin(c, r);
	case EVENT_SYNCED:
		return on_synced(c);
	case EVENT_TICK:
		return 0;
	case EVENT_NAME:
		return on_name(c, r);
	case EVENT_NODE:
		return on_node(c, r);
	case EVENT_NODE_DROP:
		return on_node_drop(c, r);
	case EVENT_SHAPE:
		return on_shape(c, r);
	case EVENT_SHAPE_DROP:
		return on_shape_drop(c, r);
	case EVENT_GANG:
		return on_gang(c, r);
	case EVENT_GANG_DROP:
		return on_gang_drop(c, r);
	case EVENT_NAMESPACE:
		return on_namespace(c, r);
	case EVENT_NAMESPACE_DROP:
		return on_namespace_drop(c, r);
	case EVENT_POD:
		return on_pod(c, r);
	case EVENT_POD_DROP:
		return on_pod_drop(c, r);
	case EVENT_PREEMPTION:
	case EVENT_BUDGET:
	case EVENT_POD_FACTS:
		return on_facts(c, r);
	case EVENT_ASSUME:
		return on_assume(c, r);
	case EVENT_QUEUE:
		return on_queue(c, r);
	case EVENT_QUEUE_TERMS:
		return on_queue_terms(c, r);
	case EVENT_QUEUE_PAST:
		return on_queue_past(c, r);
	case EVENT_NODE_DEVICES:
	case EVENT_QUESTION:
	case EVENT_QUESTION_DROP:
	case EVENT_MATCH:
		return on_devices(c, r);
	case EVENT_PROMISED:
		return on_promised(c, r);
	case RESULT_BOUND:
	case RESULT_REFUSED:
	case RESULT_UNKNOWN:
		return on_result(c, r);
	case RESULT_EVICT_SENT:
	case RESULT_EVICT_REFUSED:
	case RESULT_EVICT_NOT_SENT:
		return on_evicted(c, r);
	case EVENT_ANSWER:
		return on_answer(c, r);
	case EVENT_PLAN:
		cycle_run(c);
		return 0;
	default:
		return refuse(c, "kind of the record");
	}
}

static void gauges_set(struct core *c)
{
	struct core_gauges *g = &c->ledger.ledger->gauges;
	const uint32_t *by_readiness = c->pods.by_readiness;

	stat_set(&g->nodes, c->nodes.present);
	stat_set(&g->pods, c->pods.count);
	stat_set(&g->pods_pending, (uint64_t)by_readiness[MEMBER_GATED] + by_readiness[MEMBER_REFUSED] +
	                               by_readiness[MEMBER_BACKOFF] + by_readiness[MEMBER_READY]);
	stat_set(&g->pods_bound,
	         c->pods.reservations[RESERVATION_BOUND] + c->pods.reservations[RESERVATION_CONFIRMED]);
	stat_set(&g->pods_binding, by_readiness[MEMBER_BINDING] > c->assumes.pods.n
	                               ? by_readiness[MEMBER_BINDING] - c->assumes.pods.n
	                               : 0);
	stat_set(&g->pods_assumed, c->assumes.pods.n);
	stat_set(&g->gangs, c->gangs.count);
	stat_set(&g->gangs_waiting, c->gangs.states[GANG_WAITING]);
	stat_set(&g->gangs_binding, c->gangs.states[GANG_BINDING]);
	stat_set(&g->gangs_placed, c->gangs.states[GANG_PLACED]);
	stat_set(&g->shapes, c->shapes.count);
	stat_set(&g->names, c->names_n);
	stat_set(&g->synced, c->synced);
}

/* Why a record that is well-formed may not come now; NULL: it may. */
static const char *turn_fault(const struct core *c, const struct record *r)
{
	if (r->kind == EVENT_BEGIN)
		return r->epoch == 0 ? "epoch 0" : NULL;
	if (c->epoch == 0)
		return "a record before the first epoch";
	return r->epoch == c->epoch ? NULL : "a record of another epoch";
}

BY_NAME int core_apply(struct core *c, const struct record *record)
{
	const uint64_t before_ns = c->now_ns;
	const char *fault = record_check(record);
	int rc;

	if (!fault)
		fault = turn_fault(c, record);
	rc = fault ? refuse(c, fault) : 0;
	if (rc == 0 && record->time_ns > before_ns)
		c->now_ns = record->time_ns;
	if (rc == 0)
		rc = apply(c, record);
	if (rc < 0)
		c->now_ns = before_ns;
	else if (c->now_ns != before_ns)
		cycle_tick(c);
	if (rc == 0)
		stat_add(&core_stats(c)->events, 1);
	else if (rc == -ENOSPC)
		stat_add(&core_stats(c)->limits_hit, 1);
	else if (rc == -EPROTO)
		stat_add(&core_stats(c)->bad_records, 1);
	return rc;
}

void core_show(struct core *c)
{
	PROBE(rows_publish, c->epoch, c->nodes.behind_n);
	if (c->nodes.behind_n > 0)
		nodes_publish(&c->nodes);
	gauges_set(c);
	if (c->turns.shares)
		turns_show(c);
	if (c->nodes.saturated == c->saturated_published)
		return;
	stat_add(&core_stats(c)->saturated, c->nodes.saturated - c->saturated_published);
	c->saturated_published = c->nodes.saturated;
}

int core_step(struct core *c, const struct record *record)
{
	const int rc = core_apply(c, record);

	core_show(c);
	return rc;
}

bool core_promise(const struct core *c, uint32_t gang, struct core_promise *out)
{
	const struct promise *p;

	if (!c->promises.timeline || gang >= c->gangs.n)
		return false;
	p = promise_of(c->promises.timeline, gang);
	if (p)
		*out = (struct core_promise){
			.first_ns = p->first_ns,
			.at_ns = p->at_ns,
			.earlier = p->earlier,
			.later = p->later,
			.reason = promise_move_name(p->moves_n > 0 ? p->moves[p->moves_n - 1].why : MOVE_NONE)
		};
	return p != NULL;
}

void core_promises(const struct core *c, struct core_promises *out)
{
	const struct timeline_counts *n;

	*out = (struct core_promises){ 0 };
	if (!c->promises.timeline)
		return;
	n = promises_counts(c->promises.timeline);
	*out = (struct core_promises){ .made = n->made, .earlier = n->earlier, .lost = n->lost };
	for (uint32_t i = 0; i < MOVES; i++)
		out->later += n->later[i];
}

const struct shares *core_shares(const struct core *c)
{
	return c->turns.shares;
}

bool core_share_reason(const struct core *c, uint32_t gang, struct reason *out)
{
	struct share_block block;

	if (!c->turns.shares || gang >= c->gangs.n || !c->gangs.slots[gang].generation ||
	    !turns_blocked(c, gang, &block))
		return false;
	reason_begin(out, &c->gangs.slots[gang], &c->nodes);
	out->why = WAIT_QUEUE;
	turns_reason(c, &block, out);
	return true;
}

bool core_wants_plan(const struct core *c)
{
	return cycle_wanted(c);
}
