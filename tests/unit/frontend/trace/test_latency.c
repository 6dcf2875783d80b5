/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a pod, told mark by mark: what is counted where, and that nothing is followed for
 * ever. */
#include "frontend/trace/latency.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#define US UINT64_C(1000)

static struct latency *l;

static void begin(void)
{
	l = latency_new();
}

static void end(void)
{
	latency_free(l);
}

TestSuite(latency, .init = begin, .fini = end);

static struct pod_put put_of(pod_id id, uint32_t generation)
{
	return (struct pod_put){
		.id = id, .generation = generation, .node = ID_NONE, .ours = true, .served_ns = 700 * US
	};
}

static struct cmd_bind bind_of(pod_id id, uint32_t generation, node_id node)
{
	return (
		struct cmd_bind){ .pod = id, .pod_generation = generation, .node = node, .gang = ID_NONE };
}

/* From its first byte at `from` to the answer, with steps of 1, 2, 4, 8, 16, 32 and 64 us. */
static struct latency_story *go(pod_id id, uint32_t generation, uint64_t from)
{
	struct pod_put put = put_of(id, generation);
	struct cmd_bind cmd = bind_of(id, generation, 3);

	latency_put(l, &put, from, from + 1 * US);
	latency_sent(l, id, generation, from + 3 * US);
	latency_commanded(l, &cmd, from + 7 * US, from + 15 * US, from + 31 * US);
	latency_posted(l, &cmd, from + 63 * US);
	return latency_bound(l, &cmd, "muster", from + 127 * US);
}

static void see(pod_id id, uint32_t generation, node_id node, uint64_t at)
{
	struct pod_put put = put_of(id, generation);

	put.node = node;
	latency_put(l, &put, at, at + US);
}

static uint64_t waiting(void)
{
	uint64_t n = 0;

	for (int i = 0; i < POD_QUEUES; i++)
		n += latency_figures(l)->pending[i];
	return n;
}

Test(latency, every_stage_gets_its_own_time)
{
	static const uint64_t us[STAGES] = { 1, 2, 4, 8, 16, 32, 64, 100, 123, 127, 700 };
	const struct latency_figures *f = latency_figures(l);
	struct latency_story *story = go(5, 1, 1000 * US);

	cr_assert_not_null(story);
	cr_assert_eq(f->stages[STAGE_WATCH].n, 0);
	see(5, 1, 3, 1227 * US);
	for (int i = 0; i < STAGES; i++) {
		cr_assert_eq(f->stages[i].n, 1, "%s", stage_names[i]);
		cr_assert_eq(f->stages[i].sum, us[i] * US, "%s: %llu", stage_names[i],
		             (unsigned long long)f->stages[i].sum);
		if (i != STAGE_WATCH && i != STAGE_SERVE)
			cr_assert_eq(story->ns[i], us[i] * US);
	}
	cr_assert_eq(f->profiles_n, 1);
	cr_assert_eq(f->profiles[0].attempts[ATTEMPT_SCHEDULED], 1);
	cr_assert_eq(f->profiles[0].took.sum, 120 * US, "planning begun -> answered");
	cr_assert_eq(f->sli[0].n, 1);
	cr_assert_eq(f->checks, 1);
	cr_assert_eq(f->wrong, 0);
	cr_assert_eq(waiting(), 0);
}

Test(latency, times_of_a_pod_stay_until_its_slot_is_needed)
{
	struct pod_put put = put_of(5, 1);
	struct cmd_bind cmd = bind_of(5, 1, 3);
	struct latency_times t;

	cr_assert(!latency_times(l, 5, 1, 10, &t));
	latency_put(l, &put, 1000 * US, 1001 * US);
	latency_sent(l, 5, 1, 1003 * US);
	cr_assert(latency_times(l, 5, 1, 1013 * US, &t));
	cr_assert_eq(t.stage, (uint32_t)STAGE_WAIT);
	cr_assert_eq(t.ns[STAGE_WAIT], 10 * US, "so far");
	latency_commanded(l, &cmd, 1007 * US, 1011 * US, 1015 * US);
	latency_refused(l, &cmd, true, "muster");
	cr_assert(latency_times(l, 5, 1, 1033 * US, &t));
	cr_assert_eq(t.stage, (uint32_t)STAGE_WAIT, "what was refused waits again");
	cr_assert_eq(t.ns[STAGE_WAIT], 30 * US);
	go(6, 1, 2000 * US);
	see(6, 1, 3, 2227 * US);
	cr_assert(latency_times(l, 6, 1, 9999 * US, &t));
	cr_assert_eq(t.stage, (uint32_t)STAGE_WATCH);
	cr_assert_eq(t.read_ns, 2000 * US);
	for (int i = STAGE_EXTRACT; i <= STAGE_BIND; i++)
		cr_assert_eq(t.ns[i], US << i, "%s", stage_names[i]);
	cr_assert(!latency_times(l, 6, 2, 9999 * US, &t), "of another generation");
	/* The slot serves the next pod. */
	put = put_of(6 + LATENCY_SLOTS, 1);
	latency_put(l, &put, 1, 2);
	cr_assert(!latency_times(l, 6, 1, 9999 * US, &t));
	cr_assert_eq(latency_figures(l)->not_followed, 0);
}

