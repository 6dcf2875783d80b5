/* SPDX-License-Identifier: Apache-2.0 */
/* From a reservation to a bound pod, and everything that can come between. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHECK_WHERE(s, pod, node) cr_assert_str_eq(story_where(s, pod), node)

static struct story *one_node(int64_t cpu)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
	return s;
}

/* Does a pod of that size find room?  It goes away again. */
static bool room_for(struct story *s, int64_t cpu)
{
	bool placed;

	story_pod(s, .name = "probe", .cpu = cpu);
	story_plan(s);
	placed = story_count(s, "probe") == 1;
	story_drop_pod(s, "probe");
	story_plan(s);
	return placed;
}

Test(bind, nothing_before_the_lists_are_in)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 1);
	cr_assert(!core_wants_plan(story_core(s)));
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_expect(s, "");
	story_plan(s);
	story_expect(s, "bind a n1\n");
	cr_assert(!core_wants_plan(story_core(s)));
	story_free(s);
}

Test(bind, refused_gives_the_room_back)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	cr_assert(!room_for(s, 4));
	story_refused(s, "a", 5000);
	cr_assert(room_for(s, 4));
	story_skip(s);
	story_tick(s, 4900);
	story_plan(s);
	cr_assert_eq(story_count(s, "a"), 0);
	story_tick(s, 200);
	story_plan(s);
	CHECK_WHERE(s, "a", "n1");
	story_free(s);
}

Test(bind, unknown_keeps_the_room)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_unknown(s, "a");
	story_tick(s, 60000);
	cr_assert(!room_for(s, 1));
	story_refused(s, "a", 0);
	cr_assert(room_for(s, 4));
	story_free(s);
}

Test(bind, bound_keeps_the_room_until_the_pod_ends)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_bound(s, "a");
	cr_assert(!room_for(s, 1));
	/* The watch is behind: it still says pending. */
	story_pod(s, .name = "a", .cpu = 4);
	cr_assert(!room_for(s, 1));
	story_confirm(s, "a");
	cr_assert(!room_for(s, 1));
	story_drop_pod(s, "a");
	cr_assert(room_for(s, 4));
	story_free(s);
}

/* Whichever comes first, the answer or the watch, the other counts no more. */
Test(bind, accepted_is_counted_once)
{
	struct story *s = one_node(4);
	const struct core_stats *stats = &story_ledger(s)->stats;

	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	story_pods(s, 3, .name = "a", .cpu = 2);
	story_plan(s);
	cr_assert_eq(stats->binds_sent, 3);
	story_confirm(s, "a-0");
	cr_assert_eq(stats->binds_accepted, 1);
	story_bound(s, "a-0");
	story_bound(s, "a-1");
	story_confirm(s, "a-1");
	story_confirm(s, "a-1");
	cr_assert_eq(stats->binds_accepted, 2);
	/* Bound by somebody else, to another node: not the binding that was sent. */
	story_pod(s, .name = "a-2", .cpu = 2,
	          .node = strcmp(story_where(s, "a-2"), "n1") == 0 ? "n2" : "n1");
	cr_assert_eq(stats->binds_accepted, 2);
	story_free(s);
}

/* Somebody else bound it: the usage follows. */
Test(bind, bound_elsewhere_moves_the_usage)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	CHECK_WHERE(s, "a", "n1");
	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	story_pod(s, .name = "a", .cpu = 4, .node = "n2");
	story_pod(s, .name = "b", .cpu = 4);
	story_plan(s);
	CHECK_WHERE(s, "b", "n1");
	story_pod(s, .name = "c", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "c"), 0);
	/* The late answer changes nothing. */
	story_refused(s, "a", 0);
	story_plan(s);
	cr_assert_eq(story_count(s, "c"), 0);
	story_free(s);
}

Test(bind, answers_to_nothing_are_passed_over)
{
	struct story *s = one_node(4);
	struct result r = { .pod = 0, .generation = 1, .node = 0, .attempt = 1 };

	cr_assert_eq(story_feed(s, RESULT_BOUND, &r, sizeof(r)), 0);
	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	r.attempt = 2; /* another try */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	r.attempt = ATTEMPT_OTHER; /* another core's, of which nothing is under way here */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	r.attempt = 1;
	r.generation = 2; /* another pod */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	cr_assert(!room_for(s, 1));
	cr_assert_eq(story_ledger(s)->stats.stale_results, 4);
	story_free(s);
}

