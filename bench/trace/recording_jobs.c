/* SPDX-License-Identifier: Apache-2.0 */
/* From the history of a recording to jobs and their world.
 *
 *   a pod that was seen to wait      a job, alone or with its gang
 *   ... after its gang had started   a job of its own: it replaces a member, or is one more
 *   every other pod on a node        a pod of the world, which stays where it was
 *
 * A gang is submitted once as many members as its quorum are there, and ends with its last one. */
#include "bench/trace/recording.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS "nvidia.com/gpu"
#define PODS_MOST (1u << 22)

/* A job before it has its place. */
struct draft {
	struct trace_job job;
	struct play_job was;
	uint64_t created_ns;
	uint32_t place;
	bool ran, runs; /* some member was bound; one is at the end */
	bool has_rules;
};

struct drafts {
	struct history *h;
	struct draft *at;
	uint32_t n;
	size_t room;
};

/* True if the gang starts with pods that were seen to wait. */
static bool is_seen(const struct past_gang *g)
{
	return g->stays_n < (g->quorum > 0 ? g->quorum : 1);
}

/* True if the pod waited for its gang's start, or does so still. */
static bool is_member(const struct history *h, const struct past_pod *p)
{
	return p->gang != KEYS_NONE && is_seen(&h->gangs[p->gang]) &&
	       p->ready_s <= h->gangs[p->gang].start_s;
}

/* True if it did not end before. */
static bool is_of_start(const struct past_gang *g, const struct past_pod *p)
{
	return g->start_s == NOT_YET ? p->end_s == NOT_YET : p->end_s >= g->start_s;
}

/* The set of denied nodes, without the zeros at its end. */
static uint32_t set_of(struct history *h, const struct past_shape *p, bool *has_rules)
{
	uint32_t n = p->words_n, set;

	while (n > 0 && p->denied[n - 1] == 0)
		n--;
	if (n == 0)
		return KEYS_NONE;
	set = keys_take(&h->world->denied, p->denied, n * sizeof(*p->denied));
	*has_rules = *has_rules || set >= WORLD_SETS_MOST;
	return set < WORLD_SETS_MOST ? set : KEYS_NONE;
}

/* The shape of a pod in the world. */
static uint32_t shape_of(struct history *h, uint32_t past)
{
	const struct past_shape *p = &h->shapes[past];
	struct world *w = h->world;
	bool has_rules = p->has_rules;
	const uint32_t key[] = { p->requests, set_of(h, p, &has_rules), has_rules };
	const uint32_t shape = keys_take(&h->shape_keys, key, sizeof(key));
	const struct world_shape *requests = &h->requests[p->requests];
	struct world_shape *out;

	if (shape < w->shapes_n)
		return shape;
	w->shapes = must_extend(w->shapes, w->shapes_n, shape + 1u, sizeof(*w->shapes));
	w->shapes_n++;
	out = &w->shapes[shape];
	*out = (struct world_shape){ .body = requests->body, .set = key[1], .has_rules = has_rules };
	out->requests = must_array(requests->body.amounts_n + 1u, sizeof(*out->requests));
	memcpy(out->requests, requests->requests, requests->body.amounts_n * sizeof(*out->requests));
	return shape;
}

static void shape_add(struct history *h, struct draft *d, const struct past_pod *p, int64_t *places)
{
	struct world *w = h->world;
	const uint32_t shape = shape_of(h, p->shape);
	const struct world_shape *s = &w->shapes[shape];
	const int64_t milli = world_milli(w, s->requests, s->body.amounts_n);

	w->member_shapes[w->members_n++] = shape;
	d->job.members++;
	*places = *places < INT64_MAX - milli ? *places + milli : INT64_MAX;
	d->has_rules = d->has_rules || s->has_rules;
}

