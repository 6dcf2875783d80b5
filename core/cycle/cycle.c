/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/cycle.h"

#include "core/base/probe.h"
#include "core/cycle/backfill.h"
#include "core/cycle/promises.h"
#include "core/cycle/queues.h"
#include "core/cycle/renominate.h"
#include "core/cycle/turns.h"
#include "core/cycle/answered.h"
#include "core/filter/gpus.h"
#include "core/lifecycle/assume.h"
#include "core/lifecycle/evicted.h"
#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/retain.h"
#include "core/lifecycle/tickets.h"
#include "core/lifecycle/outbox.h"
#include "core/plan/minimum.h"
#include "core/plan/reason.h"
#include "ipc/plans.h"

#include <assert.h>

/* One cycle_run() is about 2 ms of work, in steps of about 10 ns, so that results and events do not
 * wait longer.  Not measured by a clock: a replay has to stop at the same gang. */
#define CYCLE_STEPS 200000u
#define CYCLE_GANGS 64u /* placed */

/* On clusters with more nodes the columns of nodes (core/index/columns.h) follow every so many
 * changes.  Else the log has lost some when the next view is made, which then reads all nodes: with
 * 65,000 and 1,000 pods a second 0.6 ms of one turn.  With fewer nodes that is no more than a turn
 * is anyway. */
#define COLUMNS_KEPT_NODES (2 * NODE_LOG)
#define COLUMNS_KEPT_STEP (NODE_LOG / 8)

/* Why the gang can't be planned now; WAIT_NONE: it can, or has nothing to place.  kube-scheduler:
 * PreEnqueue of SchedulingGates and, for a gang, coscheduling's PreFilter (fewer pods than
 * minMember). */
static enum wait_reason unschedulable_reason(const struct gang *g)
{
	if (g->flags & GANG_OBJECT_MISSING)
		return WAIT_GROUP_MISSING;
	if (g->flags & GANG_REFUSED)
		return WAIT_REFUSED;
	if (gang_quorum_met(g)) {
		if (g->counts[MEMBER_READY] > 0 || gang_pending(g) == 0)
			return WAIT_NONE;
		if (g->counts[MEMBER_BACKOFF] > 0)
			return WAIT_BIND_REFUSED;
		return g->counts[MEMBER_GATED] > 0 ? WAIT_GATED : WAIT_REFUSED;
	}
	if (gang_enough(g, MEMBER_READY))
		return WAIT_NONE;
	if (!gang_enough(g, MEMBER_REFUSED))
		return gang_members(g) < g->quorum ? WAIT_MEMBERS : WAIT_ROLE;
	if (gang_enough(g, MEMBER_BACKOFF))
		return WAIT_BIND_REFUSED;
	return gang_enough(g, MEMBER_GATED) ? WAIT_GATED : WAIT_REFUSED;
}

static enum gang_state state_of(const struct gang *g)
{
	if (g->flags & GANG_OBJECT_MISSING)
		return GANG_INCOMPLETE;
	if (gang_enough(g, MEMBER_BOUND))
		return GANG_PLACED;
	if (gang_quorum_met(g))
		return GANG_BINDING;
	return gang_enough(g, MEMBER_REFUSED) ? GANG_WAITING : GANG_INCOMPLETE;
}

/* The queueing hint (kube-scheduler: QueueingHintFn) of a gang for which the plan found `need`
 * members too few nodes. */
static void hint_set(struct gang *g, const struct plan *plan, uint32_t need)
{
	g->hint_kind = CLASS_NONE;
	if (g->retained > 0)
		return; /* its own reservations are capacity as well, which the hint does not see */
	if (plan->alike) {
		g->hint_kind = plan->failed;
		g->hint_need = need;
	} else if (!gang_has_levels(g)) { /* otherwise plan->barred is of one domain only */
		g->hint_kind = plan->barred;
		g->hint_need = plan->barred_need;
	}
}

/* True if the gang would be placed without the backfill reservation: by counts, which are an upper
 * bound with rules between pods, or for unlike members by a plan, which is undone. */
static bool fits_unreserved(struct core *c, uint32_t index, uint32_t need)
{
	struct plan *plan = &c->plan;
	uint64_t behind;

	if (plan->alike) {
		behind =
			views_get(&c->views, &(struct view_scope){ .behind = true }, plan->failed)->capacity;
		return behind < need &&
		       views_get(&c->views, &(struct view_scope){ 0 }, plan->failed)->capacity >= need;
	}
	if (plan_gang(plan, &c->views, false, &c->gangs, &c->gangs.slots[index], &c->need) !=
	    PLAN_PLACED)
		return false;
	undo_all(plan, &c->views, &c->gangs);
	return true;
}

/* True if nothing but the backfill reservation keeps the gang out: the reason has its owner then,
 * and not what others retain, which would leave the gang enough. */