Test(bind, another_pod_of_the_same_slot)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_drop_pod(s, "a"); /* while its binding is on its way */
	cr_assert(room_for(s, 4));
	story_pod(s, .name = "a", .cpu = 3);
	story_plan(s);
	CHECK_WHERE(s, "a", "n1");
	cr_assert(room_for(s, 1));
	story_free(s);
}

Test(bind, a_pod_changes_its_request)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4, .node = "n1");
	story_plan(s);
	cr_assert(!room_for(s, 1));
	story_pod(s, .name = "a", .cpu = 2, .node = "n1");
	cr_assert(room_for(s, 2));
	cr_assert(!room_for(s, 3));
	story_free(s);
}

Test(bind, leaving_pods_keep_their_room)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4, .node = "n1", .deleting = true);
	story_pod(s, .name = "b", .cpu = 1, .deleting = true); /* never planned */
	story_plan(s);
	story_expect(s, "");
	cr_assert(!room_for(s, 1));
	story_drop_pod(s, "a");
	cr_assert(room_for(s, 4));
	story_free(s);
}

Test(bind, what_is_not_to_be_planned)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "gated", .cpu = 1, .gated = true);
	story_pod(s, .name = "refused", .cpu = 1, .refused = true);
	story_pod(s, .name = "foreign", .cpu = 1, .foreign = true);
	story_gang(s, .name = "bad", .quorum = 1, .refused = true);
	story_pod(s, .name = "bad-0", .cpu = 1, .gang = "bad");
	story_plan(s);
	cr_assert_eq(story_count(s, ""), 0);
	cr_assert_eq(story_why(s, "gated")->why, WHY_GATED);
	cr_assert_eq(story_why(s, "refused")->why, WHY_REFUSED);
	cr_assert_eq(story_why(s, "bad")->why, WHY_REFUSED);
	cr_assert_null(story_why(s, "foreign"));
	story_free(s);
}

/* ---- a full command ring ----------------------------------------------------------- */

Test(ring, commands_wait_for_room_and_none_is_lost)
{
	struct story *s = one_node(64);

	story_gang(s, .name = "g", .quorum = 5);
	story_pods(s, 5, .name = "g", .gang = "g", .cpu = 1);
	story_pod(s, .name = "z", .cpu = 1);
	story_room(s, 2);
	story_plan(s);
	story_expect(s, "bind g-0 n1\nbind g-1 n1\n");
	cr_assert(core_wants_plan(story_core(s)));
	/* Nothing new is planned, what is reserved stays so. */
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_expect(s, "");
	for (int i = 0; i < 3; i++) {
		story_room(s, 1);
		story_plan(s);
	}
	story_expect(s, "bind g-2 n1\nbind g-3 n1\nbind g-4 n1\n");
	story_room(s, 1);
	story_plan(s);
	story_expect(s, "gang g binding 5/5 of 5\n");
	story_room(s, UINT32_MAX);
	story_plan(s);
	story_expect(s, "bind z n1\n");
	cr_assert(!core_wants_plan(story_core(s)));
	story_free(s);
}

/* Nothing of the gang was sent when one of its members went: the plan is void. */
Test(ring, a_gang_not_yet_sent_is_given_back_whole)
{
	struct story *s = one_node(64);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_room(s, 0);
	story_synced(s);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_drop_pod(s, "g-1");
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	cr_assert_eq(story_why(s, "g")->why, WHY_MEMBERS);
	cr_assert(room_for(s, 64));
	story_free(s);
}

