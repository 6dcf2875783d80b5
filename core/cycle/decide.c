/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/decide.h"

#include "core/base/probe.h"
#include "core/cycle/hold.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/say.h"
#include "core/plan/minimum.h"
#include "core/plan/reason.h"
#include "ipc/plans.h"

#include <assert.h>

#define NS_PER_S UINT64_C(1000000000)

/* One round: about 2 ms of work, counted in steps of about 10 ns, so that results
 * and events are never kept waiting; and never by a clock, so that a replay stops
 * at the same point. */
#define ROUND_STEPS 200000u
#define ROUND_GANGS 64u

/* A walk over those who wait is begun anew so often when room came before its end; then it goes on
 * to the end, or in a busy cluster a few at the head that are hard to plan would keep all others
 * from their turn. */
#define WALK_RESTARTS 16u

/* Whether a walk may end before its end is asked after each gang if so few kinds are waited for. */
#define CUT_KINDS 64u

/* Numbers in reasons are worked out anew this often, and a gang on which the
 * planner gave up is searched for again. */
#define REFRESH_NS (2 * NS_PER_S)

/* ---- can it be planned at all? ---------------------------------------------------- */

/* Why those that are there don't make a quorum. */
static enum why too_few(const struct gang *g)
{
	return gang_members(g) < g->quorum ? WHY_MEMBERS : WHY_ROLE;
}

static enum why hindrance(const struct gang *g)
{
	if (g->flags & GANG_OBJECT_MISSING)
		return WHY_GROUP_MISSING;
	if (g->flags & GANG_REFUSED)
		return WHY_REFUSED;
	if (gang_is_whole(g)) {
		if (g->counts[MEMBER_READY] > 0 || gang_pending(g) == 0)
			return WHY_NONE;
		if (g->counts[MEMBER_BACKOFF] > 0)
			return WHY_BIND_REFUSED;
		return g->counts[MEMBER_GATED] > 0 ? WHY_GATED : WHY_REFUSED;
	}
	if (gang_enough(g, MEMBER_READY))
		return WHY_NONE;
	if (!gang_enough(g, MEMBER_REFUSED))
		return too_few(g);
	if (gang_enough(g, MEMBER_BACKOFF))
		return WHY_BIND_REFUSED;
	return gang_enough(g, MEMBER_GATED) ? WHY_GATED : WHY_REFUSED;
}

static enum gang_state state_of(const struct gang *g)
{
	if (g->flags & GANG_OBJECT_MISSING)
		return GANG_INCOMPLETE;
	if (gang_enough(g, MEMBER_BOUND))
		return GANG_PLACED;
	if (gang_is_whole(g))
		return GANG_BINDING;
	return gang_enough(g, MEMBER_REFUSED) ? GANG_WAITING : GANG_INCOMPLETE;
}

/* ---- plan and reserve ------------------------------------------------------------- */

/* The same kind may have room only after this many of it have: see no_room(). */
static void wait_for(struct core *c, struct gang *g, uint32_t need)
{
	const struct plan *plan = &c->plan;

	g->wait_kind = KIND_NONE;
	if (g->kept > 0)
		return; /* its own room counts as well */
	if (plan->alike) {
		g->wait_kind = plan->failed;
		g->wait_need = need;
	} else if (!gang_has_levels(g)) { /* or it is barred from a domain alone */
		g->wait_kind = plan->barred;
		g->wait_need = plan->barred_need;
	}
}

/* Is it the hold alone that stands in the way, as far as counts tell?  With rules between pods
 * only if they don't reach beside it. */
static bool would_fit(struct core *c, uint32_t need)
{
	const kind_id kind = c->plan.failed;
	uint64_t beside;

	if (!c->plan.alike)
		return false;
	beside = views_get(&c->views, kind)->capacity;
	c->views.behind = false;
	return beside < need && views_get(&c->views, kind)->capacity >= need;
}

/* How often nodes changed. */
static uint64_t changes(const struct core *c)
{
	return c->nodes.log_n - c->undone_log;
}

/* Room that its own members keep is free. */
static enum why place_lent(struct core *c, uint32_t index, struct reason *r)
{
	struct gang *g = &c->gangs.slots[index];
	struct plan *plan = &c->plan;
	uint32_t need;
	enum plan_answer answer;

