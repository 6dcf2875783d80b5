/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations beside promised starts and the backfill reservation. */
#include "tests/unit/support_nominations.h"

TestSuite(nominations_promises, .init = start, .fini = scene_end);

static void job(const char *name, int cpu, const char *meta)
{
	put("v1", "Pod", name, meta,
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":50,\"nodeName\":\"n1\","
	    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"Running\"}",
	    cpu);
}

/* The search does not know of the reservation, and finds that there will be room. */
Test(nominations_promises, a_gang_behind_the_reservation_does_not_pass_it_by_an_answer)
{
	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	job("first", 2, "");
	job("second", 1, "");
	model_set_synced(x.m);
	waits("big", 4, 10);
	reserved();
	job("second", 1,
	    ",\"deletionTimestamp\":\"2026-01-01T00:01:00Z\",\"deletionGracePeriodSeconds\":30");
	waits("small", 2, 10);
	preempt();
	tick(3 * S);
	cr_assert_eq(counts()->nominations, 0);
	gone("second");
	flush();
	cr_assert_eq(api.binds, 0);
}

/* Its own room is not free for anybody: it looked as if the gang could not start.  It was undone,
 * and promised the next known end. */
Test(nominations_promises, a_gang_with_victims_starts_when_they_are_gone_with_promises)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	two_full_nodes();
	node("n3", 1);
	put("v1", "Pod", "ends", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n3\",\"priority\":100,"
	    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":100000,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}");
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(api.nominated, 8);
	all_go(true);
	cr_assert_eq(api.binds, 8, "binds %u", api.binds);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 0);
}

static void one_node_that_is_promised(void)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 0, "n1", 1);
	ends("low-1", 0, "n1", 1);
	synced();
	promised(2);
}

/* The victims' room was promised to a gang of the same priority, from their known ends on. */
Test(nominations_promises, no_victim_goes_for_a_gang_that_would_break_a_promise_of_its_priority)
{
	one_node_that_is_promised();
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 2, "g is promised what comes after p");
	cr_assert_eq(x.loop.ledger->starts.later[MOVE_OUTRANKED], 0);
	cr_assert_eq(x.loop.ledger->starts.lost, 0);
}

/* Where the gang would not have ended by then. */
Test(nominations_promises, a_gang_of_higher_priority_outranks_a_promise_by_name)
{
	one_node_that_is_promised();
	waits("g", 2, 20);
	preempt_evicts(2);
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(x.loop.ledger->starts.lost, 1, "nothing says when the gang ends");
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("low-0");
	gone("low-1");
	flush();
	cr_assert_eq(api.binds, 2);
}

/* The promise of its own stands, and is the one that it had when the nomination ends. */
Test(nominations_promises, a_promise_survives_a_nomination_that_comes_to_nothing)
{
	const struct promise *p;
	uint64_t at_ns;

	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 0, "n1", 1);
	ends("low-1", 0, "n1", 1);
	synced();
	waits("g", 2, 10);
	flush();
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	at_ns = promise_at(x.loop.core->promises.timeline, 0)->at_ns;
	preempt();
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	result("low-0", RESULT_EVICT_REFUSED);
	cr_assert_eq(counts()->open, 0);
	tick(3 * S);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	p = promise_at(x.loop.core->promises.timeline, 0);
	cr_assert_eq(p->at_ns, at_ns);
	cr_assert_eq(p->later, 0);
	cr_assert(!p->nominated);
}

/* It fits on n3 before its victims are gone, where another gang is promised the room. */
Test(nominations_promises, a_gang_that_promises_keep_from_other_room_stays_nominated)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	node("n3", 4);
	ends("e", 100, "n3", 2);
	ends("f", 100, "n3", 2);
	synced();
	promised(4);
	waits("g", 2, 10);
	preempt_evicts(2);
	gone("f");
	flush();
	cr_assert_eq(api.cancels, 0);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(api.binds, 0);
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("low-0");
	gone("low-1");
	flush();
	cr_assert_eq(api.binds, 2);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->wasted, 0);
}

Test(nominations_promises, a_lone_pod_starts_when_its_victim_is_gone_with_promises)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 1);
	ends("low", 0, "n1", 1);
	synced();
	pod("high", 10, "", "", "");
	flush();
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
	preempt();
	cr_assert_eq(api.nominated, 1);
	cr_assert_eq(api.evicts, 1);
	goes("low");
	cr_assert_eq(api.binds, 1);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(x.loop.ledger->starts.standing, 0);
}

Test(nominations_promises, no_pod_goes_for_a_lone_pod_that_would_break_a_promise_of_its_priority)
{
	one_node_that_is_promised();
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(x.loop.ledger->starts.lost, 0);
}

