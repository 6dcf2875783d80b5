/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/promises.h"

#include "core/cycle/backfill.h"
#include "core/cycle/reclaim.h"
#include "core/cycle/turns.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/queued.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <assert.h>
#include <stdlib.h>

/* Of a look in each cycle, about 10 ns each; a picture may exceed it. */
#define LOOK_STEPS UINT64_C(200000)

#define BEFORE_MOST 4096u /* promises of before: more than stand by a depth of some hundreds */

/* True if free amounts and the node's own rules alone decide where a pod of the class fits. */
static bool class_certain(const struct core *c, class_id class)
{
	const struct shape *s = class_shape(&c->pod_counts, class);

	return !class_links(&c->pod_counts, class) && s->body->ports_n == 0 && s->absent_n == 0 &&
	       s->volumes_n == 0 && s->body->devices == 0;
}

/* Adds members of the shape; false: there are too many shapes. */
static bool want_add(struct timeline_ask *ask, shape_id shape, uint32_t members)
{
	uint32_t k = 0;

	while (k < ask->wants_n && ask->wants[k].shape != shape)
		k++;
	if (k == PROMISE_SHAPES_MAX)
		return false;
	if (k == ask->wants_n) {
		ask->wants[ask->wants_n++].shape = shape;
		ask->wants[k].members = 0;
	}
	ask->wants[k].members += members;
	return true;
}

/* What the gang asks for: of one class the members that have to start together, else all that are
 * ready.  One that is partially bound precedes all priorities (decision 046). */
static void ask_find(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	struct timeline_ask *ask = &c->promises.ask;
	bool certain = !gang_has_levels(g) && !gang_asks_minimum(g) && g->retained == 0;
	uint64_t most_s = 0;
	uint32_t n = 0;

	*ask = (struct timeline_ask){ .gang = index,
		                          .queue = c->turns.shares ? queued_id(c, queued_gang(c, index))
		                                                   : QUEUE_MISSING,
		                          .priority = precedence_priority(c, g) };
	for (pod_id id = g->first; n < g->counts[MEMBER_READY]; id = c->pods.slots[id].next) {
		const struct pod *p = &c->pods.slots[id];
		const uint32_t run_s = timeline_run_s(c->promises.timeline, id);

		if (p->readiness != MEMBER_READY)
			continue;
		n++;
		if (run_s == 0)
			ask->length_ns = TIME_NEVER;
		most_s = run_s > most_s ? run_s : most_s;
		certain = certain && class_certain(c, p->class);
		if (certain && (g->ready_class == CLASS_NONE || n <= c->need.total))
			certain = want_add(ask, p->shape, 1);
	}
	if (ask->length_ns != TIME_NEVER)
		ask->length_ns = most_s * NS_PER_S;
	ask->some_suffice = g->ready_class == CLASS_NONE && n > c->need.total;
	if (!certain)
		ask->wants_n = 0;
	ask->firm = promise_suits(c->promises.timeline, ask)
	                ? promise_of(c->promises.timeline, index)->ask.firm
	                : reclaim_is_firm(c, ask);
}

/* Gangs of lone pods have no row; each gang at most once, and of several pods the oldest counts. */
void promises_before(struct core *c, const struct event_promised *e)
{
	struct promising *s = &c->promises;
	const struct pod *p = &c->pods.slots[e->pod];
	uint32_t i = 0;

	if (p->generation != e->generation || e->generation == 0 || p->node != ID_NONE ||
	    p->gang == ID_NONE) /* its scheduler is none of ours any more */
		return;
	while (i < s->before_n && s->before[i].gang != p->gang)
		i++;
	if (i == BEFORE_MOST || (i < s->before_n && s->before[i].created_ns <= p->created_ns))
		return;
	s->before = must_reach(s->before, &s->before_room, i, 64, sizeof(*s->before));
	s->before_n += i == s->before_n;
	s->before[i] = (struct promise_before){ .gang = p->gang,
		                                    .generation = c->gangs.slots[p->gang].generation,
		                                    .at_ns = e->at_ns,
		                                    .created_ns = p->created_ns };
}

static int before_order(const void *a, const void *b)
{
	const struct promise_before *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return x->gang < y->gang ? -1 : x->gang > y->gang;
}

