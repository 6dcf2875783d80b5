/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations whose bindings are still to be sent, and what happens to the cluster
 * meanwhile: nothing is sent that leaves a gang in part or a node overdrawn. */
#include "tests/unit/support_story.h"

#include <criterion/criterion.h>

/* A gang of `quorum` members of one core each, all of them reserved, none sent. */
static struct story *reserved(uint32_t quorum)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_gang(s, .name = "g", .quorum = quorum);
	story_pods(s, quorum, .name = "g", .gang = "g", .cpu = 1);
	story_room(s, 0);
	story_synced(s);
	cr_assert_eq(story_feed(s, EVENT_PLAN, NULL, 0), 0);
	story_expect(s, "");
	return s;
}

static void send(struct story *s)
{
	story_room(s, UINT32_MAX);
	story_plan(s);
}

Test(unsent, a_member_goes_over_to_another_gang)
{
	struct story *s = reserved(3);

	story_gang(s, .name = "h", .quorum = 2);
	story_pod(s, .name = "g-1", .gang = "h", .cpu = 1);
	send(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	story_free(s);
}

Test(unsent, a_member_leaves_for_no_gang)
{
	struct story *s = reserved(3);

	story_pod(s, .name = "g-1", .cpu = 1);
	send(s);
	cr_assert_eq(story_count(s, "g-1"), 1);
	cr_assert_eq(story_count(s, "g"), 1, "%s", story_said(s));
	story_free(s);
}

Test(unsent, the_quorum_is_raised)
{
	struct story *s = reserved(3);

	story_gang(s, .name = "g", .quorum = 4);
	send(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 4);
	story_free(s);
}

Test(unsent, the_group_is_deleted_and_comes_back)
{
	struct story *s = reserved(3);

	story_gang(s, .name = "g", .quorum = 3, .missing = true);
	send(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	cr_assert_eq(story_why(s, "g")->why, WHY_GROUP_MISSING);
	story_gang(s, .name = "g", .quorum = 3);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

/* One was sent: the rest follows, whatever becomes of the group. */
Test(unsent, the_group_is_deleted_when_a_part_was_sent)
{
	struct story *s = reserved(3);

	story_room(s, 1);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 3, .missing = true);
	send(s);
	cr_assert_eq(story_count(s, "g"), 3, "%s", story_said(s));
	story_free(s);
}

/* What was planned by other terms says so, and the frontend refuses it. */
Test(unsent, the_group_s_terms_change)
{
	struct story *s = story_new();

	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2, .terms = 1);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	story_room(s, 1);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 2, .terms = 2);
	send(s);
	cr_assert_eq(story_count(s, "g"), 2);
	cr_assert_eq(story_terms(s, "g-0"), 1);
	cr_assert_eq(story_terms(s, "g-1"), 1);
	story_pod(s, .name = "g-2", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_assert_eq(story_terms(s, "g-2"), 2);
	story_free(s);
}

enum end { DELETED, REFUSED, BOUND_AND_DELETED, ENDS };

/* One was sent and comes to nothing: the rest would be half a gang. */
Test(unsent, the_only_one_that_was_sent_ends)
{
	for (enum end end = 0; end < ENDS; end++) {
		struct story *s = reserved(3);

		story_room(s, 1);
		story_plan(s);
		story_skip(s);
		if (end == REFUSED)
			story_refused(s, "g-0", 0);
		if (end == BOUND_AND_DELETED)
			story_bound(s, "g-0");
		if (end != REFUSED)
			story_drop_pod(s, "g-0");
		send(s);
		cr_assert_eq(story_count(s, "g"), 0, "%d: %s", (int)end, story_said(s));
		story_free(s);
	}
}

Test(unsent, the_node_is_cordoned)
{
	struct story *s = reserved(3);

	story_node(s, .name = "n1", .cpu = 64, .memory = 64, .cordoned = true);
	send(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	story_free(s);
}

Test(unsent, the_node_shrinks)
{
	struct story *s = reserved(3);

	story_node(s, .name = "n1", .cpu = 2, .memory = 64);
	send(s);
	cr_assert_eq(story_count(s, "g"), 0, "%s", story_said(s));
	story_node(s, .name = "n2", .cpu = 1, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "g"), 3);
	story_free(s);
}

/* What still fits is left alone. */
Test(unsent, the_node_grows)
{
	struct story *s = reserved(3);

	story_node(s, .name = "n2", .cpu = 99, .memory = 99); /* better by now */
	story_node(s, .name = "n1", .cpu = 3, .memory = 64);
	send(s);
	cr_assert_str_eq(story_where(s, "g-0"), "n1");
	cr_assert_str_eq(story_where(s, "g-2"), "n1");
	story_free(s);
}
