/* SPDX-License-Identifier: Apache-2.0 */
/* What the core decides about gangs, as stories; COS-n are the scenarios of
 * coscheduling. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define CHECK_WHERE(s, pod, node) cr_assert_str_eq(story_where(s, pod), node)

/* A gang takes nothing while any member has no room, and everything at once when
 * the last node it needs appears. */
Test(gang, starts_only_when_every_member_fits)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 8, .memory = 8);
	story_gang(s, .name = "train", .quorum = 3);
	story_pods(s, 3, .name = "train", .gang = "train", .cpu = 4);
	story_plan(s);
	story_expect(s, "gang train waiting 0/3 of 3\n"
	                "why train: room 2 of 3, 1 short of cpu, cpu 8000 of 12000\n");
	story_node(s, .name = "n2", .cpu = 4, .memory = 8);
	story_plan(s);
	story_expect(s, "bind train-0 n1\n"
	                "bind train-1 n1\n"
	                "bind train-2 n2\n"
	                "gang train binding 3/3 of 3\n");
	story_bound(s, "train-0");
	story_bound(s, "train-1");
	story_plan(s);
	story_expect(s, "");
	story_bound(s, "train-2");
	story_plan(s);
	story_expect(s, "gang train placed 3/3 of 3\n");
	story_free(s);
}

Test(gang, cos_1_extras_wait_without_harm)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 9, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 6, .name = "g", .gang = "g", .cpu = 3, .memory_bytes = 500 << 20);
	story_plan(s);
	story_expect(s, "bind g-0 n1\nbind g-1 n1\nbind g-2 n1\n"
	                "gang g binding 3/3 of 6\n"
	                "why g: room 0 of 1, 1 short of cpu, cpu 0 of 3000\n");
	story_all_bound(s, "g");
	story_plan(s);
	story_expect(s, "gang g placed 3/3 of 6\n");
	story_free(s);
}

Test(gang, cos_2_nothing_is_held)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 9, .memory = 8);
	story_gang(s, .name = "g", .quorum = 4);
	story_pods(s, 6, .name = "g", .gang = "g", .cpu = 3);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	story_pod(s, .name = "plain", .cpu = 9);
	story_plan(s);
	CHECK_WHERE(s, "plain", "n1");
	cr_assert_eq(story_count(s, "g"), 0);
	story_free(s);
}

Test(gang, cos_3_as_many_as_fit)
{
	for (int64_t cpu = 12; cpu <= 15; cpu += 3) {
		struct story *s = story_new();

		story_node(s, .name = "n1", .cpu = cpu, .memory = 8);
		story_gang(s, .name = "g", .quorum = 4);
		story_pods(s, 6, .name = "g", .gang = "g", .cpu = 3);
		story_plan(s);
		cr_assert_eq(story_count(s, "g"), (uint32_t)cpu / 3);
		story_free(s);
	}
}

Test(gang, cos_4_the_one_that_fits)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 100, .memory_bytes = 300);
	story_gang(s, .name = "pg1", .quorum = 3, .created = 1);
	story_gang(s, .name = "pg2", .quorum = 4, .created = 2);
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a-%d", i);
		if (i < 3)
			story_pod(s, .name = name, .gang = "pg1", .memory_bytes = 50);
		snprintf(name, sizeof(name), "b-%d", i);
		story_pod(s, .name = name, .gang = "pg2", .memory_bytes = 100);
	}
	story_plan(s);
	cr_assert_eq(story_count(s, "a"), 3);
	cr_assert_eq(story_count(s, "b"), 0);
	story_free(s);
}

Test(gang, cos_5_plain_pods_pass_an_incomplete_gang)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 100, .memory_bytes = 300);
	story_gang(s, .name = "few", .quorum = 4);
	story_pods(s, 3, .name = "few", .gang = "few", .memory_bytes = 50);
	story_pods(s, 2, .name = "plain", .memory_bytes = 100);
	story_plan(s);
	cr_assert_eq(story_count(s, "plain"), 2);
	cr_assert_eq(story_count(s, "few"), 0);
	cr_assert_eq(story_why(s, "few")->why, WHY_MEMBERS);
	cr_assert_eq(story_why(s, "few")->members, 3);
	story_free(s);
}

