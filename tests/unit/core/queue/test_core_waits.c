/* SPDX-License-Identifier: Apache-2.0 */
/* Who is looked at when there is more room: the work of a change, in steps. */
#include "tests/unit/support_story.h"

#include "core/lifecycle/state.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *named(char name[16], const char *prefix, uint32_t i)
{
	snprintf(name, 16, "%s-%u", prefix, i);
	return name;
}

/* Work of the last round, in steps. */
static uint64_t steps_of_plan(struct story *s)
{
	story_core(s)->views.steps = 0;
	story_plan(s);
	return story_core(s)->views.steps;
}

static uint64_t plans(const struct story *s)
{
	return story_ledger((struct story *)(uintptr_t)s)->stats.plans;
}

/* A node of four cores in use, and 120 pods in four sizes that wait. */
static struct story *crowd(void)
{
	struct story *s = story_new();

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
	cr_assert_eq(story_core(s)->waiting.n, 120);
	cr_assert_eq(story_core(s)->waits.kinds, 4);
	return s;
}

Test(waits, a_change_that_lets_nobody_in_looks_at_nobody)
{
	struct story *s = crowd();
	uint64_t had = plans(s), steps;

	story_drop_pod(s, "there-0");
	steps = steps_of_plan(s);
	cr_assert_eq(plans(s), had);
	cr_assert(steps <= 20, "%llu steps", (unsigned long long)steps);
	story_free(s);
}

/* The first of the kind is planned, and nobody else: then no kind has room. */
Test(waits, a_change_that_lets_one_in_plans_one)
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
	story_free(s);
}

/* Of a gang of several kinds the one that all of it waits for is known; others are in nobody's way.
 */
Test(waits, for_the_kind_that_bars_a_mixed_gang)
{
	struct story *s = crowd();
	uint64_t had;

	story_gang(s, .name = "g", .quorum = 3, .created = 1);
	story_pods(s, 2, .name = "g-small", .gang = "g", .cpu = 1);
	story_pod(s, .name = "g-large", .gang = "g", .cpu = 6);
	story_plan(s);
	cr_assert_eq(story_core(s)->waits.any, 0);
	had = plans(s);
	story_drop_pod(s, "there-0");
	story_plan(s);
	cr_assert_eq(plans(s), had);
	story_node(s, .name = "n2", .cpu = 8, .memory = 64);
	story_plan(s);
	cr_assert_eq(story_count(s, "g-"), 3);
	story_free(s);
}

/* In the order of the queue, whichever kind comes first. */
Test(waits, the_first_in_the_queue_that_fits)
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
	story_free(s);
}

/* The one that needs least goes: what is left is found out at the next walk to the end. */
Test(waits, the_least_need_is_found_anew)
{
	struct story *s = story_new();
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
	cr_assert_eq(c->waits.kinds, 1);
	cr_assert_eq(c->waits.slots[0].least, 1);
	story_drop_pod(s, "small");
	story_tick(s, 2500);
	story_plan(s);
	story_drop_pod(s, "there-0");
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	story_tick(s, 2500);
	story_plan(s);
	cr_assert_eq(c->waits.slots[0].least, 3);
	story_drop_pod(s, "there-1");
	cr_assert_leq(steps_of_plan(s), 20);
	story_drop_pod(s, "there-2");
	story_plan(s);
	cr_assert_eq(story_count(s, "big"), 3);
	cr_assert_eq(c->waits.kinds, 0);
	story_free(s);
}

/* A node that comes, grows or is allowed again is a cause as well. */
Test(waits, nodes_that_grow)
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
	story_free(s);
}
