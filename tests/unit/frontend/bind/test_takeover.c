/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first plan: members that wait while others of their gang have a node are written to,
 * so that no Binding of an earlier instance lands after it. */
#include "frontend/bind/takeover.h"

#include "frontend/dialect/dialects.h"
#include "frontend/base/log.h"

#include "tests/unit/support_world.h"

#define POD(name) "/api/v1/namespaces/ns/pods/" name "/status"
#define BOUND "\"nodeName\":\"n1\""

static struct bench {
	struct world w;
	struct model *m;
	struct takeover *takeover;
	enum intents_fence fence;
	bool begun;
} b;

/* Of group g a has a node; b and c wait. */
static void begin(void)
{
	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model();
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "2", 3));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("a", "3", "g", BOUND));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "4", "g", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "5", "g", ""));
	b.takeover = takeover_new(&b.w.env, b.m);
	b.fence = INTENTS_FENCE_BEGUN;
}

static uint64_t poll(void)
{
	if (!b.begun)
		takeover_begin(b.takeover, b.fence);
	b.begun = true;
	return takeover_poll(b.takeover);
}

static void end(void)
{
	takeover_free(b.takeover);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(takeover, .init = begin, .fini = end);

static const char *node_of(const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", name, &v));
	return v.node;
}

/* Time goes on to the next request. */
static struct http_call *next(const char *path)
{
	for (int i = 0; world_open(&b.w) == 0; i++) {
		uint64_t due = poll();

		cr_assert(i < 10 && !takeover_over(b.takeover));
		if (world_open(&b.w) == 0)
			b.w.now_ns = due;
	}
	return world_take(&b.w, "PATCH", path);
}

Test(takeover, members_that_wait_are_written_to)
{
	struct http_call *c;
	struct pod_view v;

	poll();
	cr_assert(!takeover_over(b.takeover));
	cr_assert_eq(world_open(&b.w), 2);
	/* A Binding was faster than the write. */
	world_answer(world_take(&b.w, "PATCH", POD("c")), 200, world_member("c", "9", "g", BOUND));
	cr_assert(!takeover_over(b.takeover));
	c = world_take(&b.w, "PATCH", POD("b"));
	cr_assert(strstr(c->body, "\"uid\":\"") && strstr(c->body, "SchedulerError"), "%s", c->body);
	cr_assert(strstr(c->body, "\",\"resourceVersion\":\"4\"}"), "%s", c->body);
	world_answer(c, 200, world_member("b", "8", "g", ""));
	cr_assert(takeover_over(b.takeover));
	cr_assert(model_pod_by_name(b.m, "ns", "b", &v));
	cr_assert_str_eq(v.resource_version, "8");
	cr_assert_str_eq(node_of("b"), "");
	cr_assert_str_eq(node_of("c"), "n1");
	cr_assert_eq(takeover_counts(b.takeover)->fenced, 2);
	cr_assert_eq(poll(), NEVER_NS);
	cr_assert_eq(world_open(&b.w), 0, "once");
}

Test(takeover, nobody_else)
{
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("h", "2", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("d", "6", "h", "")); /* none of h has a node */
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_member("gated", "8", "g", "\"schedulingGates\":[{\"name\":\"x\"}]"));
	poll();
	cr_assert_eq(world_open(&b.w), 2, "b and c");
}

Test(takeover, all_that_wait_after_a_journal_that_could_not_be_read)
{
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("placed", "8", BOUND, ""));
	b.fence = INTENTS_FENCE_ALL;
	poll();
	cr_assert_eq(world_open(&b.w), 3, "b, c and lone");
}

Test(takeover, only_what_was_added_after_a_journal)
{
	struct pod_view v;

	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	b.fence = INTENTS_FENCE_NONE;
	cr_assert(model_pod_by_name(b.m, "ns", "lone", &v));
	takeover_add(b.takeover, &v);
	poll();
	world_take(&b.w, "PATCH", POD("lone"));
	cr_assert_eq(world_open(&b.w), 1);
}

Test(takeover, nothing_to_do)
{
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "8", "g", BOUND));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "9", "g", BOUND));
	cr_assert(!takeover_over(b.takeover), "not before it was looked at");
	cr_assert_eq(poll(), NEVER_NS);
	cr_assert(takeover_over(b.takeover));
}