/* Limits and ends of one more member. */
static void limits_add(struct draft *d, const struct past_pod *p, bool first)
{
	struct trace_job *j = &d->job;

	if (first) {
		j->limit_s = 0;
		j->priority = p->priority;
		j->expected_s = p->expected_s;
	}
	j->stated_s = p->stated_s > j->stated_s ? p->stated_s : j->stated_s;
	j->limit_s = p->run_s == 0 ? TRACE_NO_LIMIT : p->run_s > j->limit_s ? p->run_s : j->limit_s;
	j->expected_s = p->expected_s == 0 || j->expected_s == 0 ? 0
	                : p->expected_s > j->expected_s          ? p->expected_s
	                                                         : j->expected_s;
	j->priority = p->priority > j->priority ? p->priority : j->priority;
	j->lasts = j->lasts || p->lasts;
	if (first || p->created_ns < d->created_ns)
		d->created_ns = p->created_ns;
	if (p->bound_s == NOT_YET)
		return;
	d->ran = true;
	d->runs = d->runs || p->end_s == NOT_YET;
	if (p->end_s != NOT_YET && p->end_s > d->was.end_s)
		d->was.end_s = p->end_s;
}

/* How long it runs: as it was seen to; an end that was not seen is at the limit, else beyond that
 * of the recording. */
static void job_close(struct drafts *ds, struct draft *d)
{
	struct history *h = ds->h;
	struct trace_job *j = &d->job;
	const bool started = d->was.start_s != NOT_YET;
	const uint64_t beyond_s = h->end_s - j->submit_s + 1;

	if (started && d->ran && !d->runs) {
		j->run_s = d->was.end_s > d->was.start_s ? d->was.end_s - d->was.start_s : 0;
	} else {
		h->world->unfinished++;
		j->run_s = j->limit_s != TRACE_NO_LIMIT    ? j->limit_s
		           : !started && j->expected_s > 0 ? j->expected_s
		                                           : beyond_s;
		d->was.end_s = h->end_s;
	}
	h->world->with_rules += d->has_rules;
	ds->at = must_reach(ds->at, &ds->room, ds->n, 1024, sizeof(*ds->at));
	d->place = ds->n;
	ds->at[ds->n++] = *d;
}

static void size_set(struct trace_job *j, int64_t places)
{
	const int64_t each = j->members > 0 ? places / j->members : 0;

	j->milli = each < UINT32_MAX ? (uint32_t)each : UINT32_MAX;
}

static void lone_add(struct drafts *ds, const struct past_pod *p)
{
	struct draft d = {
		.job = { .submit_s = p->ready_s, .user = p->user, .shapes_first = ds->h->world->members_n },
		.was = { .start_s = p->bound_s }
	};
	int64_t places = 0;

	if (p->user == KEYS_NONE || (p->bound_s == NOT_YET && p->end_s != NOT_YET)) {
		ds->h->trace->unusable++; /* without a queue, or gone before it started */
		return;
	}
	limits_add(&d, p, true);
	shape_add(ds->h, &d, p, &places);
	size_set(&d.job, places);
	job_close(ds, &d);
}

static void gang_add(struct drafts *ds, const struct past_gang *g)
{
	struct history *h = ds->h;
	struct draft d = {
		.job = { .submit_s = g->ready_s, .user = KEYS_NONE, .shapes_first = h->world->members_n },
		.was = { .start_s = g->start_s },
		.has_rules = g->has_rules
	};
	int64_t places = 0;
	bool any = false;

	for (uint32_t i = g->first; i != KEYS_NONE; i = h->pods[i].next) {
		const struct past_pod *p = &h->pods[i];

		if (p->ready_s == NOT_YET || !is_member(h, p))
			continue;
		any = true;
		if (g->ready_s == NOT_YET || !is_of_start(g, p) || p->user == KEYS_NONE)
			continue;
		limits_add(&d, p, d.job.members == 0);
		d.job.user = p->user;
		shape_add(h, &d, p, &places);
	}
	if (d.job.members == 0) {
		h->trace->unusable += any;
		return;
	}
	d.job.quorum = g->quorum > g->stays_n ? g->quorum - g->stays_n : 1;
	d.job.quorum = d.job.quorum < d.job.members ? d.job.quorum : d.job.members;
	if (g->has_priority)
		d.job.priority = g->priority;
	if (g->created_ns > 0)
		d.created_ns = g->created_ns;
	size_set(&d.job, places);
	job_close(ds, &d);
}

