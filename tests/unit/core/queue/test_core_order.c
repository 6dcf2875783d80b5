/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes first, as stories: groups with a priority of their own, groups that stand behind all
 * others, and how long they do.  CM-n are the scenarios of groups of ConfigMaps, BATCH-n those of
 * annotations. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *placed(const struct story *s, const char *prefix, uint32_t members)
{
	uint32_t n = story_count(s, prefix);

	return n == 0 ? "none" : n == members ? "all" : "some";
}

#define CHECK_PLACED(s, prefix, members, word) cr_assert_str_eq(placed(s, prefix, members), word)

static void late_node(struct story *s, int64_t cpu)
{
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	story_node(s, .name = "late", .cpu = cpu, .memory = 8);
	story_plan(s);
}

Test(order, a_group_s_own_priority_goes_before_its_members)
{
	for (int own = 0; own < 2; own++) {
		struct story *s = story_new();

		story_gang(s, .name = "low", .quorum = 3, .created = 2, .has_priority = own, .priority = 5);
		story_pods(s, 3, .name = "low", .gang = "low", .cpu = 1, .priority = 1000);
		story_gang(s, .name = "mid", .quorum = 3, .created = 1);
		story_pods(s, 3, .name = "mid", .gang = "mid", .cpu = 1, .priority = 100);
		late_node(s, 3);
		CHECK_PLACED(s, "low", 3, own ? "none" : "all");
		CHECK_PLACED(s, "mid", 3, own ? "all" : "none");
		story_free(s);
	}
}

/* The priority comes and goes with the group's record, also while it waits. */
Test(order, a_group_s_priority_changes_while_it_waits)
{
	struct story *s = story_new();

	story_gang(s, .name = "a", .quorum = 3, .created = 1, .has_priority = true, .priority = -5);
	story_pods(s, 3, .name = "a", .gang = "a", .cpu = 1);
	story_gang(s, .name = "b", .quorum = 3, .created = 2);
	story_pods(s, 3, .name = "b", .gang = "b", .cpu = 1);
	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	story_gang(s, .name = "a", .quorum = 3, .created = 1, .has_priority = true, .priority = 5);
	story_plan(s);
	story_gang(s, .name = "a", .quorum = 3, .created = 1);
	story_plan(s);
	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_plan(s);
	CHECK_PLACED(s, "a", 3, "all"); /* the older one, without priorities */
	CHECK_PLACED(s, "b", 3, "none");
	story_free(s);
}

Test(order, members_by_priority_then_age_then_as_they_came)
{
	static const struct {
		const char *name;
		int32_t priority;
		uint64_t created;
		const char *node;
	} members[] = {
		{ "late", 0, 9, "" },  { "z", 0, 5, "n1" },     { "a", 0, 5, "" },
		{ "old", 0, 4, "n1" }, { "first", 7, 9, "n1" },
	};
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2, .created = 1);
	for (int i = 0; i < 5; i++)
		story_pod(s, .name = members[i].name, .gang = "g", .cpu = 1,
		          .priority = members[i].priority, .created = members[i].created);
	story_plan(s);
	for (int i = 0; i < 5; i++)
		cr_expect_str_eq(story_where(s, members[i].name), members[i].node, "%s", members[i].name);
	story_free(s);
}

/* The highest has gone, and the next that comes has the lowest: those between count. */
Test(order, a_gang_s_priority_when_the_highest_goes)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 2, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2, .created = 10);
	story_pod(s, .name = "g-x", .gang = "g", .cpu = 1, .priority = 10);
	story_pod(s, .name = "g-y", .gang = "g", .cpu = 1, .priority = 5);
	story_drop_pod(s, "g-x");
	story_pod(s, .name = "g-w", .gang = "g", .cpu = 1, .priority = 1);
	story_pod(s, .name = "other", .cpu = 2, .priority = 3, .created = 1);
	story_plan(s);
	CHECK_PLACED(s, "g", 2, "all");
	CHECK_PLACED(s, "other", 1, "none");
	story_free(s);
}