Test(latency, the_watch_may_be_faster_than_the_answer)
{
	const struct latency_figures *f = latency_figures(l);
	struct pod_put put = put_of(0, 1);
	struct cmd_bind cmd = bind_of(0, 1, 2);

	latency_put(l, &put, 10, 20);
	latency_sent(l, 0, 1, 30);
	latency_commanded(l, &cmd, 40, 45, 50);
	latency_posted(l, &cmd, 60);
	see(0, 1, 9, 70);
	cr_assert_eq(f->wrong, 1, "it went to another node than ours");
	latency_bound(l, &cmd, "muster", 80);
	cr_assert_eq(f->stages[STAGE_WATCH].n, 1);
	cr_assert_eq(f->stages[STAGE_WATCH].sum, 0);
	see(0, 1, 9, 90);
	cr_assert_eq(f->stages[STAGE_WATCH].n, 1, "its way is over");
}

Test(latency, a_pod_waits_where_it_was_told)
{
	const struct latency_figures *f = latency_figures(l);
	struct pod_put put = put_of(1, 1);
	struct cmd_bind cmd = bind_of(1, 1, 0);

	put.gated = true;
	latency_put(l, &put, 10, 20);
	cr_assert_eq(f->pending[QUEUE_GATED], 1);
	latency_told(l, 1, 1, WAIT_GATED, "muster");
	cr_assert_eq(f->pending[QUEUE_GATED], 1);
	put.gated = false;
	latency_put(l, &put, 1000, 1100);
	cr_assert_eq(f->pending[QUEUE_ACTIVE], 1);
	cr_assert_eq(latency_read_ns(l, 1, 1), 1000, "its time begins when its gates are gone");
	latency_told(l, 1, 1, WAIT_MEMBERS, "muster");
	cr_assert_eq(f->pending[QUEUE_INCOMPLETE], 1);
	latency_told(l, 1, 1, WAIT_ROOM, "muster");
	cr_assert_eq(f->pending[QUEUE_UNSCHEDULABLE], 1);
	latency_commanded(l, &cmd, 1200, 1250, 1300);
	cr_assert_eq(waiting(), 0);
	latency_refused(l, &cmd, true, "muster");
	cr_assert_eq(f->pending[QUEUE_BACKOFF], 1);
	cr_assert_eq(waiting(), 1);
	latency_commanded(l, &cmd, 1400, 1450, 1500);
	latency_bound(l, &cmd, "muster", 1600);
	cr_assert_eq(waiting(), 0);
	cr_assert_eq(f->profiles[0].attempts[ATTEMPT_UNSCHEDULABLE], 2);
	cr_assert_eq(f->profiles[0].attempts[ATTEMPT_ERROR], 1);
	cr_assert_eq(f->sli[3].n, 1, "the fourth attempt");
	cr_assert_eq(f->tries.sum, 4);
}

Test(latency, pods_that_go_leave_nothing)
{
	const struct latency_figures *f = latency_figures(l);
	struct pod_put put = put_of(1, 1), other = put_of(1, 2), far = put_of(1 + LATENCY_SLOTS, 1);

	latency_put(l, &put, 10, 20);
	latency_put(l, &far, 10, 20);
	cr_assert_eq(f->not_followed, 1, "its slot is another's");
	cr_assert_eq(latency_read_ns(l, far.id, 1), 0);
	latency_put(l, &other, 30, 40);
	cr_assert_eq(waiting(), 1, "the same id again: the first one is gone");
	latency_dropped(l, 1, 1);
	cr_assert_eq(waiting(), 1);
	latency_dropped(l, 1, 2);
	cr_assert_eq(waiting(), 0);
	latency_put(l, &far, 10, 20);
	see(far.id, 1, 4, 50);
	cr_assert_eq(f->elsewhere, 1, "somebody else bound it");
	cr_assert_eq(waiting(), 0);
	put.ours = false;
	latency_put(l, &put, 60, 70);
	cr_assert_eq(waiting(), 0, "another scheduler's");
}

