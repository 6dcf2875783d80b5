/* SPDX-License-Identifier: Apache-2.0 */
/* Records and rows that the stories of tests/stories can't express: results that fit no binding,
 * malformed requests of the extender, times and records of other epochs, and single fields of the
 * ledger. */
#include "core/step/core.h"
#include "ipc/states.h"
#include "tests/unit/support_story.h"

TestSuite(records, .fini = story_end);

static struct story *one_node(int64_t cpu)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);

	story_node(s, .name = "n1", .cpu = cpu, .memory = 64);
	return s;
}

/* Is there a pod of that request more on the node? */
static bool fits(struct story *s, int64_t cpu)
{
	bool placed;

	story_pod(s, .name = "probe", .cpu = cpu);
	story_plan(s);
	placed = story_count(s, "probe") == 1;
	story_drop_pod(s, "probe");
	story_plan(s);
	return placed;
}

static const struct node_amounts *first_node(struct story *s)
{
	return (const void *)((const char *)story_ledger(s) + story_ledger(s)->amounts_offset);
}

Test(records, results_without_a_binding_are_ignored)
{
	struct story *s = one_node(4);
	struct result r = { .pod = 0, .generation = 1, .node = 0, .attempt = 1 };

	cr_assert_eq(story_feed(s, RESULT_BOUND, &r, sizeof(r)), 0);
	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	r.attempt = 2; /* another attempt */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	r.attempt = ATTEMPT_OTHER; /* of another core; none is in flight here */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	r.attempt = 1;
	r.generation = 2; /* another pod */
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	cr_assert(!fits(s, 1));
	cr_assert_eq(story_ledger(s)->stats.stale_results, 4);
}

Test(records, a_node_may_not_be_dropped_under_a_bound_pod)
{
	struct story *s = one_node(2);
	struct event_drop drop = { .id = 0, .generation = 1 };

	story_pod(s, .name = "a", .cpu = 1, .node = "n1");
	cr_assert_eq(story_feed(s, EVENT_NODE_DROP, &drop, sizeof(drop)), -EPROTO);
}

/* An earlier core sent the binding; the frontend reports it and its result to this one. */
Test(records, a_binding_of_an_earlier_core)
{
	struct story *s = one_node(4);
	struct result r = { .pod = 0, .generation = 1, .node = 0, .attempt = 9 };

	story_pod(s, .name = "a", .cpu = 4, .node = "n1", .binding = true);
	story_plan(s);
	story_expect(s, "");
	cr_assert(!fits(s, 1));
	cr_assert_eq(story_feed(s, RESULT_UNKNOWN, &r, sizeof(r)), 0);
	cr_assert(!fits(s, 1));
	cr_assert_eq(story_feed(s, RESULT_REFUSED, &r, sizeof(r)), 0);
	cr_assert(fits(s, 4));
	story_skip(s);
	story_tick(s, 1000);
	story_plan(s);
	story_expect(s, "bind a n1\n");
}

/* The clock of the last frontend was an hour ahead: no backoff lasts that hour. */
Test(records, an_epoch_has_its_own_time)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	struct record r = {
		.bytes = sizeof(r), .kind = EVENT_BEGIN, .epoch = 1000, .time_ns = UINT64_C(3600000000000)
	};

	cr_assert_eq(core_step(story_core(s), &r), 0);
	story_begin(s);
	story_node(s, .name = "n1", .cpu = 4, .memory = 64);
	story_gang(s, .name = "g", .quorum = 2);
	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_refused(s, "a", 500);
	story_tick(s, 600);
	story_skip(s);
	story_plan(s);
	story_expect(s, "bind a n1\n");
}

/* A pod's record that is older than a result, which came on the other ring: its POD_BINDING is out
 * of date. */
Test(records, a_result_overtakes_the_pod_s_record)
{
	struct story *s = one_node(4);
	struct {
		struct record r;
		struct event_pod e;
		char name[8];
	} pod = { .r = { .bytes = sizeof(pod), .kind = EVENT_POD, .epoch = 7, .time_ns = 2 },
		      .e = { .pod = 0,
		             .generation = 1,
		             .flags = POD_OURS | POD_BINDING,
		             .gang = ID_NONE,
		             .name_bytes = 1 },
		      .name = "a" };

	story_pod(s, .name = "a", .cpu = 4);
	story_plan(s);
	story_refused(s, "a", 60000);
	cr_assert_eq(core_step(story_core(s), &pod.r), 0);
	cr_assert(fits(s, 4));
}