/* Its age is that of a member which is told with another one. */
Test(order, a_member_s_age_changes)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 1, .memory = 64);
	story_gang(s, .name = "g", .quorum = 1);
	story_pod(s, .name = "g-y", .gang = "g", .cpu = 1, .priority = 5, .created = 50);
	story_pod(s, .name = "g-x", .gang = "g", .cpu = 1, .priority = 10, .created = 20);
	story_pod(s, .name = "g-x", .gang = "g", .cpu = 1, .priority = 10, .created = 200);
	story_drop_pod(s, "g-x");
	story_pod(s, .name = "same", .cpu = 1, .priority = 5, .created = 30);
	story_plan(s);
	CHECK_PLACED(s, "same", 1, "all");
	CHECK_PLACED(s, "g", 1, "none");
	story_free(s);
}

Test(order, cm_12_pods_without_a_group_first)
{
	struct story *s = story_new();

	story_gang(s, .name = "g", .quorum = 3, .created = 1, .after_others = true);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1, .priority = 1000);
	story_pod(s, .name = "plain", .cpu = 1);
	late_node(s, 3);
	CHECK_PLACED(s, "plain", 1, "all");
	CHECK_PLACED(s, "g", 3, "none");
	story_free(s);
}

Test(order, cm_13_age_before_priority)
{
	struct story *s = story_new();

	story_gang(s, .name = "old", .quorum = 3, .created = 1, .after_others = true);
	story_pods(s, 3, .name = "old", .gang = "old", .cpu = 1, .priority = 100);
	story_gang(s, .name = "young", .quorum = 3, .created = 2, .after_others = true);
	story_pods(s, 3, .name = "young", .gang = "young", .cpu = 1, .priority = 1000);
	late_node(s, 3);
	CHECK_PLACED(s, "old", 3, "all");
	CHECK_PLACED(s, "young", 3, "none");
	story_free(s);
}

Test(order, cm_13_of_one_age_priority_tells)
{
	struct story *s = story_new();

	story_gang(s, .name = "a", .quorum = 3, .created = 7, .after_others = true);
	story_pods(s, 3, .name = "a", .gang = "a", .cpu = 1, .priority = 100);
	story_gang(s, .name = "b", .quorum = 3, .created = 7, .after_others = true,
	           .has_priority = true, .priority = 200);
	story_pods(s, 3, .name = "b", .gang = "b", .cpu = 1);
	late_node(s, 3);
	CHECK_PLACED(s, "b", 3, "all");
	story_free(s);
}

static void ticks(struct story *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		story_tick(s, 2500);
		story_plan(s);
	}
}

/* A core in use, a group that needs both, and a pod that would take one as often as one is free. */
static struct story *passed_over(uint64_t hold_after_ms)
{
	struct story *s = story_new_holding(hold_after_ms);

	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_pod(s, .name = "there", .cpu = 2, .node = "n1");
	story_gang(s, .name = "g", .quorum = 2, .created = 1, .after_others = true);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1, .priority = 10);
	story_plan(s);
	return s;
}

static void room_comes(struct story *s)
{
	story_pods(s, 2, .name = "plain", .cpu = 1, .created = 5000);
	story_plan(s);
	story_drop_pod(s, "there");
	story_plan(s);
}

Test(order, behind_others_until_it_waited_long_enough)
{
	struct story *s = passed_over(STORY_HOLD_MS);

	ticks(s, 20);
	cr_assert_eq(story_row(s, "g")->standing, GANG_STANDS_LAST);
	room_comes(s);
	CHECK_PLACED(s, "plain", 2, "all");
	CHECK_PLACED(s, "g", 2, "none");
	story_free(s);
	s = passed_over(STORY_HOLD_MS);
	ticks(s, 26);
	cr_assert_eq(story_row(s, "g")->standing, GANG_STANDS_ORDINARY);
	room_comes(s);
	CHECK_PLACED(s, "plain", 2, "none");
	CHECK_PLACED(s, "g", 2, "all");
	story_free(s);
}

Test(order, behind_others_for_ever_when_nothing_is_held)
{
	struct story *s = passed_over(0);

	ticks(s, 100);
	room_comes(s);
	CHECK_PLACED(s, "plain", 2, "all");
	CHECK_PLACED(s, "g", 2, "none");
	story_free(s);
}

