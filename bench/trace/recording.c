/* SPDX-License-Identifier: Apache-2.0 */
/* From the records of a recording to the history of what they are about. */
#include "bench/trace/recording_impl.h"

#include "core/daemon/policy.h"
#include "ctl/term/ctl.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MOST_S UINT64_C(4000000000)

bool recording_wrong(const struct reader *r, const char *what)
{
	fprintf(stderr, "muster-bench: %s: offset %" PRIu64 ": %s\n", r->path, r->step.offset, what);
	return false;
}

/* Gangs. */

static uint32_t need_of(const struct past_gang *g)
{
	return g->quorum > 0 ? g->quorum : 1;
}

static void gang_look(struct reader *r, uint32_t gang)
{
	struct past_gang *g = &r->h.gangs[gang];

	if (g->ready_s == NOT_YET && g->is_complete && g->ready_n >= need_of(g))
		g->ready_s = r->now_s;
	if (g->start_s == NOT_YET && g->bound_n >= need_of(g))
		g->start_s = r->now_s;
}

/* The gang of that slot; one that an earlier epoch had goes on under its name. */
static uint32_t gang_of_record(struct reader *r, const struct gang_record *g)
{
	const struct past_slot *slot = &r->gangs[g->body->gang];
	const uint32_t name = keys_take(&r->h.gang_names, g->name, g->body->name_bytes);
	uint32_t gang;

	if (slot->generation == g->body->generation)
		return slot->item;
	r->gang_of_name =
		must_reach(r->gang_of_name, &r->gang_of_name_room, name, 256, sizeof(*r->gang_of_name));
	gang = r->gang_of_name[name];
	if (gang > 0 && r->h.gangs[gang - 1].is_there && r->h.gangs[gang - 1].epoch < r->epoch)
		return gang - 1;
	r->h.gangs = must_reach(r->h.gangs, &r->h.gangs_room, r->h.gangs_n, 256, sizeof(*r->h.gangs));
	r->h.gangs[r->h.gangs_n] =
		(struct past_gang){ .first = KEYS_NONE, .ready_s = NOT_YET, .start_s = NOT_YET };
	r->gang_of_name[name] = r->h.gangs_n + 1;
	return r->h.gangs_n++;
}

static void gang_record_apply(struct reader *r, const struct gang_record *g)
{
	const uint32_t gang = gang_of_record(r, g);
	struct past_gang *p = &r->h.gangs[gang];

	r->gangs[g->body->gang] = (struct past_slot){ .generation = g->body->generation, .item = gang };
	p->is_there = true;
	p->epoch = r->epoch;
	p->created_ns = g->body->created_ns;
	p->quorum = g->body->quorum;
	p->priority = g->body->priority;
	p->has_priority = g->body->flags & GANG_PRIORITY;
	p->is_complete = !(g->body->flags & (GANG_OBJECT_MISSING | GANG_REFUSED));
	p->has_rules = g->body->roles_n > 0 || g->body->levels_n > 0;
	gang_look(r, gang);
}

/* Pods. */

static uint32_t user_take(struct reader *r, const struct pod_record *p)
{
	const char *slash = memchr(p->name, '/', p->body->name_bytes);
	const size_t bytes = slash ? (size_t)(slash - p->name) : p->body->name_bytes;
	uint32_t queue;

	if (!r->has_queues)
		return keys_take(&r->h.users, p->name, bytes);
	if (p->body->queue == QUEUE_MISSING || r->queues[p->body->queue] == KEYS_NONE)
		return KEYS_NONE;
	queue = r->queues[p->body->queue];
	return keys_take(&r->h.users, keys_text(&r->h.queue_names, queue),
	                 r->h.queue_names.at[queue].n);
}

static void pod_counts(struct reader *r, struct past_pod *p)
{
	struct past_gang *g = p->gang != KEYS_NONE ? &r->h.gangs[p->gang] : NULL;

	if (!g || p->counts)
		return;
	p->counts = true;
	g->ready_n++;
	p->next = g->first;
	g->first = (uint32_t)(p - r->h.pods);
}

