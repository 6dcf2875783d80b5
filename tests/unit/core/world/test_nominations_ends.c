/* SPDX-License-Identifier: Apache-2.0 */
/* What ends a nomination of a gang and what does not, and which ones the next epoch makes again. */
#include "core/cycle/renominate.h"
#include "core/lifecycle/members.h"
#include "tests/unit/support_nominations.h"

TestSuite(nominations_ends, .init = start, .fini = scene_end);

Test(nominations_ends, a_refused_victim_ends_it_and_the_others_are_withdrawn)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-3", RESULT_EVICT_REFUSED);
	cr_assert_eq(api.cancels, 7);
	cr_assert_eq(api.cleared, 8);
	cr_assert_eq(counts()->refused, 1);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), 0);
	tick(5 * S);
	cr_assert_eq(x.loop.core->tickets.n, 0, "it waits ten seconds");
	tick(10 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
}

Test(nominations_ends, a_preemptor_that_goes_withdraws_what_was_not_sent)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-0", RESULT_EVICT_SENT);
	result("low-1", RESULT_EVICT_SENT);
	gone("g-0");
	flush();
	cr_assert_eq(api.cancels, 6);
	cr_assert_eq(api.cleared, 7);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(counts()->wasted, 2);
}

Test(nominations_ends, a_victim_that_does_not_go_ends_it_and_is_named)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-0", RESULT_EVICT_SENT);
	tick(29 * S);
	cr_assert_eq(counts()->stuck, 0);
	tick(10 * S);
	cr_assert_eq(counts()->stuck, 1);
	cr_assert_eq(api.cancels, 7);
	tick(3 * S);
	cr_assert_eq(x.loop.core->ledger.gangs[0].reason.stuck_pod, pod_named("low-0"));
	cr_assert(x.loop.core->ledger.gangs[0].reason.stuck_generation > 0);
}

/* A pod of another scheduler, which has bound it. */
static void theirs(const char *name, const char *on)
{
	put("v1", "Pod", name, "",
	    "\"spec\":{\"schedulerName\":\"theirs\",\"priority\":0,\"nodeName\":\"%s\",\"containers\":[{"
	    "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{"
	    "\"phase\":\"Running\"}",
	    on);
}

/* For five minutes each victim has a successor on its node before it is gone. */
static void always_taken(void)
{
	x.loop.preemption |= PREEMPTION_ALL;
	node("n1", 1);
	theirs("low-0", "n1");
	synced();
}

static unsigned tries_of_five_minutes(uint32_t index)
{
	unsigned tries = 0;

	for (int s = 0; s < 300; s++) {
		tick(S);
		if (x.loop.core->tickets.n > 0)
			preempt();
		if (api.evicts == tries)
			continue;
		cr_assert_eq(api.evicts, ++tries);
		theirs(numbered("low", (int)tries), "n1");
		flush();
		goes(numbered("low", (int)tries - 1));
		cr_assert_eq(counts()->lost, tries);
		cr_assert_eq(x.loop.core->nominations.n, 0);
	}
	cr_assert_eq(api.binds, 0);
	cr_assert_eq(x.loop.core->gangs.slots[index].queue, QUEUE_UNSCHEDULABLE);
	return tries;
}

/* PRE-19 without the extender: 10 s after the first loss, then 20, 40, 80. */
Test(nominations_ends, a_scheduler_that_is_always_faster_costs_few_pods_and_is_named)
{
	const struct reason *r = &x.loop.core->ledger.gangs[0].reason;
	unsigned tries;

	always_taken();
	waits("g", 1, 10);
	tries = tries_of_five_minutes(0);
	cr_assert(tries >= 4 && tries <= 6, "%u", tries);
	cr_assert_eq(r->taken_pod, pod_named(numbered("low", (int)tries)));
	cr_assert_eq(r->taken_generation, pod_slot(numbered("low", (int)tries))->generation);
}