static bool waits_for_backfill(struct core *c, uint32_t index, uint32_t need, struct reason *r)
{
	const uint32_t owner = c->backfill.gang;

	if (!fits_unreserved(c, index, need))
		return false;
	r->retained_nodes = 0;
	r->retained_gang = owner;
	r->retained_generation = c->gangs.slots[owner].generation;
	return true;
}

/* A search that gave up is repeated at most once in REFRESH_NS. */
static void search_note(struct core *c, struct gang *g, enum plan_answer answer)
{
	if (answer != PLAN_GAVE_UP)
		g->searched_ns = 0;
	else if (c->plan.search)
		g->searched_ns = c->now_ns ? c->now_ns : 1;
	else
		refresh_note_search_deferred(&c->refresh);
}

/* Promises judge a plan where they were not asked before: the room that a gang is nominated to was
 * judged before its victims went, who may have taken longer. */
static bool promises_judge(struct core *c, const struct nomination *n)
{
	if (!n || !n->placed_there)
		return promises_accept(c);
	if (!promises_accept_from(c, c->now_ns))
		timeline_overran(c->promises.timeline, n->gang);
	return true;
}

/* True if the plan that placed the gang may be reserved; else it was undone, and *why is set. */
static bool plan_accept(struct core *c, uint32_t index, bool barred, enum wait_reason *why)
{
	struct nomination *n = c->nominations.n > 0 ? nomination_of(c, index) : NULL;

	*why = WAIT_NONE;
	if (n)
		nomination_timeline_release(c, n);
	if (barred)
		undo_all(&c->plan, &c->views, &c->gangs);
	if (c->promises.timeline && (barred || !promises_judge(c, n)))
		*why = WAIT_RESERVED;
	else if (c->turns.shares && !turns_accept(c, index))
		*why = WAIT_QUEUE;
	if (n && *why != WAIT_NONE)
		nomination_timeline_restore(c, n);
	if (n)
		plan_judged(c, n, *why == WAIT_NONE);
	return *why == WAIT_NONE;
}

/* The reason of a gang whose plan plan_accept() undid, for `why`. */
static enum wait_reason undone_reason(struct core *c, uint32_t index, bool barred,
                                      enum wait_reason why, struct reason *r)
{
	if (why == WAIT_RESERVED && nominated_reason(c, index, r))
		return WAIT_VICTIMS;
	reason_begin(r, &c->gangs.slots[index], &c->nodes);
	if (why == WAIT_QUEUE)
		turns_reason(c, &c->turns.block, r);
	else
		promises_reason(c, barred, r);
	return why;
}

/* Plans the gang while capacity that its refused members retained is released. */
static enum wait_reason try_place_tentatively(struct core *c, uint32_t index, struct reason *r)
{
	struct gang *g = &c->gangs.slots[index];
	struct plan *plan = &c->plan;
	const bool behind = c->backfill.gang != ID_NONE && backfill_is_behind(c, index);
	enum plan_answer answer;
	enum wait_reason why;
	uint32_t need;
	bool barred; /* by promises: the plan is only made for the reason */
	bool kept_together;

	plan->search = g->searched_ns == 0 || c->now_ns - g->searched_ns >= REFRESH_NS;
	gang_need_find(g, &c->need);
	need = c->need.total;
	gang_ready_class_find(&c->gangs, g);
	if (c->turns.shares && !turns_allow(c, index)) {
		reason_begin(r, g, &c->nodes);
		turns_reason(c, &c->turns.block, r);
		return WAIT_QUEUE;
	}
	/* What is nominated is its own, and not free yet: promises_accept() judges the plan. */
	barred = c->promises.timeline && promises_bar(c, index) && !nomination_of(c, index);
	answer = c->tickets.n + c->nominations.n > 0
	             ? plan_answered(c, index, behind)
	             : plan_gang(plan, &c->views, behind, &c->gangs, g, &c->need);
	search_note(c, g, answer);
	if (c->nominations.n > 0 && answer != PLAN_PLACED && nominated_reason(c, index, r))
		return WAIT_VICTIMS;
	if (answer == PLAN_PLACED && !plan_accept(c, index, barred, &why))
		return undone_reason(c, index, barred, why, r);
	if (answer == PLAN_PLACED) {
		PROBE(planned, index, g->generation, plan->n, plan->placed);
		gang_release_finally(c, g);
		gang_reserve(c, index, plan);
		PROBE(gang_reserved, index, g->generation, plan->placed);
		stat_add(&core_stats(c)->plans_placed, 1);
		if (plan->placed == plan->n)
			return WAIT_NONE;
		need = 1; /* the quorum is met: each further member starts by itself */
	}
	if (answer != PLAN_PLACED && !plan->alike)
		plan_lack(plan, &c->views, &c->gangs, &c->need);
	reason_begin(r, g, &c->nodes);
	PROBE(refused, index, g->generation, need);
	/* A plan alone can tell what promises leave. */
	if (!c->promises.timeline)
		hint_set(g, plan, need);
	if (plan->failed != CLASS_NONE)
		reason_capacity(r, c->tally, &c->views, plan, need, plan->placed > 0 ? 0 : plan->fit);
	if (plan->failed != CLASS_NONE && gang_is_group(&c->gangs, index))
		reason_devices(r, &c->views, plan);
	if (plan->failed != CLASS_NONE && c->retaining_n > 0)
		retained_count(c, index, plan->failed, r);
	if (tickets_are_on(c))
		ticket_reason(c, index, r);
	if (plan->failed != CLASS_NONE && plan->kept_together)
		reason_domain(r, &c->views, plan);
	kept_together = plan->kept_together;
	if (behind && (plan->alike || answer != PLAN_PLACED) && waits_for_backfill(c, index, need, r))
		return WAIT_RESERVED;
	if (answer == PLAN_GAVE_UP)
		return WAIT_GAVE_UP;
	return kept_together ? WAIT_TOPOLOGY : WAIT_ROOM;
}

