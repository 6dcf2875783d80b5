/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that have begun: some of their members have a node, and others don't.  Until the rest has
 * room as well, what they have is of no use to anybody. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>

#define CHECK_WHERE(s, pod, node) cr_assert_str_eq(story_where(s, pod), node)

static void node(struct story *s, int64_t cpu)
{
	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
}

/* Of four two are bound: a core that has just come up learns it so. */
static void half_bound(struct story *s)
{
	story_gang(s, .name = "g", .quorum = 4, .created = 10);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "g-2", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 1);
}

Test(begun, goes_before_higher_priority_and_age)
{
	struct story *s = story_new();

	node(s, 4);
	half_bound(s);
	cr_assert_eq(story_row(s, "g")->created_ns, 10);
	story_pods(s, 2, .name = "urgent", .cpu = 1, .priority = 1000, .created = 1);
	story_gang(s, .name = "old", .quorum = 2, .created = 1, .has_priority = true, .priority = 1000);
	story_pods(s, 2, .name = "old", .gang = "old", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	cr_assert_eq(story_count(s, "urgent") + story_count(s, "old"), 0);
	story_free(s);
}

/* What the ledger tells of its place in the queue. */
Test(begun, stands_first_until_it_is_whole)
{
	struct story *s = story_new();

	node(s, 3);
	half_bound(s);
	story_plan(s);
	cr_assert_eq(story_row(s, "g")->standing, GANG_STANDS_FIRST);
	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	cr_assert_eq(story_row(s, "g")->standing, GANG_STANDS_ORDINARY);
	story_free(s);
}

Test(begun, goes_before_others_though_it_would_stand_behind_them)
{
	struct story *s = story_new();

	node(s, 2);
	story_gang(s, .name = "g", .quorum = 2, .created = 10, .after_others = true);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 1);
	story_pod(s, .name = "other", .cpu = 1, .created = 1);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n1");
	CHECK_WHERE(s, "other", "");
	story_free(s);
}

/* It lost a member, whose room another one took: a node is free for the new one, and not as much as
 * minResources. */
Test(begun, is_not_asked_for_min_resources)
{
	struct story *s = story_new();

	node(s, 4);
	story_node(s, .name = "n2", .cpu = 1, .memory = 64);
	story_gang(s, .name = "g", .quorum = 4, .cpu = 5);
	story_pods(s, 4, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 4);
	story_all_bound(s, "g");
	story_drop_pod(s, "g-3");
	story_pod(s, .name = "other", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "other", "n1");
	story_pod(s, .name = "g-4", .gang = "g", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "g-4", "n2");
	story_free(s);
}

/* A gang of so many on a node for as many; their Bindings are on their way. */
static struct story *planned(uint32_t members)
{
	struct story *s = story_new();

	node(s, members);
	story_gang(s, .name = "g", .quorum = members);
	story_pods(s, members, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	return s;
}

/* Of two the second one's Binding is refused. */
static struct story *one_refused(void)
{
	struct story *s = planned(2);

	story_bound(s, "g-0");
	story_refused(s, "g-1", 5000);
	return s;
}

Test(begun, keeps_the_room_of_a_member_that_was_refused)
{
	struct story *s = one_refused();

	story_pod(s, .name = "other", .cpu = 1, .priority = 1000);
	story_plan(s);
	story_tick(s, 4900);
	story_plan(s);
	CHECK_WHERE(s, "other", "");
	story_pod(s, .name = "g-1", .gang = "g",
	          .cpu = 1); /* its condition was written: as it was before */
	story_plan(s);
	CHECK_WHERE(s, "other", "");
	story_tick(s, 200);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n1");
	CHECK_WHERE(s, "other", "");
	story_free(s);
}

/* Nobody can be planned for it any more, so its room is kept for nobody. */
Test(begun, keeps_no_room_when_its_group_goes)
{
	struct story *s = one_refused();

	story_pod(s, .name = "other", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "other", "");
	story_gang(s, .name = "g", .quorum = 2, .missing = true);
	story_plan(s);
	CHECK_WHERE(s, "other", "n1");
	story_free(s);
}

Test(begun, keeps_no_room_when_a_role_lacks_members)
{
	struct story *s = story_new();

	node(s, 3);
	story_gang(s, .name = "g", .quorum = 2, .roles = { { "master", 1 }, { "worker", 1 } });
	story_pod(s, .name = "g-m", .gang = "g", .role = "master", .cpu = 1);
	story_pods(s, 2, .name = "g-w", .gang = "g", .role = "worker", .cpu = 1);
	story_plan(s);
	story_bound(s, "g-m");
	story_bound(s, "g-w-0");
	story_drop_pod(s, "g-m");
	story_refused(s, "g-w-1", 5000);
	story_pod(s, .name = "other", .cpu = 2);
	story_plan(s);
	CHECK_WHERE(s, "other", "n1");
	story_free(s);
}

/* Another scheduler that asks just then does not get it either. */
Test(begun, gets_its_room_before_a_claim)
{
	struct story *s = one_refused();

	story_plan(s);
	story_pod(s, .name = "theirs", .cpu = 1, .foreign = true);
	story_tick(s, 5100);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n1");
	story_skip(s);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_expect(s, "claim theirs nowhere, 1 short of cpu\n");
	story_free(s);
}

/* Another scheduler took a part of it, and what is left is too little: it is kept for nobody. */
Test(begun, keeps_no_room_that_is_not_there)
{
	struct story *s = story_new();

	node(s, 4);
	story_gang(s, .name = "g", .quorum = 2);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 2);
	story_plan(s);
	story_bound(s, "g-0");
	story_refused(s, "g-1", 5000);
	story_pod(s, .name = "alien", .cpu = 2, .node = "n1");
	story_pod(s, .name = "small", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "small", "");
	story_tick(s, 5100);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "");
	CHECK_WHERE(s, "small", "n1");
	story_drop_pod(s, "alien");
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n1");
	story_free(s);
}

