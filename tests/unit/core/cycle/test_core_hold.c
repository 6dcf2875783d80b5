/* SPDX-License-Identifier: Apache-2.0 */
/* A big gang among a stream of small ones: it gets its room in the end, and nothing is
 * kept for one that could never start. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define CHECK_WHERE(s, pod, node) cr_assert_str_eq(story_where(s, pod), node)

enum { BIG = 4, SMALL = 200 };

/* Small pods of one core each come as others end; how many were placed before the gang of
 * four that needs the whole node.  It may have minResources. */
static uint32_t stream(struct story *s, uint32_t steps, int64_t cores)
{
	static char names[SMALL][16];
	uint32_t made = 0, oldest = 0;

	for (; made < 4; made++) {
		snprintf(names[made], sizeof(names[made]), "s%03u", made);
		story_pod(s, .name = names[made], .cpu = 1, .node = "n1");
	}
	story_gang(s, .name = "big", .quorum = BIG, .cpu = cores);
	story_pods(s, BIG, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	for (uint32_t i = 0; i < steps; i++) {
		snprintf(names[made], sizeof(names[made]), "s%03u", made);
		story_pod(s, .name = names[made++], .cpu = 1, .created = 5000 + i);
		/* They run one after another: the first to come is the first to end. */
		if (oldest < 4 || *story_where(s, names[oldest]))
			story_drop_pod(s, names[oldest++]);
		story_tick(s, 2500);
		story_plan(s);
		story_skip(s);
		if (story_count(s, "big") == BIG)
			return i;
	}
	return steps;
}

static void check_stream(int64_t cores)
{
	struct story *s = story_new();
	uint32_t step;

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	step = stream(s, 60, cores);
	/* A minute has to pass, then four small ones have to end. */
	cr_assert(step >= 24 && step < 40, "%u steps", step);
	cr_assert_eq(story_ledger(s)->gauges.holds, 1);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

Test(hold, ends_the_wait_of_a_big_gang)
{
	check_stream(0);
}

/* Those are never free at once. */
Test(hold, ends_the_wait_for_min_resources)
{
	check_stream(BIG);
}

/* Four small pods of one core on each of two nodes, one of which ends at each step, and another one
 * comes: no member of two cores ever finds a node by chance.  Steps until the gang of them has
 * started. */
static uint32_t crumbs(uint32_t steps)
{
	struct story *s = story_new();
	static char names[SMALL + 8][16];
	uint32_t made = 0, step = 0;

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	for (; made < 8; made++) {
		snprintf(names[made], sizeof(names[made]), "s%03u", made);
		story_pod(s, .name = names[made], .cpu = 1, .node = made % 2 ? "n1" : "n2");
	}
	story_gang(s, .name = "big", .quorum = 2);
	story_pods(s, 2, .name = "big", .gang = "big", .cpu = 2);
	story_plan(s);
	for (uint32_t oldest = 0; step < steps && story_count(s, "big") == 0; step++) {
		snprintf(names[made], sizeof(names[made]), "s%03u", made);
		story_pod(s, .name = names[made++], .cpu = 1, .created = 5000 + step);
		if (oldest < 8 || *story_where(s, names[oldest]))
			story_drop_pod(s, names[oldest++]);
		story_tick(s, 2500);
		story_plan(s);
		story_skip(s);
	}
	story_free(s);
	return step;
}

Test(hold, empties_nodes_for_members_that_need_more_than_what_ends)
{
	const uint32_t steps = crumbs(SMALL);

	/* A minute, another one, then four have to end. */
	cr_assert(steps >= 48 && steps < 70, "%u steps", steps);
}

static void wait_for_hold(struct story *s)
{
	for (int i = 0; i < 30; i++) {
		story_tick(s, 2500);
		story_plan(s);
	}
}

/* The small one is older than nobody, so it waits; what is beside the hold is free to it. */
Test(hold, leaves_what_the_gang_can_not_use)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "n2", .cpu = 5, .memory = 8);
	story_pod(s, .name = "long", .cpu = 2, .node = "n1");
	story_gang(s, .name = "big", .quorum = 4);
	story_pods(s, 4, .name = "big", .gang = "big", .cpu = 2);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_skip(s);
	story_pod(s, .name = "one", .cpu = 1, .created = 5000);
	story_pod(s, .name = "two", .cpu = 1, .created = 5001);
	story_plan(s);
	CHECK_WHERE(s, "one", "n2"); /* the gang fits twice on each node with or without it */
	CHECK_WHERE(s, "two", "");
	cr_assert_eq(story_why(s, "two")->why, WHY_HELD);
	/* Those that come before the gang see everything. */
	story_pod(s, .name = "first", .cpu = 1, .priority = 10);
	story_plan(s);
	CHECK_WHERE(s, "first", "n2");
	/* Room for all: the gang, then those behind. */
	story_drop_pod(s, "long");
	story_drop_pod(s, "first");
	story_plan(s);
	cr_assert_eq(story_count(s, "big"), 4);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

Test(hold, is_over_with_its_frontend)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 2, .memory = 64);
	story_pod(s, .name = "long", .cpu = 1, .node = "n1");
	story_gang(s, .name = "big", .quorum = 1);
	story_pod(s, .name = "big", .gang = "big", .cpu = 2);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_begin(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

/* Only as many nodes as the gang needs, and those that are nearest to be free; a service that never
 * ends keeps its node, and the others get it back after ten minutes. */
Test(hold, empties_no_more_nodes_than_it_needs_and_not_for_ever)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 64);
	story_node(s, .name = "n2", .cpu = 3, .memory = 64);
	story_pods(s, 2, .name = "a", .cpu = 1, .node = "n1");
	story_pods(s, 2, .name = "b", .cpu = 1, .node = "n2");
	story_gang(s, .name = "big", .quorum = 1);
	story_pod(s, .name = "big", .gang = "big", .cpu = 3);
	story_plan(s);
	for (int i = 0; i < 60; i++) {
		story_tick(s, 2500);
		story_plan(s);
	}
	story_pods(s, 2, .name = "small", .cpu = 1, .created = 5000);
	story_plan(s);
	CHECK_WHERE(s, "small-0", "n2");
	CHECK_WHERE(s, "small-1", "");
	cr_assert_eq(story_why(s, "small-1")->why, WHY_HELD);
	story_tick(s, 600000);
	story_plan(s);
	CHECK_WHERE(s, "small-1", "n1");
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

