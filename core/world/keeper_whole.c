/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/keeper_whole.h"

#include "core/cycle/backfill.h"
#include "core/cycle/promises.h"
#include "core/cycle/queues.h"
#include "core/lifecycle/state.h"
#include "core/share/share.h"

#include <string.h>

static struct record *record_begin(struct record *r, enum record_kind kind, size_t body)
{
	memset(r, 0, sizeof(*r) + body);
	*r = (struct record){ .bytes = (uint32_t)(sizeof(*r) + body), .kind = (uint16_t)kind };
	return r;
}

/* What the queue of that number used before, at most a step of its time ago. */
static int history_put(struct kept *k, const struct core *world, uint32_t number, struct record *r)
{
	const struct turns *t = &world->turns;
	struct event_queue_past *e = (void *)(r + 1);
	struct queue_past *amounts = (void *)(e + 1);
	uint32_t n = 0;

	record_begin(r, EVENT_QUEUE_PAST, sizeof(*e) + RESOURCES_MAX * sizeof(*amounts));
	for (uint32_t i = 0; i < world->nodes.columns && i < RESOURCES_MAX; i++) {
		const wide past = shares_history(t->shares, number, i);

		if (past <= 0 || past / QUEUE_PAST_ONE > INT64_MAX)
			continue;
		amounts[n++] = (struct queue_past){ .resource = i,
			                                .part = (uint32_t)(past % QUEUE_PAST_ONE),
			                                .value = (int64_t)(past / QUEUE_PAST_ONE) };
	}
	*e = (struct event_queue_past){ .queue = t->set->about[number].id,
		                            .amounts_n = n,
		                            .at_s = world->now_ns / 1000000000 };
	r->bytes = (uint32_t)(sizeof(*r) + sizeof(*e) + n * sizeof(*amounts));
	return kept_apply(k, world, r);
}

static int histories_put(struct kept *k, const struct core *world, struct record *r)
{
	const struct turns *t = &world->turns;
	int rc = 0;

	if (!t->terms || !t->shares || !t->set || !shares_has_history(t->shares))
		return 0;
	for (uint32_t number = 0; rc == 0 && number < t->set->set.n; number++)
		rc = history_put(k, world, number, r);
	return rc;
}

static int promises_put(struct kept *k, const struct core *world, struct record *r)
{
	const struct timeline *timeline = world->promises.timeline;
	struct event_promised *e = (void *)(r + 1);
	int rc = 0;

	for (uint32_t i = 0; timeline && rc == 0 && i < promises_n(timeline); i++) {
		const struct promise *p = promise_at(timeline, i);
		pod_id pod;

		if (!promise_is_to_come(world, p))
			continue;
		pod = world->gangs.slots[p->ask.gang].first;
		while (pod != ID_NONE && world->pods.slots[pod].node != ID_NONE)
			pod = world->pods.slots[pod].next;
		if (pod == ID_NONE)
			continue;
		record_begin(r, EVENT_PROMISED, sizeof(*e));
		*e = (struct event_promised){ .pod = pod,
			                          .generation = world->pods.slots[pod].generation,
			                          .at_ns = p->at_ns };
		rc = kept_apply(k, world, r);
	}
	return rc;
}

int whole_before(struct kept *k, const struct core *world, struct record *scratch)
{
	const int rc = histories_put(k, world, scratch);

	k->core->tickets.terms = world->tickets.terms; /* without tickets */
	return rc < 0 ? rc : promises_put(k, world, scratch);
}

/* What the world has tried waits as it does there.  What changed since is planned, before or after
 * the new gang, as in the loop. */
static void tried_mark(struct core *c, const struct core *world)
{
	uint32_t index, next;

	for (index = queue_first(&c->queue.active); index != ID_NONE; index = next) {
		const struct gang *there = &world->gangs.slots[index];
		struct gang *g = &c->gangs.slots[index];

		next = queue_next(&c->queue.active, index);
		if (there->generation != g->generation || there->queue != QUEUE_UNSCHEDULABLE)
			continue;
		squeue_remove(&c->queue, index);
		g->promoted = there->promoted;
		gang_rekey(&c->gangs, g);
		g->hint_kind = CLASS_NONE;
		g->freed_version = c->nodes.freed_version;
		g->refresh = c->refresh.round;
		squeue_add_unschedulable(&c->queue, &c->views, index);
	}
}

/* The owner alone has waited for long enough in this core, so the tick finds no other one.  The
 * reserved nodes are those of the world: which ones are kept whole follows from earlier ticks. */
static void reservation_make(struct core *c, const struct core *world)
{
	const uint32_t owner = world->backfill.gang;
	const struct views *there = &world->views;
	const struct hold *hold = &c->views.hold;
	class_id classes[HOLD_CLASSES_MAX];
	struct gang *g;

	if (owner == ID_NONE || c->gangs.slots[owner].queue != QUEUE_UNSCHEDULABLE)
		return;
	g = &c->gangs.slots[owner];
	g->waiting_since_ns = world->gangs.slots[owner].waiting_since_ns;
	g->turns = world->gangs.slots[owner].turns;
	backfill_tick(c);
	if (c->backfill.gang != owner || c->nodes.span > world->nodes.span)
		return;
	c->backfill.since_ns = world->backfill.since_ns;
	memcpy(classes, hold->classes, sizeof(classes));
	views_hold(&c->views, classes, hold->classes_n, there->hold.within ? there->hold_nodes : NULL,
	           there->hold.some_whole ? there->hold_whole : NULL);
}

/* Both trees are of the same records, so a queue has the same number in both. */
static void blockers_copy(struct core *c, const struct core *world)
{
	const struct turns *from = &world->turns;
	struct turns *t = &c->turns;

	if (!t->shares || !from->shares || t->set->set.n != from->set->set.n)
		return;
	for (uint32_t i = 0; i < t->set->set.n; i++) {
		const uint32_t gang = from->blocker[i].gang;

		if (gang == ID_NONE || t->set->about[i].id != from->set->about[i].id ||
		    c->gangs.slots[gang].generation != from->blocker[i].generation ||
		    c->gangs.slots[gang].queue != QUEUE_UNSCHEDULABLE)
			continue;
		t->blocker[i] = from->blocker[i];
		t->blocker[i].key = gang_key(&c->gangs.slots[gang]);
		t->blockers_n++;
	}
}

void whole_after(struct core *c, const struct core *world)
{
	if (turns_due(c))
		turns_make(c);
	if (c->promises.timeline)
		promises_begin(c);
	tried_mark(c, world);
	reservation_make(c, world);
	blockers_copy(c, world);
	taken_copy(&c->taken, &world->taken, c->gangs.groups);
	squeue_walk_skip(&c->queue, &c->nodes);
}
