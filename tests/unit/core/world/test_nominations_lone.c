/* SPDX-License-Identifier: Apache-2.0 */
/* Lone pods that evict: their tickets and nominations beside those of gangs. */
#include "tests/unit/support_nominations.h"

TestSuite(nominations_lone, .init = start, .fini = scene_end);

static void asked_go(void)
{
	for (int i = 0; i < 8; i++)
		if (asked(numbered("low", i)) != 0)
			goes(numbered("low", i));
}

static void lone_many(int n, int priority)
{
	char stem[32];

	snprintf(stem, sizeof(stem), "%s-high", x.namespace);
	pods(stem, 0, n, priority, "", "");
	flush();
}

static unsigned tickets_of(bool lone)
{
	const struct core *c = x.loop.core;
	unsigned n = 0;

	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		n += c->tickets.all[i].number != 0 &&
		     lone != gang_is_group(&c->gangs, c->tickets.all[i].gang);
	return n;
}

Test(nominations_lone, a_lone_pod_is_nominated_and_starts_when_its_victim_is_gone)
{
	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt();
	cr_assert_eq(api.nominated, 1);
	cr_assert_eq(api.evicts, 1);
	cr_assert_eq(api.binds, 0);
	cr_assert_eq(api.evict.gang, x.loop.core->gangs.groups + pod_named("high"));
	cr_assert_eq(api.evict.gang_generation, pod_slot("high")->generation);
	cr_assert_eq(api.evict.victims, 1);
	cr_assert_eq(counts()->open, 1);
	pod("between", 5, "", "", ""); /* it does not get the room */
	asked_go();
	cr_assert_eq(api.binds, 1);
	cr_assert_eq(api.cancels + api.cleared, 0);
	cr_assert_eq(counts()->placed, 1);
	cr_assert_eq(counts()->open + counts()->wasted, 0);
	cr_assert(pod_slot("high")->node != ID_NONE);
}

Test(nominations_lone, no_pod_goes_for_a_lone_pod_of_equal_priority)
{
	two_full_nodes();
	pod("equal", 0, "", "", "");
	preempt();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(x.loop.core->tickets.n, 0);
}

Test(nominations_lone, a_lone_pod_that_may_not_preempt_is_not_searched_for)
{
	two_full_nodes();
	put("v1", "Pod", "high", "",
	    "\"spec\":{\"schedulerName\":\"muster\",\"priority\":10,\"preemptionPolicy\":\"Never\","
	    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]},"
	    "\"status\":{\"phase\":\"Pending\"}");
	flush();
	tick(3 * S);
	cr_assert_eq(x.loop.core->tickets.last, 0);
}

Test(nominations_lone, equal_lone_pods_are_answered_with_different_nodes)
{
	two_full_nodes();
	lone_many(2, 10);
	preempt_many();
	cr_assert_eq(api.evicts, 2);
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(counts()->stale, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), -1000);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 1, RESOURCE_CPU), -1000);
}

/* The victims of the second node have a higher priority: four go from the first one. */
Test(nominations_lone, equal_lone_pods_evict_no_higher_pod_for_being_many)
{
	node("n1", 4);
	node("n2", 4);
	pods("low", 0, 4, 0, "", "n1");
	pods("low", 4, 8, 5, "", "n2");
	model_set_synced(x.m);
	lone_many(4, 10);
	for (int i = 0; i < 12; i++) {
		preempt_many();
		tick(2 * S);
	}
	cr_assert_eq(api.nominated, 4);
	cr_assert_eq(api.evicts, 4);
	for (int i = 0; i < 4; i++)
		cr_assert(asked(numbered("low", i)) != 0);
}

Test(nominations_lone, equal_lone_pods_for_which_nothing_was_found_wait_together)
{
	two_full_nodes();
	lone_many(30, 0);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	preempt_many();
	cr_assert_eq(x.loop.core->tickets.n, 0);
	tick(S);
	cr_assert_eq(x.loop.core->tickets.n, 0);
	cr_assert_eq(x.loop.core->tickets.last, TICKETS_MAX - TICKETS_GANGS);
	/* One of a higher priority need not wait. */
	pod("high", 10, "", "", "");
	flush();
	cr_assert_eq(tickets_of(true), 1);
	preempt_evicts(1);
	tick(3 * S);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
}

Test(nominations_lone, many_lone_pods_take_no_ticket_of_a_gang)
{
	two_full_nodes();
	lone_many(40, 20);
	waits("g", 2, 10);
	flush();
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	cr_assert_eq(tickets_of(false), 1);
}

Test(nominations_lone, lone_pods_of_another_namespace_have_a_share_of_the_tickets)
{
	two_full_nodes();
	lone_many(20, 10);
	x.namespace = "other";
	lone_many(20, 10);
	cr_assert_eq(tickets_of(true), TICKETS_MAX - TICKETS_GANGS);
	for (uint32_t i = TICKETS_GANGS, of_other = 0; i < TICKETS_MAX; i++) {
		const struct core *c = x.loop.core;

		of_other += memcmp(c->gangs.slots[c->tickets.all[i].gang].name, "other/", 6) == 0;
		cr_assert(i < TICKETS_MAX - 1 || of_other == 8, "%u of 16", of_other);
	}
}

Test(nominations_lone, a_lone_pod_that_goes_withdraws_what_was_not_sent)
{
	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt_evicts(1);
	gone("high");
	flush();
	cr_assert_eq(api.cancels, 1);
	cr_assert_eq(counts()->changed, 1);
	cr_assert_eq(counts()->open, 0);
	cr_assert_eq(nodes_free_amount(&x.loop.core->nodes, 0, RESOURCE_CPU), 0);
}

