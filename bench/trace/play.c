/* SPDX-License-Identifier: Apache-2.0 */
/* Plays a log through the core: each job is a gang, time is that of the log. */
#include "bench/builder.h"
#include "bench/trace/queues.h"
#include "bench/trace/reclaim.h"
#include "bench/trace/world.h"

#include "core/step/core.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_S 1000u /* the clock at the first submission: time 0 means none to a core */
#define PROGRESS_JOBS 64u
#define LOOK_S 60u /* as long as a gang waits for its next ticket, at most */

struct member {
	pod_id pod;
	uint32_t generation;
};

/* A job that is in the cluster. */
struct live {
	gang_id gang;
	uint32_t generation; /* of the gang */
	uint32_t bound;
	uint32_t stops; /* times that it was evicted */
	bool listed;    /* in player.waiting */
	struct member *members;
};

struct end {
	uint64_t at_s;
	uint32_t job;
	uint32_t stops; /* of it, when it started: less than now: it was evicted since */
};

struct player {
	const struct trace *t;
	const struct play_options *o;
	struct play *p;
	struct core *core;
	struct ledger *ledger;
	uint64_t ledger_bytes;
	uint64_t now_s;
	struct live *live; /* by job */
	uint32_t *job_of;  /* by gang */
	uint32_t *waiting; /* jobs, by submission */
	uint32_t waiting_n;
	uint64_t due_s;   /* the earliest promise, or look; UINT64_MAX: there is none */
	struct end *ends; /* a heap, the earliest first */
	size_t ends_room;
	uint32_t ends_n;
	uint32_t *free_gangs, *free_pods;
	uint32_t free_gangs_n, free_pods_n, gangs_n;
	uint32_t pods_n; /* from world.pods_n on: the first are those of the recording */
	uint32_t generation;
	struct cmd_bind *binds; /* commands of the last record */
	size_t binds_n, binds_room;
	struct world_play *world;      /* NULL: no recording */
	uint32_t *shape_of;            /* by milli */
	struct trace_reclaim *reclaim; /* NULL: what runs is not taken back */
	bool looks; /* what runs may be taken back later, without anything else that happens */
	struct cmd_evict *evicts; /* likewise commands */
	size_t evicts_n, evicts_room;
	uint32_t *job_of_pod;
	uint32_t shapes_n;
	uint32_t ended;
	bool failed;
};

static uint64_t now_ns(const struct player *y)
{
	return (y->now_s + EPOCH_S) * NS_PER_S;
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct player *y = context;

	if (kind == CMD_EVICT) {
		y->evicts = must_reach(y->evicts, &y->evicts_room, y->evicts_n, 64, sizeof(*y->evicts));
		y->evicts[y->evicts_n++] = *(const struct cmd_evict *)body;
	}
	if (kind == CMD_BIND) {
		y->binds = must_reach(y->binds, &y->binds_room, y->binds_n, 256, sizeof(*y->binds));
		y->binds[y->binds_n++] = *(const struct cmd_bind *)body;
	}
	return true;
}

static void apply(struct player *y, const struct record *r)
{
	const int rc = y->failed ? 0 : core_step(y->core, r);
	char why[256] = "";

	if (rc == 0 && y->reclaim)
		trace_reclaim_follow(y->reclaim, r);
	if (rc != 0) {
		fprintf(stderr, "muster-bench: trace: %s: %s\n", strerror(-rc), core_fault(y->core));
		y->failed = true;
	} else if (y->o->check && !core_valid(y->core, why, sizeof(why))) {
		fprintf(stderr, "muster-bench: trace: %s\n", why);
		y->failed = true;
	}
}

static void step(struct player *y, enum record_kind kind, const struct part *parts)
{
	struct builder b;

	apply(y, builder_make(&b, kind, now_ns(y), parts));
}

static void tell(void *context, enum record_kind kind, const struct part *parts)
{
	step(context, kind, parts);
}

static void tell_node(struct player *y, node_id node)
{
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = y->t->node_milli },
		{ .resource = RESOURCE_PODS, .value = y->t->node_milli },
	};
	char name[32];
	struct event_node e = { .node = node, .generation = 1, .flags = NODE_PRESENT, .amounts_n = 2 };

	e.name_bytes = (uint32_t)snprintf(name, sizeof(name), "n%07u", node);
	step(y, EVENT_NODE,
	     PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }, { name, e.name_bytes }));
}

