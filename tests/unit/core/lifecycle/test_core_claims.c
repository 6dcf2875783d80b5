/* SPDX-License-Identifier: Apache-2.0 */
/* Room for another scheduler's pods: one ledger, whoever places. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(claims, take_room_that_no_gang_gets)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "n2", .cpu = 4, .memory = 8);
	story_pod(s, .name = "theirs", .cpu = 3, .foreign = true);
	story_claim(s, "theirs", "n1 n2", 60000);
	story_plan(s);
	story_expect(s, "claim theirs n1\n");
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 4);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	/* It is bound where it was put: its own, and nothing changes. */
	story_pod(s, .name = "theirs", .cpu = 3, .foreign = true, .node = "n1");
	story_tick(s, 120000);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	story_drop_pod(s, "theirs");
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
}

Test(claims, are_given_nothing_that_is_promised)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "n2", .cpu = 1, .memory = 8);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 2);
	story_plan(s);
	story_skip(s);
	/* kube-scheduler does not see the reservations yet, and takes n1 for empty. */
	story_pod(s, .name = "theirs", .cpu = 2, .foreign = true);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_expect(s, "claim theirs nowhere, 2 short of cpu\n");
	story_all_bound(s, "g");
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_expect(s, "claim theirs nowhere, 2 short of cpu\ngang g placed 2/2 of 2\n");
	story_free(s);
}

Test(claims, end_when_nothing_comes_of_them)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "theirs", .cpu = 4, .foreign = true);
	story_claim(s, "theirs", "n1", 5000);
	story_plan(s);
	story_expect(s, "claim theirs n1\n");
	story_pod(s, .name = "ours", .cpu = 4);
	story_plan(s);
	story_expect(s, "why ours: room 0 of 1, 1 short of cpu, cpu 0 of 4000\n");
	/* Whatever else is told of it, the room stays until then. */
	story_pod(s, .name = "theirs", .cpu = 4, .foreign = true, .priority = 3);
	story_tick(s, 4000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "");
	story_tick(s, 2000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "n1");
	story_free(s);
}

Test(claims, end_with_the_pod_and_move_with_it)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_node(s, .name = "n2", .cpu = 4, .memory = 8);
	story_pod(s, .name = "a", .cpu = 4, .foreign = true);
	story_pod(s, .name = "b", .cpu = 4, .foreign = true);
	story_claim(s, "a", "n1 n2", 60000);
	story_claim(s, "b", "n1 n2", 60000);
	story_plan(s);
	story_expect(s, "claim a n1\nclaim b n2\n");
	/* Asked again, it gives up what it had. */
	story_claim(s, "a", "n1", 60000);
	story_plan(s);
	story_expect(s, "claim a n1\n");
	/* Their scheduler may do otherwise. */
	story_drop_pod(s, "b");
	story_pod(s, .name = "a", .cpu = 4, .foreign = true, .node = "n2");
	story_pod(s, .name = "ours", .cpu = 4);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "n1");
	story_free(s);
}

Test(claims, stay_through_a_new_frontend)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "theirs", .cpu = 4, .foreign = true);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_skip(s);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "theirs", .cpu = 4, .foreign = true);
	story_pod(s, .name = "ours", .cpu = 4);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "");
	story_tick(s, 31000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "n1");
	story_free(s);
}

Test(claims, leave_what_is_held_for_a_gang)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "runs", .cpu = 1, .node = "n1");
	story_gang(s, .name = "big", .quorum = 4);
	story_pods(s, 4, .name = "big", .gang = "big", .cpu = 1);
	story_plan(s);
	story_tick(s, STORY_HOLD_MS + 5000);
	story_plan(s);
	cr_assert_eq(story_ledger(s)->gauges.holds, 1);
	story_skip(s);
	story_pod(s, .name = "theirs", .cpu = 1, .foreign = true);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_expect(s, "claim theirs nowhere\n");
	story_free(s);
}

Test(claims, that_make_no_sense_change_nothing)
{
	struct story *s = story_new();
	struct {
		struct event_claim e;
		uint64_t set[5];
	} claim = { .e = { .pod = 0, .pod_generation = 1, .words = 1 } };

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	cr_assert_eq(story_feed(s, EVENT_CLAIM, &claim, sizeof(claim.e) + 8), -EPROTO);
	story_pod(s, .name = "ours", .cpu = 1, .memory = 9);
	cr_assert_eq(story_feed(s, EVENT_CLAIM, &claim, sizeof(claim.e) + 8), -EPROTO);
	cr_assert_str_eq(core_fault(story_core(s)), "claim of a pod that muster places");
	claim.e.words = STORY_MAX / 64 + 1;
	cr_assert_eq(story_feed(s, EVENT_CLAIM, &claim, sizeof(claim)), -EPROTO);
	claim.e.words = 2;
	cr_assert_eq(story_feed(s, EVENT_CLAIM, &claim, sizeof(claim.e) + 8), -EPROTO);
	story_free(s);
}

Test(claims, wait_for_room_in_the_command_ring)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "theirs", .cpu = 4, .foreign = true);
	story_synced(s);
	story_room(s, 0);
	story_claim(s, "theirs", "n1", 60000);
	story_plan(s);
	story_expect(s, "");
	story_room(s, UINT32_MAX);
	story_plan(s);
	story_expect(s, "claim theirs n1\n");
	story_free(s);
}

Test(claims, end_in_any_order)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	story_pod(s, .name = "long", .cpu = 2, .foreign = true);
	story_pod(s, .name = "short", .cpu = 2, .foreign = true);
	story_claim(s, "long", "n1", 60000);
	story_claim(s, "short", "n1", 5000);
	story_pod(s, .name = "ours", .cpu = 2);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "");
	story_tick(s, 5000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "ours"), "n1");
	story_pod(s, .name = "next", .cpu = 2);
	story_tick(s, 54000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "next"), "");
	story_tick(s, 1000);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "next"), "n1");
	story_free(s);
}