Test(records, invalid_claims_change_nothing)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	struct {
		struct event_assume e;
		uint64_t set[5];
	} assume = { .e = { .pod = 0, .pod_generation = 1, .words = 1 } };

	story_node(s, .name = "n1", .cpu = 4, .memory = 8);
	cr_assert_eq(story_feed(s, EVENT_ASSUME, &assume, sizeof(assume.e) + 8), -EPROTO);
	story_pod(s, .name = "ours", .cpu = 1, .memory = 9);
	cr_assert_eq(story_feed(s, EVENT_ASSUME, &assume, sizeof(assume.e) + 8), -EPROTO);
	cr_assert_str_eq(core_fault(story_core(s)), "assume request for a pod that muster places");
	assume.e.words = STORY_MAX / 64 + 1;
	cr_assert_eq(story_feed(s, EVENT_ASSUME, &assume, sizeof(assume)), -EPROTO);
	assume.e.words = 2;
	cr_assert_eq(story_feed(s, EVENT_ASSUME, &assume, sizeof(assume.e) + 8), -EPROTO);
}

Test(records, invalid_answers_and_results_of_evictions_change_nothing)
{
	struct story *s = one_node(4);
	struct evict_result e = { .pod = 0, .generation = 1, .node = 0 };
	struct {
		struct event_answer e;
		struct answer_pod pods[2];
	} a = { .e = { .victims_n = 1, .places_n = 1 } };

	cr_assert_eq(story_feed(s, EVENT_ANSWER, &a, sizeof(a)), 0, "%s", core_fault(story_core(s)));
	cr_assert_eq(story_feed(s, EVENT_ANSWER, &a, sizeof(a) - 16), -EPROTO, "its length");
	a.e.verdict = ANSWER_VERDICTS;
	cr_assert_eq(story_feed(s, EVENT_ANSWER, &a, sizeof(a)), -EPROTO, "its verdict");
	a.e.verdict = ANSWER_VICTIMS;
	a.pods[1].node = STORY_MAX;
	cr_assert_eq(story_feed(s, EVENT_ANSWER, &a, sizeof(a)), -EPROTO, "the node of a place");
	a.pods[1].node = 0;
	a.e.gang = STORY_MAX + STORY_MAX; /* behind the last lone pod */
	cr_assert_eq(story_feed(s, EVENT_ANSWER, &a, sizeof(a)), -EPROTO, "its gang");
	cr_assert_eq(story_feed(s, RESULT_EVICT_SENT, &e, sizeof(e)), 0);
	e.generation = 0;
	cr_assert_eq(story_feed(s, RESULT_EVICT_SENT, &e, sizeof(e)), -EPROTO, "its generation");
	story_expect(s, "");
}

/* Sums have full width from the first request on that could make one overflow; what was counted
 * before is in them. */
Test(records, sums_stay_exact_when_a_huge_request_comes_later)
{
	struct story *s = story_new(SCORE_KUBE, STORY_HOLD_MS);
	const struct node_amounts *n1 = first_node(s);

	story_node(s, .name = "n1", .cpu_milli = 10000, .memory = 8);
	story_pod(s, .name = "a", .cpu = 2, .node = "n1", .foreign = true);
	story_pod(s, .name = "b", .cpu = 1);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "b"), "n1");
	for (int i = 0; i < 2; i++) {
		story_pod(s, .name = "huge-0", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
		cr_assert_eq(n1->used[RESOURCE_CPU], INT64_MAX);
		story_pod(s, .name = "huge-1", .cpu_milli = INT64_MAX - 5, .node = "n1", .foreign = true);
		story_drop_pod(s, "huge-0");
		cr_assert_eq(n1->used[RESOURCE_CPU], INT64_MAX);
		story_drop_pod(s, "huge-1");
		cr_assert_eq(n1->used[RESOURCE_CPU], 3000);
	}
	cr_assert_eq(story_ledger(s)->stats.saturated, 2);
	story_pod(s, .name = "p", .cpu = 7);
	story_plan(s);
	cr_assert_str_eq(story_where(s, "p"), "n1");
	story_pod(s, .name = "q", .cpu_milli = 1);
	story_plan(s);
	cr_assert_eq(story_count(s, "q"), 0);
}