static void pod_is_ready(struct reader *r, struct past_pod *p)
{
	if (p->ready_s != NOT_YET)
		return;
	p->ready_s = r->now_s;
	pod_counts(r, p);
	if (p->gang != KEYS_NONE)
		gang_look(r, p->gang);
}

static void pod_is_bound(struct reader *r, struct past_pod *p, uint32_t node)
{
	struct past_gang *g = p->gang != KEYS_NONE ? &r->h.gangs[p->gang] : NULL;

	if (p->bound_s != NOT_YET)
		return;
	p->bound_s = r->now_s;
	p->node = node;
	pod_counts(r, p);
	if (!g)
		return;
	g->bound_n++;
	g->stays_n += p->ready_s == NOT_YET;
	gang_look(r, p->gang);
}

static void pod_ends(struct reader *r, struct past_pod *p)
{
	struct past_gang *g = p->gang != KEYS_NONE ? &r->h.gangs[p->gang] : NULL;

	if (p->end_s != NOT_YET)
		return;
	p->end_s = r->now_s;
	if (!g || !p->counts)
		return;
	g->ready_n--;
	g->bound_n -= p->bound_s != NOT_YET;
}

static struct past_pod *pod_of_record(struct reader *r, const struct pod_record *p)
{
	const uint32_t known = r->h.pods_by_uid.n;
	const uint32_t pod = keys_take(&r->h.pods_by_uid, p->body->uid, sizeof(p->body->uid));

	r->h.pods = must_reach(r->h.pods, &r->h.pods_room, pod, 1024, sizeof(*r->h.pods));
	if (pod == known)
		r->h.pods[pod] = (struct past_pod){ .gang = KEYS_NONE,
			                                .node = KEYS_NONE,
			                                .next = KEYS_NONE,
			                                .ready_s = NOT_YET,
			                                .bound_s = NOT_YET,
			                                .end_s = NOT_YET };
	r->pods[p->body->pod] = (struct past_slot){ .generation = p->body->generation, .item = pod };
	return &r->h.pods[pod];
}

static bool pod_record_apply(struct reader *r, const struct pod_record *p)
{
	const struct event_pod *e = p->body;
	const bool is_bound = e->node != ID_NONE && !(e->flags & (POD_BINDING | POD_INTENTS));
	struct past_pod *pod;

	if (r->shapes[e->shape].generation == 0 ||
	    (e->gang != ID_NONE && r->gangs[e->gang].generation == 0) ||
	    (is_bound && r->nodes[e->node].generation == 0))
		return recording_wrong(r, "a pod refers to what is not there");
	pod = pod_of_record(r, p);
	pod->epoch = r->epoch;
	if (pod->end_s != NOT_YET)
		return true;
	pod->run_s = e->run_s;
	pod->expected_s = e->expected_s;
	pod->scheduled_s = e->scheduled_s;
	if (pod->bound_s != NOT_YET)
		return true;
	pod->is_ours = e->flags & POD_OURS;
	pod->lasts = e->flags & POD_LASTS;
	if (!is_bound)
		pod->stated_s = e->stated_s;
	pod->shape = r->shapes[e->shape].item;
	pod->priority = e->priority;
	pod->created_ns = e->created_ns;
	pod->user = pod->is_ours ? user_take(r, p) : KEYS_NONE;
	if (!pod->counts)
		pod->gang = e->gang != ID_NONE ? r->gangs[e->gang].item : KEYS_NONE;
	if (is_bound)
		pod_is_bound(r, pod, r->nodes[e->node].item);
	else if (pod->is_ours && !(e->flags & (POD_GATED | POD_REFUSED | POD_DELETING)))
		pod_is_ready(r, pod);
	return true;
}

/* Epochs. */

