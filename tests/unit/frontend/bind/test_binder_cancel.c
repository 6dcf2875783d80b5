/* SPDX-License-Identifier: Apache-2.0 */
/* A binding is cancelled: a write moves the pod to a version by which it can not land. */
#include "tests/unit/support_binder.h"

TestSuite(binder, .fini = end);

/* Forbidden now, but the first one may land: only a version that moved on makes a
 * refusal true, so it is moved. */
Test(binder, unknown_and_then_forbidden_is_fenced_before_it_is_refused)
{
	struct http_call *c = unknown(4);

	world_answer(c, 200, world_pod("a", "5", "", ""));
	world_answer(next("POST", POST), 403, world_status(403, "Forbidden", "no"));
	expect("");
	reads("5", "");
	c = next("PATCH", POD "/status");
	cr_assert_str_eq(c->type, "application/strategic-merge-patch+json");
	cr_assert(strstr(c->body, "{\"metadata\":{\"uid\":\"00000000-"));
	cr_assert(strstr(c->body, "\",\"resourceVersion\":\"5\"},\"status\":{\"conditions\":[{"), "%s",
	          c->body);
	expect("");
	world_answer(c, 200, "{}");
	expect("");
	reads("9", "");
	expect_last("refused:0 ");
}

Test(binder, a_fence_that_lost_the_race_finds_it_bound)
{
	struct http_call *c = unknown(4);

	world_answer(c, 200, world_pod("a", "5", "", ""));
	world_answer(next("POST", POST), 403, world_status(403, "Forbidden", "no"));
	reads("5", "");
	fenced();
	reads("9", ON("n1"));
	expect("bound ");
}

Test(binder, unknown_and_the_node_went_is_fenced_before_it_is_refused)
{
	struct decode_error e;
	struct http_call *c = unknown(5);
	const char *node = world_node("n1", "9");

	model_remove(b.m, RESOURCE_INDEX_NODES, node, strlen(node), &e);
	world_answer(c, 200, world_pod("a", "5", "", ""));
	reads("5", "");
	fenced_and_refused();
}

Test(binder, taken_back_by_a_write_after_a_read)
{
	static const char *const versions[] = { "5", "8" };

	for (size_t i = 0; i < 2; i++) {
		struct http_call *c = commanded(CMD_CANCEL_BIND);

		cr_assert_eq(binder_counts(b.binder)->cancelled, 1);
		expect_taken_back(c, versions[i], "9");
		cr_assert_eq(binder_counts(b.binder)->posts, 0);
	}
}

Test(binder, taken_back_too_late)
{
	struct http_call *c = commanded(CMD_CANCEL_BIND);

	world_answer(c, 200, world_pod("a", "8", ON("n1"), ""));
	expect("bound ");
	c = commanded(CMD_CANCEL_BIND);
	world_answer(c, 200, world_pod("a", "8", ON("n2"), ""));
	expect("refused:0 ");
	c = commanded(CMD_CANCEL_BIND);
	world_answer(c, 404, world_status(404, "NotFound", "pods \\\"a\\\" not found"));
	expect("refused:0 ");
}

/* A write that failed has not moved the version, whatever that was in the list. */
Test(binder, taken_back_by_no_less_than_a_write)
{
	struct http_call *c = commanded(CMD_CANCEL_BIND);

	world_answer(c, 200, world_pod("a", "8", "", ""));
	world_answer(next("PATCH", POD "/status"), 503, "no");
	reads("8", "");
	expect("");
	fenced_and_refused();
}

/* It would say of a pod that has just got a node that it has none: what was read is written over,
 * nothing newer. That something newer is there is as good as a write. */
Test(binder, a_fence_is_for_the_version_that_was_read)
{
	static const char *const specs[] = { ON("n1"), "" }, *const said[] = { "bound ", "refused:0 " };

	for (size_t i = 0; i < 2; i++) {
		struct http_call *c = commanded(CMD_CANCEL_BIND);
		uint64_t now;

		world_answer(c, 200, world_pod("a", "8", "", ""));
		c = next("PATCH", POD "/status");
		cr_assert(strstr(c->body, "\"resourceVersion\":\"8\""), "%s", c->body);
		world_answer(c, 409, conflict("the object has been modified"));
		now = b.w.now_ns;
		c = next("GET", POD);
		cr_assert_leq(b.w.now_ns, now + 1, "there is nothing to wait for");
		world_answer(c, 200, world_pod("a", "9", specs[i], ""));
		expect(said[i]);
	}
}

/* It was tried again for ever, and nobody was told why the pod goes nowhere. */
Test(binder, a_fence_that_is_refused_is_told)
{
	struct http_call *c = commanded(CMD_CANCEL_BIND);

	for (int i = 0; i < 5; i++) {
		cr_assert_eq(b.noticed[0] != '\0', i >= 3, "%d: %s", i, b.noticed);
		world_answer(c, 200, world_pod("a", "8", "", ""));
		c = next("PATCH", POD "/status");
		if (i == 3)
			snprintf(b.noticed, sizeof(b.noticed), "once");
		world_answer(c, i == 1 ? 500 : 403,
		             world_status(i == 1 ? 500 : 403, "Forbidden", "no patch for you"));
		cr_assert(world_said(&b.w, "error: pod ns/a: the binding to node n1 may still land"));
		cr_assert(world_said(&b.w, "HTTP 403: no patch for you (patch pods/status)"));
		if (i == 2)
			cr_assert(strstr(
				b.noticed, "ns/a n1 the binding to node n1 may still land: the API server refuses "
						   "the write of the pod's status that takes it back: HTTP 403: no patch"));
		c = next("GET", POD);
	}
	cr_assert_str_eq(b.noticed, "once");
	world_answer(c, 200, world_pod("a", "9", "", ""));
	expect("refused:0 ");
}

/* It was told as a refusal. */
Test(binder, a_fence_of_a_pod_that_is_gone_is_no_refusal)
{
	struct http_call *c = commanded(CMD_CANCEL_BIND);
	uint64_t now;

	world_answer(c, 200, world_pod("a", "8", "", ""));
	c = next("PATCH", POD "/status");
	now = b.w.now_ns;
	world_answer(
		c, 422,
		world_status(422, "Invalid", "metadata.uid: Invalid value: \\\"u\\\": field is immutable"));
	c = next("GET", POD);
	cr_assert_leq(b.w.now_ns, now + 1, "there is nothing to wait for");
	cr_assert(!world_said(&b.w, "may still land"));
	world_answer(c, 404, world_status(404, "NotFound", "no pod"));
	expect("refused:0 ");
}

Test(binder, sent_again_and_refused_takes_the_earlier_one_back)
{
	world_answer(commanded(CMD_RETRY_BIND), 201, "");
	expect("bound ");
	world_answer(commanded(CMD_RETRY_BIND), 403, world_status(403, "Forbidden", "no"));
	b.noticed[0] = '\0';
	reads("8", "");
	fenced();
	expect("");
	reads("9", "");
	expect("refused:0 ");
}

/* Another version than was sent by may be the one that an earlier frontend sent by. */
Test(binder, sent_again_by_a_newer_version_is_no_proof)
{
	struct http_call *c = commanded(CMD_RETRY_BIND);

	world_answer(c, 409, conflict(PRECONDITION));
	reads("8", "");
	c = next("POST", POST);
	expect_version(c, "8");
	world_answer(c, 403, world_status(403, "Forbidden", "no"));
	reads("8", "");
	fenced();
	reads("9", "");
	expect("refused:0 ");
}