static void tell_preemption(struct player *y)
{
	struct event_preemption e;

	if (!y->reclaim)
		return;
	e = trace_reclaim_terms(y->reclaim);
	step(y, EVENT_PREEMPTION, PARTS({ &e, sizeof(e) }));
}

static void tell_queues(struct player *y)
{
	const struct trace_queues *queues = y->o->queues;

	for (uint32_t i = 0; queues && i < queues->n; i++) {
		const struct trace_queue *q = &queues->at[i];

		y->looks = y->looks || (y->reclaim && q->event.min_run_s > 0);
		step(y, EVENT_QUEUE,
		     PARTS({ &q->event, sizeof(q->event) },
		           { q->amounts, q->event.amounts_n * sizeof(*q->amounts) },
		           { q->name, q->event.name_bytes }));
	}
}

/* The shape of a member of that size, or of the recording's; told when it is first used. */
static shape_id shape_for(struct player *y, const struct trace_job *j, uint32_t member)
{
	const uint32_t milli = j->milli;
	struct amount amounts[] = {
		{ .resource = RESOURCE_CPU, .value = milli },
		{ .resource = RESOURCE_PODS, .value = 1 },
	};
	struct event_shape e = { .amounts_n = 2, .scored_cpu_milli = milli, .namespace = ID_NONE };

	if (y->world)
		return world_shape_id(y->world, y->t->world->member_shapes[j->shapes_first + member]);
	if (y->shape_of[milli] > 0)
		return y->shape_of[milli] - 1;
	e.shape = y->shapes_n++;
	y->shape_of[milli] = y->shapes_n;
	step(y, EVENT_SHAPE, PARTS({ &e, sizeof(e) }, { amounts, sizeof(amounts) }));
	return e.shape;
}

static uint64_t limit_of(const struct player *y, const struct trace_job *j)
{
	const uint64_t run_s = j->run_s > 0 ? j->run_s : 1;

	return y->o->true_times && run_s < j->limit_s ? run_s : j->limit_s;
}

/* How long it runs: it is ended at its limit. */
static uint64_t runs_of(const struct trace_job *j)
{
	return j->run_s < j->limit_s ? j->run_s : j->limit_s;
}

/* The pod of member i, as its controller makes it. */
static void tell_member(struct player *y, uint32_t job, uint32_t i, uint64_t created_ns)
{
	const struct trace_job *j = &y->t->jobs[job];
	struct live *l = &y->live[job];
	const uint64_t limit_s = limit_of(y, j);
	char name[48];
	struct event_pod e = { .pod = l->members[i].pod,
		                   .generation = ++y->generation,
		                   .flags = POD_OURS | (j->lasts ? POD_LASTS : 0u),
		                   .gang = l->gang,
		                   .shape = shape_for(y, j, i),
		                   .node = ID_NONE,
		                   .priority = j->priority,
		                   .role = ID_NONE,
		                   .namespace = 0,
		                   .created_ns = created_ns,
		                   .uid = { l->members[i].pod, y->generation },
		                   .run_s = limit_s == TRACE_NO_LIMIT ? 0 : (uint32_t)limit_s,
		                   .expected_s = y->o->true_times ? 0 : j->expected_s,
		                   .stated_s = j->stated_s,
		                   .queue = y->o->queues ? y->o->queues->of_user[j->user] : 0 };

	l->members[i].generation = e.generation;
	e.name_bytes = (uint32_t)snprintf(name, sizeof(name), "trace/job-%07u-%u", job, i);
	step(y, EVENT_POD, PARTS({ &e, sizeof(e) }, { name, e.name_bytes }));
}

static void list_waiting(struct player *y, uint32_t job)
{
	if (!y->live[job].listed)
		y->waiting[y->waiting_n++] = job;
	y->live[job].listed = true;
}

static void submit(struct player *y, uint32_t job)
{
	const struct trace_job *j = &y->t->jobs[job];
	struct live *l = &y->live[job];
	char name[48];
	struct event_gang g = { .generation = ++y->generation, .quorum = trace_quorum(j) };

	*l = (struct live){ .gang =
		                    y->free_gangs_n > 0 ? y->free_gangs[--y->free_gangs_n] : y->gangs_n++,
		                .generation = g.generation,
		                .members = must_array(j->members, sizeof(*l->members)) };
	y->job_of[l->gang] = job;
	g.gang = l->gang;
	/* Jobs of one second stay in their order. */
	g.created_ns = now_ns(y) + job % 1000000;
	g.name_bytes = (uint32_t)snprintf(name, sizeof(name), "trace/job-%07u", job);
	step(y, EVENT_GANG, PARTS({ &g, sizeof(g) }, { name, g.name_bytes }));
	for (uint32_t i = 0; i < j->members; i++) {
		l->members[i].pod = y->free_pods_n > 0 ? y->free_pods[--y->free_pods_n] : y->pods_n++;
		y->job_of_pod[l->members[i].pod] = job;
		tell_member(y, job, i, g.created_ns);
	}
	list_waiting(y, job);
}