static void begin(struct reader *r)
{
	r->epoch++;
	memset(r->pods, 0, r->limits.pods * sizeof(*r->pods));
	memset(r->gangs, 0, r->limits.gangs * sizeof(*r->gangs));
	memset(r->nodes, 0, r->limits.nodes * sizeof(*r->nodes));
	memset(r->shapes, 0, r->limits.shapes * sizeof(*r->shapes));
	memset(r->columns, 0xff, r->limits.names * sizeof(*r->columns));
	memset(r->queues, 0xff, sizeof(r->queues));
	r->has_queues = false;
}

/* The initial lists are complete: what only an earlier epoch had is gone. */
static void complete(struct reader *r)
{
	if (!r->synced) {
		r->synced = true;
		r->base_ns = r->last_ns;
		r->h.base_s = r->last_ns / NS_PER_S;
	}
	for (uint32_t i = 0; i < r->h.pods_by_uid.n; i++)
		if (r->h.pods[i].epoch < r->epoch)
			pod_ends(r, &r->h.pods[i]);
	for (uint32_t i = 0; i < r->h.world->nodes.n; i++)
		if (r->nodes_now[i].epoch < r->epoch && r->nodes_now[i].is_there)
			recording_node_leaves(r, i);
	for (uint32_t i = 0; i < r->h.gangs_n; i++)
		r->h.gangs[i].is_there = r->h.gangs[i].is_there && r->h.gangs[i].epoch == r->epoch;
}

/* Records. */

/* The item of a slot that is dropped; KEYS_NONE: it was another one. */
static uint32_t drop_of(struct past_slot *slots, const struct event_drop *drop, bool shapes)
{
	struct past_slot *slot = &slots[drop->id];
	const uint32_t item = slot->item;

	if (slot->generation == 0 || (!shapes && slot->generation != drop->generation))
		return KEYS_NONE;
	*slot = (struct past_slot){ 0 };
	return item;
}

static const char *drop_apply(struct reader *r, const struct record *record)
{
	const struct event_drop *drop;
	const bool pod = record->kind == EVENT_POD_DROP, gang = record->kind == EVENT_GANG_DROP,
			   node = record->kind == EVENT_NODE_DROP;
	const char *fault = record_drop(record,
	                                pod    ? r->limits.pods
	                                : gang ? r->limits.gangs
	                                : node ? r->limits.nodes
	                                       : r->limits.shapes,
	                                &drop);
	uint32_t item;

	if (fault)
		return fault;
	item = drop_of(pod    ? r->pods
	               : gang ? r->gangs
	               : node ? r->nodes
	                      : r->shapes,
	               drop, !pod && !gang && !node);
	if (item == KEYS_NONE)
		return NULL;
	if (pod)
		pod_ends(r, &r->h.pods[item]);
	else if (gang)
		r->h.gangs[item].is_there = false;
	else if (node)
		recording_node_leaves(r, item);
	return NULL;
}

static const char *result_apply(struct reader *r, const struct record *record)
{
	const struct result *result;
	const char *fault = record_result(record, &r->limits, &result);
	const struct past_slot *pod, *node;

	if (fault)
		return fault;
	pod = &r->pods[result->pod];
	node = &r->nodes[result->node];
	if (pod->generation == result->generation && pod->generation > 0 && node->generation > 0)
		pod_is_bound(r, &r->h.pods[pod->item], node->item);
	return NULL;
}

/* The core of nodes and shapes takes what is about them.  What it refuses denies nothing. */
static void follow(struct reader *r, const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case EVENT_BEGIN:
	case EVENT_NAME:
	case EVENT_NODE:
	case EVENT_NODE_DROP:
	case EVENT_SHAPE:
	case EVENT_SHAPE_DROP:
	case EVENT_NAMESPACE:
	case EVENT_NAMESPACE_DROP:
	case EVENT_QUESTION:
	case EVENT_QUESTION_DROP:
		(void)core_step(r->core, record);
		return;
	default:
		return;
	}
}

