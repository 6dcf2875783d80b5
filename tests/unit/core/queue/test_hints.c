/* SPDX-License-Identifier: Apache-2.0 */
/* Which gangs are planned again after a node change, and the work of the change in steps. */
#include "tests/unit/support_story.h"

#include "core/lifecycle/state.h"

TestSuite(hints, .fini = story_end);

static const char *named(char name[16], const char *prefix, uint32_t i)
{
	snprintf(name, 16, "%s-%u", prefix, i);
	return name;
}

/* Work of the last round, in steps. */
static uint64_t steps_of_plan(struct story *s)
{
	story_core(s)->budget.spent = 0;
	story_plan(s);
	return story_core(s)->budget.spent;
}

static uint64_t plans(const struct story *s)
{
	return story_ledger((struct story *)(uintptr_t)s)->stats.plans;
}

/* A node of four cores in use, and 120 pods in four sizes that wait. */
static struct story *crowd(void)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		story_pod(s, .name = named(name, "there", i), .cpu = 1, .node = "n1");
	}
	for (uint32_t i = 0; i < 120; i++) {
		char name[16];

		story_pod(s, .name = named(name, "w", i), .cpu = 2 + i % 4);
	}
	story_plan(s);
	cr_assert_eq(story_core(s)->queue.unschedulable.n, 120);
	cr_assert_eq(story_core(s)->queue.hints.classes, 4);
	return s;
}

Test(hints, a_change_that_lets_no_gang_fit_retries_none)
{
	struct story *s = crowd();
	uint64_t had = plans(s), steps;

	story_drop_pod(s, "there-0");
	steps = steps_of_plan(s);
	cr_assert_eq(plans(s), had);
	cr_assert(steps <= 20, "%llu steps", (unsigned long long)steps);
}

/* One pod of the class is planned and no other: after it no class fits. */
Test(hints, a_change_that_lets_one_in_plans_one)
{
	struct story *s = crowd();
	uint64_t had, steps;

	story_drop_pod(s, "there-0");
	story_plan(s);
	had = plans(s);
	story_drop_pod(s, "there-1");
	steps = steps_of_plan(s);
	cr_assert_str_eq(story_where(s, "w-0"), "n1");
	cr_assert_eq(plans(s), had + 1);
	cr_assert(steps <= 100, "%llu steps", (unsigned long long)steps);
}

/* For a gang of several classes the one that it can't do without is known; changes for others do
 * not retry it. */
Test(hints, for_the_kind_that_bars_a_mixed_gang)
{
	struct story *s = crowd();
	uint64_t had;

	story_gang(s, .name = "g", .quorum = 3, .created = 1);
	story_pods(s, 2, .name = "g-small", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-large", .gang = "g", .cpu = 6);
	story_plan(s);
	cr_assert_eq(story_core(s)->queue.hints.any, 0);
	had = plans(s);
	story_drop_pod(s, "there-0");
	story_plan(s);
	cr_assert_eq(plans(s), had);
	story_node(s, .name = "n2", .cpu = 8, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "g-"), 3);
}

/* In queue order, whatever the class. */
Test(hints, the_first_in_the_queue_that_fits)
{
	struct story *s = crowd();

	story_pod(s, .name = "late", .cpu = 3, .priority = 5);
	story_plan(s);
	story_drop_pod(s, "there-0");
	story_drop_pod(s, "there-1");
	story_drop_pod(s, "there-2");
	story_plan(s);
	cr_assert_str_eq(story_where(s, "late"), "n1");
	cr_assert_eq(story_count(s, "w"), 0);
}

/* The gang with the least need leaves: the next walk that reaches the end finds the new least. */
Test(hints, the_least_need_is_found_anew)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	struct core *c = story_core(s);

	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	for (uint32_t i = 0; i < 4; i++) {
		char name[16];

		story_pod(s, .name = named(name, "there", i), .cpu = 1, .node = "n1");
	}
	story_gang(s, .name = "big", .quorum = 3);
	story_pods(s, 3, .name = "big", .gang = "big", .cpu = 1);
	story_pod(s, .name = "small", .cpu = 1, .created = 9000);
	story_plan(s);
	cr_assert_eq(c->queue.hints.classes, 1);
	cr_assert_eq(c->queue.hints.slots[0].least, 1);
	story_drop_pod(s, "small");
	story_tick(s, 2500);
	story_plan(s);
	story_drop_pod(s, "there-0");
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	cr_assert_eq(c->queue.hints.slots[0].least, 3);
	story_drop_pod(s, "there-1");
	cr_assert_leq(steps_of_plan(s), 20);
	story_drop_pod(s, "there-2");
	story_plan(s);
	cr_assert_eq(story_count(s, "big"), 3);
	cr_assert_eq(c->queue.hints.classes, 0);
}

/* A node that is added, grows or is uncordoned. */
Test(hints, nodes_that_grow)
{
	struct story *s = crowd();

	story_node(s, .name = "n1", .cpu = 5, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "w"), 0);
	story_node(s, .name = "n1", .cpu = 6, .memory = 64);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "w-0"), "n1");
	story_node(s, .name = "n2", .cpu = 2, .memory = 64, .cordoned = true);
	story_plan(s);
	cr_assert_eq(story_count(s, "w"), 1);
	story_node(s, .name = "n2", .cpu = 2, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "w"), 2);
	story_node(s, .name = "n3", .cpu = 5, .memory = 64);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "w-1"), "n3");
	cr_assert_eq(story_count(s, "w"), 4); /* one of three and one of two */
}

/* Nodes that join or leave cost what they take by themselves: no gang is planned, and the names are
 * sorted for many of them at once. */
Test(hints, nodes_that_join_and_leave)
{
	struct story *s = crowd();
	const struct nodes *ns = &story_core(s)->nodes;
	uint64_t had = plans(s), sorts = ns->order_version, steps;
	char name[16];

	for (uint32_t i = 0; i < ORDER_LOG; i++) {
		story_node(s, .name = named(name, "small", i), .cpu = 1, .memory = 64);
		steps = steps_of_plan(s);
		cr_assert(steps <= 20, "%llu steps", (unsigned long long)steps);
	}
	cr_assert_eq(ns->order_version - sorts, 2);
	for (uint32_t i = 0; i < ORDER_LOG; i++) {
		story_drop_node(s, named(name, "small", i));
		cr_assert_leq(steps_of_plan(s), 20);
	}
	cr_assert_eq(ns->order_version - sorts, 4);
	cr_assert_eq(plans(s), had);
	story_node(s, .name = "large", .cpu = 5, .memory = 64);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "w-0"), "large");
	cr_assert_str_eq(story_where(s, "w-1"), "large");
}
