/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/live_verdict.h"

#include "core/classes/outsider.h"
#include "core/cycle/backfill.h"
#include "core/cycle/reclaim.h"
#include "core/filter/evaluate.h"
#include "core/index/views.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/reservation.h"
#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "core/timeline/timeline.h"
#include "core/world/what_if.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all pages have, and the rows. */
struct table {
	struct live_answer head; /* page.number 0: the slot is free */
	struct question_row *rows;
	uint64_t used; /* the last time that it was read, by verdicts.uses */
};

struct verdicts {
	struct table tables[VERDICTS_KEPT];
	uint64_t uses;
	uint32_t numbers; /* the last one */
};

struct verdicts *verdicts_new(void)
{
	return must_alloc(sizeof(struct verdicts));
}

static void table_drop(struct table *t)
{
	free(t->rows);
	t->rows = NULL;
	t->head.page.number = 0;
}

void verdicts_free(struct verdicts *v)
{
	for (uint32_t i = 0; v && i < VERDICTS_KEPT; i++)
		table_drop(&v->tables[i]);
	free(v);
}

/* One question while it is answered. */
struct judged {
	const struct core *world;
	const struct pod_counts *counts; /* the world's, or those beside it */
	class_id class;                  /* in these */
	const struct shape *shape;
	uint32_t gang; /* or, of a pod that is in none, an index that has no promise */
	int32_t priority;
	uint32_t run_s; /* 0: not known */
	const struct keeper_hooks *hooks;
	struct evaluation evaluation;
	bool behind;         /* the backfill reservation is not for it */
	bool outside;        /* no table has the pod */
	uint64_t steps_left; /* of pictures */
};

static pod_id pod_named(const struct core *c, const char *name)
{
	const size_t n = strlen(name);

	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];

		if (p->generation != 0 && p->name_bytes == n && memcmp(p->name, name, n) == 0)
			return id;
	}
	return ID_NONE;
}

/* The index of a row by node; ID_NONE: it has none. */
static uint32_t *rows_begin(const struct core *c, struct table *t)
{
	uint32_t *rows_of = must_array(c->nodes.limit, sizeof(*rows_of)), n = 0;

	t->rows = must_array(c->nodes.used + 1u, sizeof(*t->rows));
	for (node_id id = 0; id < c->nodes.limit; id++) {
		rows_of[id] = ID_NONE;
		if (id >= c->nodes.used || !node_present(&c->nodes.slots[id]))
			continue;
		t->rows[n] = (struct question_row){ .node = id,
			                                .generation = c->nodes.slots[id].generation,
			                                .promised = ID_NONE };
		rows_of[id] = n++;
	}
	t->head.page.nodes = n;
	return rows_of;
}

static void pods_count(const struct core *c, struct table *t, const uint32_t *rows_of)
{
	for (pod_id id = 0; id < c->pods.used; id++) {
		const struct pod *p = &c->pods.slots[id];
		const uint32_t at = p->generation != 0 && p->node != ID_NONE ? rows_of[p->node] : ID_NONE;

		if (at == ID_NONE)
			continue;
		t->rows[at].nominated += p->reservation == RESERVATION_NOMINATED;
		t->rows[at].binding += p->reservation != RESERVATION_NOMINATED && !reservation_is_bound(p);
	}
}

static void filters_fill(const struct judged *j, struct table *t)
{
	const struct evaluation *e = &j->evaluation;
	struct question_page *page = &t->head.page;

	page->absent_n = e->absent_n < RESOURCES_MAX ? e->absent_n : RESOURCES_MAX;
	for (uint32_t i = 0; i < page->absent_n; i++)
		page->absent[i] = e->absent[i].resource;
	for (uint32_t i = 0; i < page->nodes; i++) {
		struct question_row *r = &t->rows[i];

		r->whys = e->whys[r->node];
		if (r->whys & FILTER_BIT(FILTER_TAINT))
			r->taint = e->taint[r->node];
		if (r->whys & FILTER_BIT(FILTER_INSUFFICIENT))
			r->short_of = e->short_of[r->node];
		if (r->whys == 0)
			r->score = e->scores[r->node];
		if (r->whys == 0 && j->behind && !views_suffice_shape(&j->world->views, r->node, j->shape))
			r->held = HELD_RESERVED;
	}
}