/* Records that this reader uses; the others carry the time. */
static bool apply(struct reader *r, const struct record *record)
{
	const char *fault = record_check(record);
	union {
		struct name_record name;
		struct node_record node;
		struct shape_record shape;
		struct gang_record gang;
		struct pod_record pod;
		struct queue_record queue;
	} p;

	if (fault)
		return recording_wrong(r, fault);
	follow(r, record);
	switch ((enum record_kind)record->kind) {
	case EVENT_BEGIN:
		begin(r);
		return true;
	case EVENT_SYNCED:
		complete(r);
		return true;
	case EVENT_NAME:
		fault = record_name(record, &r->limits, &p.name);
		return fault ? recording_wrong(r, fault) : recording_name(r, &p.name);
	case EVENT_NODE:
		fault = record_node(record, &r->limits, &p.node);
		return fault ? recording_wrong(r, fault) : recording_node(r, &p.node);
	case EVENT_SHAPE:
		fault = record_shape(record, &r->limits, &p.shape);
		return fault ? recording_wrong(r, fault) : recording_shape(r, &p.shape);
	case EVENT_POD:
		fault = record_pod(record, &r->limits, &p.pod);
		return fault ? recording_wrong(r, fault) : pod_record_apply(r, &p.pod);
	case EVENT_GANG:
		fault = record_gang(record, &r->limits, &p.gang);
		if (!fault)
			gang_record_apply(r, &p.gang);
		break;
	case EVENT_QUEUE:
		fault = record_queue(record, &r->limits, &p.queue);
		if (!fault)
			recording_queue(r, &p.queue);
		break;
	case EVENT_NODE_DROP:
	case EVENT_SHAPE_DROP:
	case EVENT_GANG_DROP:
	case EVENT_POD_DROP:
		fault = drop_apply(r, record);
		break;
	case RESULT_BOUND:
		fault = result_apply(r, record);
		break;
	default:
		break;
	}
	return fault ? recording_wrong(r, fault) : true;
}

/* Time goes on from epoch to epoch, whatever the clocks of the hosts say. */
static bool time_pass(struct reader *r, uint64_t time_ns)
{
	r->last_ns = time_ns > r->last_ns ? time_ns : r->last_ns;
	if (r->synced)
		r->now_s = (r->last_ns - r->base_ns) / NS_PER_S;
	return r->now_s <= TIME_MOST_S || recording_wrong(r, "the recording is longer than a century");
}

static bool read_all(struct reader *r)
{
	int rc;

	while ((rc = recording_next(&r->recording, &r->step)) > 0)
		/* What the core refused has changed nothing. */
		if (!time_pass(r, r->step.record->time_ns) ||
		    (r->step.error == 0 && !apply(r, r->step.record)))
			return false;
	if (rc < 0)
		fprintf(stderr, "muster-bench: %s: %s\n", r->path, r->recording.error);
	return rc == 0;
}

static bool ignore(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	return true;
}

/* The tables, of the limits that the recording has; false and a message. */
static bool reader_init(struct reader *r)
{
	static const char *const columns[] = { "cpu", "memory", "ephemeral-storage", "pods",
		                                   "muster.dev/of-no-node" };
	const struct recording_head *head = &r->recording.head;
	const struct core_config config = { .limits = head->limits, .emit = ignore };
	const char *what = "";
	struct world *w;

	r->limits = head->limits;
	r->ledger_bytes = core_ledger_bytes(&head->limits, &what);
	if (r->ledger_bytes == 0) {
		fprintf(stderr, "muster-bench: %s: its limits make no core: %s\n", r->path, what);
		return false;
	}
	r->h.world = w = must_alloc(sizeof(*w));
	w->config = (struct core_config){ .reserve_after_ns = head->reserve_after_ns,
		                              .retain_for_ns = head->retain_for_ns,
		                              .promise_depth = head->promise_depth,
		                              .promise_grain_ns = head->promise_grain_ns,
		                              .promise_window_ns = head->promise_window_ns,
		                              .backfill_by_soft = head->backfill_by_soft };
	if (!policy_find(head->score, &w->config.score)) {
		fprintf(stderr, "muster-bench: %s: recorded with --score %s, which this program has not\n",
		        r->path, head->score);
		return false;
	}
	for (; w->columns_n < WORLD_COLUMNS_FIRST; w->columns_n++)
		w->columns[w->columns_n] = must_copy(columns[w->columns_n]);
	r->pods = must_array(r->limits.pods, sizeof(*r->pods));
	r->gangs = must_array(r->limits.gangs, sizeof(*r->gangs));
	r->nodes = must_array(r->limits.nodes, sizeof(*r->nodes));
	r->shapes = must_array(r->limits.shapes, sizeof(*r->shapes));
	r->columns = must_array(r->limits.names, sizeof(*r->columns));
	r->ledger = core_ledger_new(r->ledger_bytes);
	r->core = r->ledger ? core_new(&config, r->ledger) : NULL;
	if (!r->core)
		fatal_memory();
	begin(r);
	return true;
}