/* Plans the gang and reserves the plan; r is set unless the result is WAIT_NONE. */
static enum wait_reason try_place(struct core *c, uint32_t index, struct reason *r)
{
	struct gang *g = &c->gangs.slots[index];
	const uint64_t before = c->nodes.log_n;
	const uint32_t had = gang_have(g), retained = g->retained;
	enum wait_reason why;

	assert(c->queue.in_cycle == index);
	if (c->nodes.present == 0) {
		reason_begin(r, g, &c->nodes);
		return WAIT_NO_NODES; /* kube-scheduler: ErrNoNodesAvailable */
	}
	if (gang_asks_minimum(g)) {
		reason_begin(r, g, &c->nodes);
		if (!minimum_met(g, &c->pods, &c->shapes, &c->nodes, c->own, r))
			return WAIT_MIN_RESOURCES; /* coscheduling: CheckClusterResource */
	}
	gang_release_tentatively(c, g);
	why = try_place_tentatively(c, index, r);
	/* Without backfill reservations a gang that has no capacity retains none. */
	gang_restore(c, g, c->config.reserve_after_ns > 0 || why == WAIT_GAVE_UP);
	if (gang_have(g) == had && g->retained == retained)
		refresh_note_undone(&c->refresh, c->nodes.log_n - before);
	return why;
}

static void time_count(struct core *c, uint64_t start_ns)
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

/* try_place() with its counts and times. */
static enum wait_reason try_place_counted(struct core *c, uint32_t index, struct reason *r)
{
	const struct gang *g = &c->gangs.slots[index];
	const uint64_t start_ns = c->config.clock_ns ? c->config.clock_ns() : 0;
	const uint32_t had = gang_have(g);
	enum wait_reason why;

	PROBE(plan_started, index, g->generation);
	why = try_place(c, index, r);
	time_count(c, start_ns);
	stat_add(&core_stats(c)->plans, 1);
	stat_add(&core_stats(c)->plans_refused, why != WAIT_NONE && gang_have(g) == had);
	return why;
}

/* One cycle for one gang (kube-scheduler: ScheduleOne).  True when something was placed. */
static bool schedule_gang(struct core *c, uint32_t index)
{
	struct gang *g = &c->gangs.slots[index];
	const uint32_t had = gang_have(g);
	/* Of before: members that are placed now may make the others feasible. */
	const uint64_t freed_version = c->nodes.freed_version;
	struct reason r __attribute__((uninitialized)); /* reason_begin() */
	enum wait_reason why = unschedulable_reason(g);
	enum gang_state state;
	bool waits = false;

	squeue_cycle_begin(&c->queue, index);
	g->hint_kind = CLASS_NONE;
	if (why == WAIT_NONE && g->counts[MEMBER_READY] > 0) {
		why = try_place_counted(c, index, &r);
		waits = why != WAIT_NONE;
	}
	if (!waits) {
		/* Members that remain pending next to those just placed get a reason too. */
		why = unschedulable_reason(g);
		if (why != WAIT_NONE || gang_is_group(&c->gangs, index))
			reason_begin(&r, g, &c->nodes);
	}
	/* It is not planned any more, or not for room: nothing else would end it. */
	if (c->nominations.n > 0 && why != WAIT_VICTIMS)
		nominations_gang_changes(c, index);
	r.why = why; /* all that is read of the reason of a lone pod that does not wait */
	if (why == WAIT_ROLE)
		reason_role(&r, g);
	state = state_of(g);
	if (state == GANG_PLACED) {
		precedence_complete(g);
		g->whole = true;
	} else if (g->members == 0 && g->succeeded + g->failed == 0) {
		g->whole = false; /* members to come are those of another run */
	}
	if (!waits_for_capacity(why) || gang_have(g) > had)
		g->lacks_since_ns = 0;
	if (waits_for_capacity(why) && g->lacks_since_ns == 0)
		g->lacks_since_ns = c->now_ns ? c->now_ns : 1;
	if (c->promises.timeline) {
		promises_gang_tried(c, index, why, had);
		promises_show(c, index, &r);
	}
	if (taken_is_on(&c->taken))
		evicted_gang_follow(c, index, state);
	outbox_gang(c, index, state, &r);
	g->freed_version = freed_version;
	g->refresh = c->refresh.round;
	backfill_gang_tried(c, index, waits_for_capacity(why) && why != WAIT_VICTIMS,
	                    gang_have(g) > had);
	squeue_cycle_end(&c->queue);
	if (waits) {
		PROBE(gang_waits, index, g->generation, (uint32_t)why);
		squeue_add_unschedulable(&c->queue, &c->views, index);
	}
	if (c->turns.shares)
		turns_tried(c, index, waits);
	if (tickets_are_on(c))
		ticket_follow(c, index, waits ? why : WAIT_NONE);
	return gang_have(g) > had;
}

