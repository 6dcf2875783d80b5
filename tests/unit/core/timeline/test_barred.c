/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that fit and are barred by promises: their plans are made and undone, one after the other,
 * and one profile serves them all. */
#include "core/lifecycle/state.h"
#include "tests/unit/support_story.h"

enum { NODES = 10, FAR = 100, BARRED = 20 };

TestSuite(barred, .fini = story_end);

static void job(struct story *s, const char *name, uint32_t members, int32_t run_s)
{
	story_gang(s, .name = name, .quorum = members);
	story_pods(s, members, .name = name, .gang = name, .cpu = 1, .run = run_s);
	story_feed(s, EVENT_PLAN, NULL, 0);
}

/* The work of a cycle that tries gangs with promises of their own, which would delay c's, beside
 * pods that run for run_s. */
static uint64_t work_beside(int32_t run_s)
{
	static const struct story_promises promises = { .depth = 64, .grain_ms = 1000 };
	struct story *s = story_new_promising(SCORE_KUBE, 0, &promises);
	uint64_t spent;

	for (int i = 0; i < NODES; i++)
		story_node(s, .name = story_nth("n", i), .cpu = 1, .memory = 8);
	story_node(s, .name = "far", .cpu = FAR, .memory = 2 * FAR, .pods = FAR);
	story_pods(s, FAR, .name = "far", .cpu = 1, .node = "far", .run = run_s);
	story_synced(s);
	job(s, "a", 7, 100);
	job(s, "b", 8, 100);
	job(s, "c", 9, 100);
	for (int i = 0; i < BARRED; i++)
		job(s, story_nth("d", i), 2, 250);
	story_node(s, .name = "new", .cpu = 0, .memory = 8); /* all are tried again */
	story_feed(s, EVENT_PLAN, NULL, 0);
	cr_assert_str_eq(story_reason(s, story_nth("d", BARRED - 1)), "held 0 of 2 by promises for c");
	spent = story_core(s)->budget.spent;
	story_free(s);
	return spent;
}

Test(barred, gangs_pass_the_known_ends_no_more_often_than_once)
{
	cr_assert_leq(work_beside(100000), work_beside(0) + FAR);
}