/* Nodes with a place of a promise, and the first one by index: a pod on any other node leaves all
 * places free. */
static void places_mark(const struct core *c, struct table *t, const uint32_t *rows_of,
                        uint32_t gang, int64_t rank)
{
	const struct timeline *timeline = c->promises.timeline;

	for (uint32_t i = 0; i < promises_n(timeline); i++) {
		const struct promise *p = promise_at(timeline, i);

		if (p->ask.gang == gang || ask_rank(&p->ask) < rank)
			continue;
		for (uint32_t k = 0; k < p->places_n; k++) {
			const uint32_t at =
				p->places[k].node < c->nodes.limit ? rows_of[p->places[k].node] : ID_NONE;

			if (at != ID_NONE && t->rows[at].promised == ID_NONE)
				t->rows[at].promised = p->ask.gang;
		}
	}
}

static bool ends(const struct judged *j)
{
	return j->hooks && j->hooks->ends && j->hooks->ends(j->hooks->context);
}

/* Promises hold with the places that are kept with them, so only a pod on one of these can break
 * one. */
static void promises_fill(struct judged *j, struct table *t, const uint32_t *rows_of)
{
	const struct core *c = j->world;
	struct timeline *timeline = c->promises.timeline;
	struct timeline_ask ask = { .gang = j->gang,
		                        .priority = j->priority,
		                        .length_ns =
		                            j->run_s > 0 ? j->run_s * UINT64_C(1000000000) : TIME_NEVER };
	const struct promise *own;
	uint64_t steps;

	if (!timeline || j->gang == ID_NONE || promises_n(timeline) == 0)
		return;
	own = promise_of(timeline, ask.gang);
	ask.firm = own ? own->ask.firm : !j->outside && reclaim_is_firm(c, &ask);
	places_mark(c, t, rows_of, ask.gang, ask_rank(&ask));
	steps = (uint64_t)promises_n(timeline) * c->nodes.used;
	for (uint32_t i = 0; i < t->head.page.nodes; i++) {
		struct question_row *r = &t->rows[i];

		if (r->promised == ID_NONE || r->whys != 0 || r->held != HELD_NONE)
			continue;
		if (steps > j->steps_left || ends(j)) {
			r->held = HELD_UNKNOWN;
			j->steps_left = 0;
			continue;
		}
		j->steps_left -= steps;
		if (!promises_would_hold(timeline, &ask, r->node, j->shape, c->now_ns))
			r->held = HELD_PROMISED;
	}
}

/* What holds for the pod as a whole. */
static void beside_fill(const struct judged *j, struct live_answer *out)
{
	const struct core *c = j->world;
	const uint32_t owner = c->backfill.gang;
	const pod_id lone = gang_lone_pod(&c->gangs, owner);
	struct reason r;

	if (j->gang == ID_NONE)
		return;
	out->queue_waits = !j->outside && core_share_reason(c, j->gang, &r);
	if (!j->behind)
		return;
	out->reserved_gang = owner;
	if (!gang_is_group(&c->gangs, owner) && lone < c->pods.used)
		snprintf(out->text, sizeof(out->text), "%.*s", (int)c->pods.slots[lone].name_bytes,
		         c->pods.slots[lone].name);
}

static void table_fill(struct judged *j, struct table *t)
{
	uint32_t *rows_of = rows_begin(j->world, t);

	evaluation_init(&j->evaluation, &j->world->config.limits, false);
	evaluate(j->counts, j->class, j->world->config.score, &j->evaluation);
	filters_fill(j, t);
	promises_fill(j, t, rows_of);
	pods_count(j->world, t, rows_of);
	beside_fill(j, &t->head);
	evaluation_free(&j->evaluation);
	free(rows_of);
}