static void columns_keep(struct core *c)
{
	if (c->nodes.count > COLUMNS_KEPT_NODES && !c->nodes.order_old &&
	    c->nodes.log_n - c->views.columns.position > COLUMNS_KEPT_STEP)
		views_prepare(&c->views);
}

BY_NAME void cycle_run(struct core *c)
{
	uint32_t placed = 0, index;

	budget_reset(&c->budget);
	if (!c->synced || !outbox_flush(c) || !assumes_answer(c))
		return;
	gpus_follow(&c->pod_counts);
	if (c->tickets.renominates) {
		c->tickets.renominates = false;
		renominate(c);
	}
	if (turns_due(c))
		turns_make(c); /* before promises of an earlier core are ranked by what queues are owed */
	if (c->promises.timeline)
		promises_begin(c);
	if (c->turns.shares)
		turns_begin(c);
	else if (tickets_retry(c))
		squeue_walk_begin(&c->queue, &c->views, c->refresh.round);
	/* The hints may have followed many changed nodes; that does not count, or no gang would be
	 * planned. */
	budget_reset(&c->budget);
	while (placed < CYCLE_GANGS && budget_left(&c->budget, CYCLE_STEPS) > 0) {
		index = c->turns.shares ? turns_pop(c)
		                        : squeue_pop(&c->queue, &c->views, c->refresh.round, CYCLE_STEPS);
		if (index == ID_NONE)
			break;
		budget_spend(&c->budget, 10);
		placed += schedule_gang(c, index);
		squeue_walk_cut(&c->queue, &c->views);
		if (!outbox_flush(c) || c->config.once)
			break;
	}
	if (c->promises.timeline)
		promises_end(c);
	columns_keep(c);
}

bool cycle_wanted(const struct core *c)
{
	if (!c->synced)
		return false;
	return outbox_waits(c) || c->assumes.n > 0 || c->turns.stale ||
	       (c->turns.shares && turns_wanted(c)) ||
	       squeue_has_work(&c->queue, &c->nodes, tickets_retry(c)) ||
	       (c->promises.timeline && promises_look_unfinished(c->promises.timeline));
}

/* Once in REFRESH_NS; out of line, so that the check before it costs a record little. */
static __attribute__((noinline)) void reasons_refresh(struct core *c)
{
	uint32_t index;

	backfill_tick(c);
	if (tickets_are_on(c))
		tickets_refresh(c);
	if (c->promises.timeline && timeline_edited(c->promises.timeline))
		promises_tick(c);
	while ((index = refresh_pop_deferred(&c->refresh)) != ID_NONE)
		if (c->gangs.slots[index].generation)
			gang_requeue(c, index);
	if (c->queue.unschedulable.n > 0 && refresh_begin_round(&c->refresh, c->nodes.log_n))
		squeue_walk_force(&c->queue);
}

/* For each record with a new time.  What it calls is out of line (cold, noinline), so that this is
 * inlined into core_apply() and saves no registers: 14 instructions of each record. */
void cycle_tick(struct core *c)
{
	if (c->now_ns >= c->backoff_due_ns)
		backoff_wake(c);
	assumes_tick(c);
	if (tickets_are_on(c))
		tickets_tick(c);
	if (c->promises.timeline && c->synced && c->now_ns >= c->promises.due_ns)
		promises_tick(c);
	if (c->turns.terms && c->now_ns >= c->turns.history_due_ns)
		turns_tick(c);
	if (c->synced && refresh_tick(&c->refresh, c->now_ns))
		reasons_refresh(c);
}
