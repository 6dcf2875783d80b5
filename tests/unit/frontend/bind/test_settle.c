/* SPDX-License-Identifier: Apache-2.0 */
/* Before the first plan: members that wait while others of their gang have a node are written to,
 * so that no Binding of an earlier instance lands after it. */
#include "frontend/bind/settle.h"

#include "frontend/base/log.h"
#include "frontend/dialect/dialect.h"

#include "tests/unit/support_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define POD(name) "/api/v1/namespaces/ns/pods/" name "/status"
#define BOUND "\"nodeName\":\"n1\""

struct bench {
	struct world w;
	struct model *m;
	struct settle *settle;
};

/* Of group g a has a node; b and c wait. */
static void begin(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	world_init(&b->w);
	b->m = world_model();
	world_put(b->m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b->m, RESOURCE_INDEX_DIALECTS, world_group("g", "2", 3));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("a", "3", "g", BOUND));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("b", "4", "g", ""));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("c", "5", "g", ""));
	b->settle = settle_new(&b->w.env, b->m);
}

static void end(struct bench *b)
{
	settle_free(b->settle);
	model_free(b->m);
	world_free(&b->w);
}

static const char *node_of(struct bench *b, const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b->m, "ns", name, &v));
	return v.node;
}

/* Time goes on to the next request. */
static struct http_call *next(struct bench *b, const char *path)
{
	for (int i = 0; world_open(&b->w) == 0; i++) {
		uint64_t due = settle_poll(b->settle);

		cr_assert(i < 10 && !settle_over(b->settle));
		if (world_open(&b->w) == 0)
			b->w.now_ns = due;
	}
	return world_take(&b->w, "PATCH", path);
}

Test(settle, members_that_wait_are_written_to)
{
	struct bench b;
	struct http_call *c;
	struct pod_view v;

	begin(&b);
	settle_poll(b.settle);
	cr_assert(!settle_over(b.settle));
	cr_assert_eq(world_open(&b.w), 2);
	/* A Binding was faster than the write. */
	c = world_take(&b.w, "PATCH", POD("c"));
	world_answer(c, 200, world_member("c", "9", "g", BOUND));
	cr_assert(!settle_over(b.settle));
	c = world_take(&b.w, "PATCH", POD("b"));
	cr_assert(strstr(c->body, "\"uid\":\"") && strstr(c->body, "SchedulerError"), "%s", c->body);
	cr_assert(strstr(c->body, "\",\"resourceVersion\":\"4\"}"), "%s", c->body);
	world_answer(c, 200, world_member("b", "8", "g", ""));
	cr_assert(settle_over(b.settle));
	cr_assert(model_pod_by_name(b.m, "ns", "b", &v));
	cr_assert_str_eq(v.resource_version, "8");
	cr_assert_str_eq(node_of(&b, "b"), "");
	cr_assert_str_eq(node_of(&b, "c"), "n1");
	cr_assert_eq(settle_counts(b.settle)->settled, 2);
	cr_assert_eq(settle_poll(b.settle), NEVER_NS);
	cr_assert_eq(world_open(&b.w), 0, "once");
	end(&b);
}

Test(settle, nobody_else)
{
	struct bench b;

	begin(&b);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("h", "2", 2));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("d", "6", "h", "")); /* none of h has a node */
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("lone", "7", "", ""));
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_member("gated", "8", "g", "\"schedulingGates\":[{\"name\":\"x\"}]"));
	settle_poll(b.settle);
	cr_assert_eq(world_open(&b.w), 2, "b and c");
	end(&b);
}

Test(settle, nothing_to_do)
{
	struct bench b;

	begin(&b);
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "8", "g", BOUND));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "9", "g", BOUND));
	cr_assert(!settle_over(b.settle), "not before it was looked at");
	cr_assert_eq(settle_poll(b.settle), NEVER_NS);
	cr_assert(settle_over(b.settle));
	end(&b);
}

Test(settle, a_pod_that_is_gone_or_another)
{
	struct bench b;

	begin(&b);
	settle_poll(b.settle);
	world_answer(world_take(&b.w, "PATCH", POD("c")), 404,
	             world_status(404, "NotFound", "pods \\\"b\\\" not found"));
	world_answer(
		world_take(&b.w, "PATCH", POD("b")), 422,
		world_status(
			422, "Invalid",
			"Pod \\\"b\\\" is invalid: metadata.uid: Invalid value: \\\"u\\\": field is immutable"));
	cr_assert(settle_over(b.settle));
	cr_assert_eq(settle_counts(b.settle)->settled + settle_counts(b.settle)->left, 0);
	end(&b);
}