/* What the history keeps of queues: the last definition of each, and its parent's name. */
static void queues_end(struct reader *r)
{
	for (uint32_t i = 0; i < QUEUES_MAX; i++) {
		const uint32_t queue = r->queues[i], parent = r->queue_parents[i];

		if (queue == KEYS_NONE)
			continue;
		r->h.queues[queue].parent = parent < QUEUES_MAX ? r->queues[parent] : KEYS_NONE;
		r->h.queues[queue].is_there = true;
	}
}

static void reader_free(struct reader *r)
{
	struct history *h = &r->h;

	for (uint32_t i = 0; i < h->queue_names.n; i++)
		free(h->queues[i].amounts);
	keys_free(&h->users);
	keys_free(&h->pods_by_uid);
	keys_free(&h->gang_names);
	keys_free(&h->queue_names);
	keys_free(&r->column_names);
	keys_free(&r->kind_keys);
	keys_free(&r->request_keys);
	keys_free(&h->shape_keys);
	for (uint32_t i = 0; i < h->shapes_n; i++)
		free(h->shapes[i].denied);
	for (uint32_t i = 0; i < h->requests_n; i++)
		free(h->requests[i].requests);
	free(h->shapes);
	free(h->requests);
	core_free(r->core);
	core_ledger_free(r->ledger, r->ledger_bytes);
	free(h->pods);
	free(h->gangs);
	free(h->queues);
	free(r->pods);
	free(r->gangs);
	free(r->nodes);
	free(r->shapes);
	free(r->columns);
	free(r->gang_of_name);
	free(r->nodes_now);
	recording_close(&r->recording);
	free(r);
}

static bool history_read(struct reader *r)
{
	if (recording_open(&r->recording, r->path) != EXIT_DONE) {
		fprintf(stderr, "muster-bench: %s: %s\n", r->path, r->recording.error);
		return false;
	}
	if (!reader_init(r) || !read_all(r))
		return false;
	if (!r->synced) {
		fprintf(stderr, "muster-bench: %s: it ends before the first initial lists were complete\n",
		        r->path);
		return false;
	}
	queues_end(r);
	r->h.has_queues = r->has_queues;
	r->h.end_s = r->now_s > 0 ? r->now_s : 1;
	return true;
}

bool trace_recording_read(struct trace *t, const char *path)
{
	struct reader *r = must_alloc(sizeof(*r));
	char tail[96];
	bool ok;

	*t = (struct trace){ .node_milli = 0 };
	r->path = path;
	r->h.trace = t;
	ok = history_read(r);
	t->world = r->h.world;
	ok = ok && history_jobs(&r->h, path);
	if (ok)
		fprintf(stderr, "muster-bench: %s: %" PRIu64 " s of muster-core %s, %s\n", path, t->end_s,
		        r->recording.head.program, recording_tail_text(&r->recording, tail, sizeof(tail)));
	else
		trace_free(t);
	reader_free(r);
	return ok;
}