static void drop(struct player *y, enum record_kind kind, uint32_t id, uint32_t generation)
{
	struct event_drop e = { .id = id, .generation = generation };

	step(y, kind, PARTS({ &e, sizeof(e) }));
}

static void heap_put(struct player *y, struct end e)
{
	uint32_t i = y->ends_n++;

	y->ends = must_reach(y->ends, &y->ends_room, i, 1024, sizeof(*y->ends));
	for (; i > 0 && y->ends[(i - 1) / 2].at_s > e.at_s; i = (i - 1) / 2)
		y->ends[i] = y->ends[(i - 1) / 2];
	y->ends[i] = e;
}

static struct end heap_take(struct player *y)
{
	const struct end first = y->ends[0], last = y->ends[--y->ends_n];
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < y->ends_n) {
		child += child + 1 < y->ends_n && y->ends[child + 1].at_s < y->ends[child].at_s;
		if (y->ends[child].at_s >= last.at_s)
			break;
		y->ends[i] = y->ends[child];
		i = child;
	}
	y->ends[i] = last;
	return first;
}

static void finish(struct player *y, uint32_t job)
{
	const struct trace_job *j = &y->t->jobs[job];
	struct live *l = &y->live[job];

	for (uint32_t i = 0; i < j->members; i++) {
		drop(y, EVENT_POD_DROP, l->members[i].pod, l->members[i].generation);
		y->free_pods[y->free_pods_n++] = l->members[i].pod;
	}
	drop(y, EVENT_GANG_DROP, l->gang, l->generation);
	y->free_gangs[y->free_gangs_n++] = l->gang;
	free(l->members);
	l->members = NULL;
	y->p->jobs[job].end_s = y->now_s;
	y->ended++;
	if (y->o->progress && y->ended % PROGRESS_JOBS == 0)
		y->o->progress(y->o->context, y->ended, y->t->jobs_n);
}

static void node_note(struct play *p, node_id node)
{
	p->nodes = must_reach(p->nodes, &p->nodes_room, p->nodes_n, 4096, sizeof(*p->nodes));
	p->nodes[p->nodes_n++] = node;
}

/* Who has started when: what has not can't be taken back. */
static void tell_start(struct player *y, const struct cmd_bind *bind)
{
	const struct event_pod_facts e = { .pod = bind->pod,
		                               .generation = bind->pod_generation,
		                               .start_s = (uint32_t)(y->now_s + EPOCH_S),
		                               .flags = FACT_OURS,
		                               .nominated = ID_NONE };

	step(y, EVENT_POD_FACTS, PARTS({ &e, sizeof(e) }));
}

/* The API server accepts a binding; with the last one of the quorum its job runs. */
static void accept_bind(struct player *y, const struct cmd_bind *bind)
{
	const uint32_t job = y->job_of[bind->gang];
	const struct trace_job *j = &y->t->jobs[job];
	struct play_job *out = &y->p->jobs[job];
	struct result e = { .pod = bind->pod,
		                .generation = bind->pod_generation,
		                .node = bind->node,
		                .attempt = bind->attempt };

	step(y, RESULT_BOUND, PARTS({ &e, sizeof(e) }));
	if (y->reclaim)
		tell_start(y, bind);
	/* A member beyond the quorum may be bound after its job's start. */
	if (y->live[job].bound >= trace_quorum(j))
		return;
	if (y->live[job].bound++ == 0)
		out->nodes_first = y->p->nodes_n;
	node_note(y->p, bind->node);
	if (y->live[job].bound < trace_quorum(j))
		return;
	out->start_s = y->now_s;
	heap_put(
		y, (struct end){ .at_s = y->now_s + runs_of(j), .job = job, .stops = y->live[job].stops });
}