/* It was taken for another pod of that name and left as the list had it, without the node that it
 * had got. */
Test(settle, a_conflict_may_have_been_the_binding)
{
	struct bench b;

	begin(&b);
	settle_poll(b.settle);
	world_answer(world_take(&b.w, "PATCH", POD("c")), 404,
	             world_status(404, "NotFound", "pods \\\"c\\\" not found"));
	world_answer(
		world_take(&b.w, "PATCH", POD("b")), 409,
		world_status(
			409, "Conflict",
			"Operation cannot be fulfilled on pods \\\"b\\\": the object has been modified; "
			"please apply your changes to the latest version and try again"));
	cr_assert_not(settle_over(b.settle));
	world_answer(next(&b, POD("b")), 200, world_member("b", "9", "g", BOUND));
	cr_assert(settle_over(b.settle));
	cr_assert_str_eq(node_of(&b, "b"), "n1");
	cr_assert_eq(settle_counts(b.settle)->settled, 1);
	end(&b);
}

static void conflict(struct http_call *c)
{
	world_answer(c, 409, world_status(409, "Conflict", "the object has been modified"));
}

/* A condition that says that it has no node would stand there until its kubelet writes another. */
Test(settle, one_that_has_a_node_by_now_is_left_alone)
{
	struct bench b;

	begin(&b);
	settle_poll(b.settle);
	conflict(world_take(&b.w, "PATCH", POD("c")));
	conflict(world_take(&b.w, "PATCH", POD("b")));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("b", "9", "g", BOUND));
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "10", "g", ""));
	cr_assert(strstr(next(&b, POD("c"))->body, "\"resourceVersion\":\"10\""));
	cr_assert_eq(world_open(&b.w), 1);
	conflict(b.w.calls->next->next);
	cr_assert_null(strstr(next(&b, POD("c"))->body, "resourceVersion"),
	               "somebody writes to it all the time");
	end(&b);
}

Test(settle, what_fails_is_tried_again)
{
	struct bench b;
	struct http_call *c;

	begin(&b);
	world_put(b.m, RESOURCE_INDEX_PODS, world_member("c", "9", "g", BOUND));
	world_answer(next(&b, POD("b")), 503, "no");
	world_answer(next(&b, POD("b")), 404, "404 page not found"); /* a proxy's */
	world_fail(next(&b, POD("b")), HTTP_BROKEN);
	world_answer(next(&b, POD("b")), 401, world_status(401, "Unauthorized", "Unauthorized"));
	cr_assert_eq(b.w.renewals, 1);
	world_answer_after(next(&b, POD("b")), 429, "", 2000);
	c = next(&b, POD("b"));
	cr_assert_gt(b.w.now_ns, 2 * SECOND);
	world_answer(c, 200, world_member("b", "8", "g", ""));
	cr_assert(settle_over(b.settle));
	cr_assert_eq(settle_counts(b.settle)->settled, 1);
	end(&b);
}

Test(settle, gives_up_after_ten_seconds_and_says_so)
{
	struct bench b;
	uint64_t due;

	begin(&b);
	due = settle_poll(b.settle);
	world_fail(world_take(&b.w, "PATCH", POD("c")), HTTP_NOT_SENT);
	b.w.now_ns = due + 10 * SECOND;
	cr_assert_eq(settle_poll(b.settle), NEVER_NS);
	cr_assert(settle_over(b.settle));
	cr_assert_eq(world_open(&b.w), 0);
	cr_assert_eq(settle_counts(b.settle)->left, 2);
	cr_assert(
		world_said(&b.w,
	               "warn: the status of 2 pods could not be written in 10 s before the first plan"),
		"%s", b.w.log);
	end(&b);
}

Test(settle, without_the_right_to_write)
{
	struct bench b;

	begin(&b);
	settle_poll(b.settle);
	world_answer(world_take(&b.w, "PATCH", POD("c")), 403, world_status(403, "Forbidden", "no"));
	world_answer(world_take(&b.w, "PATCH", POD("b")), 403, world_status(403, "Forbidden", "no"));
	cr_assert(settle_over(b.settle));
	cr_assert_eq(settle_counts(b.settle)->left, 2);
	cr_assert(
		world_said(&b.w, "warn: can't write the status of pods before the first plan (HTTP 403)"));
	end(&b);
}

Test(settle, freed_with_requests_under_way)
{
	struct bench b;

	begin(&b);
	settle_poll(b.settle);
	end(&b);
}