Test(takeover, a_pod_that_is_gone_or_another)
{
	poll();
	world_answer(world_take(&b.w, "PATCH", POD("c")), 404,
	             world_status(404, "NotFound", "pods \\\"b\\\" not found"));
	world_answer(
		world_take(&b.w, "PATCH", POD("b")), 422,
		world_status(
			422, "Invalid",
			"Pod \\\"b\\\" is invalid: metadata.uid: Invalid value: \\\"u\\\": field is immutable"));
	cr_assert(takeover_over(b.takeover));
	cr_assert_eq(takeover_counts(b.takeover)->fenced + takeover_counts(b.takeover)->left, 0);
}

/* It was taken for another pod of that name and left as the list had it, without the node that it
 * had got. */
Test(takeover, a_conflict_may_have_been_the_binding)
{
	poll();
	world_answer(world_take(&b.w, "PATCH", POD("c")), 404,
	             world_status(404, "NotFound", "pods \\\"c\\\" not found"));
	world_answer(
		world_take(&b.w, "PATCH", POD("b")), 409,
		world_status(
			409, "Conflict",
			"Operation cannot be fulfilled on pods \\\"b\\\": the object has been modified; "
			"please apply your changes to the latest version and try again"));
	cr_assert_not(takeover_over(b.takeover));
	world_answer(next(POD("b")), 200, world_member("b", "9", "g", BOUND));
	cr_assert(takeover_over(b.takeover));
	cr_assert_str_eq(node_of("b"), "n1");
	cr_assert_eq(takeover_counts(b.takeover)->fenced, 1);
}

static void conflict(struct http_call *c)
{
	world_answer(c, 409, world_status(409, "Conflict", "the object has been modified"));
}

/* A condition that says that it has no node would stand there until its kubelet writes another. */
Test(takeover, one_that_has_a_node_by_now_is_left_alone)
{
	poll();
	conflict(world_take(&b.w, "PATCH", POD("c")));
	conflict(world_take(&b.w, "PATCH", POD("b")));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "9", "g", BOUND));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "10", "g", ""));
	cr_assert(strstr(next(POD("c"))->body, "\"resourceVersion\":\"10\""));
	cr_assert_eq(world_open(&b.w), 1);
	conflict(b.w.calls->next->next);
	cr_assert_null(strstr(next(POD("c"))->body, "resourceVersion"),
	               "somebody writes to it all the time");
}

Test(takeover, what_fails_is_tried_again)
{
	struct http_call *c;

	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "9", "g", BOUND));
	world_answer(next(POD("b")), 503, "no");
	world_answer(next(POD("b")), 404, "404 page not found"); /* a proxy's */
	world_fail(next(POD("b")), HTTP_BROKEN);
	world_answer(next(POD("b")), 401, world_status(401, "Unauthorized", "Unauthorized"));
	cr_assert_eq(b.w.renewals, 1);
	world_answer_after(next(POD("b")), 429, "", 2000);
	c = next(POD("b"));
	cr_assert_gt(b.w.now_ns, 2 * SECOND);
	world_answer(c, 200, world_member("b", "8", "g", ""));
	cr_assert(takeover_over(b.takeover));
	cr_assert_eq(takeover_counts(b.takeover)->fenced, 1);
}

Test(takeover, gives_up_after_ten_seconds_and_says_so)
{
	uint64_t due = poll();
	world_fail(world_take(&b.w, "PATCH", POD("c")), HTTP_NOT_SENT);
	b.w.now_ns = due + 10 * SECOND;
	cr_assert_eq(poll(), NEVER_NS);
	cr_assert(takeover_over(b.takeover));
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(takeover_counts(b.takeover)->left, 2);
	cr_assert(
		world_said(&b.w, "warn: the status of 2 pods could not be written before the first plan"),
		"%s", b.w.log);
}

Test(takeover, without_the_right_to_write)
{
	poll();
	world_answer(world_take(&b.w, "PATCH", POD("c")), 403, world_status(403, "Forbidden", "no"));
	world_answer(world_take(&b.w, "PATCH", POD("b")), 403, world_status(403, "Forbidden", "no"));
	cr_assert(takeover_over(b.takeover));
	cr_assert_eq(takeover_counts(b.takeover)->left, 2);
	cr_assert(
		world_said(&b.w, "warn: can't write the status of pods before the first plan (HTTP 403)"));
}

Test(takeover, freed_with_requests_under_way)
{
	poll();
}
