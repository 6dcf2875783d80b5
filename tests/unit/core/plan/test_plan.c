/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with rules between pods, by hand: which pods wait, for what, and what lets them start. */
#include "tests/unit/support_plain_case.h"

TestSuite(plan, .init = start, .fini = end);

enum { GANG = 1, HERE = 1, THERE = 2, ELSEWHERE = 3 };

static void node(uint32_t id, uint32_t zone, int64_t cpu_milli)
{
	put_node(id, zone, 0, cpu_milli);
}

static void pod(uint32_t id, uint32_t gang, uint32_t shape, uint32_t app)
{
	put_pod(id, gang, shape, PLAIN_NONE, app);
}

static void placed_pod(uint32_t id, uint32_t shape, uint32_t app, uint32_t at)
{
	put_pod(id, 0, shape, at, app);
}

static uint32_t zone_of(uint32_t id)
{
	const struct plain_node *n = &p->nodes[p->binds[id]];

	return n->labels_n > 2 ? n->labels[1].value : 0;
}

static uint32_t have_in(uint32_t first, uint32_t n, uint32_t zone)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += p->binds[i] != PLAIN_NONE && zone_of(i) == zone;
	return count;
}

static uint32_t count_of(const struct reason *r, uint32_t why)
{
	for (uint32_t i = 0; i < r->counts_n; i++)
		if (r->counts[i].why == why)
			return r->counts[i].nodes;
	return 0;
}

/* A gang of n members of shape 1, pods 0 to n - 1, is planned. */
static void place_gang(uint32_t n)
{
	plain_tell_gang(p, 0, n);
	put_pods(0, n, GANG, 1, 1);
	plan();
}

static void pod_ends(uint32_t id)
{
	plain_drop_pod(p, id);
	plan();
}

Test(plan, three_that_bar_each_other_need_three_nodes)
{
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(0, HERE, 4000);
	node(1, HERE, 4000);
	place_gang(3);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].why, WAIT_ROOM);
	cr_assert_eq(p->reasons[0].need, 3);
	cr_assert_eq(p->reasons[0].fit, 2);
	cr_assert_eq(p->reasons[0].counts_n, 1);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_ANTI_AFFINITY), 2);
	node(2, HERE, 4000);
	plan();
	cr_assert_eq(have(0, 3), 3);
	cr_assert(p->binds[0] != p->binds[1] && p->binds[1] != p->binds[2] &&
	          p->binds[0] != p->binds[2]);
}

/* The best single node lies in a zone that takes two. */
Test(plan, members_near_each_other_go_where_all_fit)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(0, HERE, 2900);
	node(1, THERE, 2000);
	node(2, THERE, 2000);
	node(3, ELSEWHERE, 1000);
	place_gang(4);
	cr_assert_eq(have_in(0, 4, THERE), 4);
}

/* Zone and host at once: only a node that takes all of them will do. */
Test(plan, members_near_each_other_in_two_ways_go_where_all_fit)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 1);
	node(0, HERE, 2000);
	node(1, HERE, 2000);
	node(2, HERE, 3000);
	p->nodes[2].amounts[RESOURCE_MEMORY] =
		700000000; /* full of memory, so that it is nobody's first choice */
	plain_tell_node(p, 2);
	p->shapes[1].amounts[RESOURCE_MEMORY] = 209715200;
	place_gang(3);
	cr_assert_eq(have(0, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(p->binds[i], 2);
}

/* The pod that its affinity matches is on a node without a zone, so it is still the first of its
 * series. */
Test(plan, first_of_a_series_beside_one_without_a_zone)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(0, 0, 4000);
	node(1, HERE, 1900);
	node(2, THERE, 1000);
	node(3, THERE, 1000);
	placed_pod(20, 0, 1, 0);
	place_gang(2);
	cr_assert_eq(have_in(0, 2, THERE), 2);
}

Test(plan, no_zone_takes_all_that_want_one)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(0, HERE, 2000);
	node(1, THERE, 2000);
	place_gang(3);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 2);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_POD_AFFINITY), 1);
	node(2, HERE, 1000);
	plan();
	cr_assert_eq(have_in(0, 3, HERE), 3);
}

