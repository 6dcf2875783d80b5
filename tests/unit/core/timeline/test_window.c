/* SPDX-License-Identifier: Apache-2.0 */
/* The promise window (core_config.promise_window_ns): what ends after it costs no work. */
#include "core/lifecycle/state.h"
#include "tests/unit/support_story.h"

enum { FAR = 200 };

TestSuite(window, .fini = story_end);

/* The work of the cycle in which b is promised the end of a, beside pods that run for run_s. */
static uint64_t work_beside(int32_t run_s)
{
	static const struct story_promises promises = { .depth = 4,
		                                            .grain_ms = 1000,
		                                            .window_ms = 100000 };
	struct story *s = story_new_promising(SCORE_KUBE, 0, &promises);
	struct core_promise p;
	uint64_t spent;

	story_node(s, .name = "n0", .cpu = 2, .memory = 8);
	story_node(s, .name = "n1", .cpu = FAR, .memory = 2 * FAR, .pods = FAR);
	story_pods(s, FAR, .name = "far", .cpu = 1, .node = "n1", .run = run_s);
	story_pod(s, .name = "a", .cpu = 2, .node = "n0", .run = 50);
	story_pod(s, .name = "b", .cpu = 2, .run = 10);
	story_synced(s);
	story_feed(s, EVENT_PLAN, NULL, 0);
	cr_assert(story_promise(s, "b", &p));
	spent = story_core(s)->budget.spent;
	story_free(s);
	return spent;
}

Test(window, ends_after_it_are_not_counted_as_work)
{
	cr_assert_eq(work_beside(1000), work_beside(0), "as if they were not known");
	cr_assert_geq(work_beside(40), work_beside(0) + FAR, "they are looked at");
}
