/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets, searches for them beside the loop, and answers that come back as records: packings of
 * gangs that the loop's own plan gave up. */
#include "core/lifecycle/state.h"
#include "core/world/lookout.h"
#include "frontend/model/model.h"
#include "ipc/memory.h"
#include "tests/unit/support_followed.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#define S UINT64_C(1000000000)
#define ROOM 20 /* cores of a node */
#define API "scheduling.x-k8s.io/v1alpha1"

static const struct limits LIMITS = { .nodes = 128,
	                                  .pods = 512,
	                                  .gangs = 8,
	                                  .shapes = 16,
	                                  .names = 24,
	                                  .resources = 8,
	                                  .name_bytes = 1 << 16,
	                                  .command_ring_bytes = 1 << 17 };

struct scene {
	struct loop loop;
	struct model *m;
	struct lookout *lookout;
	struct core_searches stats;
	struct victims_row *rows;
	unsigned version;
	struct record *answer; /* that has come; not applied yet */
	uint64_t now_ns;
};

static struct scene x;

static void answered(void *context, struct record *r)
{
	(void)context;
	cr_assert_null(x.answer, "two answers");
	x.answer = r;
}

static void start(void)
{
	static const char *const names[] = { "muster" };
	struct model_config config = {
		.limits = LIMITS, .scheduler_names = names, .scheduler_names_n = 1, .preemption = true
	};
	struct core_config core = { .limits = LIMITS };

	memset(&x, 0, sizeof(x));
	x.m = model_new(&config);
	loop_new(&x.loop, core, FEED_BYTES_LEAST * 16);
	x.rows = must_array(VICTIMS_ROWS, sizeof(*x.rows));
	x.lookout = lookout_new(&(struct lookout_config){ .follower = x.loop.world,
	                                                  .stats = &x.stats,
	                                                  .rows = x.rows,
	                                                  .steps_most = LOOKOUT_STEPS,
	                                                  .feed_bytes = FEED_BYTES_LEAST * 16,
	                                                  .answer = answered });
}

static void end(void)
{
	lookout_free(x.lookout);
	loop_end(&x.loop);
	model_free(x.m);
	free(x.rows);
	free(x.answer);
}

TestSuite(tickets, .init = start, .fini = end);

static void put(const char *api, const char *kind, const char *name, const char *labels,
                const char *rest)
{
	struct decode_error error = { 0 };
	char json[2048];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"%s},%s}",
	         api, kind, name, name, ++x.version, labels, rest);
	cr_assert_eq(model_put(x.m, model_resource_index(x.m, api, kind), json, strlen(json), &error),
	             0, "%s: %s: %s", error.object, error.field, error.text);
}

static void node(int i, int cpu)
{
	char name[32], rest[256];

	snprintf(name, sizeof(name), "n%03d", i);
	snprintf(rest, sizeof(rest),
	         "\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":\"64Gi\",\"pods\":\"99\"}}",
	         cpu);
	put("v1", "Node", name, "", rest);
}

static void group(int quorum)
{
	char rest[64];

	snprintf(rest, sizeof(rest), "\"spec\":{\"minMember\":%d}", quorum);
	put(API, "PodGroup", "g", "", rest);
}

static void member(int i, int cpu)
{
	char name[32], rest[512];

	snprintf(name, sizeof(name), "p%03d", i);
	snprintf(rest, sizeof(rest),
	         "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\","
	         "\"resources\":{\"requests\":{\"cpu\":\"%d\",\"memory\":\"1Mi\"}}}]},"
	         "\"status\":{\"phase\":\"Pending\"}",
	         cpu);
	put("v1", "Pod", name, ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}", rest);
}

/* Members of 2 to 9 cores, with so many per cent of the room to spare. */
static void edge(struct random *r, int nodes, int spare)
{
	int left = nodes * ROOM * (100 - spare) / 100, n = 0;

	for (int i = 0; i < nodes; i++)
		node(i, ROOM);
	for (; left >= 2; n++) {
		const int cpu = 2 + (int)random_below(r, 8);

		member(n, cpu < left ? cpu : left);
		left -= cpu < left ? cpu : left;
	}
	group(n);
	model_set_synced(x.m);
}

static const struct gang *gang(void)
{
	return gangs_group(&x.loop.core->gangs, 0);
}

static const struct core_preemption *counts(void)
{
	return &x.loop.ledger->preemption;
}

/* A record of the loop, and plans until there is nothing to plan. */
static void apply(struct record *r)
{
	r->epoch = x.loop.core->epoch;
	r->time_ns = x.loop.core->now_ns;
	loop_step(&x.loop, r, UINT32_MAX);
	cr_assert_str_eq(core_fault(x.loop.core), "");
	loop_flush(&x.loop, x.m);
}

static void tick(uint64_t more_ns)
{
	struct record r = { .bytes = sizeof(r), .kind = EVENT_TICK, .epoch = x.loop.core->epoch };

	x.loop.time_ns += more_ns;
	r.time_ns = x.loop.core->now_ns + more_ns;
	loop_step(&x.loop, &r, UINT32_MAX);
	loop_flush(&x.loop, x.m);
}

static void search(void)
{
	lookout_run(x.lookout, x.now_ns += 10 * S);
}

static void answer_apply(void)
{
	struct record *r = x.answer;

	x.answer = NULL;
	apply(r);
	free(r);
}

static void placed_at_the_edge(int nodes, int spare)
{
	struct random r = random_start("tickets.edge");
	int placed = 0, quick = 0;

	end();
	for (int round = 0; round < 20; round++) {
		start();
		edge(&r, nodes, spare);
		loop_flush(&x.loop, x.m);
		quick += gang_quorum_met(gang());
		if (!gang_quorum_met(gang()))
			search();
		if (x.answer)
			answer_apply();
		placed += gang_quorum_met(gang());
		cr_assert_eq(follower_state(x.loop.world), WORLD_FOLLOWS);
		end();
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
		loop_flush(&x.loop, x.m);
		search();
		if (x.answer &&
		    ((const struct event_answer *)(const void *)(x.answer + 1))->verdict == ANSWER_PACKED)
			return;
		end();
		start();
	}
	cr_assert_fail("every gang is placed by the loop");
}

Test(tickets, an_answer_that_holds_no_longer_is_asked_for_again)
{
	full();
	cr_assert_eq(counts()->tickets, 1);
	node(0, 1); /* it shrinks meanwhile */
	loop_flush(&x.loop, x.m);
	answer_apply();
	cr_assert(!gang_quorum_met(gang()));
	cr_assert_eq(counts()->answers, 1);
	cr_assert_eq(counts()->stale, 1);
	cr_assert_eq(counts()->packed, 0);
	node(0, ROOM);
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
	node(0, 1);
	for (int i = 0; i < 99; i++) {
		snprintf(json, sizeof(json),
		         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%03d\","
		         "\"namespace\":\"ns\",\"uid\":\"u-p%03d\",\"resourceVersion\":\"%u\"}}",
		         i, i, ++x.version);
		model_remove(x.m, model_resource_index(x.m, "v1", "Pod"), json, strlen(json), &error);
	}
	loop_flush(&x.loop, x.m);
	cr_assert_eq(x.loop.core->tickets.n, 0);
	answer_apply();
	cr_assert_eq(counts()->stale, 1);
}