static void promises_restore(struct core *c)
{
	struct promising *s = &c->promises;

	qsort(s->before, s->before_n, sizeof(*s->before), before_order);
	for (uint32_t i = 0; i < s->before_n; i++) {
		struct gang *g = &c->gangs.slots[s->before[i].gang];

		if (g->generation == 0 || g->generation != s->before[i].generation ||
		    !gang_enough(g, MEMBER_READY))
			continue;
		gang_need_find(g, &c->need);
		gang_ready_class_find(&c->gangs, g);
		ask_find(c, s->before[i].gang);
		if (s->ask.wants_n > 0)
			promise_restore(s->timeline, &s->ask, s->before[i].at_ns, c->now_ns);
	}
	s->before_n = 0;
}

void promises_begin(struct core *c)
{
	struct timeline *t = c->promises.timeline;
	const bool unfinished = promises_look_unfinished(t);

	if (c->promises.before_n > 0)
		promises_restore(c);
	reclaim_rank_promises(c);
	if (!timeline_changed(t, c->now_ns))
		return;
	promises_look(t, c->config.look_steps > 0 ? c->config.look_steps : LOOK_STEPS, c->now_ns);
	if (unfinished && !promises_look_unfinished(t))
		nodes_note_freed(&c->nodes); /* for who was planned beside promises that moved since */
	for (uint32_t i = 0; i < promises_n(t); i++) {
		const struct promise *p = promise_at(t, i);

		if (p->at_ns <= c->now_ns && c->gangs.slots[p->ask.gang].queue == QUEUE_UNSCHEDULABLE)
			gang_requeue(c, p->ask.gang);
	}
}

bool promise_is_to_come(const struct core *c, const struct promise *p)
{
	return !p->nominated && !p->stale && c->gangs.slots[p->ask.gang].generation != 0;
}

bool promises_bar(struct core *c, uint32_t index)
{
	struct timeline *t = c->promises.timeline;
	const struct promise *own = promise_of(t, index);
	const uint64_t had = own ? own->serial + 1 : 0;
	bool may_start;

	ask_find(c, index);
	c->promises.asked = true;
	may_start = promises_may_start(t, &c->promises.ask, c->now_ns);
	own = promise_of(t, index);
	if (had > 0 && (!own || own->serial + 1 != had))
		nodes_note_freed(&c->nodes); /* for who waits behind what it was promised */
	return !may_start;
}

/* The places of the plan. */
static uint32_t places_find(struct core *c)
{
	const struct plan *plan = &c->plan;
	struct promising *s = &c->promises;
	uint32_t n = 0;

	if (s->places_room < plan->n) {
		s->places_room = plan->n * 2 + 64;
		s->places = must_grow(s->places, s->places_room * sizeof(*s->places));
	}
	for (uint32_t i = 0; i < plan->n; i++) {
		const shape_id shape = c->pods.slots[plan->pods[i]].shape;

		if (plan->nodes[i] == ID_NONE)
			continue;
		if (n > 0 && s->places[n - 1].node == plan->nodes[i] && s->places[n - 1].shape == shape)
			s->places[n - 1].members++;
		else
			s->places[n++] =
				(struct timeline_place){ .node = plan->nodes[i], .shape = shape, .members = 1 };
	}
	return n;
}

/* The next member of the shape without a node, from `i` on; plan->n: none. */
static uint32_t member_of(const struct core *c, shape_id shape, uint32_t i)
{
	const struct plan *plan = &c->plan;

	while (i < plan->n &&
	       (plan->nodes[i] != ID_NONE || c->pods.slots[plan->pods[i]].shape != shape))
		i++;
	return i;
}

static bool take_places(struct core *c, const struct timeline_place *places, uint32_t n)
{
	uint32_t member = 0; /* places come by shape, so that each shape passes all members once */

	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && places[i].shape != places[i - 1].shape)
			member = 0;
		for (uint32_t k = 0; k < places[i].members; k++) {
			member = member_of(c, places[i].shape, member);
			if (member == c->plan.n ||
			    !plan_take_on(&c->plan, &c->views, &c->gangs, member, places[i].node))
				return false;
		}
	}
	return true;
}

bool promises_accept(struct core *c)
{
	struct timeline *t = c->promises.timeline;
	const struct timeline_ask *ask = &c->promises.ask;
	const struct timeline_place *places;
	uint32_t n = places_find(c);

	assert(c->promises.asked);
	if (promises_hold(t, ask, c->promises.places, n, c->now_ns))
		return true;
	c->promises.late = promises_late(t);
	undo_all(&c->plan, &c->views, &c->gangs);
	for (int kept = 0; kept < 2 && ask->wants_n > 0; kept++) {
		n = promises_places(t, ask, kept, c->now_ns, &places);
		if (n > 0 && take_places(c, places, n) &&
		    promises_hold(t, ask, c->promises.places, places_find(c), c->now_ns))
			return true;
		undo_all(&c->plan, &c->views, &c->gangs);
	}
	return false;
}

