/* A big gang among a stream of small ones: it gets its room in the end, and nothing is
 * kept for one that could never start. */
#include "support_story.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define CHECK_WHERE(s, pod, node) cr_assert_str_eq(story_where(s, pod), node)

enum { BIG = 4, SMALL = 200 };

/* Small pods of one core each come as others end; how many were placed before the gang of
 * four that needs the whole node. */
static uint32_t stream(struct story *s, uint32_t steps)
{
	static char names[SMALL][16];
	uint32_t made = 0, oldest = 0;

	for (; made < 4; made++) {
		snprintf(names[made], sizeof(names[made]), "s%03u", made);
		story_pod(s, .name = names[made], .cpu = 1, .node = "n1");
	}
	story_gang(s, .name = "big", .quorum = BIG);
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

Test(hold, ends_the_wait_of_a_big_gang)
{
	struct story *s = story_new();
	uint32_t step;

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	step = stream(s, 60);
	/* A minute has to pass, then four small ones have to end. */
	cr_assert(step >= 24 && step < 40, "%u steps", step);
	cr_assert_eq(story_ledger(s)->gauges.holds, 1);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}

/* Four small pods of one core on each of two nodes, one of which ends at each step, and another one
 * comes: no member of two cores ever finds a node by chance.  Steps until the gang of them has started. */
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

/* Only as many nodes as the gang needs, and those that are nearest to be free; a service that never ends
 * keeps its node, and the others get it back after ten minutes. */
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