Test(nominations_ends, a_lone_pod_loses_its_room_as_seldom)
{
	const struct reason *r = &api.why;
	unsigned tries;

	always_taken();
	pod("high", 10, "", "", "");
	flush();
	tries = tries_of_five_minutes(x.loop.core->gangs.groups + pod_named("high"));
	cr_assert(tries >= 4 && tries <= 6, "%u", tries);
	cr_assert_eq(r->taken_pod, pod_named(numbered("low", (int)tries)));
	gone("high");
	pod("next", 10, "", "", "");
	api.why.taken_generation = 1;
	flush();
	tick(3 * S);
	cr_assert_eq(r->why, WAIT_ROOM);
	cr_assert_eq(r->taken_generation, 0u, "it was to have none");
}

/* A victim of 40 s of grace, by an API server whose clock is that. */
static void one_never_goes(const char *ends)
{
	char more[160];

	model_set_evicts(x.m, true);
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	result("low-0", RESULT_EVICT_SENT);
	snprintf(more, sizeof(more), ",\"deletionTimestamp\":\"%s\",\"deletionGracePeriodSeconds\":40",
	         ends);
	pod("low-0", 0, "", "n1", more);
	flush();
}

Test(nominations_ends, a_victim_that_does_not_go_was_not_found_by_a_clock_behind_the_API_servers)
{
	one_never_goes("2046-01-01T00:00:40Z");
	tick(39 * S);
	cr_assert_eq(counts()->stuck, 0);
	tick(10 * S);
	cr_assert_eq(counts()->stuck, 1);
}

Test(nominations_ends, a_victim_had_no_time_to_go_by_a_clock_before_the_API_servers)
{
	one_never_goes("1996-01-01T00:00:40Z");
	tick(39 * S);
	cr_assert_eq(counts()->stuck, 0);
	tick(10 * S);
	cr_assert_eq(counts()->stuck, 1);
}

Test(nominations_ends, they_end_when_gangs_evict_no_more)
{
	struct {
		struct record head;
		struct event_preemption body;
	} r = { .head = { .bytes = sizeof(r), .kind = EVENT_PREEMPTION },
		    .body = { .flags = PREEMPTION_EXPLAIN } };

	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	apply(&r.head);
	cr_assert_eq(api.cancels, 8);
	cr_assert_eq(api.cleared, 8);
	cr_assert_eq(counts()->changed, 1);
}

/* A member that ran is gone, so that more have to start than are ready. */
Test(nominations_ends, a_gang_that_lacks_members_holds_no_room)
{
	two_full_nodes();
	group("g", 3);
	node("n3", 1);
	pod("g-2", 10, "g", "n3", "");
	pod("g-0", 10, "g", "", "");
	pod("g-1", 10, "g", "", "");
	preempt();
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(api.evicts, 2);
	gone("g-2");
	flush();
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(api.cancels, 2);
	cr_assert_eq(api.cleared, 2);
}

Test(nominations_ends, a_gang_that_its_queue_stops_holds_no_room)
{
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	queue("default", "\"weight\":1");
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("scheduling.volcano.sh/v1beta1", "Queue", "default", "",
	    "\"spec\":{\"weight\":1,\"capability\":{\"cpu\":\"1\"}}");
	flush();
	tick(3 * S);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(api.cancels, 8);
}

Test(nominations_ends, a_cordoned_node_ends_it_and_no_other_pod_goes)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("v1", "Node", "n2", "",
	    "\"spec\":{\"unschedulable\":true},"
	    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"64Gi\",\"pods\":\"99\"}}");
	flush();
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(api.cancels, 8);
}