/* Jobs that wait no longer leave the list; promises of the others are noted. */
static void look_at_waiting(struct player *y)
{
	uint32_t n = 0;

	y->due_s = UINT64_MAX;
	for (uint32_t i = 0; i < y->waiting_n; i++) {
		const uint32_t job = y->waiting[i];
		struct play_job *out = &y->p->jobs[job];
		struct core_promise promise;

		y->live[job].listed = out->start_s == TRACE_NOT_STARTED;
		if (!y->live[job].listed)
			continue;
		y->waiting[n++] = job;
		if (!core_promise(y->core, y->live[job].gang, &promise))
			continue;
		if (promise.at_ns / NS_PER_S - EPOCH_S > y->now_s &&
		    promise.at_ns / NS_PER_S - EPOCH_S < y->due_s)
			y->due_s = promise.at_ns / NS_PER_S - EPOCH_S;
		if (out->told_s == TRACE_NOT_STARTED) {
			out->told_s = promise.first_ns / NS_PER_S - EPOCH_S;
			y->p->promises++;
		}
	}
	y->waiting_n = n;
	if (y->looks && n > 0 && y->ends_n > 0 && y->now_s + LOOK_S < y->due_s)
		y->due_s = y->now_s + LOOK_S;
}

/* A job that runs is evicted: it waits as if it had never run. */
static void stop(struct player *y, uint32_t job)
{
	struct play_job *out = &y->p->jobs[job];
	struct play *p = y->p;

	p->lost = must_reach(p->lost, &p->lost_room, p->lost_n, 64, sizeof(*p->lost));
	p->lost[p->lost_n++] =
		(struct play_lost){ .job = job, .start_s = out->start_s, .end_s = y->now_s };
	out->start_s = out->told_s = TRACE_NOT_STARTED;
	y->live[job].stops++;
	y->live[job].bound = 0;
	list_waiting(y, job);
}

/* The pod is gone at once, and its controller makes another one. */
static void evict(struct player *y, const struct cmd_evict *c)
{
	const struct evict_result sent = {
		.ticket = c->ticket, .pod = c->pod, .generation = c->pod_generation, .node = c->node
	};
	const uint32_t job = y->job_of_pod[c->pod];
	const struct live *l = &y->live[job];
	uint32_t i = 0;

	while (l->members[i].pod != c->pod)
		i++;
	if (l->members[i].generation != c->pod_generation)
		return; /* a victim of two */
	step(y, RESULT_EVICT_SENT, PARTS({ &sent, sizeof(sent) }));
	if (y->p->jobs[job].start_s != TRACE_NOT_STARTED)
		stop(y, job);
	y->p->reclaimed_pods++;
	drop(y, EVENT_POD_DROP, c->pod, c->pod_generation);
	tell_member(y, job, i, now_ns(y));
}

static bool answer(struct player *y)
{
	struct record *r = y->reclaim ? trace_reclaim_answer(y->reclaim, y->core) : NULL;

	if (!r)
		return false;
	r->epoch = 1;
	r->time_ns = now_ns(y);
	apply(y, r);
	free(r);
	return true;
}

static void plan(struct player *y)
{
	do {
		while (!y->failed && core_wants_plan(y->core)) {
			y->binds_n = 0;
			step(y, EVENT_PLAN, NO_PARTS);
			for (size_t i = 0; i < y->binds_n; i++)
				accept_bind(y, &y->binds[i]);
			for (size_t i = 0; i < y->evicts_n; i++)
				evict(y, &y->evicts[i]);
			y->evicts_n = 0;
		}
	} while (!y->failed && answer(y));
	look_at_waiting(y);
}

/* Of a recording it waits, as it did. */
static bool too_large(const struct player *y, const struct trace_job *j)
{
	return !y->t->world && (j->milli > y->t->node_milli ||
	                        j->members > (uint64_t)y->o->nodes * (y->t->node_milli / j->milli));
}

/* What runs at the end of a recording ends with it. */
static void recording_ends(struct player *y)
{
	for (uint32_t i = 0; i < y->ends_n; i++)
		y->p->jobs[y->ends[i].job].end_s = y->t->end_s;
}

/* The time of the next submission, end or step of the world; UINT64_MAX: there is none. */
static uint64_t next_s(const struct player *y, uint32_t next)
{
	uint64_t at_s = world_due_s(y->world);

	if (next < y->t->jobs_n && y->t->jobs[next].submit_s < at_s)
		at_s = y->t->jobs[next].submit_s;
	return y->ends_n > 0 && y->ends[0].at_s < at_s ? y->ends[0].at_s : at_s;
}