/* False: *out has why not. */
static bool pod_waits(const struct pod *p, struct live_answer *out)
{
	if (p->node != ID_NONE) {
		out->verdict = QUESTION_PLACED;
		out->page.node = p->node;
		out->page.placed = reservation_is_bound(p)                   ? PLACED_BOUND
		                   : p->reservation == RESERVATION_NOMINATED ? PLACED_NOMINATED
		                                                             : PLACED_BINDING;
		return false;
	}
	if (!reservation_is_pending(p))
		return answer_refuse(out, "the pod is bound to a node that is gone"), false;
	if (p->flags & POD_REFUSED)
		return answer_refuse(out, "muster does not place the pod; its PodScheduled condition has "
		                          "the reason"),
		       false;
	return true;
}

/* A free slot, or the one that was not read for the longest time. */
static struct table *table_free(struct verdicts *v)
{
	struct table *oldest = &v->tables[0];

	for (uint32_t i = 0; i < VERDICTS_KEPT; i++) {
		if (v->tables[i].head.page.number == 0)
			return &v->tables[i];
		if (v->tables[i].used < oldest->used)
			oldest = &v->tables[i];
	}
	table_drop(oldest);
	return oldest;
}

/* A pod of the cluster.  False: *out has why not. */
static bool pod_find(struct judged *j, const char *name, struct live_answer *out)
{
	const struct core *c = j->world;
	const pod_id id = pod_named(c, name);
	const struct pod *p;

	if (id == ID_NONE)
		return answer_refuse(out, "there is no pod %s", name), false;
	p = &c->pods.slots[id];
	if (!pod_waits(p, out))
		return false;
	j->counts = &c->pod_counts;
	j->class = p->class;
	j->shape = class_shape(j->counts, p->class);
	j->gang = p->gang;
	j->priority = p->gang != ID_NONE ? precedence_priority(c, &c->gangs.slots[p->gang]) : 0;
	j->run_s = c->promises.timeline ? timeline_run_s(c->promises.timeline, id) : 0;
	j->behind = p->gang != ID_NONE && backfill_is_behind(c, p->gang);
	return true;
}

static const char *records_read(const struct live_pod *p, const struct limits *limits,
                                struct shape_record *shape, struct pod_record *pod)
{
	const struct record *first = (const void *)p->records, *second;
	const char *fault;

	if (p->version != QUESTION_VERSION)
		return "another version of questions";
	if (p->shape_bytes < sizeof(*first) || p->pod_bytes < sizeof(*first) ||
	    p->shape_bytes % 8 != 0 || p->shape_bytes > QUESTION_RECORDS ||
	    p->pod_bytes > QUESTION_RECORDS - p->shape_bytes)
		return "the records of a pod have a wrong length";
	second = (const void *)(p->records + p->shape_bytes);
	if (first->kind != EVENT_SHAPE || second->kind != EVENT_POD || first->bytes != p->shape_bytes ||
	    second->bytes != p->pod_bytes)
		return "these are no records of a pod";
	fault = record_check(first);
	if (!fault)
		fault = record_check(second);
	if (!fault)
		fault = record_shape(first, limits, shape);
	return fault ? fault : record_pod(second, limits, pod);
}

const char *live_pod_fault(const struct live_pod *p, const struct limits *limits)
{
	struct shape_record shape;
	struct pod_record pod;
	const char *fault = records_read(p, limits, &shape, &pod);

	if (!fault && (shape.body->shape != 0 || pod.body->shape != 0 || pod.body->pod != 0))
		return "a pod of no table has ids";
	if (!fault && (pod.body->node != ID_NONE || pod.body->gang != ID_NONE))
		return "a pod of no table has a node or a gang";
	return fault;
}