/* A part was sent: the rest follows. */
Test(ring, a_gang_half_sent_rolls_forward)
{
	struct story *s = one_node(64);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_room(s, 1);
	story_plan(s);
	story_drop_pod(s, "g-1");
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

Test(ring, a_node_goes_before_the_binding_was_sent)
{
	struct story *s = one_node(2);

	story_node(s, .name = "n2", .cpu = 2, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 2);
	story_room(s, 0);
	story_synced(s);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_drop_node(s, "n1");
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	story_node(s, .name = "n3", .cpu = 2, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	story_free(s);
}

/* ---- nodes that go ------------------------------------------------------------------- */

Test(node, gone_while_a_binding_is_on_its_way)
{
	struct story *s = one_node(2);

	story_pod(s, .name = "a", .cpu = 2);
	story_plan(s);
	story_drop_node(s, "n1");
	story_node(s, .name = "n2", .cpu = 2, .memory = 64);
	story_plan(s);
	CHECK_WHERE(s, "a", "n2"); /* the slot's new user; nothing was said anew */
	story_expect(s, "bind a n1\n");
	story_refused(s, "a", 1);
	story_tick(s, 2);
	story_plan(s);
	story_expect(s, "bind a n2\n");
	story_free(s);
}

Test(node, that_only_pods_name_takes_none)
{
	struct story *s = story_new();

	story_node(s, .name = "ghost", .absent = true);
	story_pod(s, .name = "old", .cpu = 1, .node = "ghost", .foreign = true);
	story_pod(s, .name = "a", .cpu = 1);
	story_plan(s);
	story_expect(s, "why a: no nodes\n");
	story_node(s, .name = "ghost", .cpu = 2, .memory = 8);
	story_plan(s);
	CHECK_WHERE(s, "a", "ghost");
	cr_assert(!room_for(s, 1));
	story_node(s, .name = "ghost", .absent = true);
	story_drop_pod(s, "old");
	story_plan(s);
	story_free(s);
}

Test(node, may_not_be_dropped_under_a_bound_pod)
{
	struct story *s = one_node(2);
	struct event_drop drop = { .id = 0, .generation = 1 };

	story_pod(s, .name = "a", .cpu = 1, .node = "n1");
	cr_assert_eq(story_feed(s, EVENT_NODE_DROP, &drop, sizeof(drop)), -EPROTO);
	story_free(s);
}

Test(node, cordons_taints_and_labels_are_followed)
{
	struct story *s = one_node(4);

	story_node(s, .name = "n1", .cpu = 4, .memory = 64, .cordoned = true);
	story_pod(s, .name = "a", .cpu = 1);
	story_plan(s);
	story_expect(s, "why a: room 0 of 1, 1 cordoned, cpu 0 of 1000, pods 0 of 1\n");
	story_node(s, .name = "n1", .cpu = 4, .memory = 64, .taint = "dedicated: x");
	story_plan(s);
	cr_assert_eq(story_count(s, "a"), 0);
	story_pod(s, .name = "b", .cpu = 1, .tolerates = "dedicated: x");
	story_plan(s);
	CHECK_WHERE(s, "b", "n1");
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_plan(s);
	CHECK_WHERE(s, "a", "n1");
	story_pod(s, .name = "c", .cpu = 1, .zone = "z");
	story_plan(s);
	cr_assert_eq(story_count(s, "c"), 0);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64, .zone = "z");
	story_plan(s);
	CHECK_WHERE(s, "c", "n1");
	story_free(s);
}

/* ---- a frontend that comes back ---------------------------------------------------------- */

static void tell_again(struct story *s)
{
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2);
}

Test(epoch, bindings_in_flight_are_carried_over)
{
	struct story *s = story_new();

	story_node(s, .name = "n0", .cpu = 8, .memory = 64, .cordoned = true);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 2);
	story_plan(s);
	story_expect(s, "bind g-0 n1\nbind g-1 n1\ngang g binding 2/2 of 2\n");
	tell_again(s);
	story_node(s, .name = "n0", .cpu = 8, .memory = 64); /* better by now */
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 2, .node = "n1");
	story_pod(s, .name = "g-1", .gang = "g", .cpu = 2);
	story_plan(s);
	story_expect(s, "bind-again g-1 n1\ngang g binding 2/2 of 2\n");
	story_bound(s, "g-1");
	story_plan(s);
	story_expect(s, "gang g placed 2/2 of 2\n");
	story_free(s);
}

/* Others were faster.  It may land all the same, so nothing else is done with it before it is taken
 * back. */
Test(epoch, taken_back_where_there_is_no_room_any_more)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	story_pod(s, .name = "other", .cpu = 3, .node = "n1", .foreign = true);
	story_pod(s, .name = "a", .cpu = 4);
	story_skip(s);
	story_plan(s);
	story_expect(s, "take-back a n1\nwhy a: bind refused\n");
	story_refused(s, "a", 500);
	story_plan(s);
	story_expect(s, "bind a n2\n"); /* it was not refused: it needn't wait */
	story_drop_pod(s, "other");
	cr_assert(room_for(s, 4));
	story_free(s);
}