/* More have to start than there is room for: what it kept goes back once that is tried; where room
 * is held for gangs, once none can be held for this one. */
Test(begun, keeps_no_room_that_is_not_enough)
{
	for (int holds = 0; holds < 2; holds++) {
		struct story *s = story_new_holding(holds ? 60000 : 0);

		node(s, 2);
		story_node(s, .name = "n2", .cpu = 5, .memory = 64, .cordoned = true);
		story_gang(s, .name = "g", .quorum = 2);
		story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
		story_plan(s);
		story_bound(s, "g-0");
		story_refused(s, "g-1", 5000);
		story_pod(s, .name = "g-2", .gang = "g", .cpu = 5);
		story_gang(s, .name = "g", .quorum = 3);
		story_pod(s, .name = "other", .cpu = 1);
		story_plan(s);
		CHECK_WHERE(s, "other", "");
		story_tick(s, 5100);
		story_plan(s);
		CHECK_WHERE(s, "other", holds ? "" : "n1");
		story_tick(s, 2500); /* the next look at holds: it could never fit as things are */
		story_plan(s);
		CHECK_WHERE(s, "other", "n1");
		story_free(s);
	}
}

/* A third member could make it whole, and can't: that says nothing of the one that was refused.
 * (Seed 41188 of docs/track-record.md.) */
Test(begun, keeps_the_room_of_who_was_not_tried)
{
	for (int holds = 0; holds < 2; holds++) {
		struct story *s = story_new_holding(holds ? 60000 : 0);

		node(s, 4);
		story_gang(s, .name = "g", .quorum = 2);
		story_pod(s, .name = "g-0", .gang = "g", .cpu = 3);
		story_pod(s, .name = "g-1", .gang = "g", .cpu = 1);
		story_plan(s);
		story_pod(s, .name = "g-2", .gang = "g", .cpu = 3);
		story_bound(s, "g-0");
		story_refused(s, "g-1", 8000);
		story_pod(s, .name = "other", .cpu = 1);
		for (int i = 0; i < 3; i++) {
			story_plan(s);
			CHECK_WHERE(s, "other", "");
			cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
			story_tick(s, 2500); /* looks at holds as well */
		}
		story_tick(s, 600);
		story_plan(s);
		CHECK_WHERE(s, "g-1", "n1");
		CHECK_WHERE(s, "other", "");
		story_free(s);
	}
}

/* Two were refused: who is ready first waits for the other, and so does its room. */
Test(begun, keeps_the_room_until_all_that_are_missing_can_be_tried)
{
	struct story *s = planned(3);

	story_bound(s, "g-0");
	story_refused(s, "g-1", 2000);
	story_refused(s, "g-2", 8000);
	story_pod(s, .name = "other", .cpu = 1, .priority = 1000);
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	CHECK_WHERE(s, "other", "");
	CHECK_WHERE(s, "g-1", "");
	story_tick(s, 6000);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	CHECK_WHERE(s, "other", "");
	story_free(s);
}