	c->views.behind = hold_stands_before(c, index);
	plan->search = g->searched_ns == 0 || c->now_ns - g->searched_ns >= REFRESH_NS;
	gang_need_find(g, &c->need);
	need = c->need.total;
	if (g->ready_kind == KIND_NONE)
		gang_ready_kind_find(&c->gangs, g);
	answer = plan_gang(plan, &c->views, &c->gangs, g, &c->need);
	if (answer == PLAN_GAVE_UP && plan->search)
		g->searched_ns = c->now_ns ? c->now_ns : 1;
	else if (answer == PLAN_GAVE_UP)
		c->unsearched = true;
	if (answer != PLAN_GAVE_UP)
		g->searched_ns = 0;
	if (answer == PLAN_PLACED) {
		PROBE(planned, index, g->generation, plan->n, plan->placed);
		gang_lent_room_gone(c, g);
		gang_reserve(c, index, plan);
		PROBE(gang_reserved, index, g->generation, plan->placed);
		stat_add(&core_stats(c)->plans_placed, 1);
		if (plan->placed == plan->n)
			return WHY_NONE;
		need = 1;
	}
	reason_begin(r, g, &c->nodes);
	PROBE(refused, index, g->generation, need);
	wait_for(c, g, need);
	if (plan->failed != KIND_NONE)
		reason_room(r, c->tally, &c->views, plan, need, plan->placed > 0 ? 0 : plan->fit);
	if (plan->failed != KIND_NONE && plan->kept_together)
		reason_domain(r, &c->views, plan);
	if (c->views.behind && would_fit(c, need))
		return WHY_HELD;
	if (answer == PLAN_GAVE_UP)
		return WHY_GAVE_UP;
	return plan->kept_together ? WHY_TOPOLOGY : WHY_ROOM;
}

/* The reason is begun unless there is none. */
static enum why place(struct core *c, uint32_t index, struct reason *r)
{
	struct gang *g = &c->gangs.slots[index];
	const uint64_t before = c->nodes.log_n;
	const uint32_t had = gang_have(g), kept = g->kept;
	enum why why;

	if (c->nodes.present == 0) {
		reason_begin(r, g, &c->nodes);
		return WHY_NO_NODES;
	}
	if (gang_asks_minimum(g)) {
		reason_begin(r, g, &c->nodes);
		if (!minimum_met(g, &c->pods, &c->shapes, &c->nodes, c->own, r))
			return WHY_MIN_RESOURCES;
	}
	gang_lend_room(c, g);
	why = place_lent(c, index, r);
	/* With hold_after_ns 0 nothing is held for gangs that have no room. */
	gang_lent_room_back(c, g, c->config.hold_after_ns > 0 || why == WHY_GAVE_UP);
	if (gang_have(g) == had && g->kept == kept)
		c->undone_log += c->nodes.log_n - before; /* what was tried and taken back is no change */
	return why;
}

static void count_time(struct core *c, uint64_t start_ns)
{
	struct core_stats *stats = core_stats(c);
	uint64_t took_ns;

	if (!c->config.clock_ns)
		return;
	took_ns = c->config.clock_ns() - start_ns;
	stat_add(&stats->plan_ns_sum, took_ns);
	stat_set(&stats->plan_ns_last, took_ns);
	stat_add(&c->ledger.ledger->plans.took[plans_bucket(took_ns)], 1);
	if (took_ns > atomic_load_explicit(&stats->plan_ns_max, memory_order_relaxed))
		stat_set(&stats->plan_ns_max, took_ns);
}

/* True when something was placed. */
static bool look(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	uint32_t had = gang_have(g);
	/* Those of it that find a node now may let in the others. */
	const uint64_t room_version = c->nodes.room_version;
	struct reason r __attribute__((uninitialized)); /* reason_begin() */
	enum why why = hindrance(g);
	bool waits = false;

	assert(g->place == PLACE_NONE);
	c->looked_at = index;
	g->wait_kind = KIND_NONE;
	if (why == WHY_NONE && g->counts[MEMBER_READY] > 0) {
		uint64_t start_ns = c->config.clock_ns ? c->config.clock_ns() : 0;

		PROBE(plan_begun, index, g->generation);
		why = place(c, index, &r);
		waits = why != WHY_NONE;
		count_time(c, start_ns);
		stat_add(&core_stats(c)->plans, 1);
		stat_add(&core_stats(c)->plans_refused, waits && gang_have(g) == had);
	}
	if (!waits) {
		/* What waits beside members just placed has its reason told as well. */
		why = hindrance(g);
		if (why != WHY_NONE || gang_is_group(&c->gangs, index))
			reason_begin(&r, g, &c->nodes);
	}
	r.why = why; /* of a lone pod that waits for nothing that is all that is asked for */
	if (why == WHY_ROLE)
		reason_role(&r, g);
	say_gang(c, index, state_of(g), &r);
	g->room_version = room_version;
	g->refresh = c->refresh;
	hold_looked(c, index, why_is_room(why), gang_have(g) > had);
	c->looked_at = ID_NONE;
	if (waits) {
		PROBE(gang_waits, index, g->generation, (uint32_t)why);
		waits_enter(&c->waits, &c->views, g);
		queue_insert(&c->waiting, index);
	}
	return gang_have(g) > had;
}

/* ---- whose turn it is --------------------------------------------------------------- */

/* Is it sure that a waiting gang still has no room? */
static bool no_room(struct core *c, struct gang *g)
{
	if (g->refresh != c->refresh)
		return false; /* for its numbers */
	if (g->room_version == c->nodes.room_version)
		return true;
	if (waits_open(&c->waits, &c->views, g))
		return false;
	g->room_version = c->nodes.room_version;
	return true;
}