Test(plan, seven_spread_over_three_zones)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1);
	for (uint32_t i = 0; i < 6; i++)
		node(i, 1 + i % 3, 4000);
	place_gang(7);
	cr_assert_eq(have(0, 7), 7);
	for (uint32_t zone = 1; zone <= 3; zone++)
		cr_assert(have_in(0, 7, zone) == 2 || have_in(0, 7, zone) == 3);
}

Test(plan, one_port_is_one_member_a_node)
{
	p->shapes[1].ports_n = 1;
	p->shapes[1].ports[0] = (struct host_port){ PORT_EVERY_ADDRESS, 0, 80, 0 };
	node(0, HERE, 4000);
	node(1, HERE, 4000);
	place_gang(3);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 2);
	node(2, HERE, 4000);
	plan();
	cr_assert_eq(have(0, 3), 3);
	cr_assert(p->binds[0] != p->binds[1] && p->binds[1] != p->binds[2] &&
	          p->binds[0] != p->binds[2]);
}

/* One row and one column each: the best node first would take both at once. */
Test(plan, bars_in_two_directions_are_searched)
{
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 1);
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_RACK, 1);
	/* The first is in the rack of the third. */
	put_node(0, HERE, 1, 4000);
	put_node(1, HERE, 2, 2000);
	put_node(2, THERE, 1, 2000);
	place_gang(2);
	cr_assert_eq(have(0, 2), 2);
	cr_assert(p->binds[0] != 0 && p->binds[1] != 0);
}

/* A pod that ends changes nothing for gangs that need more nodes: they are not planned again. */
Test(plan, bars_are_counted_before_planning)
{
	uint64_t plans;

	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(0, HERE, 4000);
	node(1, HERE, 4000);
	placed_pod(20, 0, 9, 0);
	placed_pod(21, 0, 9, 1);
	place_gang(3);
	plans = p->ledger->stats.plans;
	pod_ends(20);
	pod_ends(21);
	cr_assert_eq(p->ledger->stats.plans, plans);
	node(2, HERE, 4000);
	plan();
	cr_assert_eq(have(0, 3), 3);
}

/* Workers (first by name) have affinity to the launcher, which has to choose a zone that takes
 * them. */
Test(plan, workers_follow_their_launcher)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(0, HERE, 3000);
	node(1, THERE, 2000);
	node(2, THERE, 2000);
	plain_tell_gang(p, 0, 4);
	put_pods(0, 3, GANG, 1, 1);
	pod(3, GANG, 2, 2);
	plan();
	cr_assert_eq(have_in(0, 4, THERE), 4);
}

Test(plan, workers_follow_in_big_zones)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(0, HERE, 8000);
	node(1, HERE, 8000);
	node(2, HERE, 1000);
	node(3, THERE, 4000);
	node(4, THERE, 4000);
	node(5, THERE, 4000);
	node(6, THERE, 7000);
	plain_tell_gang(p, 0, 19);
	put_pods(0, 18, GANG, 1, 1);
	pod(18, GANG, 2, 2);
	plan();
	cr_assert_eq(have_in(0, 19, THERE), 19);
}

/* The third has affinity to the second, the second to the first. */
Test(plan, a_chain_of_kinds)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 2);
	term(2, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 3);
	p->shapes[1].amounts[RESOURCE_CPU] = 1500; /* the hardest, and it can come last only */
	node(0, HERE, 2000);
	node(1, HERE, 4000);
	plain_tell_gang(p, 0, 3);
	pod(0, GANG, 1, 1);
	pod(1, GANG, 2, 2);
	pod(2, GANG, 3, 3);
	plan();
	cr_assert_eq(have(0, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		cr_assert_eq(p->binds[i], 1);
}

/* Both classes count for the spread of one of them, so they have to be placed in turns. */
Test(plan, kinds_take_turns_where_the_spread_wants_it)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1)->flags |= SPREAD_IGNORES_AFFINITY;
	spread(2, PLAIN_KEY_ZONE, 1, 1)->flags |= SPREAD_IGNORES_AFFINITY;
	p->shapes[1].selector = value_is(PLAIN_KEY_HOST, 20);
	p->shapes[2].selector = value_is(PLAIN_KEY_HOST, 21);
	node(0, HERE, 4000);
	node(1, THERE, 4000);
	plain_tell_gang(p, 0, 6);
	put_pods(0, 3, GANG, 1, 1);
	put_pods(3, 3, GANG, 2, 1);
	plan();
	cr_assert_eq(have_in(0, 3, HERE), 3);
	cr_assert_eq(have_in(3, 3, THERE), 3);
}