/* Once it was placed, more members stand behind others again. */
Test(order, lifted_until_it_is_placed)
{
	struct story *s = passed_over(STORY_HOLD_MS);

	ticks(s, 30);
	story_drop_pod(s, "there");
	story_plan(s);
	CHECK_PLACED(s, "g", 2, "all");
	story_all_bound(s, "g");
	story_pod(s, .name = "more", .gang = "g", .cpu = 1);
	story_pods(s, 1, .name = "plain", .cpu = 1, .created = 5000);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 1, .created = 1, .after_others = true);
	story_drop_pod(s, "g-0");
	story_plan(s);
	CHECK_PLACED(s, "plain", 1, "all");
	CHECK_PLACED(s, "more", 1, "none");
	/* And waits a bounded time again. */
	ticks(s, 30);
	story_pod(s, .name = "late", .cpu = 1, .created = 6000);
	story_plan(s);
	story_drop_pod(s, "plain-0");
	story_plan(s);
	CHECK_PLACED(s, "more", 1, "all");
	CHECK_PLACED(s, "late", 1, "none");
	story_free(s);
}

/* Members beyond the quorum wait no longer than that either. */
Test(order, members_beyond_the_quorum_are_lifted)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_pod(s, .name = "there", .cpu = 1, .node = "n1");
	story_gang(s, .name = "g", .quorum = 1, .created = 1, .after_others = true);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	CHECK_PLACED(s, "g", 2, "some");
	story_all_bound(s, "g");
	story_plan(s);
	ticks(s, 30);
	cr_assert_eq(story_ledger(s)->gauges.holds, 0); /* its quorum is there */
	story_pod(s, .name = "plain", .cpu = 1, .created = 5000);
	story_plan(s);
	story_drop_pod(s, "there");
	story_plan(s);
	CHECK_PLACED(s, "g", 2, "all");
	CHECK_PLACED(s, "plain", 1, "none");
	story_free(s);
}

/* A stream of pods without a group can't starve one: it is lifted, then holds. */
Test(order, a_stream_of_pods_ends_before_a_lifted_group)
{
	struct story *s = story_new();
	uint32_t oldest = 0;

	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_pod(s, .name = "s0", .cpu = 1, .node = "n1");
	story_pod(s, .name = "s1", .cpu = 1, .node = "n1");
	story_gang(s, .name = "g", .quorum = 2, .created = 1, .after_others = true);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	for (uint32_t i = 2; i < 60 && story_count(s, "g") == 0; i++) {
		static char names[60][8];

		snprintf(names[i], sizeof(names[i]), "s%u", i);
		story_pod(s, .name = names[i], .cpu = 1, .created = 5000 + i);
		story_plan(s);
		snprintf(names[0], sizeof(names[0]), "s%u", oldest);
		if (oldest < 2 || *story_where(s, names[0])) {
			story_drop_pod(s, names[0]);
			oldest++;
		}
		story_tick(s, 2500);
		story_plan(s);
		story_skip(s);
	}
	CHECK_PLACED(s, "g", 2, "all");
	cr_assert(oldest >= 20 && oldest <= 30, "%u", oldest);
	story_free(s);
}

/* One that can't fit is in nobody's way. */
Test(order, cm_16_a_small_group_passes_a_big_one)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 2, .memory = 8);
	story_gang(s, .name = "a", .quorum = 3, .created = 1, .after_others = true);
	story_pods(s, 3, .name = "a", .gang = "a", .cpu = 1);
	story_plan(s);
	ticks(s, 4);
	story_gang(s, .name = "b", .quorum = 2, .created = 2, .after_others = true);
	story_pods(s, 2, .name = "b", .gang = "b", .cpu = 1);
	story_plan(s);
	CHECK_PLACED(s, "b", 2, "all");
	CHECK_PLACED(s, "a", 3, "none");
	story_free(s);
}

/* The gang is as old as its first member, whoever came between. */
Test(order, batch_3_members_among_other_pods)
{
	struct story *s = story_new();

	story_gang(s, .name = "A", .quorum = 3);
	story_pod(s, .name = "A1", .gang = "A", .gpu = 1, .created = 1);
	story_pod(s, .name = "o1", .gpu = 1, .created = 2);
	story_pod(s, .name = "o2", .gpu = 1, .created = 3);
	story_pod(s, .name = "A2", .gang = "A", .gpu = 1, .created = 4);
	story_pod(s, .name = "A3", .gang = "A", .gpu = 1, .created = 5);
	story_plan(s);
	story_node(s, .name = "late", .cpu = 8, .memory = 8, .gpu = 3);
	story_plan(s);
	CHECK_PLACED(s, "A", 3, "all");
	CHECK_PLACED(s, "o", 2, "none");
	story_free(s);
}