Test(gang, cos_6_the_higher_priority_first)
{
	struct story *s = story_new();

	story_gang(s, .name = "mid", .quorum = 3, .created = 1);
	story_pods(s, 3, .name = "mid", .gang = "mid", .memory_bytes = 100, .priority = 100);
	story_gang(s, .name = "high", .quorum = 3, .created = 2);
	story_pods(s, 3, .name = "high", .gang = "high", .memory_bytes = 50, .priority = 1000);
	story_plan(s);
	cr_assert_eq(story_why(s, "mid")->why, WHY_NO_NODES);
	story_node(s, .name = "late", .cpu = 100, .memory_bytes = 300);
	story_plan(s);
	cr_assert_eq(story_count(s, "high"), 3);
	cr_assert_eq(story_count(s, "mid"), 0);
	story_free(s);
}

Test(gang, cos_7_plain_pods_of_higher_priority_first)
{
	struct story *s = story_new();

	story_gang(s, .name = "mid", .quorum = 3);
	story_pods(s, 3, .name = "mid", .gang = "mid", .memory_bytes = 50, .priority = 100);
	story_pods(s, 3, .name = "plain", .memory_bytes = 100, .priority = 1000);
	story_plan(s);
	story_node(s, .name = "late", .cpu = 100, .memory_bytes = 300);
	story_plan(s);
	cr_assert_eq(story_count(s, "plain"), 3);
	cr_assert_eq(story_count(s, "mid"), 0);
	story_free(s);
}

Test(gang, cos_8_small_pods_fill_what_is_left)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 100, .memory_bytes = 300);
	story_gang(s, .name = "pg1", .quorum = 3, .created = 1);
	story_gang(s, .name = "pg2", .quorum = 4, .created = 2);
	story_gang(s, .name = "pg3", .quorum = 4, .created = 3);
	story_pods(s, 3, .name = "a", .gang = "pg1", .memory_bytes = 50);
	story_pods(s, 4, .name = "b", .gang = "pg2", .memory_bytes = 100);
	story_pods(s, 4, .name = "c", .gang = "pg3", .memory_bytes = 100);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 3);
	story_pod(s, .name = "plain", .memory_bytes = 150);
	story_plan(s);
	CHECK_WHERE(s, "plain", "n1");
	story_free(s);
}

Test(gang, cos_9_min_resources)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 8, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 10);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g waiting 0/2 of 2\n"
	                "why g: min resources, cpu 8000 of 10000\n");
	story_gang(s, .name = "g", .quorum = 2, .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
}

Test(gang, cos_10_own_usage_counts_as_free)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 3, .memory = 8);
	story_node(s, .name = "b", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 5);
	story_pod(s, .name = "m1", .gang = "g", .cpu = 2, .node = "a");
	story_pod(s, .name = "other", .cpu = 1, .node = "b", .foreign = true);
	story_plan(s);
	story_pod(s, .name = "m2", .gang = "g", .cpu = 2);
	story_plan(s);
	CHECK_WHERE(s, "m2", "b");
	story_free(s);
}

/* Overdrawn nodes do not raise what a group has to find elsewhere. */
Test(gang, overdrawn_nodes_count_as_full)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 2, .memory = 8);
	story_node(s, .name = "b", .cpu = 4, .memory = 8);
	story_pod(s, .name = "static", .cpu = 9, .node = "a", .foreign = true);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 4);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
}