Test(plan, two_gangs_that_bar_each_other)
{
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);
	term(2, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 1);
	node(0, HERE, 4000);
	plain_tell_gang(p, 0, 2);
	plain_tell_gang(p, 1, 2);
	put_pods(0, 2, GANG, 1, 1);
	put_pods(2, 2, GANG + 1, 2, 2);
	plan();
	cr_assert_eq(have(0, 2), 2);
	cr_assert_eq(have(2, 2), 0);
	cr_assert_eq(count_of(&p->reasons[1], FILTER_ANTI_AFFINITY), 1);
	plain_settle(p);
	pod_ends(0);
	cr_assert_eq(have(2, 2), 0);
	pod_ends(1);
	cr_assert_eq(have(2, 2), 2);
}

/* Existing anti-affinity: the placed pods' terms match it, it has none itself. */
Test(plan, barred_by_those_who_are_there)
{
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(0, HERE, 4000);
	node(1, THERE, 1000);
	placed_pod(20, 1, 1, 0);
	plain_tell_gang(p, 0, 2);
	put_pods(0, 2, GANG, 2, 2);
	plan();
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(p->reasons[0].fit, 1);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_EXISTING_ANTI_AFFINITY), 1);
	pod_ends(20);
	cr_assert_eq(have(0, 2), 2);
}

Test(plan, whom_it_seeks_comes)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 2);
	node(0, HERE, 4000);
	node(1, THERE, 4000);
	place_gang(2);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_POD_AFFINITY), 2);
	/* A pod that is muster's, and placed in the same plan as those that seek it. */
	pod(20, 0, 2, 2);
	plan();
	cr_assert_eq(have(0, 2), 2);
	cr_assert_eq(zone_of(0), zone_of(20));
	cr_assert_eq(zone_of(1), zone_of(20));
}

/* One in the other zone has to come before there may be one more here. */
Test(plan, somebody_comes_to_the_emptier_zone)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1);
	node(0, HERE, 4000);
	node(1, THERE, 1000);
	set_flags(1, NODE_CORDONED);
	placed_pod(20, 0, 1, 0);
	place_gang(1);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_SPREAD), 1);
	placed_pod(21, 0, 1, 1);
	plan();
	cr_assert_eq(p->binds[0], 0);
}

/* The emptier zone is gone, and with it the reason to wait. */
Test(plan, the_emptier_zone_goes)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1);
	node(0, HERE, 4000);
	node(1, THERE, 4000);
	set_flags(1, NODE_CORDONED);
	placed_pod(20, 0, 1, 0);
	place_gang(1);
	cr_assert_eq(p->binds_n, 0);
	plain_drop_node(p, 1);
	plan();
	cr_assert_eq(p->binds[0], 0);
}

/* ... or does not count: a taint that the spread honours. */
Test(plan, the_emptier_zone_is_tainted)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1)->flags |= SPREAD_HONORS_TAINTS;
	node(0, HERE, 4000);
	node(1, THERE, 500);
	placed_pod(20, 0, 1, 0);
	place_gang(1);
	cr_assert_eq(p->binds_n, 0);
	p->nodes[1].taints_n = 1;
	p->nodes[1].taints[0] = (struct taint){ PLAIN_KEY_TAINT, 1, EFFECT_NO_SCHEDULE, 12 };
	plain_tell_node(p, 1);
	plan();
	cr_assert_eq(p->binds[0], 0);
}