Test(records, rows_of_the_ledger)
{
	struct story *s = one_node(4);
	const struct ledger *l = story_ledger(s);
	const struct gang_row *row = (const void *)((const char *)l + l->gangs_offset);
	const struct node_row *node = (const void *)((const char *)l + l->nodes_offset);

	story_gang(s, .name = "g", .quorum = 2);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 4);
	story_pod(s, .name = "p", .cpu = 3);
	story_plan(s);
	cr_assert_eq(row->generation, 1);
	cr_assert_eq(row->state, GANG_WAITING);
	cr_assert_eq(row->reason.why, WAIT_ROOM);
	cr_assert_eq(row->reason.fit, 1);
	cr_assert_eq(row->name_bytes, 1);
	cr_assert_eq(row->version % 2, 0);
	cr_assert_eq(node->pods, 1);
	cr_assert_eq(first_node(s)->used[RESOURCE_CPU], 3000);
	cr_assert_eq(l->gauges.gangs_waiting, 1);
	cr_assert_eq(l->gauges.pods_pending, 2);
	cr_assert_eq(l->stats.plans_placed, 1);
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_drop_gang(s, "g");
	cr_assert_eq(row->generation, 0);
}

static void state_is(struct story *s, enum gang_state state, enum gang_state placement)
{
	const struct gang_row *row = story_row(s, "g");

	story_plan(s);
	cr_expect_eq(row->state, state, "%s, not %s", gang_state_text(row->state),
	             gang_state_text(state));
	cr_expect_eq(row->placement, placement, "%s, not %s", gang_placement_text(row->placement),
	             gang_placement_text(placement));
}

static void put_g(struct story *s, uint32_t succeeded, uint32_t failed, bool counts)
{
	story_gang(s, .name = "g", .quorum = 3, .succeeded = succeeded, .failed = failed,
	           .whole = counts, .ended_count = counts);
}

/* Pending, Running, Degraded, Running again since succeeded members count, Finished. */
Test(records, the_life_of_a_gang)
{
	struct story *s = one_node(8);

	put_g(s, 0, 0, false);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	state_is(s, GANG_INCOMPLETE, GANG_INCOMPLETE);
	for (int i = 0; i < 3; i++) {
		char name[8];

		snprintf(name, sizeof(name), "g-%d", i);
		story_pod(s, .name = name, .gang = "g", .cpu = 1, .node = "n1");
	}
	state_is(s, GANG_PLACED, GANG_PLACED);
	story_drop_pod(s, "g-2");
	state_is(s, GANG_DEGRADED, GANG_INCOMPLETE);
	story_pod(s, .name = "g-3", .gang = "g", .cpu = 99);
	state_is(s, GANG_DEGRADED, GANG_WAITING);
	cr_expect_eq(story_row(s, "g")->quorum, 3);
	put_g(s, 1, 0, true);
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-3");
	state_is(s, GANG_DEGRADED, GANG_INCOMPLETE);
	cr_expect_eq(story_row(s, "g")->reason.members, 2, "the succeeded one is a member");
	story_pod(s, .name = "g-4", .gang = "g", .cpu = 1);
	story_plan(s);
	cr_expect_str_eq(story_where(s, "g-4"), "n1", "one of three succeeded: two suffice");
	story_pod(s, .name = "g-4", .gang = "g", .cpu = 1, .node = "n1");
	state_is(s, GANG_PLACED, GANG_PLACED);
	put_g(s, 3, 0, true);
	story_drop_pod(s, "g-1");
	story_drop_pod(s, "g-4");
	state_is(s, GANG_FINISHED, GANG_INCOMPLETE);
	put_g(s, 2, 0, true);
	state_is(s, GANG_FINISHED, GANG_INCOMPLETE);
	put_g(s, 2, 1, true);
	state_is(s, GANG_FAILED, GANG_INCOMPLETE);
	cr_expect_eq(story_row(s, "g")->failed, 1);
}

/* COS-11: succeeded members of a gang that was never whole do not count. */
Test(records, what_never_started_waits_for_the_whole_quorum)
{
	struct story *s = one_node(8);

	put_g(s, 1, 0, false);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	state_is(s, GANG_INCOMPLETE, GANG_INCOMPLETE);
	cr_expect_eq(story_row(s, "g")->reason.members, 2);
	put_g(s, 1, 0, true);
	story_plan(s);
	cr_expect_str_eq(story_where(s, "g-0"), "n1");
	cr_expect_str_eq(story_where(s, "g-1"), "n1");
}

/* The members of a new run start together, whatever became of those before. */
Test(records, another_run_is_not_degraded)
{
	struct story *s = one_node(8);

	put_g(s, 0, 0, false);
	story_pods(s, 3, .name = "g", .gang = "g", .cpu = 1, .node = "n1");
	state_is(s, GANG_PLACED, GANG_PLACED);
	story_drop_pod(s, "g-0");
	story_drop_pod(s, "g-1");
	story_drop_pod(s, "g-2");
	story_plan(s);
	story_pods(s, 2, .name = "g", .gang = "g", .cpu = 1);
	state_is(s, GANG_INCOMPLETE, GANG_INCOMPLETE);
}