/* A gang of a queue, whose pods run 500 s at most and evict none. */
static void asks_in(const char *queue_name, const char *name, int members, int priority,
                    const char *requests)
{
	char meta[256];

	group(name, members);
	snprintf(meta, sizeof(meta),
	         ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"},\"annotations\":{"
	         "\"scheduling.volcano.sh/queue-name\":\"%s\"}",
	         name, queue_name);
	for (int i = 0; i < members; i++)
		brief(numbered(name, i), priority, meta, requests, "");
	flush_and_tick(3);
}

static void lasts_in(const char *queue_name, const char *name, int members, int priority)
{
	asks_in(queue_name, name, members, priority, "\"cpu\":\"1\"");
}

static const struct promise *promise_named(const char *name)
{
	const struct core *c = x.loop.core;
	const struct promise *p = promise_of(c->promises.timeline, pod_slot(numbered(name, 0))->gang);

	cr_assert(p, "%s has no promise", name);
	return p;
}

/* One full node, of which a is guaranteed all or nothing. */
static void lender_and_borrower(const char *deserved, uint32_t preemption)
{
	start_with(MODEL_QUEUES_VOLCANO, 8, 0);
	x.loop.preemption |= preemption;
	queue("a", deserved);
	queue("b", "\"weight\":1");
	node("n1", 2);
	ends("low-0", 100, "n1", 1);
	ends("low-1", 100, "n1", 1);
	synced();
}

static uint64_t later(enum promise_move why)
{
	return x.loop.ledger->starts.later[why];
}

/* BF-11: b is promised what a lent, and a comes; of a higher priority or not. */
Test(nominations_promises, bf_11_a_promise_that_borrows_yields_to_the_lender)
{
	const struct promise *g, *h;
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", PREEMPTION_RECLAIM);
	lasts_in("b", "h", 2, 50);
	at_ns = promise_named("h")->at_ns;
	lasts_in("a", "g", 2, 10);
	g = promise_named("g");
	h = promise_named("h");
	cr_assert_eq(g->at_ns, at_ns);
	cr_assert_gt(h->at_ns, at_ns);
	cr_assert_eq(h->first_ns, at_ns);
	cr_assert(g->ask.firm && !h->ask.firm);
	cr_assert_eq(h->moves_n, 1u);
	cr_assert_eq(h->moves[0].why, MOVE_RECLAIMED);
	cr_assert_eq(h->moves[0].who, g->ask.gang);
	cr_assert_eq(later(MOVE_RECLAIMED), 1);
	cr_assert_eq(later(MOVE_OUTRANKED), 0);
	/* And does not come before it again, whatever comes. */
	at_ns = g->at_ns;
	lasts_in("b", "i", 2, 90);
	cr_assert_eq(promise_named("g")->at_ns, at_ns);
	cr_assert_gt(promise_named("i")->at_ns, at_ns);
}

/* An edit of a limit: nobody knew that there was one, and that it has none. */
Test(nominations_promises, a_promise_that_the_queue_refuses_is_counted_as_lost)
{
	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", 0);
	lasts_in("b", "h", 2, 50);
	promise_named("h");
	cr_assert_eq(x.loop.ledger->starts.lost, 0);
	queue("b", "\"capability\":{\"cpu\":\"1\"}");
	flush_and_tick(3);
	cr_assert_null(promise_of(x.loop.core->promises.timeline, pod_slot(numbered("h", 0))->gang));
	cr_assert_eq(x.loop.ledger->starts.lost, 1);
}

static void queue_edit(const char *name, const char *spec)
{
	queue(name, spec);
	flush_and_tick(3);
}

/* Nobody came: g is before h by the edit, and behind it by the next one. */
Test(nominations_promises, an_edited_guarantee_moves_a_promise_by_name)
{
	uint64_t at_ns;

	lender_and_borrower("\"weight\":1", PREEMPTION_RECLAIM);
	lasts_in("b", "h", 2, 50);
	at_ns = promise_named("h")->at_ns;
	lasts_in("a", "g", 2, 10);
	cr_assert_gt(promise_named("g")->at_ns, at_ns);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	queue_edit("a", "\"deserved\":{\"cpu\":\"4\"}");
	cr_assert_eq(promise_named("g")->at_ns, at_ns);
	cr_assert_gt(promise_named("h")->at_ns, at_ns);
	cr_assert_eq(promise_named("h")->moves[0].why, MOVE_QUEUE_CHANGED);
	cr_assert_eq(promise_named("h")->moves[0].who, promise_named("g")->ask.gang);
	queue_edit("a", "\"weight\":1");
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	cr_assert_eq(promise_named("g")->moves[0].why, MOVE_QUEUE_CHANGED);
	cr_assert_eq(later(MOVE_QUEUE_CHANGED), 2);
	cr_assert_eq(later(MOVE_RECLAIMED) + later(MOVE_OUTRANKED), 0);
	/* Who comes later is told as before. */
	queue_edit("a", "\"weight\":2");
	lasts_in("a", "k", 2, 90);
	cr_assert_eq(later(MOVE_QUEUE_CHANGED), 2);
	cr_assert_gt(later(MOVE_OUTRANKED), 0);
}