Test(gang, cos_11_ended_members_do_not_count)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 6, .memory = 8);
	story_gang(s, .name = "g", .quorum = 6);
	story_pods(s, 6, .name = "g", .gang = "g", .cpu = 1, .gated = true);
	story_drop_pod(s, "g-5"); /* succeeded */
	story_pods(s, 5, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	cr_assert_eq(story_why(s, "g")->members, 5);
	story_free(s);
}

Test(gang, cos_12_small_ones_pass_a_big_one)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 6, .memory = 8);
	story_node(s, .name = "b", .cpu = 2, .memory = 8);
	story_node(s, .name = "c", .cpu = 2, .memory = 8);
	story_node(s, .name = "d", .cpu = 2, .memory = 8);
	story_gang(s, .name = "big", .quorum = 6, .created = 1);
	story_pods(s, 6, .name = "big", .gang = "big", .cpu = 4);
	story_gang(s, .name = "small", .quorum = 1, .created = 2);
	story_pods(s, 1, .name = "small", .gang = "small", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, "small"), 1);
	cr_assert_eq(story_count(s, "big"), 0);
	cr_assert_eq(story_why(s, "big")->fit, 1);
	story_free(s);
}

/* The sum is enough, the pieces are not. */
Test(gang, cos_13_fragmented_room)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 64, .memory = 64, .gpu = 6);
	story_node(s, .name = "b", .cpu = 64, .memory = 64, .gpu = 2);
	story_node(s, .name = "c", .cpu = 64, .memory = 64, .gpu = 2);
	story_node(s, .name = "d", .cpu = 64, .memory = 64, .gpu = 2);
	story_gang(s, .name = "g", .quorum = 3, .gpu = 12);
	story_pods(s, 3, .name = "g", .gang = "g", .gpu = 4);
	story_plan(s);
	story_expect(s, "gang g waiting 0/3 of 3\n"
	                "why g: room 1 of 3, 4 short of gpu, gpu 4 of 12\n");
	story_pod(s, .name = "plain", .gpu = 6);
	story_plan(s);
	CHECK_WHERE(s, "plain", "a");
	story_free(s);
}

Test(gang, cos_14_group_comes_later)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 0, .missing = true);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/1 of 3\nwhy g: group missing\n");
	story_gang(s, .name = "g", .quorum = 3);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

Test(gang, cos_15_the_last_member_comes_later)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/3 of 2\nwhy g: members 2 of 3\n");
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

Test(gang, cos_16_a_fourth_member)
{
	for (int64_t cpu = 3; cpu <= 4; cpu++) {
		struct story *s = story_new();

		story_node(s, .name = "n1", .cpu = cpu, .memory = 8);
		story_gang(s, .name = "g", .quorum = 3);
		story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
		story_plan(s);
		story_all_bound(s, "g");
		story_pods(s, 1, .name = "more", .gang = "g", .cpu = 1);
		story_plan(s);
		cr_assert_eq(story_count(s, "more"), cpu == 4);
		cr_assert_eq(story_count(s, "g"), 3);
		story_free(s);
	}
}

static void alternate(bool mixed_priorities)
{
	static const int32_t priorities[] = { 1000, 100, 100 };
	struct story *s = story_new();
	char name[8];
	uint32_t first, second;

	story_gang(s, .name = "A", .quorum = 3, .created = 5);
	story_gang(s, .name = "B", .quorum = 3, .created = 5);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "a%d", i);
		story_pod(s, .name = name, .gang = "A", .cpu = 1,
		          .priority = mixed_priorities ? priorities[i] : 0);
		snprintf(name, sizeof(name), "b%d", i);
		story_pod(s, .name = name, .gang = "B", .cpu = 1, .priority = mixed_priorities ? 500 : 0);
	}
	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_plan(s);
	first = story_count(s, "a");
	second = story_count(s, "b");
	cr_assert_eq(first, 3);
	cr_assert_eq(second, 0);
	story_all_bound(s, "a");
	story_drop_pod(s, "a0");
	story_drop_pod(s, "a1");
	story_drop_pod(s, "a2");
	story_plan(s);
	cr_assert_eq(story_count(s, "b"), 3);
	story_free(s);
}

