/* SPDX-License-Identifier: Apache-2.0 */
/* SCORE_FGD and SCORE_MUSTER in the core: on GPUs as resources, and on devices with shares. After
 * each record core_valid() compares the keys of views with scores computed again. */
#include "core/filter/gpus.h"

#include "core/lifecycle/state.h"
#include "ipc/devices.h"
#include "tests/unit/support_story.h"

TestSuite(gpus, .fini = story_end);

#define WHOLE 0u /* question: one device that is not shared, or all of a shared one */
#define HALF 1u  /* half of a device of 10 */

static const enum score_policy policies[] = { SCORE_FGD, SCORE_MUSTER };

/* Pods of eight GPUs are typical: one of one GPU leaves the node with eight alone. */
static struct story *eights(enum score_policy policy)
{
	struct story *s = story_new(policy, STORY_HOLD_MS);

	story_node(s, .name = "n0", .cpu = 640, .memory = 640, .gpu = 64);
	story_node(s, .name = "n1", .cpu = 64, .memory = 64, .gpu = 8);
	story_node(s, .name = "n2", .cpu = 64, .memory = 64, .gpu = 4);
	story_pods(s, 8, .name = "old", .cpu = 8, .gpu = 8, .node = "n0");
	return s;
}

Test(gpus, as_resources_are_left_together)
{
	struct story *s = eights(SCORE_KUBE);

	story_pod(s, .name = "a", .cpu = 1, .gpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "n1");
	story_free(s);
	for (size_t i = 0; i < 2; i++) {
		s = eights(policies[i]);
		story_pod(s, .name = "a", .cpu = 1, .gpu = 1);
		story_plan(s);
		cr_assert_str_eq(story_where(s, "a"), "n2");
		story_pod(s, .name = "b", .cpu = 1, .gpu = 8);
		story_plan(s);
		cr_assert_str_eq(story_where(s, "b"), "n1");
		story_free(s);
	}
}

/* muster: CPU beside GPUs that are free is kept for the pods that need both. */
Test(gpus, keep_their_cpu_from_pods_without_gpus)
{
	struct story *s = story_new(SCORE_MUSTER, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 8, .memory = 64, .gpu = 2);
	story_node(s, .name = "n2", .cpu = 8, .memory = 64);
	story_pods(s, 4, .name = "old", .cpu = 4, .gpu = 1);
	story_plan(s);
	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "n2");
}

static void question(struct story *s, uint32_t number)
{
	struct {
		struct event_question e;
		struct question_option option;
	} q = { .e = { .question = number, .options_n = 1 }, .option = { .count = 1 } };

	cr_assert_eq(story_feed(s, EVENT_QUESTION, &q, sizeof(q)), 0);
}

/* Two devices of 10, of which others have so much; a match of both questions. */
static void devices(struct story *s, uint32_t node, uint64_t consumed)
{
	struct {
		struct event_node_devices e;
		uint64_t taken, shared;
		struct node_capacity capacities[2];
	} d = { .e = { .node = node,
		           .generation = 1,
		           .layout = 1,
		           .devices_n = 2,
		           .flags = NODE_DEVICES_SHARED,
		           .capacities_n = 2 },
		    .taken = consumed > 0,
		    .shared = 3,
		    .capacities = { { .device = 0, .value_low = 10, .consumed_low = consumed },
		                    { .device = 1, .value_low = 10 } } };

	cr_assert_eq(story_feed(s, EVENT_NODE_DEVICES, &d, sizeof(d)), 0);
	for (uint32_t number = WHOLE; number <= HALF; number++) {
		const uint64_t amount = number == HALF ? 5 : 10;
		struct {
			struct event_match e;
			uint64_t match, tolerated;
			struct match_amount amounts[2];
		} m = { .e = { .question = number,
			           .node = node,
			           .generation = 1,
			           .layout = 1,
			           .devices_n = 2,
			           .options_n = 1,
			           .capacities_n = 2 },
			    .match = 3,
			    .tolerated = 3,
			    .amounts = { { .low = amount }, { .low = amount } } };

		cr_assert_eq(story_feed(s, EVENT_MATCH, &m, sizeof(m)), 0);
	}
}

static struct story *halves(enum score_policy policy)
{
	struct story *s = story_new(policy, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 64, .memory = 64);
	story_node(s, .name = "n2", .cpu = 64, .memory = 64);
	question(s, WHOLE);
	question(s, HALF);
	devices(s, 0, 0);
	devices(s, 1, 5);
	return s;
}

/* A device is whole on n1 and begun on n2. */
Test(gpus, that_are_begun_take_the_next_share)
{
	for (size_t i = 0; i < 2; i++) {
		struct story *s = halves(policies[i]);

		story_gang(s, .name = "g", .quorum = 9); /* they wait, and are what is typical */
		story_pods(s, 3, .name = "w", .gang = "g", .cpu = 1, .devices = WHOLE + 1);
		story_pods(s, 100, .name = "old", .cpu_milli = 100, .node = "n1"); /* with claims, once */
		story_pod(s, .name = "a", .cpu = 1, .devices = HALF + 1);
		story_plan(s);
		cr_assert_str_eq(story_where(s, "a"), "n2");
		story_free(s);
	}
}

/* The mix was made when nobody asked for devices, and an eighth of the pods has not come since. */
Test(gpus, of_the_first_pods_that_ask_for_them)
{
	struct story *s = halves(SCORE_FGD);

	story_pods(s, 100, .name = "old", .cpu_milli = 100, .node = "n1");
	story_pod(s, .name = "now", .cpu_milli = 100);
	story_plan(s);
	story_gang(s, .name = "g", .quorum = 9);
	story_pods(s, 3, .name = "w", .gang = "g", .cpu = 1, .devices = WHOLE + 1);
	story_pod(s, .name = "a", .cpu = 1, .devices = HALF + 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "a"), "n2");
}

/* The numbers of a mix mean nothing once a question is another. */
Test(gpus, of_a_question_that_is_gone)
{
	const struct event_drop drop = { .id = HALF };
	struct story *s = halves(SCORE_FGD);
	uint32_t points;

	story_gang(s, .name = "g", .quorum = 9);
	story_pods(s, 3, .name = "w", .gang = "g", .cpu = 1, .devices = WHOLE + 1);
	story_pod(s, .name = "a", .cpu = 1, .devices = HALF + 1);
	story_plan(s);
	cr_assert_eq(story_feed(s, EVENT_QUESTION_DROP, &drop, sizeof(drop)), 0);
	cr_assert_not(gpus_score(SCORE_FGD, &story_core(s)->pod_counts, 0,
	                         &story_core(s)->shapes.slots[0], &points),
	              "a mix of a question that is gone");
	question(s, HALF);
	devices(s, 0, 0);
	story_pod(s, .name = "b", .cpu = 1, .devices = WHOLE + 1);
	story_plan(s);
	cr_assert(gpus_score(SCORE_FGD, &story_core(s)->pod_counts, 0, &story_core(s)->shapes.slots[0],
	                     &points));
}

/* Off, nothing is kept. */
Test(gpus, are_unknown_to_other_scores)
{
	struct story *s = eights(SCORE_BESTFIT);

	story_pod(s, .name = "a", .cpu = 1, .gpu = 1);
	story_plan(s);
	cr_assert_null(story_core(s)->pod_counts.gpus);
}