/* It had landed: the answer says so. */
Test(epoch, too_late_to_be_taken_back)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64, .cordoned = true);
	story_pod(s, .name = "a", .cpu = 4);
	story_skip(s);
	story_plan(s);
	story_expect(s, "take-back a n1\nwhy a: bind refused\n");
	story_bound(s, "a");
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_plan(s);
	story_expect(s, "");
	cr_assert(!room_for(s, 1));
	story_free(s);
}

/* Two of three were on their way and the third is gone: not half a gang again.  Their room is
 * theirs until they are taken back. */
Test(epoch, a_gang_that_is_no_longer_whole_is_taken_back)
{
	struct story *s = one_node(4);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_skip(s);
	story_plan(s);
	story_expect(
		s,
		"take-back g-0 n1\ntake-back g-1 n1\ngang g incomplete 0/3 of 2\nwhy g: members 2 of 3\n");
	cr_assert(!room_for(s, 3));
	story_refused(s, "g-0", 0);
	story_refused(s, "g-1", 0);
	story_plan(s);
	cr_assert(room_for(s, 4));
	story_skip(s);
	story_pod(s, .name = "g-2", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "bind g-0 n1\nbind g-1 n1\nbind g-2 n1\ngang g binding 3/3 of 3\n");
	story_free(s);
}

/* The ring was full when the lists were in, and meanwhile the quorum was raised: what was to be
 * sent again is taken back as well. */
Test(epoch, what_is_carried_and_not_sent_yet_is_taken_back)
{
	struct story *s = one_node(4);

	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 2);
	tell_again(s);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_skip(s);
	story_room(s, 0);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 3);
	story_room(s, UINT32_MAX);
	story_plan(s);
	cr_assert(strstr(story_said(s), "take-back g-0 n1\ntake-back g-1 n1\n"), "%s", story_said(s));
	cr_assert(!room_for(s, 3));
	story_free(s);
}

/* The lists left room for both, but another scheduler took some before the commands went out.
 * Either may land. */
Test(epoch, taken_back_where_the_room_went_meanwhile)
{
	struct story *s = one_node(4);

	story_pods(s, 2, .name = "a", .cpu = 2);
	story_plan(s);
	cr_assert_eq(story_count(s, "a"), 2);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pods(s, 2, .name = "a", .cpu = 2);
	story_synced(s);
	story_pod(s, .name = "other", .cpu = 2, .node = "n1", .foreign = true);
	story_skip(s);
	story_plan(s);
	cr_assert(strstr(story_said(s), "take-back a-0 n1\ntake-back a-1 n1\n"), "%s", story_said(s));
	story_free(s);
}

/* A member of it is refused by muster now, which doesn't move its version. */
Test(epoch, who_may_not_be_placed_any_more_is_taken_back)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_pod(s, .name = "a", .cpu = 4, .refused = true);
	story_skip(s);
	story_plan(s);
	story_expect(s, "take-back a n1\nwhy a: refused\n");
	cr_assert(!room_for(s, 1));
	story_refused(s, "a", 0);
	cr_assert(room_for(s, 4));
	story_free(s);
}

Test(epoch, carried_over_twice)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_begin(s); /* gone again before its lists were in */
	tell_again(s);
	story_node(s, .name = "n0", .cpu = 9, .memory = 64);
	story_pod(s, .name = "a", .cpu = 4);
	story_skip(s);
	story_plan(s);
	CHECK_WHERE(s, "a", "n1");
	story_free(s);
}

/* Two gangs have begun, and a member of each was refused: who goes first may not take the other's.
 * (Seed 149364 of docs/track-record.md.) */
Test(epoch, room_that_refused_members_kept_is_carried_over)
{
	for (int begun = 0; begun < 2; begun++) {
		struct story *s = story_new();

		story_node(s, .name = "n1", .cpu = 4, .memory = 64);
		story_gang(s, .name = "g", .quorum = 2);
		story_pods(s, 2, .name = "g", .gang = "g", .cpu = 2);
		story_plan(s);
		story_bound(s, "g-0");
		story_refused(s, "g-1", 5000);
		tell_again(s);
		story_gang(s, .name = "h", .quorum = 2, .created = 1, .has_priority = true,
		           .priority = 1000);
		story_pod(s, .name = "h-0", .gang = "h", .node = "n1");
		story_pod(s, .name = "h-1", .gang = "h", .cpu = 1);
		if (begun)
			story_pod(s, .name = "g-0", .gang = "g", .cpu = 2, .node = "n1");
		story_pod(s, .name = "g-1", .gang = "g", .cpu = 2);
		story_plan(s);
		CHECK_WHERE(s, "g-1", begun ? "n1" : "");
		CHECK_WHERE(s, "h-1", begun ? "" : "n1");
		story_free(s);
	}
}