Test(gang, cos_17_never_two_halves)
{
	alternate(false);
	alternate(true);
}

Test(gang, cos_18_one_short_until_a_node_comes)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 9, .memory = 8);
	story_gang(s, .name = "g", .quorum = 10);
	story_pods(s, 10, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	cr_assert_eq(story_why(s, "g")->fit, 9);
	story_node(s, .name = "n2", .cpu = 1, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 10);
	story_free(s);
}

Test(gang, cos_19_a_node_goes_while_the_gang_waits)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 2, .memory = 8);
	story_node(s, .name = "b", .cpu = 2, .memory = 8);
	story_gang(s, .name = "g", .quorum = 4);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-z", .gang = "g", .cpu = 1, .zone = "z");
	story_plan(s);
	story_expect(s, "gang g waiting 0/4 of 4\n"
	                "why g: room 3 of 4, 2 not selected, cpu 0 of 1000, pods 0 of 1\n");
	story_drop_node(s, "b");
	story_plan(s);
	story_node(s, .name = "c", .cpu = 3, .memory = 8, .zone = "z");
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 4);
	CHECK_WHERE(s, "g-z", "c");
	story_free(s);
}

Test(gang, cos_20_recreated_with_the_same_names)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 1, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 0, .missing = true);
	story_plan(s);
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_drop_gang(s, "g");
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	story_free(s);
}

Test(gang, cos_21_gates)
{
	for (uint32_t quorum = 2; quorum <= 3; quorum++) {
		struct story *s = story_new();

		story_node(s, .name = "n1", .cpu = 3, .memory = 8);
		story_gang(s, .name = "g", .quorum = quorum);
		story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
		story_pod(s, .name = "gated", .gang = "g", .cpu = 1, .gated = true);
		story_plan(s);
		cr_assert_eq(story_count(s, "g"), quorum == 3 ? 0 : 2);
		cr_assert_eq(story_why(s, "g")->why, WHY_GATED);
		story_pod(s, .name = "gated", .gang = "g", .cpu = 1);
		story_plan(s);
		cr_assert_eq(story_count(s, "g"), 3);
		story_free(s);
	}
}

Test(gang, cos_22_groups_of_two_namespaces)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 9, .memory = 8);
	story_gang(s, .name = "x/g", .quorum = 2);
	story_gang(s, .name = "y/g", .quorum = 2);
	story_pod(s, .name = "x/p", .gang = "x/g", .cpu = 1);
	story_pod(s, .name = "y/p", .gang = "y/g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	story_free(s);
}

Test(gang, cos_24_a_broken_gang_lets_go)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 4);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-z", .gang = "g", .cpu = 1, .zone = "nowhere");
	story_plan(s);
	story_drop_pod(s, "g-1");
	story_plan(s);
	story_pod(s, .name = "plain", .cpu = 3);
	story_plan(s);
	CHECK_WHERE(s, "plain", "n1");
	cr_assert_eq(story_count(s, "g"), 0);
	story_free(s);
}

/* The member whose binding failed is tried again alone; the others stay. */
Test(gang, cos_25_rolls_forward_after_a_refused_binding)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_skip(s);
	story_bound(s, "g-0");
	story_bound(s, "g-1");
	story_refused(s, "g-2", 0);
	story_plan(s);
	story_expect(s, "gang g waiting 2/3 of 3\nwhy g: bind refused\n");
	story_tick(s, 999);
	story_plan(s);
	story_expect(s, "");
	story_tick(s, 1);
	story_plan(s);
	story_expect(s, "bind g-2 n1\ngang g binding 3/3 of 3\n");
	story_refused(s, "g-2", 0);
	story_tick(s, 1999);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2); /* twice as long */
	story_tick(s, 1);
	story_plan(s);
	story_bound(s, "g-2");
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