/* The last one in the queue of its priority. */
static bool outsider_is_behind(const struct core *c, int32_t priority)
{
	const uint32_t owner = c->backfill.gang;
	struct gang_key key;

	if (owner == ID_NONE)
		return false;
	key = gang_key(&c->gangs.slots[owner]);
	return key.band < BAND_NORMAL || (key.band == BAND_NORMAL && key.priority >= priority);
}

/* An index that has no promise: one of as many as there are promises and one. */
static uint32_t gang_unpromised(const struct core *c)
{
	const struct limits *l = &c->config.limits;
	uint32_t index = 0;

	while (c->promises.timeline && index < l->gangs + l->pods &&
	       promise_of(c->promises.timeline, index))
		index++;
	return index < l->gangs + l->pods ? index : ID_NONE;
}

/* A pod of no table, checked by live_pod_fault().  False: *out has why not. */
static bool outsider_enter(struct judged *j, const struct live_pod *p, struct outsider *o,
                           struct live_answer *out)
{
	const struct core *c = j->world;
	struct shape_record shape;
	struct pod_record pod;
	const char *fault = records_read(p, &c->config.limits, &shape, &pod);

	if (!fault && p->epoch != c->epoch)
		fault = "muster-frontend has connected again since it read the pod; ask again";
	if (!fault)
		fault = outsider_make(&c->pod_counts, &c->config.limits, &shape, &pod, o);
	if (fault)
		return answer_refuse(out, "%s", fault), false;
	j->outside = true;
	j->counts = &o->counts;
	j->class = o->class;
	j->shape = outsider_shape(o);
	j->gang = gang_unpromised(c);
	j->priority = pod.body->priority;
	if (c->promises.timeline)
		j->run_s = timeline_length_s(c->promises.timeline, pod.body->run_s, pod.body->expected_s);
	j->behind = outsider_is_behind(c, j->priority);
	return true;
}

/* NULL: *out has why not. */
static struct table *table_make(struct verdicts *v, const struct verdict_of *of,
                                const struct live_question *q, struct live_answer *out)
{
	struct judged j = { .world = of->world, .hooks = of->hooks, .steps_left = VERDICT_STEPS };
	struct outsider o;
	struct table *t;

	if (!of->world->synced)
		return answer_refuse(out, "muster-frontend is not there, or reads its lists"), NULL;
	if (of->pod ? !outsider_enter(&j, of->pod, &o, out) : !pod_find(&j, q->pod, out))
		return NULL;
	t = table_free(v);
	t->head = *out;
	t->head.verdict = QUESTION_NODES;
	t->head.position = of->position;
	table_fill(&j, t);
	if (j.outside)
		outsider_free(&o);
	v->numbers = v->numbers == UINT32_MAX ? 1 : v->numbers + 1;
	t->head.page.number = v->numbers;
	return t;
}

static struct table *table_of(struct verdicts *v, uint32_t number)
{
	for (uint32_t i = 0; i < VERDICTS_KEPT; i++)
		if (v->tables[i].head.page.number == number)
			return &v->tables[i];
	return NULL;
}

void verdicts_answer(struct verdicts *v, const struct verdict_of *of, const struct live_question *q,
                     struct live_answer *out)
{
	struct question_page *page = &out->page;
	struct table *t;

	*out = (struct live_answer){ .version = QUESTION_VERSION,
		                         .reserved_gang = ID_NONE,
		                         .like = ID_NONE };
	t = q->number == 0 ? table_make(v, of, q, out) : table_of(v, q->number);
	if (q->number != 0 && !t)
		answer_refuse(out, "more than %u such answers are read at once; ask again", VERDICTS_KEPT);
	if (!t)
		return;
	*out = t->head;
	t->used = ++v->uses;
	page->from = q->from < page->nodes ? q->from : page->nodes;
	page->rows_n =
		page->nodes - page->from < QUESTION_ROWS ? page->nodes - page->from : QUESTION_ROWS;
	memcpy(page->rows, t->rows + page->from, page->rows_n * sizeof(*page->rows));
	if (page->from + page->rows_n == page->nodes)
		table_drop(t);
}