static int by_age(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;

	if (x->job.submit_s != y->job.submit_s)
		return x->job.submit_s < y->job.submit_s ? -1 : 1;
	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static void jobs_place(struct drafts *ds)
{
	struct trace *t = ds->h->trace;
	struct world *w = ds->h->world;

	if (ds->n > 0)
		qsort(ds->at, ds->n, sizeof(*ds->at), by_age);
	t->jobs = must_array(ds->n + 1u, sizeof(*t->jobs));
	w->was = must_array(ds->n + 1u, sizeof(*w->was));
	for (; t->jobs_n < ds->n; t->jobs_n++) {
		t->jobs[t->jobs_n] = ds->at[t->jobs_n].job;
		t->jobs[t->jobs_n].number = t->jobs_n + UINT64_C(1);
		t->jobs[t->jobs_n].place = t->jobs_n;
		w->was[t->jobs_n] = ds->at[t->jobs_n].was;
		w->was[t->jobs_n].told_s = TRACE_NOT_STARTED;
	}
}

/* What is left at a time of a limit that counts from when the pod was bound. */
static uint32_t left_of(const struct history *h, const struct past_pod *p, uint32_t limit_s)
{
	const uint64_t at_s = h->base_s + p->bound_s;
	const uint64_t ran_s = p->scheduled_s > 0 && p->scheduled_s < at_s ? at_s - p->scheduled_s : 0;

	if (limit_s == 0)
		return 0;
	return ran_s < limit_s ? limit_s - (uint32_t)ran_s : 1;
}

static void stay_add(struct history *h, const struct past_pod *p)
{
	struct world *w = h->world;
	const uint32_t shape = shape_of(h, p->shape);
	const struct world_shape *s = &w->shapes[shape];
	const uint64_t to_s = p->end_s < h->end_s ? p->end_s : h->end_s;

	if (p->end_s <= p->bound_s)
		return;
	w->pods[w->pods_n] = (struct world_pod){ .shape = shape,
		                                     .node = p->node,
		                                     .user = p->user,
		                                     .priority = p->priority,
		                                     .is_ours = p->is_ours,
		                                     .lasts = p->lasts,
		                                     .from_s = p->bound_s,
		                                     .to_s = p->end_s,
		                                     .left_s = left_of(h, p, p->run_s),
		                                     .expected_left_s = left_of(h, p, p->expected_s) };
	w->pods_places_s += (double)world_milli(w, s->requests, s->body.amounts_n) *
	                    (double)(to_s > p->bound_s ? to_s - p->bound_s : 0);
	world_step_add(w, p->bound_s, WORLD_POD, w->pods_n);
	if (p->end_s != NOT_YET)
		world_step_add(w, p->end_s, WORLD_POD_ENDS, w->pods_n);
	w->pods_n++;
}

/* GPUs if a node has some. */
static void measure_choose(struct world *w)
{
	w->measured = RESOURCE_CPU;
	for (uint32_t c = WORLD_COLUMNS_FIRST; c < w->columns_n; c++)
		for (uint32_t i = 0; strcmp(w->columns[c], GPUS) == 0 && i < w->kinds_n; i++)
			for (uint32_t k = 0; k < w->kinds[i].amounts_n; k++)
				if (w->kinds[i].amounts[k].resource == c && w->kinds[i].amounts[k].value > 0)
					w->measured = c;
}

/* The kind that most nodes had first, and the first node of it. */
static void kind_choose(struct world *w)
{
	uint32_t *counts = must_array(w->kinds_n + 1u, sizeof(*counts));
	bool *seen = must_array(w->nodes.n + 1u, sizeof(*seen));

	for (uint32_t i = 0; i < w->node_states_n; i++) {
		const struct world_node *n = &w->node_states[i];

		if (seen[n->node] || !n->is_there)
			continue;
		seen[n->node] = true;
		if (++counts[n->kind] > w->kind_added_n) {
			w->kind_added_n = counts[n->kind];
			w->kind_added = n->kind;
		}
	}
	for (uint32_t i = w->node_states_n; i-- > 0;)
		if (w->node_states[i].is_there && w->node_states[i].kind == w->kind_added)
			w->node_added = w->node_states[i].node;
	free(counts);
	free(seen);
}

static struct world_queue queue_of(const struct history *h, uint32_t queue, uint32_t index,
                                   uint32_t parent)
{
	const struct past_queue *p = &h->queues[queue];
	struct world_queue out = { .body = p->body,
		                       .name = must_copy(keys_text(&h->queue_names, queue)) };

	out.body.queue = index;
	out.body.parent = parent;
	out.body.name_bytes = (uint32_t)strlen(out.name);
	out.amounts = must_array(p->body.amounts_n + 1u, sizeof(*out.amounts));
	memcpy(out.amounts, p->amounts, p->body.amounts_n * sizeof(*out.amounts));
	return out;
}

/* Those that are there at the end, parents first.  False and a message: they are no tree. */
static bool queues_place(struct history *h, const char *path)
{
	struct world *w = h->world;
	uint32_t *index = must_array(h->queue_names.n + 1u, sizeof(*index)), there = 0;
	bool more = true;

	w->queues = must_array(h->queue_names.n + 1u, sizeof(*w->queues));
	memset(index, 0xff, h->queue_names.n * sizeof(*index));
	for (uint32_t i = 0; i < h->queue_names.n; i++)
		there += h->queues[i].is_there;
	for (uint32_t i = 0; i < h->queue_names.n; i++)
		if (h->queues[i].is_there && h->queues[i].body.queue == QUEUE_ROOT) {
			index[i] = 0;
			w->queues[w->queues_n++] = queue_of(h, i, 0, QUEUE_ROOT);
			break;
		}
	while (more) {
		more = false;
		for (uint32_t i = 0; i < h->queue_names.n; i++) {
			const uint32_t parent = h->queues[i].parent;

			if (!h->queues[i].is_there || index[i] != KEYS_NONE || parent == KEYS_NONE ||
			    index[parent] == KEYS_NONE)
				continue;
			index[i] = w->queues_n;
			w->queues[w->queues_n] = queue_of(h, i, w->queues_n, index[parent]);
			w->queues_n++;
			more = true;
		}
	}
	w->queue_of_user = must_array(h->users.n + 1u, sizeof(*w->queue_of_user));
	for (uint32_t i = 0; i < h->users.n; i++) {
		const uint32_t queue = keys_find(&h->queue_names, h->users.at[i].bytes, h->users.at[i].n);

		w->queue_of_user[i] = queue != KEYS_NONE ? index[queue] : KEYS_NONE;
	}
	free(index);
	if (w->queues_n == there)
		return true;
	fprintf(stderr, "muster-bench: %s: its queues are no tree\n", path);
	return false;
}

bool history_jobs(struct history *h, const char *path)
{
	struct trace *t = h->trace;
	struct world *w = h->world;
	struct drafts ds = { .h = h };
	const uint32_t pods_n = h->pods_by_uid.n;

	if (pods_n > PODS_MOST) {
		fprintf(stderr, "muster-bench: %s: there are more than 4194304 pods\n", path);
		return false;
	}
	measure_choose(w);
	kind_choose(w);
	w->nodes_read_n = w->nodes.n;
	t->gpus = w->measured != RESOURCE_CPU;
	t->end_s = h->end_s;
	w->member_shapes = must_array(pods_n + 1u, sizeof(*w->member_shapes));
	w->pods = must_array(pods_n + 1u, sizeof(*w->pods));
	for (uint32_t i = 0; i < pods_n; i++) {
		const struct past_pod *p = &h->pods[i];

		if (p->ready_s == NOT_YET && p->bound_s != NOT_YET)
			stay_add(h, p);
		else if (p->ready_s != NOT_YET && !is_member(h, p))
			lone_add(&ds, p);
	}
	for (uint32_t i = 0; i < h->gangs_n; i++)
		gang_add(&ds, &h->gangs[i]);
	jobs_place(&ds);
	free(ds.at);
	trace_users_set(t, &h->users);
	world_finish(t);
	if (t->jobs_n == 0) {
		fprintf(stderr, "muster-bench: %s: there is no job in it\n", path);
		return false;
	}
	return !h->has_queues || queues_place(h, path);
}