/* A lost member's place is filled as soon as the quorum can be reached again. */
Test(gang, replacements_start_together)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_gang(s, .name = "g", .quorum = 4);
	story_pods(s, 4, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "g");
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_pods(s, 1, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "new"), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_MEMBERS);
	story_pods(s, 2, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "new"), 2);
	story_free(s);
}

Test(gang, leaving_members_do_not_count)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "old", .gang = "g", .cpu = 2, .node = "n1", .deleting = true);
	story_pods(s, 1, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->members, 1);
	story_pods(s, 2, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "new"), 0); /* the room is still taken */
	story_drop_pod(s, "old-0");
	story_plan(s);
	cr_assert_eq(story_count(s, "new"), 2);
	story_free(s);
}

/* ---- gangs of several shapes ------------------------------------------------------------- */

Test(mixed, the_hardest_member_first)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 8, .memory = 8);
	story_node(s, .name = "b", .cpu = 4, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 2, .name = "small", .gang = "g", .cpu = 2);
	story_pod(s, .name = "large", .gang = "g", .cpu = 8);
	story_plan(s);
	CHECK_WHERE(s, "large", "a");
	cr_assert_eq(story_count(s, "small"), 2);
	story_free(s);
}

/* By score the two large ones would go to two nodes, and the last small one would
 * find no room. */
Test(mixed, found_by_search)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 6, .memory = 8);
	story_node(s, .name = "b", .cpu = 6, .memory = 8);
	story_gang(s, .name = "g", .quorum = 5);
	story_pods(s, 2, .name = "three", .gang = "g", .cpu = 3);
	story_pods(s, 3, .name = "two", .gang = "g", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 5, "%s", story_said(s));
	cr_assert_str_eq(story_where(s, "three-0"), story_where(s, "three-1"));
	story_free(s);
}

/* Many ways, none of which works, and no end of trying: said as it is, tried again
 * after a while. */
Test(mixed, gives_up_and_tries_again)
{
	struct story *s = story_new();

	for (int i = 0; i < 12; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%02d", i);
		story_node(s, .name = name, .cpu = 6, .memory = 8);
	}
	story_gang(s, .name = "g", .quorum = 31);
	story_pods(s, 12, .name = "three", .gang = "g", .cpu = 3);
	story_pods(s, 19, .name = "two", .gang = "g", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_GAVE_UP);
	story_node(s, .name = "n12", .cpu = 6, .memory = 8);
	story_plan(s);
	story_tick(s, 2000);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 31, "%s", story_said(s));
	story_free(s);
}

Test(mixed, impossible_is_proved)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 9, .memory = 8);
	story_node(s, .name = "b", .cpu = 9, .memory = 8);
	story_gang(s, .name = "g", .quorum = 5);
	story_pods(s, 3, .name = "five", .gang = "g", .cpu = 4);
	story_pods(s, 2, .name = "four", .gang = "g", .cpu = 3);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
	story_free(s);
}

/* A quorum of the small ones starts without the large one. */
Test(mixed, the_quorum_that_fits)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 4, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pod(s, .name = "large", .gang = "g", .cpu = 8);
	story_pods(s, 2, .name = "small", .gang = "g", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, "small"), 2);
	cr_assert_eq(story_count(s, "large"), 0);
	story_free(s);
}

/* The two that have most room alone do not fit together; two others do. */
Test(mixed, the_quorum_that_only_a_search_finds)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 10, .memory = 10);
	story_gang(s, .name = "g", .quorum = 2);
	story_pod(s, .name = "both", .gang = "g", .cpu = 5, .memory = 5);
	story_pod(s, .name = "cores", .gang = "g", .cpu = 6, .memory = 1);
	story_pod(s, .name = "memory", .gang = "g", .cpu = 1, .memory = 6);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "cores"), "a");
	cr_assert_str_eq(story_where(s, "memory"), "a");
	cr_assert_str_eq(story_where(s, "both"), "");
	story_free(s);
}