Test(hold, is_not_for_one_that_could_never_start)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "huge", .quorum = 5);
	story_pods(s, 5, .name = "huge", .gang = "huge", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0);
	story_pod(s, .name = "small", .cpu = 2, .created = 5000);
	story_plan(s);
	CHECK_WHERE(s, "small", "n1");
	/* A node comes with which it could. */
	story_node(s, .name = "n2", .cpu = 2, .memory = 8);
	story_pod(s, .name = "there2", .cpu = 2, .node = "n2");
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

/* There is room for the members, and never so much as the group asks for. */
Test(hold, is_not_for_min_resources_that_could_never_be_met)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "gone", .cpu = 4, .memory = 8, .absent = true);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "big", .quorum = 4, .cpu = 5);
	story_pods(s, 4, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0);
	story_gang(s, .name = "big", .quorum = 4, .cpu = 4);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

/* They are more than what is kept for the members, and somebody who never ends has a part of them.
 */
Test(hold, for_min_resources_ends)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 8, .memory = 64);
	story_pod(s, .name = "there", .cpu = 5, .node = "n1");
	story_gang(s, .name = "big", .quorum = 4, .cpu = 8);
	story_pods(s, 4, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_pod(s, .name = "small", .cpu = 1, .created = 5000);
	story_plan(s);
	CHECK_WHERE(s, "small", "");
	story_tick(s, 605000);
	story_plan(s);
	CHECK_WHERE(s, "small", "n1");
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

/* A gang that holds, and one behind it that could have what is kept. */
static struct story *held_before_one(void)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pod(s, .name = "long", .cpu = 2, .node = "n1");
	story_gang(s, .name = "big", .quorum = 3);
	story_pod(s, .name = "first", .gang = "big", .cpu = 1, .priority = 10);
	story_pods(s, 3, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_pod(s, .name = "one", .cpu = 1, .priority = 5);
	story_plan(s);
	CHECK_WHERE(s, "one", "");
	return s;
}

Test(hold, is_not_before_one_that_the_group_fell_behind)
{
	struct story *s = held_before_one();

	story_gang(s, .name = "big", .quorum = 3, .has_priority = true, .priority = 1);
	story_plan(s);
	CHECK_WHERE(s, "one", "n1");
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

Test(hold, is_not_before_one_when_the_first_member_leaves)
{
	struct story *s = held_before_one();

	story_drop_pod(s, "first");
	story_plan(s);
	CHECK_WHERE(s, "one", "n1");
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

/* One that is gone before anybody looks at it keeps nothing: others needn't wait for the next tick.
 */
Test(hold, ends_with_the_pod_it_is_for)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pod(s, .name = "long", .cpu = 2, .node = "n1");
	story_pod(s, .name = "big", .cpu = 4);
	story_plan(s);
	wait_for_hold(s);
	wait_for_hold(s); /* its node is emptied by now */
	story_pod(s, .name = "one", .cpu = 1, .created = 5000);
	story_plan(s);
	cr_assert_gt(story_ledger(s)->gauges.held, 0);
	CHECK_WHERE(s, "one", "");
	story_drop_pod(s, "big");
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_plan(s);
	CHECK_WHERE(s, "one", "n1");
	story_free(s);
}

Test(hold, ends_with_the_group_it_is_for)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pod(s, .name = "long", .cpu = 2, .node = "n1");
	story_gang(s, .name = "big", .quorum = 3);
	story_pods(s, 3, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	story_pod(s, .name = "one", .cpu = 1, .created = 5000);
	story_plan(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	CHECK_WHERE(s, "one", "");
	story_drop_pod(s, "big-0");
	story_drop_pod(s, "big-1");
	story_drop_pod(s, "big-2");
	story_drop_gang(s, "big");
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_plan(s);
	CHECK_WHERE(s, "one", "n1");
	story_free(s);
}

/* Gangs that could never start stand before one that could, and a node changes before each tick, so
 * that these have to be asked again; each has members of so many kinds.  Ticks until somebody
 * holds. */
static uint32_t hopeless(uint32_t nodes, uint32_t gangs, uint32_t kinds)
{
	static char names[SMALL][16];
	struct story *s = story_new();
	uint32_t ticks = 0;

	for (uint32_t i = 0; i < SMALL; i++)
		snprintf(names[i], sizeof(names[i]), "x%03u", i);
	for (uint32_t i = 0; i < nodes; i++)
		story_node(s, .name = names[i], .cpu = i == 0 ? 4 : 1, .memory = 64);
	story_pod(s, .name = "long", .cpu = 2, .node = names[0]);
	for (uint32_t i = 0; i < gangs; i++)
		story_gang(s, .name = names[i], .quorum = kinds, .created = 1);
	for (uint32_t i = 0; i < gangs; i++)
		for (uint32_t k = 0; k < kinds; k++)
			story_pod(s, .name = names[i + k * gangs], .gang = names[i], .cpu = 100 + k);
	story_gang(s, .name = "big", .quorum = 2, .created = 100);
	story_pods(s, 2, .name = "big", .gang = "big", .cpu = 2);
	story_plan(s);
	for (; ticks < 60 && story_ledger(s)->gauges.held == 0; ticks++) {
		story_node(s, .name = names[nodes - 1], .cpu_milli = 500 + ticks, .memory = 64);
		story_tick(s, 2500);
		story_plan(s);
	}
	story_free(s);
	return ticks;
}

Test(hold, is_not_barred_by_hopeless_ones)
{
	const uint32_t few = hopeless(2, 10, 1), many = hopeless(128, 40, 5);

	cr_assert(few >= 24 && few <= 26, "%u ticks", few);
	/* One tick isn't enough to ask all. */
	cr_assert(many > few && many <= few + 3, "%u ticks", many);
}

/* Each shape of a mixed gang: the nodes that any of them may use are kept whole. */
Test(hold, keeps_nodes_whole_for_a_mixed_gang)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "n2", .cpu = 4, .memory = 8, .taint = "other");
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "mix", .quorum = 2);
	story_pod(s, .name = "mix-0", .gang = "mix", .cpu = 3);
	story_pod(s, .name = "mix-1", .gang = "mix", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_pod(s, .name = "small", .cpu = 1, .created = 5000);
	story_pod(s, .name = "there-too", .cpu = 1, .created = 5000, .tolerates = "other");
	story_plan(s);
	CHECK_WHERE(s, "small", "");
	CHECK_WHERE(s, "there-too", "n2");
	/* The gang goes: what was kept is free again. */
	story_drop_pod(s, "mix-0");
	story_plan(s);
	CHECK_WHERE(s, "small", "n1");
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

/* The node that there is grows, so that it could. */
Test(hold, is_thought_over_when_a_node_grows)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "huge", .quorum = 5);
	story_pods(s, 5, .name = "huge", .gang = "huge", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0);
	story_node(s, .name = "n1", .cpu = 5, .memory = 8);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

/* The gang itself changes, so that it could. */
Test(hold, is_thought_over_when_the_quorum_shrinks)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "huge", .quorum = 5);
	story_pods(s, 5, .name = "huge", .gang = "huge", .cpu = 1);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0);
	story_gang(s, .name = "huge", .quorum = 4);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}

/* Workers could start, and the one that they need never can. */
Test(hold, is_not_for_one_whose_role_could_never_start)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "g", .quorum = 3, .roles = { { "leader", 1 } });
	story_pods(s, 4, .name = "w", .gang = "g", .role = "worker", .cpu = 1);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 5);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0);
	story_drop_pod(s, "l");
	story_pod(s, .name = "l2", .gang = "g", .role = "leader", .cpu = 3);
	story_plan(s);
	wait_for_hold(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_free(s);
}
