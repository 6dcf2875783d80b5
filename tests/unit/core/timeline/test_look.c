/* SPDX-License-Identifier: Apache-2.0 */
/* A look at many promises is spread over cycles: what it has not come to keeps its time, and other
 * pods are planned meanwhile. */
#include "core/step/core.h"
#include "ipc/units.h"
#include "tests/unit/support_story.h"

enum { GANGS = 5, MEMBERS = 2, NODES = GANGS * MEMBERS + 1, RUN_S = 100 };

TestSuite(look, .fini = story_end);

/* All nodes are full until RUN_S, when all gangs are promised their starts; there is a node more
 * than they need.  Then all pods end early, at once. */
static struct story *early_ends(uint64_t look_steps)
{
	const struct story_promises promises = { .depth = 64,
		                                     .grain_ms = 1000,
		                                     .look_steps = look_steps };
	struct story *s = story_new_promising(SCORE_KUBE, 0, &promises);

	for (int i = 0; i < NODES; i++) {
		story_node(s, .name = story_nth("n", i), .cpu = 2, .memory = 8);
		story_pod(s, .name = story_nth("r", i), .cpu = 2, .node = story_nth("n", i), .run = RUN_S);
	}
	story_synced(s);
	for (int i = 0; i < GANGS; i++) {
		story_gang(s, .name = story_nth("g", i), .quorum = MEMBERS);
		story_pods(s, MEMBERS, .name = story_nth("g", i), .gang = story_nth("g", i), .cpu = 2,
		           .run = 50);
	}
	story_plan(s);
	story_skip(s);
	for (int i = 0; i < NODES; i++)
		story_drop_pod(s, story_nth("r", i));
	return s;
}

/* Gangs with a promise, all of the time at which they were promised. */
static int kept(struct story *s)
{
	struct core_promise p;
	int n = 0;

	for (int i = 0; i < GANGS; i++)
		if (story_promise(s, story_nth("g", i), &p)) {
			cr_assert(p.at_ns == p.first_ns && p.at_ns >= RUN_S * NS_PER_S);
			n++;
		}
	return n;
}

Test(look, a_cycle_tries_promises_until_its_steps_are_spent)
{
	struct story *s = early_ends(1);

	story_pod(s, .name = "lone", .cpu = 1);
	cr_assert_eq(kept(s), GANGS);
	for (int left = GANGS - 1; left >= 0; left--) {
		cr_assert(core_wants_plan(story_core(s)), "%d promises left", left + 1);
		story_feed(s, EVENT_PLAN, NULL, 0);
		cr_assert_eq(kept(s), left, "one moves, and its gang starts");
		if (left == GANGS - 1)
			cr_assert_eq(story_count(s, "lone"), 1, "it does not wait for the others");
	}
}

Test(look, within_its_steps_all_promises_move_in_one_cycle)
{
	struct story *s = early_ends(0);

	story_feed(s, EVENT_PLAN, NULL, 0);
	cr_assert_eq(kept(s), 0);
}

/* Pods end in each cycle, and the first promises can't move: the last is tried all the same. */
Test(look, what_changes_meanwhile_waits_until_all_have_been_tried)
{
	const struct story_promises promises = { .depth = 64, .grain_ms = 1000, .look_steps = 1 };
	struct story *s = story_new_promising(SCORE_KUBE, 0, &promises);
	struct core_promise p;

	for (int i = 0; i < 8; i++) {
		story_node(s, .name = story_nth("n", i), .cpu = i < 4 ? 2 : 1, .memory = 8);
		story_pod(s, .name = story_nth("r", i), .cpu = i < 4 ? 2 : 1, .node = story_nth("n", i),
		          .run = RUN_S);
	}
	story_node(s, .name = "other", .cpu = 1, .memory = 8);
	story_synced(s);
	for (int i = 0; i < 2; i++) {
		story_gang(s, .name = story_nth("g", i), .quorum = 2);
		story_pods(s, 2, .name = story_nth("g", i), .gang = story_nth("g", i), .cpu = 2, .run = 50);
	}
	story_gang(s, .name = "last", .quorum = 4);
	story_pods(s, 4, .name = "last", .gang = "last", .cpu = 1, .run = 90);
	story_plan(s);
	for (int i = 4; i < 8; i++) /* enough for each gang by sums, and by nodes for the last alone */
		story_drop_pod(s, story_nth("r", i));
	for (int i = 0; i < 6; i++) {
		story_feed(s, EVENT_PLAN, NULL, 0);
		story_pod(s, .name = story_nth("x", i), .cpu = 1, .node = "other", .run = 10);
		story_drop_pod(s, story_nth("x", i));
	}
	cr_assert(story_promise(s, "g0", &p) && p.at_ns == p.first_ns);
	cr_assert_not(story_promise(s, "last", &p), "it starts");
}
