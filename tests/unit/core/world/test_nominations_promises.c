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
	flush();
	for (int i = 0; i < 4; i++)
		tick(3 * S);
	cr_assert_neq(x.loop.core->backfill.gang, ID_NONE);
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

/* A gang of priority 10 that evicts nobody: it gets a promise. */
static void promised(const char *name, int members)
{
	group(name, members);
	for (int i = 0; i < members; i++)
		put("v1", "Pod", numbered(name, i), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"p\"}",
		    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
		    "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":500,\"containers\":[{\"name\":\"c\","
		    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	flush();
	tick(3 * S);
	cr_assert_eq(x.loop.ledger->starts.standing, 1);
}

static void one_node_that_is_promised(void)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 0, "n1", 1);
	ends("low-1", 0, "n1", 1);
	model_set_synced(x.m);
	flush();
	promised("p", 2);
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
	preempt();
	cr_assert_eq(api.evicts, 2);
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
	model_set_synced(x.m);
	flush();
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
	model_set_synced(x.m);
	flush();
	promised("p", 4);
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(api.evicts, 2);
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
	model_set_synced(x.m);
	flush();
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
