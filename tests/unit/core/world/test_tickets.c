/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets, searches for them beside the loop, and answers that come back as records: packings of
 * gangs that the loop's own plan gave up. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_lookout.h"
#include "tests/unit/support_random.h"

#define ROOM 20 /* cores of a node */

static const struct limits LIMITS =
	LIMITS_WITH(.nodes = 128, .pods = 512, .gangs = 8, .name_bytes = 1 << 16,
                .command_ring_bytes = 1 << 17);

static void answered(void *context, struct record *r)
{
	cr_assert_null(x.answer, "two answers");
	x.answer = r;
}

static void start(void)
{
	scene_start((struct core_config){ .limits = LIMITS }, MODEL_QUEUES_NONE,
	            (struct lookout_config){ .feed_bytes = FEED_BYTES_LEAST * 16, .answer = answered });
}

TestSuite(tickets, .init = start, .fini = scene_end);

static void sized(int i, int cpu)
{
	char name[32];

	snprintf(name, sizeof(name), "n%03d", i);
	node(name, cpu);
}

static void member(int i, int cpu)
{
	char name[32];

	snprintf(name, sizeof(name), "p%03d", i);
	put("v1", "Pod", name, ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}",
	    "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\","
	    "\"resources\":{\"requests\":{\"cpu\":\"%d\",\"memory\":\"1Mi\"}}}]},"
	    "\"status\":{\"phase\":\"Pending\"}",
	    cpu);
}

/* Members of 2 to 9 cores, with so many per cent of the room to spare. */
static void edge(struct random *r, int nodes, int spare)
{
	int left = nodes * ROOM * (100 - spare) / 100, n = 0;

	for (int i = 0; i < nodes; i++)
		sized(i, ROOM);
	for (; left >= 2; n++) {
		const int cpu = 2 + (int)random_below(r, 8);

		member(n, cpu < left ? cpu : left);
		left -= cpu < left ? cpu : left;
	}
	group("g", n);
	model_set_synced(x.m);
}

static const struct gang *gang(void)
{
	return gangs_group(&x.loop.core->gangs, 0);
}

static void placed_at_the_edge(int nodes, int spare)
{
	struct random r = random_start("tickets.edge");
	int placed = 0, quick = 0;

	scene_end();
	for (int round = 0; round < 20; round++) {
		start();
		edge(&r, nodes, spare);
		flush();
		quick += gang_quorum_met(gang());
		if (!gang_quorum_met(gang()))
			search();
		if (x.answer)
			answer_apply();
		placed += gang_quorum_met(gang());
		cr_assert_eq(follower_state(x.loop.world), WORLD_FOLLOWS);
		scene_end();
	}
	printf("%d nodes, %d %% to spare: %d of 20 placed, %d of them by the loop alone\n", nodes,
	       spare, placed, quick);
	cr_assert_geq(placed, 19);
	start();
}

Test(tickets, gangs_that_need_nearly_all_of_the_room_are_packed)
{
	static const int sizes[] = { 6, 10, 20, 100 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		placed_at_the_edge(sizes[i], 1);
}

/* Four nodes that seven kinds of members fill to the last core: the quick plan gives up. */
static void full(void)
{
	struct random r = random_start("tickets.full");

	for (int tries = 0; tries < 50; tries++) {
		edge(&r, 10, 1);
		flush();
		search();
		if (x.answer &&
		    ((const struct event_answer *)(const void *)(x.answer + 1))->verdict == ANSWER_PACKED)
			return;
		scene_end();
		start();
	}
	cr_assert_fail("every gang is placed by the loop");
}

Test(tickets, an_answer_that_holds_no_longer_is_asked_for_again)
{
	full();
	cr_assert_eq(counts()->tickets, 1);
	sized(0, 1); /* it shrinks meanwhile */
	flush();
	answer_apply();
	cr_assert(!gang_quorum_met(gang()));
	cr_assert_eq(counts()->answers, 1);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(counts()->packed, 0);
	sized(0, ROOM);
	tick(3 * S);
	cr_assert_eq(counts()->tickets, 2, "%lu", counts()->tickets);
	search();
	cr_assert(x.answer);
	answer_apply();
	cr_assert(gang_quorum_met(gang()));
	cr_assert_eq(counts()->packed, 1);
}

Test(tickets, an_answer_to_another_ticket_is_ignored)
{
	struct event_answer *a;

	full();
	a = (void *)(x.answer + 1);
	a->ticket++;
	answer_apply();
	cr_assert(!gang_quorum_met(gang()));
	cr_assert_eq(counts()->stale, 1);
}

Test(tickets, a_ticket_expires_after_ten_seconds)
{
	full();
	cr_assert_eq(x.loop.core->tickets.n, 1);
	tick(9 * S);
	cr_assert_eq(x.loop.core->tickets.n, 1);
	tick(2 * S);
	cr_assert_eq(counts()->expired, 1);
	answer_apply(); /* too late */
	cr_assert_eq(counts()->stale, 1);
}

Test(tickets, there_are_none_for_a_gang_whose_members_are_gone)
{
	struct decode_error error = { 0 };
	char json[256];

	full();
	sized(0, 1);
	for (int i = 0; i < 99; i++) {
		snprintf(json, sizeof(json),
		         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%03d\","
		         "\"namespace\":\"ns\",\"uid\":\"u-p%03d\",\"resourceVersion\":\"%u\"}}",
		         i, i, ++x.version);
		model_remove(x.m, model_resource_index(x.m, "v1", "Pod"), json, strlen(json), &error);
	}
	flush();
	cr_assert_eq(x.loop.core->tickets.n, 0);
	answer_apply();
	cr_assert_eq(counts()->stale, 1);
}