/* All that happens at one time: ends first, then submissions, then plans. */
static void play_all(struct player *y)
{
	const struct trace *t = y->t;
	uint64_t last_s = 0;
	uint32_t next = 0;
	bool due;

	y->due_s = UINT64_MAX;
	while (!y->failed &&
	       (next_s(y, next) < UINT64_MAX || (y->due_s > last_s && y->due_s < UINT64_MAX))) {
		y->now_s = next_s(y, next);
		/* A promise can be due at a time at which nothing ends: what it waited for ended earlier.
		 */
		due = y->due_s > last_s && y->due_s < y->now_s;
		y->now_s = due ? y->due_s : y->now_s;
		if (t->end_s > 0 && y->now_s > t->end_s)
			break;
		if (y->now_s > UINT64_MAX / NS_PER_S - 2 * EPOCH_S) {
			fprintf(stderr, "muster-bench: trace: the log takes more than 500 years\n");
			y->failed = true;
			break;
		}
		if (due)
			step(y, EVENT_TICK, NO_PARTS);
		last_s = y->now_s;
		if (y->world)
			world_advance(y->world, y->now_s);
		while (y->ends_n > 0 && y->ends[0].at_s == y->now_s) {
			const struct end end = heap_take(y);

			if (end.stops == y->live[end.job].stops)
				finish(y, end.job);
		}
		for (; next < t->jobs_n && t->jobs[next].submit_s == y->now_s; next++) {
			if (too_large(y, &t->jobs[next]))
				y->p->left_out++;
			else
				submit(y, next);
		}
		plan(y);
	}
	if (y->world) {
		recording_ends(y);
	} else if (y->o->queues) {
		y->p->left_out += y->waiting_n;
	} else if (!y->failed && y->waiting_n > 0) {
		fprintf(stderr, "muster-bench: trace: %u jobs never started\n", y->waiting_n);
		y->failed = true;
	}
}

static void note_late(struct play *p, uint64_t s)
{
	p->late++;
	p->late_minute += s > 60;
	p->late_most_s = s > p->late_most_s ? s : p->late_most_s;
	p->late_s += ((double)s - p->late_s) / (double)p->late;
}

static void sum_up(struct play *p, const struct trace *t, uint32_t nodes)
{
	double places_s = t->world ? t->world->pods_places_s : 0, waited_s = 0, lost_s = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->jobs_n; i++) {
		const struct trace_job *j = &t->jobs[i];
		const struct play_job *out = &p->jobs[i];
		double run_s, slowdown;

		if (out->start_s == TRACE_NOT_STARTED) {
			p->waiting += t->end_s > 0;
			waited_s += t->end_s > 0 ? (double)(t->end_s - j->submit_s) : 0;
			continue;
		}
		n++;
		run_s = (double)(out->end_s - out->start_s);
		slowdown = ((double)(out->start_s - j->submit_s) + run_s) /
		           (run_s > SLOWDOWN_BOUND_S ? run_s : SLOWDOWN_BOUND_S);
		p->slowdown += slowdown > 1 ? slowdown : 1;
		p->wait_s += (double)(out->start_s - j->submit_s);
		if (out->told_s != TRACE_NOT_STARTED && out->start_s > out->told_s)
			note_late(p, out->start_s - out->told_s);
		p->span_s = out->end_s > p->span_s ? out->end_s : p->span_s;
		places_s += run_s * j->members * j->milli;
	}
	for (size_t i = 0; i < p->lost_n; i++) {
		const struct trace_job *j = &t->jobs[p->lost[i].job];

		lost_s += (double)(p->lost[i].end_s - p->lost[i].start_s) * j->members * j->milli;
	}
	p->slowdown /= n > 0 ? n : 1;
	p->wait_s = (p->wait_s + waited_s) / (n + p->waiting > 0 ? n + p->waiting : 1);
	p->span_s = t->end_s > 0 ? t->end_s : p->span_s;
	if (p->span_s == 0 || t->node_milli == 0)
		return;
	p->utilisation = places_s / ((double)p->span_s * nodes * t->node_milli);
	p->lost_share = lost_s / ((double)p->span_s * nodes * t->node_milli);
}