Test(nominations_lone, a_refused_victim_of_a_lone_pod_puts_its_class_off)
{
	two_full_nodes();
	pod("high", 10, "", "", "");
	preempt();
	for (int i = 0; i < 8; i++)
		if (asked(numbered("low", i)) != 0)
			result(numbered("low", i), RESULT_EVICT_REFUSED);
	cr_assert_eq(counts()->refused, 1);
	cr_assert_eq(api.cleared, 1);
	pod("high-2", 10, "", "", "");
	flush();
	tick(5 * S);
	cr_assert_eq(x.loop.core->tickets.n, 0, "both wait ten seconds");
	tick(10 * S);
	cr_assert_eq(x.loop.core->tickets.n, 2);
}

Test(nominations_lone, a_higher_lone_pod_takes_over_and_evicts_no_other_pod)
{
	node("n1", 1);
	pod("low", 0, "", "n1", "");
	model_set_synced(x.m);
	pod("high", 10, "", "", "");
	preempt_evicts(1);
	pod("higher", 20, "", "", "");
	preempt();
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 1);
	cr_assert_eq(api.evicts, 1);
	cr_assert_eq(api.cancels, 0);
	cr_assert_eq(api.cleared, 1);
	goes("low");
	cr_assert_eq(api.binds, 1);
	cr_assert(pod_slot("higher")->node != ID_NONE);
}

Test(nominations_lone, the_next_epoch_makes_those_of_lone_pods_again)
{
	pod_id id;

	two_full_nodes();
	ending("low-2", 0, "n1");
	pod("high", 10, "", "", "");
	pod("not-nominated", 10, "", "", "");
	flush();
	id = pod_named("high");
	model_set_evicts(x.m, true);
	model_nominate(x.m, id, x.loop.core->pods.slots[id].generation, "n1");
	model_restart(x.m);
	flush();
	cr_assert_eq(x.loop.core->nominations.n, 1, "before any search");
	cr_assert_eq(api.nominated, 1);
	cr_assert_eq(api.cleared + api.evicts, 0);
	gone("low-2");
	flush();
	cr_assert_eq(api.binds, 1);
	cr_assert(pod_slot("high")->node != ID_NONE);
}

Test(nominations_lone, half_of_those_for_lone_pods_are_for_one_namespace)
{
	const int most = (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2;

	node("n1", most + 2);
	for (int i = 0; i < most + 2; i++) {
		pod(numbered("low", i), 0, "", "n1", "");
		flush();
		ending(numbered("low", i), 0, "n1");
	}
	synced();
	lone_many(most + 2, 10);
	for (int i = 0; i < 6; i++) {
		preempt_many();
		tick(2 * S);
	}
	cr_assert_eq(x.loop.core->nominations.n, (uint32_t)most);
	x.namespace = "other";
	lone_many(1, 10);
	preempt_many();
	cr_assert_eq(x.loop.core->nominations.n, (uint32_t)most + 1);
	cr_assert_eq(api.evicts, 0);
}

/* The room of the victim that goes first is held for both until the other one is gone. */
Test(nominations_lone, two_on_one_node_start_when_the_victims_of_both_are_gone)
{
	node("n1", 2);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	model_set_synced(x.m);
	lone_many(2, 10);
	for (int i = 0; i < 3; i++) {
		preempt_many();
		tick(S);
	}
	cr_assert_eq(api.nominated, 2);
	cr_assert_eq(api.evicts, 2);
	goes("low-0");
	cr_assert_eq(counts()->lost, 0);
	cr_assert_eq(counts()->open, 2);
	tick(3 * S);
	goes("low-1");
	cr_assert_eq(api.binds, 2);
	cr_assert_eq(counts()->placed, 2);
	cr_assert_eq(counts()->lost + counts()->wasted, 0);
}

/* The facts of a pod follow its record, and a search may come between. */
Test(nominations_lone, no_pod_goes_for_one_that_is_known_too_late_not_to_preempt)
{
	node("n2", 2);
	large("low-1", 0, "n2", "");
	model_set_synced(x.m);
	large("high", 10, "", "");
	search();
	cr_assert(x.answer);
	large("high", 10, "", ",\"preemptionPolicy\":\"Never\"");
	flush();
	answer_apply();
	cr_assert_eq(api.evicts + api.nominated, 0);
	cr_assert_eq(counts()->stale, 1);
}

/* The lowest ones were given up until it fitted, and the first of them was of no use. */
Test(nominations_lone, a_higher_lone_pod_takes_over_no_room_that_is_of_no_use_to_it)
{
	node("n1", 1);
	node("n2", 2);
	pod("low-0", 0, "", "n1", "");
	large("low-1", 1, "n2", "");
	model_set_synced(x.m);
	pod("a", 5, "", "", "");
	preempt();
	cr_assert(asked("low-0") != 0);
	large("b", 6, "", "");
	preempt();
	cr_assert(asked("low-1") != 0);
	cr_assert_eq(counts()->open, 2);
	large("c", 10, "", "");
	preempt();
	cr_assert_eq(counts()->taken_over, 1);
	cr_assert_eq(counts()->open, 2);
	cr_assert_eq(api.evicts, 2);
	cr_assert_eq(pod_slot("a")->node, 0);
	cr_assert_eq(pod_slot("b")->node, ID_NONE);
	cr_assert_eq(pod_slot("c")->node, 1);
}