/* A gang of two members that waits, 500 s long, with what an earlier instance promised. */
static void promised_before(const char *queue_name, const char *name, int priority, const char *at)
{
	char meta[512], status[512];

	group(name, 2);
	snprintf(status, sizeof(status),
	         ",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
	         "\"message\":\"It waits." PROMISED_ENDING "\"}]",
	         at);
	snprintf(meta, sizeof(meta),
	         ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"},\"annotations\":{"
	         "\"scheduling.volcano.sh/queue-name\":\"%s\",\"" PROMISED_ANNOTATION "\":\"%s\"}",
	         name, queue_name, at);
	for (int i = 0; i < 2; i++)
		brief(numbered(name, i), priority, meta, "\"cpu\":\"1\"", status);
}

/* The lists of a new frontend define the queues anew, which was reported as an edit of them. */
Test(nominations_promises, a_restart_edits_no_queue)
{
	const struct promise *h;

	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", PREEMPTION_RECLAIM);
	promised_before("b", "h", 50, "2027-01-15T08:19:00Z");
	promised_before("a", "g", 10, "2027-01-15T08:40:00Z");
	model_restart(x.m);
	flush_and_tick(3);
	h = promise_named("h");
	cr_assert_gt(h->at_ns, promise_named("g")->at_ns);
	cr_assert_eq(later(MOVE_QUEUE_CHANGED), 0);
	cr_assert_eq(later(MOVE_RECLAIMED), 1);
	cr_assert_eq(h->moves[h->moves_n - 1].why, MOVE_RECLAIMED);
}

/* The first cycle of an epoch ranks promises before it had made the queues: none was firm, and the
 * borrower of the higher priority took the lender's time. */
Test(nominations_promises, a_firm_promise_is_firm_after_a_restart)
{
	const struct promise *g;

	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", PREEMPTION_RECLAIM);
	promised_before("a", "g", 10, "2027-01-15T08:19:00Z");
	promised_before("b", "h", 50, "2027-01-15T08:40:00Z");
	model_restart(x.m);
	flush_and_tick(3);
	g = promise_named("g");
	cr_assert(g->ask.firm);
	cr_assert_eq(g->moves_n, 0u);
	cr_assert_lt(g->at_ns, promise_named("h")->at_ns);
	cr_assert_eq(later(MOVE_OUTRANKED) + later(MOVE_RECLAIMED) + later(MOVE_QUEUE_CHANGED), 0);
}

/* BF-11: who borrows moves nobody who is inside, of a higher priority or not. */
Test(nominations_promises, bf_11_a_promise_inside_the_guarantee_stands)
{
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"2\"}", PREEMPTION_RECLAIM);
	lasts_in("a", "g", 2, 10);
	at_ns = promise_named("g")->at_ns;
	cr_assert(promise_named("g")->ask.firm);
	lasts_in("b", "h", 2, 50);
	cr_assert_eq(promise_named("g")->at_ns, at_ns);
	cr_assert_eq(later(MOVE_RECLAIMED) + later(MOVE_OUTRANKED), 0);
	cr_assert_gt(promise_named("h")->at_ns, at_ns);
	/* More of a than it is guaranteed: by priority, as without reclaim. */
	lasts_in("a", "k", 2, 5);
	cr_assert(!promise_named("k")->ask.firm);
	cr_assert_eq(later(MOVE_RECLAIMED), 0);
}

/* In a queue priority comes first: what it is owed is owed to its first gang, which is too large.
 */
Test(nominations_promises, a_gang_outranks_one_of_its_queue_that_alone_would_be_inside)
{
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"1\"}", PREEMPTION_RECLAIM);
	lasts_in("a", "g", 1, 10);
	at_ns = promise_named("g")->at_ns;
	cr_assert(promise_named("g")->ask.firm);
	lasts_in("a", "h", 2, 50);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	cr_assert(!promise_named("h")->ask.firm && !promise_named("g")->ask.firm);
	cr_assert_gt(promise_named("g")->at_ns, at_ns);
	cr_assert_eq(later(MOVE_RECLAIMED), 0);
	cr_assert_eq(later(MOVE_OUTRANKED), 1);
}