/* Makes the core and the tables; false and a message. */
static bool player_init(struct player *y)
{
	const struct trace *t = y->t;
	struct core_config config =
		t->world ? t->world->config : (struct core_config){ .promise_grain_ns = NS_PER_S };
	const char *what = NULL;
	uint64_t members = 0, pods;

	config.score = y->o->score;
	config.promise_depth = y->o->promise_depth;
	config.emit = emit;
	config.context = y;
	for (uint32_t i = 0; i < t->jobs_n; i++)
		members += too_large(y, &t->jobs[i]) ? 0 : t->jobs[i].members;
	members = members > 0 ? members : 1;
	pods = members < (1u << 22) ? members : 1u << 22;
	config.limits =
		(struct limits){ .nodes = y->o->nodes,
		                 .pods = (uint32_t)pods,
		                 .gangs = t->jobs_n,
		                 .shapes = t->node_milli,
		                 .names = 16,
		                 .resources = 4,
		                 /* "trace/job-NNNNNNN-NNN", with its header less than 48 bytes */
		                 .name_bytes = (UINT64_C(1) << 20) + 48 * (pods + t->jobs_n + y->o->nodes),
		                 .command_ring_bytes = 1u << 20 };
	if (t->world)
		world_limits(t->world, &config.limits);
	y->ledger_bytes = core_ledger_bytes(&config.limits, &what);
	y->ledger = y->ledger_bytes ? core_ledger_new(y->ledger_bytes) : NULL;
	y->core = y->ledger ? core_new(&config, y->ledger) : NULL;
	if (!y->core) {
		fprintf(stderr, "muster-bench: trace: no core for %u nodes and %u jobs%s%s\n", y->o->nodes,
		        t->jobs_n, what ? ": " : "", what ? what : "");
		return false;
	}
	y->live = must_array(t->jobs_n, sizeof(*y->live));
	y->job_of = must_array(t->jobs_n, sizeof(*y->job_of));
	y->waiting = must_array(t->jobs_n, sizeof(*y->waiting));
	y->free_gangs = must_array(t->jobs_n, sizeof(*y->free_gangs));
	y->free_pods = must_array(config.limits.pods, sizeof(*y->free_pods));
	if (t->world)
		y->world =
			world_play_new(t->world, y->o->queues ? y->o->queues->of_user : NULL, EPOCH_S, tell, y);
	else
		y->shape_of = must_array(t->node_milli + 1u, sizeof(*y->shape_of));
	y->pods_n = t->world ? t->world->pods_n : 0;
	y->job_of_pod = must_array(config.limits.pods, sizeof(*y->job_of_pod));
	if (y->o->reclaim)
		y->reclaim = trace_reclaim_new(&config.limits, y->o->reclaim);
	return true;
}

static void player_free(struct player *y)
{
	core_free(y->core);
	core_ledger_free(y->ledger, y->ledger_bytes);
	world_play_free(y->world);
	for (uint32_t i = 0; y->live && i < y->t->jobs_n; i++)
		free(y->live[i].members);
	free(y->live);
	free(y->job_of);
	free(y->waiting);
	free(y->ends);
	free(y->free_gangs);
	free(y->free_pods);
	free(y->shape_of);
	free(y->job_of_pod);
	free(y->binds);
	free(y->evicts);
	trace_reclaim_free(y->reclaim);
}

bool trace_play(struct play *p, const struct trace *t, const struct play_options *o)
{
	struct player y = { .t = t, .o = o, .p = p };
	struct core_promises totals;
	bool ok;

	*p = (struct play){ .jobs = must_array(t->jobs_n, sizeof(*p->jobs)) };
	for (uint32_t i = 0; i < t->jobs_n; i++)
		p->jobs[i] = (struct play_job){ .start_s = TRACE_NOT_STARTED, .told_s = TRACE_NOT_STARTED };
	ok = player_init(&y);
	if (ok) {
		step(&y, EVENT_BEGIN, NO_PARTS);
		tell_preemption(&y);
		if (y.world)
			world_tell_columns(y.world);
		tell_queues(&y);
		for (node_id node = 0; !y.world && node < o->nodes; node++)
			tell_node(&y, node);
		if (y.world)
			world_advance(y.world, 0);
		step(&y, EVENT_SYNCED, NO_PARTS);
		play_all(&y);
		ok = !y.failed;
		core_promises(y.core, &totals);
		p->moved_later = totals.later;
		sum_up(p, t, o->nodes);
	}
	player_free(&y);
	if (!ok)
		play_free(p);
	return ok;
}

void trace_recorded(struct play *p, const struct trace *t)
{
	*p = (struct play){ .jobs = must_array(t->jobs_n, sizeof(*p->jobs)) };
	for (uint32_t i = 0; i < t->jobs_n; i++)
		p->jobs[i] = t->world->was[t->jobs[i].place];
	sum_up(p, t, t->nodes);
}

void play_free(struct play *p)
{
	free(p->jobs);
	free(p->nodes);
	free(p->lost);
	*p = (struct play){ 0 };
}