/* The next waiting gang that may have room by now, as far as the round goes. */
static uint32_t next_waiting(struct core *c)
{
	while (c->cursor != ID_NONE && c->views.steps < ROUND_STEPS) {
		struct gang *g = &c->gangs.slots[c->cursor];

		if (!no_room(c, g))
			return c->cursor;
		waits_walk_pass(&c->waits, g);
		c->cursor = queue_next(&c->waiting, c->cursor);
		c->views.steps++;
	}
	return ID_NONE;
}

/* The first that changed, with its key as it is now. */
static uint32_t next_changed(struct core *c)
{
	for (;;) {
		uint32_t index = queue_first(&c->changed);
		struct gang *g;

		if (index == ID_NONE)
			return ID_NONE;
		g = &c->gangs.slots[index];
		if (!g->key_old)
			return index;
		queue_remove(&c->changed, index);
		gang_rekey(&c->gangs, g);
		c->views.steps += g->members / 4;
		queue_insert(&c->changed, index);
	}
}

static uint32_t next_gang(struct core *c)
{
	uint32_t changed = next_changed(c), waiting = next_waiting(c), index;

	if (waiting == ID_NONE || (changed != ID_NONE && gang_before(&c->gangs, changed, waiting)))
		index = changed;
	else
		index = waiting;
	/* The walk stopped for want of steps, so what it would find may come first. */
	if (waiting == ID_NONE && c->cursor != ID_NONE &&
	    (changed == ID_NONE || !gang_before(&c->gangs, changed, c->cursor)))
		return ID_NONE;
	if (index != ID_NONE)
		gang_hold(c, index);
	return index;
}

/* Did the walk come to the end? */
static void end_walk(struct core *c)
{
	if (!c->walking || c->cursor != ID_NONE)
		return;
	c->walking = c->walk_refreshes = false;
	waits_walk_end(&c->waits);
}

static void begin_walk(struct core *c)
{
	const bool due = c->walk_refresh != c->refresh;

	if (c->config.once || c->walked_version == c->nodes.room_version)
		return;
	if (!due && !waits_any_open(&c->waits, &c->views)) {
		c->walked_version = c->nodes.room_version; /* one that is under way goes on */
		return;
	}
	if (c->cursor == ID_NONE)
		c->walk_restarts = 0;
	else if (c->walk_restarts++ >= WALK_RESTARTS)
		return;
	c->walked_version = c->nodes.room_version;
	c->walk_refresh = c->refresh;
	c->walk_refreshes = c->walk_refreshes || due;
	c->walking = true;
	c->cursor = queue_first(&c->waiting);
	waits_walk_begin(&c->waits);
}

/* After somebody was placed, or was not, the others may have to wait on. */
static void cut_walk(struct core *c)
{
	if (c->cursor == ID_NONE || c->walk_refreshes || c->waits.kinds > CUT_KINDS ||
	    waits_any_open(&c->waits, &c->views))
		return;
	c->walking = false; /* those behind were not passed */
	c->cursor = ID_NONE;
}

BY_NAME void decide_round(struct core *c)
{
	uint32_t placed = 0, index;

	c->views.steps = 0;
	if (!c->synced || !say_all(c) || !claims_answer(c))
		return;
	end_walk(c);
	begin_walk(c);
	c->views.steps = 0; /* bringing many nodes up to date for who waits may be a round's work:
	                       somebody is looked at yet */
	while (placed < ROUND_GANGS && c->views.steps < ROUND_STEPS) {
		index = next_gang(c);
		if (index == ID_NONE)
			break;
		c->views.steps += 10;
		placed += look(c, index);
		cut_walk(c);
		if (!say_all(c) || c->config.once)
			break;
	}
}

bool decide_wants_round(const struct core *c)
{
	if (!c->synced)
		return false;
	return say_waits(c) || c->claims.n > 0 || c->changed.n > 0 || c->cursor != ID_NONE ||
	       (!c->config.once && c->waiting.n > 0 && c->walked_version != c->nodes.room_version);
}

void decide_tick(struct core *c)
{
	if (c->now_ns >= c->backoff_due_ns)
		backoff_wake(c);
	claims_tick(c);
	if (!c->synced || c->now_ns - c->refreshed_ns < REFRESH_NS)
		return;
	hold_tick(c);
	c->refreshed_ns = c->now_ns;
	while (c->stale_n > 0) {
		uint32_t index = c->stale[--c->stale_n];

		c->stale_known[index] = false;
		if (c->gangs.slots[index].generation)
			gang_touch(c, index);
	}
	if ((c->refreshed_log == changes(c) && !c->unsearched) || c->waiting.n == 0)
		return;
	c->unsearched = false;
	c->refreshed_log = changes(c);
	c->refresh++;
	c->walked_version = 0; /* a walk is due, whether or not there is more room */
}
