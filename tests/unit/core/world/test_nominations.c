/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that evict: who goes for them, answers that hold no longer, and the start. */
#include "ipc/plans.h"
#include "tests/unit/support_nominations.h"

TestSuite(nominations, .init = start, .fini = scene_end);

Test(nominations, a_gang_is_nominated_and_starts_when_the_victims_are_gone)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(api.nominated, 8);
	cr_assert_eq(api.evicts, 8);
	cr_assert_eq(api.binds, 0);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), -4000);
	all_go(true);
	cr_assert_eq(api.binds, 8);
	cr_assert_eq(api.cancels + api.cleared, 0);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->open + counts()->wasted, 0);
	cr_assert_eq(counts()->victims.sum, 8);
	cr_assert_eq(counts()->victims.n[victims_bucket(8)], 1, "one plan");
	cr_assert_eq(counts()->broken.n[victims_bucket(0)], 1, "lone pods");
}

Test(nominations, as_many_go_as_are_needed)
{
	two_full_nodes();
	waits("g", 3, 10);
	preempt_evicts(3);
	cr_assert_eq(api.nominated, 3);
}

Test(nominations, nobody_goes_where_evicting_all_would_not_do)
{
	two_full_nodes();
	waits("g", 9, 10);
	preempt();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(x.loop.core->tickets.n, 0);
}

Test(nominations, nobody_goes_for_an_equal_priority)
{
	two_full_nodes();
	waits("g", 2, 0);
	preempt();
	cr_assert_eq(api.evicts + api.nominated, 0);
}

Test(nominations, no_other_pod_takes_the_room)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	pods("between", 0, 4, 5, "", "");
	all_go(true);
	cr_assert_eq(api.binds, 8);
	cr_assert_eq(pod_slot("between-0")->node, ID_NONE);
}

Test(nominations, room_elsewhere_comes_first)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt_evicts(4);
	node("n3", 4);
	flush();
	cr_assert_eq(api.binds, 4);
	cr_assert_eq(api.cancels, 4);
	cr_assert_eq(api.cleared, 0, "a binding clears it");
	cr_assert_eq(counts()->elsewhere, 1);
}

Test(nominations, what_ends_already_is_waited_for_and_no_other_pod_goes)
{
	two_full_nodes();
	ending("low-2", 0, "n1");
	waits("g", 1, 10);
	preempt_evicts(0);
	cr_assert_eq(api.nominated, 1);
	gone("low-2");
	flush();
	cr_assert_eq(api.binds, 1);
	cr_assert_eq(counts()->placed, 1);
}

Test(nominations, a_higher_gang_takes_over_and_evicts_no_other_pod)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt_evicts(4);
	waits("h", 4, 20);
	preempt_evicts(4);
	cr_assert_eq(api.cancels, 0);
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(x.loop.core->nominations.n, 1);
	cr_assert_eq(api.nominated, 8);
	cr_assert_eq(api.cleared, 4);
	/* The lower one asks again, and takes the others. */
	preempt_evicts(8);
	all_go(false);
	cr_assert_eq(api.binds, 8);
}

Test(nominations, an_answer_is_stale_when_a_victim_changed)
{
	two_full_nodes();
	waits("g", 8, 10);
	search();
	pod("low-5", 50, "", "n2", "");
	flush();
	answer_apply();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
}

Test(nominations, an_answer_is_stale_when_a_victim_is_needless)
{
	two_full_nodes();
	waits("g", 2, 10);
	search();
	gone("low-6");
	/* One fits now, and the answer has two. */
	flush();
	answer_apply();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
	tick(3 * S);
	preempt_evicts(1);
}

Test(nominations, a_full_ring_delays_and_a_cancelled_eviction_is_never_sent)
{
	struct record *r, plan = { .bytes = sizeof(plan), .kind = EVENT_PLAN };

	two_full_nodes();
	waits("g", 8, 10);
	search();
	r = answer_take();
	r->epoch = plan.epoch = x.loop.core->epoch;
	r->time_ns = plan.time_ns = x.loop.core->now_ns;
	loop_step(&x.loop, r, UINT32_MAX);
	free(r);
	loop_step(&x.loop, &plan, 10); /* eight nominations and two evictions */
	follower_run(x.loop.world, UINT32_MAX);
	cr_assert_eq(api.nominated, 8);
	cr_assert_lt(api.evicts, 8);
	gone("g-3");
	flush();
	cr_assert_eq(api.evicts, api.cancels);
	cr_assert_lt(api.evicts, 8);
	cr_assert_eq(counts()->changed, 1);
}

Test(nominations, the_extender_and_lower_gangs_see_no_room_where_there_is_a_nomination)
{
	two_full_nodes();
	waits("g", 4, 10);
	preempt();
	waits("l", 1, 5);
	flush();
	/* Four of priority 0 run on: one of them may go for it. */
	preempt_evicts(5);
	cr_assert_eq(counts()->open, 2);
}