Test(plan, a_namespace_gets_another_label)
{
	struct plain_term *t = term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_ZONE, 2);

	t->chosen = true;
	t->namespace_labels = value_is(PLAIN_KEY_TEAM, 1);
	p->shapes[2].namespace = 1;
	p->namespaces[1] = (struct plain_namespace){ true, 1 };
	plain_tell_namespace(p, 1);
	node(0, HERE, 4000);
	placed_pod(20, 2, 2, 0);
	place_gang(2);
	cr_assert_eq(p->binds_n, 0);
	cr_assert_eq(count_of(&p->reasons[0], FILTER_ANTI_AFFINITY), 1);
	p->namespaces[1].label = 2;
	plain_tell_namespace(p, 1);
	plan();
	cr_assert_eq(have(0, 2), 2);
}

/* A pod that is being deleted still counts for anti-affinity, but not for the spread. */
Test(plan, one_begins_to_leave)
{
	spread(1, PLAIN_KEY_ZONE, 1, 1);
	node(0, HERE, 4000);
	node(1, THERE, 500);
	placed_pod(20, 0, 1, 0);
	place_gang(1);
	cr_assert_eq(p->binds_n, 0);
	p->pods[20].deleting = true;
	plain_tell_pod(p, 20);
	plan();
	cr_assert_eq(p->binds[0], 0);
}

enum { SECOND = 1000000000 };

/* Has somebody room held for him after so many seconds of ticks? */
static bool held_after(uint32_t seconds)
{
	bool held = false;

	for (uint32_t i = 0; i < seconds && !held; i += 3) {
		plain_tick(p, UINT64_C(3) * SECOND);
		plan();
		held = p->ledger->gauges.reserved_gang > 0;
	}
	return held;
}

/* A pod of one core outside of gangs: does it get a node? */
static uint32_t one_more(void)
{
	put_pod(13, 0, 0, PLAIN_NONE, 9);
	plan();
	return have(13, 1);
}

/* Three with anti-affinity to each other on two nodes never start: nothing is reserved for them. */
Test(plan, nothing_is_held_for_rules_that_can_not_be_met)
{
	start_reserving(UINT64_C(60) * SECOND);
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	spread(2, PLAIN_KEY_ZONE, 1, 2);
	term(3, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 3);
	term(4, POD_TERM_AFFINITY, PLAIN_KEY_ZONE, 7);
	node(0, HERE, 4000);
	node(1, THERE, 1000);
	placed_pod(20, 0, 9, 0);
	plain_tell_gang(p, 0, 3);
	put_pods(0, 3, GANG, 1, 1);
	plain_tell_gang(p, 1, 4);
	put_pods(3, 4, GANG + 1, 2, 2);
	plain_tell_gang(p, 2, 5);
	put_pods(7, 5, GANG + 2, 3, 3);
	plain_tell_gang(p, 3, 1);
	put_pods(12, 1, GANG + 3, 4, 4);
	plan();
	cr_assert_eq(p->binds_n, 0);
	cr_assert_not(held_after(150));
	cr_assert_eq(one_more(), 1);
}

/* Two with anti-affinity to each other on two nodes, one of them full: they start when a pod ends.
 */
Test(plan, room_is_held_where_rules_can_be_met)
{
	start_reserving(UINT64_C(60) * SECOND);
	term(1, POD_TERM_ANTI_AFFINITY, PLAIN_KEY_HOST, 1);
	node(0, HERE, 1000);
	node(1, THERE, 1000);
	placed_pod(20, 0, 9, 0);
	place_gang(2);
	cr_assert(held_after(90));
	cr_assert_eq(one_more(), 0);
	pod_ends(20);
	cr_assert_eq(have(0, 2), 2);
	cr_assert_eq(p->ledger->gauges.reserved_gang, 0);
}

/* Each class could fit by itself, both together never do, which is not known: the reservation
 * expires. */
