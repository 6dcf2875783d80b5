/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a gang when its group's object or its members change, before it starts and after.
 * COS-n, CM-n and BATCH-n are the scenarios of the dialects. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>

static struct story *cluster(int64_t cpu)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
	return s;
}

/* A gang of three whose members are bound. */
static struct story *placed(int64_t cpu)
{
	struct story *s = cluster(cpu);

	story_gang(s, .name = "g", .quorum = 3, .created = 1);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "g");
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_skip(s);
	return s;
}

/* ---- the quorum ---------------------------------------------------------------------- */

Test(groups, cm_17_a_smaller_quorum_starts)
{
	struct story *s = cluster(2);

	story_gang(s, .name = "g", .quorum = 3, .after_others = true);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_skip(s);
	story_gang(s, .name = "g", .quorum = 2, .after_others = true);
	story_plan(s);
	story_expect(s, "bind g-0 n1\nbind g-1 n1\ngang g binding 2/2 of 3\n");
	story_tick(s, 2500); /* numbers alone are told later */
	story_plan(s);
	story_expect(s, "why g: room 0 of 1, 1 short of cpu, cpu 0 of 1000\n");
	story_free(s);
}

Test(groups, a_larger_quorum_waits)
{
	struct story *s = cluster(2);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_skip(s);
	story_gang(s, .name = "g", .quorum = 5);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/5 of 3\nwhy g: members 3 of 5\n");
	story_node(s, .name = "n2", .cpu = 8, .memory = 8);
	story_plan(s);
	story_expect(s, "");
	story_free(s);
}

/* Nobody is taken back; who comes later starts with as many as are missing then. */
Test(groups, a_larger_quorum_after_the_start)
{
	struct story *s = placed(8);

	story_gang(s, .name = "g", .quorum = 5, .created = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 3/5 of 3\n");
	story_pod(s, .name = "more-0", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "why g: members 4 of 5\n");
	story_pod(s, .name = "more-1", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "bind more-0 n1\nbind more-1 n1\ngang g binding 5/5 of 5\n");
	story_free(s);
}

Test(groups, a_smaller_quorum_after_a_loss)
{
	struct story *s = placed(3);

	story_drop_pod(s, "g-0");
	story_plan(s);
	story_expect(s, "gang g incomplete 2/3 of 2\n");
	story_gang(s, .name = "g", .quorum = 2, .created = 1);
	story_plan(s);
	story_expect(s, "gang g placed 2/2 of 2\n");
	story_free(s);
}

/* Planned and not sent yet: the quorum that is told meanwhile counts. */
Test(groups, a_larger_quorum_before_it_is_sent)
{
	struct story *s = cluster(4);

	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_room(s, 0);
	story_plan(s);
	story_synced(s);
	story_gang(s, .name = "g", .quorum = 3);
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	cr_assert_eq(story_why(s, "g")->why, WHY_MEMBERS);
	story_free(s);
}

/* ---- the object ---------------------------------------------------------------------- */

Test(groups, deleted_while_it_waits)
{
	struct story *s = cluster(2);

	story_gang(s, .name = "g", .quorum = 3, .created = 1);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_skip(s);
	story_gang(s, .name = "g", .quorum = 0, .missing = true);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/1 of 3\nwhy g: group missing\n");
	story_node(s, .name = "n2", .cpu = 2, .memory = 8);
	story_plan(s);
	story_expect(s, "");
	story_free(s);
}

/* Another object of that name: its quorum counts, and its age. */
Test(groups, deleted_and_made_anew_while_it_waits)
{
	struct story *s = cluster(2);

	story_gang(s, .name = "old", .quorum = 3, .created = 1);
	story_pods(s, 3, .name = "old", .gang = "old", .cpu = 1);
	story_gang(s, .name = "other", .quorum = 3, .created = 5);
	story_pods(s, 3, .name = "other", .gang = "other", .cpu = 1);
	story_plan(s);
	story_gang(s, .name = "old", .quorum = 0, .missing = true);
	story_plan(s);
	story_gang(s, .name = "old", .quorum = 2, .created = 9);
	story_plan(s);
	cr_assert_eq(story_count(s, "old"), 2);
	story_drop_pod(s, "old-0");
	story_drop_pod(s, "old-1");
	story_drop_pod(s, "old-2");
	story_pods(s, 3, .name = "old", .gang = "old", .cpu = 1);
	story_gang(s, .name = "old", .quorum = 3, .created = 9);
	story_plan(s);
	story_node(s, .name = "n1", .cpu = 3, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, "other"), 3); /* the older one by now */
	cr_assert_eq(story_count(s, "old"), 0);
	story_free(s);
}