Test(epoch, what_does_not_come_back_is_forgotten)
{
	struct story *s = one_node(4);

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_begin(s);
	story_node(s, .name = "n2", .cpu = 4, .memory = 64); /* n1 is gone */
	story_pod(s, .name = "a", .cpu = 4);
	story_skip(s);
	story_plan(s);
	story_expect(s, "bind a n2\n");
	tell_again(s); /* a is gone */
	story_plan(s);
	cr_assert(room_for(s, 4));
	story_free(s);
}

/* Another core sent it; this one hears of it from the frontend. */
Test(epoch, a_binding_of_an_earlier_core)
{
	struct story *s = one_node(4);
	struct result r = { .pod = 0, .generation = 1, .node = 0, .attempt = 9 };

	story_pod(s, .name = "a", .cpu = 4, .node = "n1", .binding = true);
	story_plan(s);
	story_expect(s, "");
	cr_assert(!room_for(s, 1));
	cr_assert_eq(story_feed(s, RESULT_UNKNOWN, &r, sizeof(r)), 0);
	cr_assert(!room_for(s, 1));
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	cr_assert(room_for(s, 4));
	story_skip(s);
	story_tick(s, 1000);
	story_plan(s);
	story_expect(s, "bind a n1\n");
	story_free(s);
}

/* The last frontend's clock was an hour ahead: nobody waits for that hour. */
Test(epoch, begins_with_its_own_time)
{
	struct story *s = story_new();
	struct record r = {
		.bytes = sizeof(r), .kind = EVENT_BEGIN, .epoch = 1000, .time_ns = UINT64_C(3600000000000)
	};

	cr_assert_eq(core_step(story_core(s), &r), 0);
	tell_again(s);
	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_refused(s, "a", 500);
	story_tick(s, 600);
	story_skip(s);
	story_plan(s);
	story_expect(s, "bind a n1\n");
	story_free(s);
}

/* Its record was on the way when the answer overtook it on the other ring. */
Test(epoch, an_answer_overtakes_the_record)
{
	struct story *s = one_node(4);
	alignas(8) unsigned char bytes[sizeof(struct record) + sizeof(struct event_pod) + 8];
	struct record *r = (struct record *)(void *)bytes;
	struct event_pod e = {
		.pod = 0, .generation = 1, .flags = POD_OURS | POD_BINDING, .gang = ID_NONE, .name_bytes = 1
	};

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_refused(s, "a", 60000);
	*r = (struct record){ .bytes = sizeof(bytes), .kind = EVENT_POD, .epoch = 7, .time_ns = 2 };
	memcpy(r + 1, &e, sizeof(e));
	memcpy(bytes + sizeof(*r) + sizeof(e), "a\0\0\0\0\0\0", 8);
	cr_assert_eq(core_step(story_core(s), r), 0);
	cr_assert(room_for(s, 4));
	story_free(s);
}

/* ---- order and choice ------------------------------------------------------------------------ */

Test(order, priority_then_age_then_name)
{
	struct story *s = story_new();

	story_pod(s, .name = "c", .cpu = 1, .created = 5);
	story_pod(s, .name = "b", .cpu = 1, .created = 5);
	story_pod(s, .name = "a", .cpu = 1, .created = 6);
	story_pod(s, .name = "z", .cpu = 1, .created = 9, .priority = 1);
	story_pod(s, .name = "y", .cpu = 1, .created = 1, .priority = -1);
	story_node(s, .name = "n1", .cpu = 5, .memory = 64);
	story_plan(s);
	story_expect(s, "bind z n1\nbind b n1\nbind c n1\nbind a n1\nbind y n1\n");
	story_free(s);
}

Test(order, the_lowest_name_of_equal_nodes)
{
	struct story *s = story_new();

	story_node(s, .name = "n10", .cpu = 4, .memory = 4);
	story_node(s, .name = "n9", .cpu = 4, .memory = 4);
	story_node(s, .name = "n1", .cpu = 4, .memory = 4);
	story_pods(s, 4, .name = "p", .cpu = 1, .memory = 1);
	story_plan(s);
	story_expect(s, "bind p-0 n1\nbind p-1 n10\nbind p-2 n9\nbind p-3 n1\n");
	story_free(s);
}