Test(nominations, gangs_go_whole_when_they_fall_below_their_quorum)
{
	node("n1", 4);
	group("v", 4);
	pods("v", 0, 4, 0, "v", "n1");
	model_set_synced(x.m);
	waits("g", 1, 10);
	preempt_evicts(4);
	cr_assert_eq(api.nominated, 1);
	cr_assert_eq(counts()->victims.sum, 4);
	cr_assert_eq(counts()->broken.sum, 1);
	cr_assert_eq(counts()->broken.n[victims_bucket(1)], 1, "one gang, of one plan");
	cr_assert_eq(api.evict.cause.breaks_at, 1);
}

/* A gang of six with a quorum of four, for a gang of so many. */
static uint32_t breaks_at(int members, unsigned evicts, const char *mode)
{
	node("n1", 6);
	group_with("v", 4, mode);
	pods("v", 0, 6, 0, "v", "n1");
	model_set_synced(x.m);
	waits("g", members, 10);
	preempt_evicts(evicts);
	return api.evict.cause.breaks_at;
}

Test(nominations, the_frontend_is_given_when_a_gang_breaks_that_goes_whole)
{
	cr_assert_eq(breaks_at(3, 6, ""), 3);
	start_with(MODEL_QUEUES_NONE, 0, 0);
	cr_assert_eq(breaks_at(2, 2, ""), 0, "it keeps its quorum");
	start_with(MODEL_QUEUES_NONE, 0, 0);
	cr_assert_eq(breaks_at(3, 3, ",\"annotations\":{\"muster.dev/disruption-mode\":\"pod\"}"), 0);
}

/* Terms of the record: sixty seconds of running, and every pod started at the same time. */
Test(nominations, a_pod_that_has_not_run_for_long_enough_is_spared)
{
	struct {
		struct record head;
		struct event_preemption body;
	} r = { .head = { .bytes = sizeof(r), .kind = EVENT_PREEMPTION },
		    .body = { .flags = PREEMPTION_EXPLAIN | PREEMPTION_ON, .min_run_s = 60 } };
	const uint64_t start_s = 1767225600; /* 2026-01-01 */

	two_full_nodes();
	flush();
	r.body.min_run_s = (uint32_t)(x.loop.core->now_ns / S - start_s + 30);
	apply(&r.head);
	waits("g", 2, 10);
	preempt_evicts(0);
	tick(40 * S);
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
	preempt_evicts(2);
}

/* The pod that ends is room for both; the slot of the pod has another one afterwards. */
Test(nominations, a_pod_that_two_gangs_wait_for_is_forgotten_by_both)
{
	node("n1", 4);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	pod("high-0", 50, "", "n1", "");
	pod("high-1", 50, "", "n1", "");
	synced();
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	waits("g", 1, 10);
	preempt();
	waits("h", 1, 10);
	preempt_evicts(0);
	cr_assert_eq(x.loop.core->nominations.n, 2);
	gone("low-0");
	flush();
	for (uint32_t i = 0; i < NOMINATIONS_MAX; i++) {
		const struct nomination *n = &x.loop.core->nominations.all[i];

		for (uint32_t k = 0; n->ticket != 0 && k < n->victims_n; k++)
			cr_assert_eq(n->victims[k].generation,
			             x.loop.core->pods.slots[n->victims[k].pod].generation);
	}
	gone("low-1");
	flush();
	cr_assert_eq(api.binds, 2);
	cr_assert_eq(counts()->open, 0);
}

/* One member is above the nomination, the other one is not. */
Test(nominations, a_gang_takes_over_no_nomination_above_its_lowest_member)
{
	struct record *answer;

	two_full_nodes();
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	group("h", 2);
	pod("h-0", 20, "h", "", "");
	pod("h-1", 5, "h", "", "");
	search();
	answer = answer_take();
	waits("g", 2, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	x.answer = answer;
	answer_apply();
	cr_assert_eq(counts()->taken_over, 0);
	cr_assert_eq(counts()->open, 1);
}

/* Two answers from one state: each leaves the gang its quorum, both together do not. */
Test(nominations, two_gangs_do_not_spend_the_same_surplus)
{
	struct event_answer *body;
	struct answer_pod *victims;
	struct record *second;
	uint32_t n = 0;

	node("n1", 6);
	group("v", 4);
	pods("v", 0, 6, 0, "v", "n1");
	model_set_synced(x.m);
	waits("h", 2, 10);
	search();
	second = answer_take();
	waits("g", 2, 10);
	preempt_evicts(2);
	body = (void *)(second + 1);
	victims = (void *)(body + 1);
	cr_assert_eq(body->victims_n, 2);
	for (int i = 0; i < 6 && n < 2; i++) {
		if (asked(numbered("v", i)) != 0)
			continue;
		victims[n].pod = pod_named(numbered("v", i));
		victims[n++].generation = pod_slot(numbered("v", i))->generation;
	}
	x.answer = second;
	answer_apply();
	cr_assert_eq(api.evicts, 2);
	cr_assert_eq(counts()->open, 1);
}
