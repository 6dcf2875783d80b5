/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs whose roles have quorums of their own. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>

#define ROLES(...) .roles = { __VA_ARGS__ }

static struct story *cluster(int64_t cpu)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
	return s;
}

static void gang(struct story *s, uint32_t quorum)
{
	story_gang(s, .name = "g", .quorum = quorum, ROLES({ "leader", 1 }, { "worker", 2 }));
}

static void workers(struct story *s, uint32_t n)
{
	story_pods(s, n, .name = "w", .gang = "g", .role = "worker", .cpu = 1);
}

/* As many as the whole needs are there, and not the one that it can't do without. */
Test(roles, a_missing_role_is_told)
{
	struct story *s = cluster(8);

	gang(s, 3);
	workers(s, 5);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/3 of 5\nwhy g: role leader 0 of 1\n");
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 6);
	story_free(s);
}

Test(roles, the_one_of_which_most_are_missing)
{
	struct story *s = cluster(8);

	story_gang(s, .name = "g", .quorum = 2, ROLES({ "a", 1 }, { "b", 4 }, { "c", 2 }));
	story_pods(s, 1, .name = "b", .gang = "g", .role = "b", .cpu = 1);
	story_pods(s, 1, .name = "x", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROLE);
	cr_assert_eq(story_why(s, "g")->role_quorum, 4);
	cr_assert_eq(story_why(s, "g")->role_members, 1);
	story_free(s);
}

/* Older workers don't fill the quorum of the whole before the leader has its place. */
Test(roles, the_role_goes_before_older_members)
{
	struct story *s = cluster(3);

	gang(s, 3);
	workers(s, 5);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "l"), "n1");
	cr_assert_eq(story_count(s, "w"), 2);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
	story_free(s);
}

Test(roles, the_role_goes_before_easier_kinds)
{
	struct story *s = cluster(4);

	gang(s, 3);
	workers(s, 5);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 2);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "l"), "n1");
	cr_assert_eq(story_count(s, "w"), 2);
	story_free(s);
}

/* Room for the quorum of the whole, and none for the leader. */
Test(roles, no_room_for_a_role)
{
	struct story *s = cluster(6);

	gang(s, 3);
	workers(s, 5);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 7);
	story_plan(s);
	story_expect(s, "gang g waiting 0/3 of 6\nwhy g: room 2 of 3, 1 short of cpu, cpu 0 of 7000\n");
	story_node(s, .name = "n2", .cpu = 7, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 6);
	story_free(s);
}

/* The sum of the roles' quorums may be more than the quorum of the whole. */
Test(roles, together_more_than_the_whole)
{
	struct story *s = cluster(2);

	gang(s, 1);
	workers(s, 2);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 1);
	story_plan(s);
	story_expect(s,
	             "gang g waiting 0/1 of 3\nwhy g: room 2 of 3, 1 short of cpu, cpu 2000 of 3000\n");
	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 3);
	story_free(s);
}

/* Either role could have the only kind that fits twice; by the easiest first, the wrong one would.
 */
Test(roles, that_share_a_kind_are_searched)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 8, .memory = 2);
	story_node(s, .name = "b", .cpu = 1, .memory = 64);
	story_gang(s, .name = "g", .quorum = 4, ROLES({ "first", 2 }, { "second", 2 }));
	story_pods(s, 2, .name = "1-cores", .gang = "g", .role = "first", .cpu = 4, .memory = 1);
	story_pods(s, 2, .name = "1-memory", .gang = "g", .role = "first", .cpu_milli = 500,
	           .memory = 30);
	story_pods(s, 2, .name = "2-cores", .gang = "g", .role = "second", .cpu = 4, .memory = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "1-memory"), 2, "%s", story_said(s));
	cr_assert_eq(story_count(s, "2-cores"), 2);
	cr_assert_eq(story_count(s, "1-cores"), 0);
	story_free(s);
}

/* Two roles want the same two places: proved, not given up. */
Test(roles, impossible_is_proved)
{
	struct story *s = cluster(8);

	story_gang(s, .name = "g", .quorum = 4, ROLES({ "first", 2 }, { "second", 2 }));
	story_pods(s, 2, .name = "1", .gang = "g", .role = "first", .cpu = 4);
	story_pods(s, 2, .name = "2", .gang = "g", .role = "second", .cpu = 4, .memory = 1);
	story_pods(s, 2, .name = "x", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
	story_free(s);
}

/* One role of the two is lost: its replacement starts alone, and nobody else does before it. */
Test(roles, a_lost_role_is_filled_first)
{
	struct story *s = cluster(5);

	gang(s, 3);
	workers(s, 4);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "");
	story_drop_pod(s, "l");
	story_pods(s, 1, .name = "more", .gang = "g", .role = "worker", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "more"), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROLE);
	story_pod(s, .name = "l2", .gang = "g", .role = "leader", .cpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "l2"), "n1");
	cr_assert_eq(story_count(s, "more"), 0); /* the node is full */
	story_all_bound(s, "l2");
	story_drop_pod(s, "w-0");
	story_plan(s);
	cr_assert_eq(story_count(s, "more"), 1);
	story_free(s);
}

Test(roles, state_and_counts_follow_changes)
{
	struct story *s = cluster(8);

	gang(s, 3);
	workers(s, 2);
	story_pod(s, .name = "l", .gang = "g", .role = "leader", .cpu = 1, .gated = true);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->why, WHY_GATED);
	story_skip(s);
	/* Another role by the same name: counted anew. */
	story_gang(s, .name = "g", .quorum = 2, ROLES({ "worker", 3 }));
	story_plan(s);
	story_expect(s, "gang g incomplete 0/2 of 3\nwhy g: role worker 2 of 3\n");
	/* A member changes its role. */
	story_pod(s, .name = "l", .gang = "g", .role = "worker", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 3);
	story_skip(s);
	story_all_bound(s, "");
	story_plan(s);
	story_expect(s, "gang g placed 3/2 of 3\n");
	story_pod(s, .name = "l", .gang = "g", .role = "worker", .cpu = 1, .node = "n1",
	          .deleting = true);
	story_plan(s);
	story_expect(s, "gang g incomplete 2/2 of 2\n");
	story_free(s);
}