Test(order, packing_fills_one_node_first)
{
	struct story *s = story_new_with(SCORE_PACK);

	story_node(s, .name = "a", .cpu = 4, .memory = 4);
	story_node(s, .name = "b", .cpu = 2, .memory = 4);
	story_pods(s, 4, .name = "p", .cpu = 1, .memory = 1);
	story_plan(s);
	story_expect(s, "bind p-0 b\nbind p-1 b\nbind p-2 a\nbind p-3 a\n");
	story_free(s);
}

/* A shape that was not asked for while more changed than the log of nodes keeps. */
Test(order, a_view_that_was_left_behind)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 4, .memory = 4);
	story_node(s, .name = "b", .cpu = 4, .memory = 4);
	story_pod(s, .name = "first", .cpu = 2);
	story_plan(s);
	CHECK_WHERE(s, "first", "a");
	story_drop_pod(s, "first");
	for (int i = 0; i < 3000; i++) {
		story_pod(s, .name = "other", .cpu = 1, .node = i % 2 ? "a" : "b", .foreign = true);
		if (i == 100)
			story_pod(s, .name = "stays", .cpu = 3, .node = "a", .foreign = true);
	}
	story_pod(s, .name = "second", .cpu = 2);
	story_plan(s);
	CHECK_WHERE(s, "second", "b");
	story_free(s);
}

/* A node without memory to give is scored by its cores alone. */
Test(order, a_resource_that_a_node_lacks_is_not_scored)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 10, .memory = 1);
	story_node(s, .name = "b", .cpu = 10);
	story_pod(s, .name = "p", .cpu = 5);
	story_plan(s);
	/* a: (50 + 80) / 2, b: 50 / 1 */
	CHECK_WHERE(s, "p", "a");
	story_free(s);
}

/* ---- sums that would overflow ------------------------------------------------------------------
 */

Test(saturation, a_sum_that_was_cut_off_never_fits)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu_milli = INT64_MAX, .memory = 8);
	story_pod(s, .name = "huge-0", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
	story_pod(s, .name = "huge-1", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
	story_pod(s, .name = "p", .cpu_milli = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "p"), 0);
	cr_assert(story_ledger(s)->stats.saturated > 0);
	/* And what was given back is exact. */
	story_drop_pod(s, "huge-1");
	story_plan(s);
	CHECK_WHERE(s, "p", "n1");
	story_pod(s, .name = "q", .cpu_milli = 5);
	story_plan(s);
	cr_assert_eq(story_count(s, "q"), 0);
	story_free(s);
}

/* Sums are kept in full width from the first request on that could make one overflow, and what was
 * there before is in them. */
Test(saturation, sums_stay_exact_when_a_huge_request_comes_later)
{
	struct story *s = story_new();
	const struct ledger *l = story_ledger(s);
	const struct node_amounts *amounts = (const void *)((const char *)l + l->amounts_offset);

	story_node(s, .name = "n1", .cpu_milli = 10000, .memory = 8);
	story_pod(s, .name = "a", .cpu = 2, .node = "n1", .foreign = true);
	story_pod(s, .name = "b", .cpu = 1);
	story_plan(s);
	CHECK_WHERE(s, "b", "n1");
	for (int i = 0; i < 2; i++) {
		story_pod(s, .name = "huge-0", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
		cr_assert_eq(amounts->used[RESOURCE_CPU], INT64_MAX);
		story_pod(s, .name = "huge-1", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
		story_drop_pod(s, "huge-0");
		cr_assert_eq(amounts->used[RESOURCE_CPU], INT64_MAX);
		story_drop_pod(s, "huge-1");
		cr_assert_eq(amounts->used[RESOURCE_CPU], 3000);
	}
	cr_assert_eq(l->stats.saturated, 2);
	story_pod(s, .name = "p", .cpu = 7);
	story_plan(s);
	CHECK_WHERE(s, "p", "n1");
	story_pod(s, .name = "q", .cpu_milli = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "q"), 0);
	story_free(s);
}

Test(saturation, a_request_without_end_never_fits)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu_milli = INT64_MAX, .memory = 8);
	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu_milli = INT64_MAX);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 0);
	cr_assert_eq(story_why(s, "g")->shortfalls[0].need, INT64_MAX);
	story_free(s);
}