Test(plan, a_reservation_for_several_classes_ends)
{
	start_reserving(UINT64_C(60) * SECOND);
	p->shapes[1].amounts[RESOURCE_CPU] = 900;
	node(0, HERE, 1000);
	plain_tell_gang(p, 0, 2);
	pod(0, GANG, 0, 1);
	pod(1, GANG, 1, 1);
	plan();
	cr_assert_eq(p->binds_n, 0);
	cr_assert(held_after(90));
	cr_assert_eq(one_more(), 0);
	plain_tick(p, UINT64_C(605) * SECOND);
	plan();
	cr_assert_eq(have(13, 1), 1);
}

/* Eight of more than half a node each on seven nodes, all of different classes: too many placements
 * to try.  A change soon after the search causes another search, though nothing changes after that.
 */
Test(plan, a_change_after_a_search_is_searched)
{
	uint64_t changed_ns;

	for (uint32_t i = 0; i < 7; i++)
		node(i, HERE, 1000);
	plain_tell_gang(p, 0, 8);
	for (uint32_t i = 0; i < 8; i++) {
		p->shapes[i].amounts[RESOURCE_CPU] = 501 + i;
		pod(i, GANG, i, 1);
	}
	plain_tick(p, UINT64_C(3) * SECOND);
	plan();
	plain_tick(p, UINT64_C(3) * SECOND);
	plan();
	cr_assert_eq(p->reasons[0].why, WAIT_GAVE_UP);
	/* Half way to the next refresh something changes ... */
	plain_tick(p, UINT64_C(1500) * 1000000);
	node(0, HERE, 1001);
	plan();
	plain_tick(p, UINT64_C(600) * 1000000);
	plan();
	plain_tick(p, UINT64_C(1500) * 1000000);
	node(0, HERE, 1002);
	changed_ns = p->core->now_ns;
	plan();
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, UINT64_C(1900) * 1000000);
		plan();
	}
	cr_assert_geq(p->core->gangs.slots[0].searched_ns, changed_ns);
	/* ... and then it's quiet. */
	changed_ns = p->core->gangs.slots[0].searched_ns;
	for (uint32_t i = 0; i < 4; i++) {
		plain_tick(p, UINT64_C(1900) * 1000000);
		plan();
	}
	cr_assert_eq(p->core->gangs.slots[0].searched_ns, changed_ns);
}

/* The gang may start with its launcher alone; members with affinity to it start in the same plan.
 */
Test(plan, members_beyond_the_quorum_are_let_in_by_the_first)
{
	term(1, POD_TERM_AFFINITY, PLAIN_KEY_HOST, 2);
	node(0, HERE, 4000);
	node(1, THERE, 4000);
	plain_tell_gang(p, 0, 1);
	put_pods(0, 2, GANG, 1, 1);
	pod(2, GANG, 2, 2);
	plan();
	cr_assert_eq(have(0, 3), 3);
}

/* Something changes before each walk ends, and the first gang of the queue costs a whole cycle. */
Test(plan, those_at_the_end_have_their_turn)
{
	uint32_t rounds = 0;

	for (uint32_t i = 0; i < 7; i++)
		node(i, HERE, 1000);
	set_flags(6, NODE_CORDONED);
	for (uint32_t i = 0; i < 23; i++) {
		if (i % 8 == 0)
			plain_tell_gang(p, i / 8, i < 16 ? 8 : 7);
		p->shapes[i].amounts[RESOURCE_CPU] = 501 + i;
		pod(i, GANG + i / 8, i, 1);
	}
	p->shapes[23].amounts[RESOURCE_CPU] = 100;
	p->shapes[23].selector = value_is(PLAIN_KEY_HOST, 26);
	pod(23, 0, 23, 1);
	plan();
	set_flags(6, 0);
	for (; rounds < 100 && p->binds[23] == PLAIN_NONE; rounds++) {
		plain_tick(p, UINT64_C(3) * SECOND);
		node(0, HERE, 1000 + rounds % 2);
		plain_round(p);
	}
	cr_assert(rounds > 1 && rounds < 40, "%u rounds", rounds);
}