/* What runs goes on; nobody joins before there is a group again. */
Test(groups, deleted_after_the_start)
{
	struct story *s = placed(8);

	story_gang(s, .name = "g", .quorum = 0, .missing = true);
	story_plan(s);
	story_expect(s, "gang g incomplete 3/1 of 3\n");
	story_pod(s, .name = "more", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "why g: group missing\n");
	story_gang(s, .name = "g", .quorum = 4, .created = 9);
	story_plan(s);
	story_expect(s, "bind more n1\ngang g binding 4/4 of 4\n");
	story_free(s);
}

/* A new group in the place of one that went with its pods: nothing of the old one is left. */
Test(groups, another_in_its_place)
{
	struct story *s = placed(8);

	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_drop_pod(s, "g-2");
	story_drop_gang(s, "g");
	story_plan(s);
	story_skip(s);
	story_gang(s, .name = "g", .quorum = 2, .created = 9);
	story_pods(s, 1, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/2 of 1\nwhy g: members 1 of 2\n");
	story_free(s);
}

/* Deleted while its members are on their way: they arrive. */
Test(groups, deleted_while_it_is_bound)
{
	struct story *s = cluster(8);

	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_skip(s);
	story_gang(s, .name = "g", .quorum = 0, .missing = true);
	story_bound(s, "g-0");
	story_bound(s, "g-1");
	story_plan(s);
	story_expect(s, "gang g incomplete 2/1 of 2\n");
	story_gang(s, .name = "g", .quorum = 2);
	story_plan(s);
	story_expect(s, "gang g placed 2/2 of 2\n");
	story_free(s);
}

/* ---- members ------------------------------------------------------------------------- */

/* BATCH-17, and the same in every dialect: bound members count, so that one in the place of one
 * that was lost starts alone. */
Test(groups, batch_17_a_replacement_starts_alone)
{
	struct story *s = placed(3);

	story_drop_pod(s, "g-1");
	story_plan(s);
	story_expect(s, "gang g incomplete 2/3 of 2\n");
	story_pod(s, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "bind new n1\ngang g binding 3/3 of 3\n");
	story_bound(s, "new");
	story_plan(s);
	story_expect(s, "gang g placed 3/3 of 3\n");
	story_free(s);
}

/* The same after the scheduler was started anew: who is bound is told again. */
Test(groups, batch_17_after_a_restart)
{
	struct story *s = placed(3);

	story_begin(s);
	story_node(s, .name = "n1", .cpu = 3, .memory = 64);
	story_gang(s, .name = "g", .quorum = 3, .created = 1);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1, .node = "n1");
	story_pod(s, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "bind new n1\ngang g binding 3/3 of 3\n");
	story_free(s);
}

/* One that is leaving counts no more, and keeps its room until it is gone. */
Test(groups, a_member_leaves_after_the_start)
{
	struct story *s = placed(3);

	story_pod(s, .name = "g-2", .gang = "g", .cpu = 1, .node = "n1", .deleting = true);
	story_plan(s);
	story_expect(s, "gang g incomplete 2/3 of 2\n");
	story_pod(s, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g waiting 2/3 of 3\n"
	                "why g: room 0 of 1, 1 short of cpu, cpu 0 of 1000\n");
	story_drop_pod(s, "g-2");
	story_plan(s);
	story_expect(s, "bind new n1\ngang g binding 3/3 of 3\n");
	story_free(s);
}