Test(latency, the_core_s_clock_is_not_believed)
{
	const struct latency_figures *f = latency_figures(l);

	for (uint32_t id = 0; id < 4; id++) {
		struct pod_put put = put_of(id, 1);
		struct cmd_bind cmd = bind_of(id, 1, 0);

		latency_put(l, &put, 100, 200);
		latency_sent(l, id, 1, 300);
		latency_commanded(l, &cmd, id & 1 ? UINT64_MAX : 0, id & 2 ? UINT64_MAX : 0, 400);
		latency_bound(l, &cmd, "muster", 500);
	}
	cr_assert_eq(f->stages[STAGE_WAIT].max, 100);
	cr_assert_eq(f->stages[STAGE_PLAN].max, 100);
	cr_assert_eq(f->stages[STAGE_RING].max, 100);
	cr_assert_eq(f->stages[STAGE_TOTAL].sum, 1600);
}

Test(latency, the_slowest_are_kept_in_order)
{
	const struct latency_slowest *s = latency_figures(l)->slowest;
	struct random r = random_start("latency");

	for (uint32_t i = 0; i < 500; i++) {
		struct pod_put put = put_of(i, 1);
		struct cmd_bind cmd = bind_of(i, 1, 0);
		struct latency_story *story;

		latency_put(l, &put, 1000, 1000 + i);
		latency_sent(l, i, 1, 2000);
		latency_commanded(l, &cmd, 5000000, 5000000, 5000001);
		latency_posted(l, &cmd, 5000002);
		story = latency_bound(l, &cmd, "muster", 5000003 + random_below(&r, 1000000));
		if (story)
			snprintf(story->name, sizeof(story->name), "p%u", i);
	}
	cr_assert_eq(s[0].n, LATENCY_SLOWEST);
	for (uint32_t i = 1; i < LATENCY_SLOWEST; i++)
		cr_assert_geq(s[0].at[i - 1].ns[STAGE_OURS], s[0].at[i].ns[STAGE_OURS]);
	cr_assert_geq(s[0].at[9].ns[STAGE_OURS], 900000, "500 of a million: the tenth is far up");
	go(600, 1, UINT64_C(400000000000));
	cr_assert_eq(s[0].n, 1, "a new window");
	cr_assert_eq(s[1].n, LATENCY_SLOWEST, "and the one before");
}

Test(latency, is_written_as_json)
{
	struct latency_story *story = go(5, 1, 1000 * US);
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	snprintf(story->name, sizeof(story->name), "a\"b");
	latency_write(latency_figures(l), 2000 * US, out);
	fclose(out);
	cr_assert_not_null(strstr(
		text,
		"{\"stage\":\"extract\",\"text\":\"from the bytes of the watch to an object\",\"count\":1,"
		"\"sum\":1000,\"p50\":"));
	cr_assert_not_null(strstr(text, "\"pod\":\"a\\\"b\""), "%s", text);
	cr_assert_not_null(
		strstr(
			text,
			"\"ago\":873000,\"stages\":{\"extract\":1000,\"send\":2000,\"wait\":4000,\"plan\":8000,"
			"\"ring\":16000,\"queue\":32000,\"bind\":64000,\"ours\":123000,\"total\":127000}}]}\n"),
		"%s", text);
	free(text);
}

/* A pod that changes while it waits was served once; one of a list never. */
Test(latency, a_pod_is_served_once)
{
	struct pod_put put = put_of(5, 1);

	latency_put(l, &put, 1000 * US, 1001 * US);
	latency_put(l, &put, 2000 * US, 2001 * US);
	put = put_of(6, 1);
	put.served_ns = LATENCY_NOT_SERVED;
	latency_put(l, &put, 1000 * US, 1001 * US);
	cr_assert_eq(latency_figures(l)->stages[STAGE_SERVE].n, 1);
	cr_assert_eq(latency_figures(l)->stages[STAGE_SERVE].sum, 700 * US);
}