/* What it keeps is no room for others, and no hindrance for itself: one of two finds no node. */
Test(begun, keeps_the_room_when_the_plan_fails)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_node(s, .name = "n2", .cpu = 1, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_bound(s, "g-0");
	story_refused(s, "g-1", 1000);
	story_refused(s, "g-2", 1000);
	story_node(s, .name = "n2", .cpu = 1, .memory = 8, .cordoned = true);
	story_pod(s, .name = "other", .cpu = 1, .priority = 1000);
	story_tick(s, 1100);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
	cr_assert_eq(story_why(s, "g")->need, 2);
	cr_assert_eq(story_why(s, "g")->fit, 1);
	CHECK_WHERE(s, "other", "");
	story_node(s, .name = "n2", .cpu = 1, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	CHECK_WHERE(s, "other", "");
	story_free(s);
}

static bool room_for_other(struct story *s)
{
	bool placed;

	story_pod(s, .name = "other", .cpu = 1, .priority = -1);
	story_plan(s);
	placed = story_count(s, "other") == 1;
	story_drop_pod(s, "other");
	return placed;
}

Test(begun, gives_the_room_back_when_nobody_waits_for_it)
{
	struct story *s = one_refused();

	/* Nothing is left of the gang but who was refused. */
	story_drop_pod(s, "g-0");
	cr_assert(room_for_other(s));
	story_free(s);

	/* All were refused. */
	s = planned(2);
	story_refused(s, "g-0", 5000);
	cr_assert(!room_for_other(s));
	story_refused(s, "g-1", 5000);
	cr_assert(room_for_other(s));
	story_free(s);

	/* It has fewer members than it needs. */
	s = planned(3);
	story_bound(s, "g-0");
	story_bound(s, "g-1");
	story_refused(s, "g-2", 5000);
	cr_assert(!room_for_other(s));
	story_gang(s, .name = "g", .quorum = 4);
	cr_assert(room_for_other(s));
	story_free(s);

	/* It is gone, leaves, or wants something else. */
	s = one_refused();
	story_drop_pod(s, "g-1");
	cr_assert(room_for_other(s));
	story_free(s);
	s = one_refused();
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 1, .deleting = true);
	cr_assert(room_for_other(s));
	story_free(s);
	s = one_refused();
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 2);
	cr_assert(room_for_other(s));
	story_free(s);

	/* Another member has a gate by now, for as long as somebody likes. */
	s = planned(3);
	story_bound(s, "g-0");
	story_refused(s, "g-1", 5000);
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 1, .gated = true);
	story_drop_pod(s, "g-2");
	story_pod(s, .name = "there", .cpu = 1, .node = "n1");
	cr_assert(room_for_other(s));
	story_free(s);

	/* The group asks for no more than it has. */
	s = one_refused();
	story_gang(s, .name = "g", .quorum = 1);
	cr_assert(room_for_other(s));
	story_free(s);
}

Test(begun, outlives_the_node_on_which_it_kept_room)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 1, .memory = 8);
	story_node(s, .name = "n2", .cpu = 1, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n2");
	story_bound(s, "g-0");
	story_refused(s, "g-1", 1000);
	story_drop_node(s, "n2");
	story_node(s, .name = "n3", .cpu = 1, .memory = 8);
	story_tick(s, 1100);
	story_plan(s);
	CHECK_WHERE(s, "g-1", "n3");
	story_free(s);
}

/* It holds what comes free from the next tick on, and who holds already makes way. */
Test(begun, holds_without_having_waited)
{
	struct story *s = story_new();

	node(s, 4);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "big", .quorum = 4, .created = 1);
	story_pods(s, 4, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	for (int i = 0; i < 30; i++) {
		story_tick(s, 2500);
		story_plan(s);
	}
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	/* By a core before it, say: two of four are on a node that is full with them. */
	story_gang(s, .name = "g", .quorum = 4);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "g-2", .gang = "g", .cpu = 2);
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 2);
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 2);
	cr_assert_eq(story_ledger(s)->gauges.held, 2);
	/* Room for one comes, and is kept until there is room for the other. */
	story_node(s, .name = "n2", .cpu = 2, .memory = 64);
	story_pod(s, .name = "small", .cpu = 1, .priority = 1000);
	story_plan(s);
	CHECK_WHERE(s, "small", "");
	cr_assert_eq(story_why(s, "small")->why, WHY_HELD);
	story_node(s, .name = "n3", .cpu = 2, .memory = 64);
	story_plan(s);
	CHECK_WHERE(s, "g-2", "n2");
	CHECK_WHERE(s, "g-3", "n3");
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_free(s);
}