/* Its node goes, and with it who was there. */
Test(groups, members_are_lost_with_their_node)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 1, .memory = 8);
	story_node(s, .name = "b", .cpu = 1, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "g");
	story_drop_pod(s, "g-1");
	story_drop_node(s, "b");
	story_pod(s, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->why, WHY_ROOM);
	story_skip(s);
	story_node(s, .name = "c", .cpu = 1, .memory = 8);
	story_plan(s);
	story_expect(s, "bind new c\ngang g binding 2/2 of 2\n");
	story_free(s);
}

/* A gang that fell below its quorum starts nobody of a new one with too few. */
Test(groups, a_job_made_anew_while_the_old_one_leaves)
{
	struct story *s = placed(8);

	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1, .node = "n1", .deleting = true);
	story_pods(s, 2, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/3 of 2\nwhy g: members 2 of 3\n");
	story_pods(s, 3, .name = "new", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "new"), 3);
	story_free(s);
}

Test(groups, cm_18_one_member_holds_nothing)
{
	struct story *s = cluster(1);

	story_gang(s, .name = "g", .quorum = 2, .after_others = true);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1);
	story_plan(s);
	story_pod(s, .name = "plain", .cpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "plain"), "n1");
	cr_assert_str_eq(story_where(s, "g-0"), "");
	story_free(s);
}

Test(groups, cm_20_a_gang_that_lost_a_member_lets_go)
{
	struct story *s = cluster(2);

	story_gang(s, .name = "g", .quorum = 3, .after_others = true);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_drop_pod(s, "g-1");
	story_plan(s);
	story_pod(s, .name = "plain", .cpu = 2);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "plain"), "n1");
	cr_assert_eq(story_count(s, "g"), 0);
	story_free(s);
}

/* It held, and lost a member: others may have what it kept. */
Test(groups, a_hold_ends_with_the_quorum)
{
	struct story *s = cluster(2);

	story_pod(s, .name = "there", .cpu = 1, .node = "n1");
	story_gang(s, .name = "g", .quorum = 2, .created = 1);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	for (int i = 0; i < 30; i++) {
		story_tick(s, 2500);
		story_plan(s);
	}
	cr_assert_eq(story_ledger(s)->gauges.held, 1);
	story_pod(s, .name = "plain", .cpu = 1, .created = 5000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "plain"), "");
	story_drop_pod(s, "g-0");
	story_plan(s);
	cr_assert_eq(story_ledger(s)->gauges.held, 0);
	cr_assert_str_eq(story_where(s, "plain"), "n1");
	story_free(s);
}

Test(groups, batch_12_members_that_ask_for_different_things)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8, .gpu = 2);
	story_gang(s, .name = "g", .quorum = 3);
	story_pod(s, .name = "master", .gang = "g", .cpu = 1);
	story_pods(s, 2, .name = "worker", .gang = "g", .cpu = 1, .gpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 3);
	story_free(s);
}

/* ---- minResources ------------------------------------------------------------------------ */

/* Cordons, taints and selectors do not matter to the sum, pieces do not either; pods stand in
 * for the quorum. */
Test(groups, cos_9_what_the_sum_counts)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 4, .memory = 8, .cordoned = true);
	story_node(s, .name = "b", .cpu = 4, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 8);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
	s = story_new();
	story_node(s, .name = "a", .cpu = 8, .memory = 8, .pods = 1);
	story_gang(s, .name = "g", .quorum = 2, .cpu = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g waiting 0/2 of 2\nwhy g: min resources, pods 1 of 2\n");
	story_free(s);
}

/* What is told to wait for the sum is looked at again when the sum grows. */
Test(groups, cos_9_the_sum_grows)
{
	struct story *s = cluster(8);

	story_gang(s, .name = "g", .quorum = 2, .cpu = 10);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_why(s, "g")->why, WHY_MIN_RESOURCES);
	story_node(s, .name = "n2", .cpu = 2, .memory = 8);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
}

/* Once the quorum runs, minResources is met: more members are asked for their own room only. */
Test(groups, cos_10_after_the_start)
{
	struct story *s = cluster(4);

	story_gang(s, .name = "g", .quorum = 2, .cpu = 4);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_all_bound(s, "g");
	story_pod(s, .name = "other", .cpu = 1);
	story_plan(s);
	story_pod(s, .name = "more", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "more"), "n1");
	story_free(s);
}
