/* SPDX-License-Identifier: Apache-2.0 */
/* A gang among a stream of small pods, one of which ends at each step while another one comes: it
 * starts in the end. */
#include "tests/unit/support_story.h"

enum { BIG = 4, SMALL = 220, STEP_MS = 2500 };

/* The small pods are named in the order they come, and end in that order. */
struct stream {
	struct story *s;
	char names[SMALL][16];
	uint32_t bound, made, oldest; /* bound: from the start */
};

static const char *next(struct stream *t)
{
	cr_assert(t->made < SMALL);
	snprintf(t->names[t->made], sizeof(t->names[0]), "s%03u", t->made);
	return t->names[t->made++];
}

static void bound_small(struct stream *t, uint32_t n, const char *node)
{
	t->bound += n;
	while (n-- > 0)
		story_pod(t->s, .name = next(t), .cpu = 1, .node = node);
}

/* Steps until the gang has all its members. */
static uint32_t steps_until(struct stream *t, const char *gang, uint32_t members, uint32_t steps)
{
	uint32_t i;

	story_plan(t->s);
	for (i = 0; i < steps && story_count(t->s, gang) < members; i++) {
		story_pod(t->s, .name = next(t), .cpu = 1, .created = 5000 + i);
		if (t->oldest < t->bound || *story_where(t->s, t->names[t->oldest]))
			story_drop_pod(t->s, t->names[t->oldest++]);
		story_tick(t->s, STEP_MS);
		story_plan(t->s);
		story_skip(t->s);
	}
	return i;
}

static struct stream *stream_new(void)
{
	static struct stream t;

	t = (struct stream){ .s = story_new(SCORE_KUBE, STORY_HOLD_MS) };
	return &t;
}

/* A gang of four that needs the whole node, and may have minResources. */
static void check_stream(int64_t cores)
{
	struct stream *t = stream_new();
	uint32_t steps;

	story_node(t->s, .name = "n1", .cpu = 4, .memory = 8);
	bound_small(t, 4, "n1");
	story_gang(t->s, .name = "big", .quorum = BIG, .cpu = cores);
	story_pods(t->s, BIG, .name = "big", .gang = "big", .cpu = 1);
	steps = steps_until(t, "big", BIG, 60);
	/* A minute has to pass, then four small pods have to end. */
	cr_assert(steps > 24 && steps <= 40, "%u steps", steps);
	cr_assert_eq(story_ledger(t->s)->gauges.reservations, 1);
	cr_assert_eq(story_ledger(t->s)->gauges.reserved_gang, 0);
	story_free(t->s);
}

Test(stream, ends_the_wait_of_a_big_gang)
{
	check_stream(0);
}

/* As much as minResources is never free at once. */
Test(stream, ends_the_wait_for_min_resources)
{
	check_stream(BIG);
}

/* Four small pods on each of two nodes: no member of two cores ever fits without a node that is
 * drained for it. */
Test(stream, drains_nodes_for_members_larger_than_what_ends)
{
	struct stream *t = stream_new();
	uint32_t steps;

	story_node(t->s, .name = "n1", .cpu = 4, .memory = 64);
	story_node(t->s, .name = "n2", .cpu = 4, .memory = 64);
	for (uint32_t i = 0; i < 4; i++) {
		bound_small(t, 1, "n2");
		bound_small(t, 1, "n1");
	}
	story_gang(t->s, .name = "big", .quorum = 2);
	story_pods(t->s, 2, .name = "big", .gang = "big", .cpu = 2);
	steps = steps_until(t, "big", 1, 200);
	/* A minute, another one, then four have to end. */
	cr_assert(steps >= 48 && steps < 70, "%u steps", steps);
	story_free(t->s);
}

/* Nor does the stream delay a gang for ever that comes after pods without a gang. */
Test(stream, ends_the_wait_of_a_gang_after_others)
{
	struct stream *t = stream_new();

	story_node(t->s, .name = "n1", .cpu = 2, .memory = 8);
	bound_small(t, 2, "n1");
	story_gang(t->s, .name = "g", .quorum = 2, .created = 1, .after_others = true);
	story_pods(t->s, 2, .name = "g", .gang = "g", .cpu = 1);
	steps_until(t, "g", 2, 58);
	cr_assert_eq(story_count(t->s, "g"), 2);
	cr_assert(t->oldest >= 20 && t->oldest <= 30, "%u", t->oldest);
	story_free(t->s);
}

/* Gangs that could never start come before one that could, and a node changes before each tick, so
 * that all have to be checked again; each has members of so many pod classes.  Returns the ticks
 * until a backfill reservation begins. */
static uint32_t infeasible_version(uint32_t nodes, uint32_t gangs, uint32_t classes)
{
	static char names[SMALL][16];
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	uint32_t ticks = 0;

	for (uint32_t i = 0; i < SMALL; i++)
		snprintf(names[i], sizeof(names[i]), "x%03u", i);
	for (uint32_t i = 0; i < nodes; i++)
		story_node(s, .name = names[i], .cpu = i == 0 ? 4 : 1, .memory = 64);
	story_pod(s, .name = "long", .cpu = 2, .node = names[0]);
	for (uint32_t i = 0; i < gangs; i++)
		story_gang(s, .name = names[i], .quorum = classes, .created = 1);
	for (uint32_t i = 0; i < gangs; i++)
		for (uint32_t k = 0; k < classes; k++)
			story_pod(s, .name = names[i + k * gangs], .gang = names[i], .cpu = 100 + k);
	story_gang(s, .name = "big", .quorum = 2, .created = 100);
	story_pods(s, 2, .name = "big", .gang = "big", .cpu = 2);
	story_plan(s);
	for (; ticks < 60 && story_ledger(s)->gauges.reserved_gang == 0; ticks++) {
		story_node(s, .name = names[nodes - 1], .cpu_milli = 500 + ticks, .memory = 64);
		story_tick(s, STEP_MS);
		story_plan(s);
	}
	story_free(s);
	return ticks;
}

Test(stream, hopeless_gangs_delay_no_backfill_reservation)
{
	const uint32_t few = infeasible_version(2, 10, 1), many = infeasible_version(128, 40, 5);

	cr_assert(few >= 24 && few <= 26, "%u ticks", few);
	/* Not all are checked in one tick. */
	cr_assert(many > few && many <= few + 3, "%u ticks", many);
}