bool promises_accept_from(struct core *c, uint64_t start_ns)
{
	struct promising *s = &c->promises;
	const uint32_t n = places_find(c);

	assert(s->asked);
	return promises_hold_from(s->timeline, &s->ask, s->places, n, start_ns, c->now_ns);
}

void promises_gang_tried(struct core *c, uint32_t index, enum wait_reason why, uint32_t had)
{
	struct promising *s = &c->promises;
	const bool placed = gang_have(&c->gangs.slots[index]) > had;

	if (placed && s->asked)
		promises_started(s->timeline, &s->ask, had == 0, c->now_ns);
	else if (!waits_for_capacity(why) && promise_drop(s->timeline, index, why == WAIT_QUEUE))
		nodes_note_freed(&c->nodes);
	if (waits_for_capacity(why) && !placed && s->asked && s->ask.wants_n > 0 &&
	    !nomination_of(c, index) && !backfill_is_behind(c, index))
		promise_make(s->timeline, &s->ask, true, c->now_ns);
	s->asked = false;
}

void promises_show(struct core *c, uint32_t index, struct reason *reason)
{
	const struct promise *p = promise_of(c->promises.timeline, index);

	if (p)
		promise_show(c->promises.timeline, p, &reason->promised);
	if (p && !p->ask.firm && reclaim_is_on(c))
		reason->promised.flags |= PROMISE_BORROWS;
	promise_mark_told(c->promises.timeline, index);
}

void promises_reason(struct core *c, bool barred, struct reason *r)
{
	struct promising *s = &c->promises;
	const uint32_t gang = barred ? promises_barred_by(s->timeline, &s->ask, c->now_ns) : s->late;

	r->promised_away = 1;
	if (gang == ID_NONE)
		return;
	r->retained_gang = gang;
	r->retained_generation = c->gangs.slots[gang].generation;
}

/* A gang that its queue refuses now is to be told so, and loses its promise. */
static void queues_ask(struct core *c)
{
	struct timeline *t = c->promises.timeline;
	struct share_block block;

	c->turns.rose = false;
	for (uint32_t i = 0; i < promises_n(t); i++) {
		const uint32_t gang = promise_at(t, i)->ask.gang;

		if (c->gangs.slots[gang].queue == QUEUE_UNSCHEDULABLE && turns_blocked(c, gang, &block))
			gang_requeue(c, gang);
	}
}

void promises_end(struct core *c)
{
	const struct timeline_counts *n = promises_counts(c->promises.timeline);
	struct core_starts *out = &c->ledger.ledger->starts;
	const struct promise *p;
	bool ranked;

	if (c->turns.shares && c->turns.rose)
		queues_ask(c);
	ranked = reclaim_rank_promises(c);
	c->turns.edited = false;
	while ((p = promise_next_untold(c->promises.timeline)))
		refresh_defer(&c->refresh, p->ask.gang);
	c->promises.due_ns = ranked ? c->now_ns : timeline_due_ns(c->promises.timeline);
	if (c->promises.due_ns <= c->now_ns) /* its gang can't start, for another reason than room */
		c->promises.due_ns = c->now_ns + REFRESH_NS;
	stat_set(&out->standing, promises_n(c->promises.timeline));
	stat_set(&out->made, n->made);
	stat_set(&out->lost, n->lost);
	stat_set(&out->earlier, n->earlier);
	for (uint32_t i = 0; i < MOVES; i++)
		stat_set(&out->later[i], n->later[i]);
	for (uint32_t i = 0; i < PROMISE_ERRORS; i++)
		stat_set(&out->errors[i], n->errors[i]);
	stat_set(&out->late_s, n->late_s);
	stat_set(&out->early_s, n->early_s);
	stat_set(&out->backfilled, n->backfilled);
	for (uint32_t i = 0; i < OVERRUNS; i++)
		stat_set(&out->overruns[i], n->overruns[i]);
}

void promises_clear(struct core *c)
{
	timeline_clear(c->promises.timeline, c->now_ns);
	c->promises.due_ns = TIME_NEVER;
	c->promises.before_n = 0;
}

void promises_tick(struct core *c)
{
	c->promises.due_ns = TIME_NEVER; /* until the cycle that follows */
	nodes_note_freed(&c->nodes);
}