/* A label that no selector matches: the member requests the same, and stays nominated. */
static void relabelled_while_nominated(void)
{
	two_full_nodes();
	waits("g", 8, 10);
	preempt();
	cr_assert_eq(counts()->open, 1);
	put("v1", "Pod", "g-3",
	    ",\"labels\":{\"app\":\"a\",\"other\":\"b\",\"scheduling.x-k8s.io/pod-group\":\"g\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}");
	flush();
	cr_assert_eq(counts()->open, 1);
	all_go(true);
	cr_assert_eq(api.binds, 8, "binds %u", api.binds);
	cr_assert_eq(x.loop.core->nominations.n, 0);
}

Test(nominations_ends, a_nominated_member_that_is_labelled_anew_starts)
{
	relabelled_while_nominated();
}

Test(nominations_ends, a_nominated_member_that_is_labelled_anew_starts_with_promises)
{
	start_with(MODEL_QUEUES_NONE, 4, 0);
	relabelled_while_nominated();
}

Test(nominations_ends, a_nominated_member_that_is_labelled_anew_starts_with_queues)
{
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	queue("default", "\"weight\":1");
	relabelled_while_nominated();
}

/* The next frontend's lists: what ends is room to come, so no other pod is evicted for it. */
Test(nominations_ends, a_new_epoch_evicts_no_other_pod)
{
	two_full_nodes();
	waits("g", 2, 10);
	preempt_evicts(2);
	for (int i = 0; i < 8; i++) {
		if (asked(numbered("low", i)) == 0)
			continue;
		api.asked[pod_named(numbered("low", i))] = 0;
		ending(numbered("low", i), 0, i < 4 ? "n1" : "n2");
	}
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 0);
	cr_assert_eq(counts()->open, 0, "it is shown as open");
	cr_assert_eq(counts()->changed, 1);
	preempt_evicts(2);
	cr_assert_eq(x.loop.core->nominations.n, 1);
}

Test(nominations_ends, the_next_epoch_makes_them_again_from_the_api)
{
	two_full_nodes();
	ending("low-2", 0, "n1");
	waits("g", 1, 10);
	flush();
	preempt();
	cr_assert_eq(api.nominated, 1);
	model_set_evicts(x.m, true);
	model_nominate(x.m, pod_named("g-0"), pod_slot("g-0")->generation, "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 1, "before any search");
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(api.cleared + api.evicts, 0);
	gone("low-2");
	flush();
	cr_assert_eq(api.binds, 1);
}

Test(nominations_ends, what_is_not_made_again_is_cleared)
{
	two_full_nodes();
	waits("g", 1, 10);
	flush();
	model_set_evicts(x.m, true);
	model_nominate(x.m, pod_named("g-0"), pod_slot("g-0")->generation, "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 0);
	cr_assert_eq(api.cleared, 1);
	cr_assert_eq(api.nominated, 0);
}

/* The gang began with three members, of which one runs, and one holds room of an earlier epoch. */
Test(nominations_ends, a_gang_that_retains_room_is_not_made_again)
{
	struct core *c = x.loop.core;

	two_full_nodes();
	node("n3", 2);
	ending("low-0", 0, "n1");
	ending("low-1", 0, "n1");
	group("g", 3);
	pod("g-3", 10, "g", "n3", "");
	flush();
	for (int i = 0; i < 3; i++) {
		const char *const names[] = { "g-0", "g-1", "g-2" };

		pod(names[i], 10, "g", "", "");
	}
	flush();
	cr_assert_eq(api.binds, 0);
	c->gangs.slots[0].begun = 3;
	pod_reserve_again(c, pod_named("g-2"), 2, RESERVATION_RETAINED);
	cr_assert_eq(c->gangs.slots[0].retained, 1);
	for (int i = 0; i < 2; i++) {
		const pod_id id = pod_named(i == 0 ? "g-0" : "g-1");

		c->tickets.facts[id].sent = (struct event_pod_facts){
			.pod = id, .generation = c->pods.slots[id].generation, .nominated = 0
		};
	}
	renominate(c);
	cr_assert_eq(c->nominations.n, 0);
	cr_assert_eq(c->nominations.commands_n, 2, "both lose their node");
}