/* h borrows memory, so g of the same queue is before it; that was told as reclaimed. */
Test(nominations_promises, no_queue_reclaims_from_itself)
{
	const struct promise *h;
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", PREEMPTION_RECLAIM);
	queue("b", "\"deserved\":{\"memory\":\"1Gi\"}");
	node("n2", 2);
	pods("stay", 0, 2, 0, "", "n2");
	asks_in("a", "h", 2, 10, "\"cpu\":\"1\",\"memory\":\"1Gi\"");
	at_ns = promise_named("h")->at_ns;
	cr_assert(!promise_named("h")->ask.firm);
	lasts_in("a", "g", 2, 10);
	h = promise_named("h");
	cr_assert(promise_named("g")->ask.firm);
	cr_assert_eq(promise_named("g")->at_ns, at_ns);
	cr_assert_gt(h->at_ns, at_ns);
	cr_assert_eq(h->moves_n, 1u);
	cr_assert_eq(h->moves[0].why, MOVE_OUTRANKED);
	cr_assert_eq(h->moves[0].who, promise_named("g")->ask.gang);
	cr_assert_eq(later(MOVE_RECLAIMED), 0);
}

/* It was firm with one member, and kept that rank for the promise of two. */
Test(nominations_promises, a_gang_that_grew_beyond_its_guarantee_moved_a_promise)
{
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"1\"}", PREEMPTION_RECLAIM);
	lasts_in("a", "g", 1, 10);
	at_ns = promise_named("g")->at_ns;
	cr_assert(promise_named("g")->ask.firm);
	lasts_in("b", "h", 1, 10);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	lasts_in("a", "g", 2, 10);
	cr_assert_eq(promise_named("g")->ask.wants[0].members, 2u);
	cr_assert(!promise_named("g")->ask.firm);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	cr_assert_gt(promise_named("g")->at_ns, at_ns);
	cr_assert_eq(later(MOVE_RECLAIMED) + later(MOVE_OUTRANKED), 0);
	cr_assert_eq(later(MOVE_GANG_CHANGED), 1);
}

/* One member is inside the guarantee, and both are promised room. */
Test(nominations_promises, a_gang_of_which_a_part_was_inside_its_guarantee_moved_a_promise)
{
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"1\"}", PREEMPTION_RECLAIM);
	lasts_in("b", "h", 2, 10);
	at_ns = promise_named("h")->at_ns;
	group("g", 1);
	for (int i = 0; i < 2; i++)
		put("v1", "Pod", numbered("g", i),
		    ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"},\"annotations\":{"
		    "\"scheduling.volcano.sh/queue-name\":\"a\"}",
		    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,"
		    "\"preemptionPolicy\":\"Never\",\"restartPolicy\":\"Never\","
		    "\"activeDeadlineSeconds\":500,\"tolerations\":[{\"key\":\"k%d\","
		    "\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"c\",\"resources\":{"
		    "\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}",
		    i);
	flush_and_tick(3);
	cr_assert_eq(
		promise_named("g")->ask.wants[0].members + promise_named("g")->ask.wants[1].members, 2u);
	cr_assert(!promise_named("g")->ask.firm);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	cr_assert_eq(later(MOVE_RECLAIMED), 0);
}

/* As before: priorities alone. */
Test(nominations_promises, without_reclaim_no_promise_yields_to_a_lender)
{
	uint64_t at_ns;

	lender_and_borrower("\"deserved\":{\"cpu\":\"4\"}", 0);
	lasts_in("b", "h", 2, 10);
	at_ns = promise_named("h")->at_ns;
	lasts_in("a", "g", 2, 10);
	cr_assert_eq(promise_named("h")->at_ns, at_ns);
	cr_assert_gt(promise_named("g")->at_ns, at_ns);
	cr_assert(!promise_named("g")->ask.firm);
}

/* The borrower's promise kept the lender from evicting, until it had started and ended. */
Test(nominations_promises, a_promise_that_borrows_kept_the_lender_from_its_own)
{
	lender_and_borrower("\"deserved\":{\"cpu\":\"2\"}", PREEMPTION_RECLAIM);
	for (int i = 0; i < 2; i++)
		put("v1", "Pod", numbered("low", i),
		    ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"b\"}",
		    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":100,\"nodeName\":\"n1\","
		    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":1000,\"containers\":[{"
		    "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},"
		    "\"status\":{\"phase\":\"Running\"}");
	lasts_in("b", "h", 2, 10);
	promise_named("h");
	group("g", 2);
	for (int i = 0; i < 2; i++)
		pod(numbered("g", i), 10, "g", "",
		    ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"a\"}");
	preempt_evicts(2);
	cr_assert_eq(api.nominated, 2);
}