/* ---- reasons
 * ------------------------------------------------------------------------------------- */

Test(reason, every_short_resource_counts_and_rules_come_first)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 1, .memory = 1);
	story_node(s, .name = "b", .cpu = 8, .memory = 1, .gpu = 2);
	story_node(s, .name = "c", .cpu = 8, .memory = 8, .taint = "k: v", .cordoned = true);
	story_node(s, .name = "d", .cpu = 8, .memory = 8, .taint = "k: v");
	story_pod(s, .name = "p", .cpu = 2, .memory = 2, .gpu = 1);
	story_plan(s);
	story_expect(
		s,
		"why p: room 0 of 1, 2 short of memory, 1 cordoned, 1 tainted k: v, 1 short of cpu, 1 short of gpu, "
		"memory 0 of 2147483648\n");
	story_free(s);
}

Test(reason, too_many_pods)
{
	struct story *s = story_new();

	story_node(s, .name = "a", .cpu = 8, .memory = 8, .pods = 1);
	story_pods(s, 2, .name = "p", .cpu = 1);
	story_plan(s);
	story_expect(s, "bind p-0 a\nwhy p-1: room 0 of 1, 1 short of pods, pods 0 of 1\n");
	story_free(s);
}

/* Numbers alone are told anew every two seconds, another reason at once. */
Test(reason, told_anew_when_it_changes)
{
	struct story *s = one_node(4);

	story_gang(s, .name = "g", .quorum = 4);
	story_pods(s, 4, .name = "g", .gang = "g", .cpu = 4);
	story_plan(s);
	story_skip(s);
	story_node(s, .name = "n2", .cpu = 4, .memory = 64);
	story_plan(s);
	story_expect(s, "");
	story_tick(s, 2000);
	story_plan(s);
	story_expect(s, "why g: room 2 of 4, 2 short of cpu, cpu 8000 of 16000\n");
	story_tick(s, 5000);
	story_plan(s);
	story_expect(s, "");
	story_drop_pod(s, "g-0");
	story_plan(s);
	story_expect(s, "gang g incomplete 0/4 of 3\nwhy g: members 3 of 4\n");
	story_free(s);
}

/* The numbers are as they were told, but the new pod did not hear them. */
Test(reason, told_anew_to_a_pod_that_takes_anothers_place)
{
	struct story *s = one_node(4);

	story_gang(s, .name = "g", .quorum = 3);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "gang g incomplete 0/3 of 2\nwhy g: members 2 of 3\n");
	story_drop_pod(s, "g-0");
	story_plan(s);
	story_pod(s, .name = "g-0", .gang = "g", .cpu = 1);
	story_plan(s);
	story_expect(s, "");
	story_tick(s, 2000);
	story_plan(s);
	story_expect(s, "why g: members 2 of 3\n");
	story_tick(s, 5000);
	story_plan(s);
	story_expect(s, "");
	story_free(s);
}

/* The ledger shows what was said. */
Test(reason, stands_in_the_ledger)
{
	struct story *s = one_node(4);
	const struct ledger *l = story_ledger(s);
	const struct gang_row *row = (const void *)((const char *)l + l->gangs_offset);
	const struct node_row *node = (const void *)((const char *)l + l->nodes_offset);
	const struct node_amounts *amounts = (const void *)((const char *)l + l->amounts_offset);

	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 4);
	story_pod(s, .name = "p", .cpu = 3);
	story_plan(s);
	cr_assert_eq(row->generation, 1);
	cr_assert_eq(row->state, GANG_WAITING);
	cr_assert_eq(row->reason.why, WHY_ROOM);
	cr_assert_eq(row->reason.fit, 1);
	cr_assert_eq(row->name_bytes, 1);
	cr_assert_eq(row->version % 2, 0);
	cr_assert_eq(node->pods, 1);
	cr_assert_eq(amounts->used[RESOURCE_CPU], 3000);
	cr_assert_eq(l->gauges.gangs_waiting, 1);
	cr_assert_eq(l->gauges.pods_pending, 2);
	cr_assert_eq(l->stats.plans_placed, 1);
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_drop_gang(s, "g");
	cr_assert_eq(row->generation, 0);
	story_free(s);
}
