/* SPDX-License-Identifier: Apache-2.0 */
/* Every answer to a binding, and that a pod is never refused to the core while one of its bindings
 * may still land. */
#include "tests/unit/support_binder.h"

TestSuite(binder, .fini = end);

Test(binder, names_uid_and_version)
{
	struct http_call *c = posted();

	cr_assert_str_eq(
		c->body,
		"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
		"\"uid\":\"00000000-0000-0000-0000-000000000061\",\"resourceVersion\":\"5\"},"
		"\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}");
	cr_assert_str_eq(c->path, POST "?timeout=4000ms");
	cr_assert_str_eq(c->path, POST "?timeout=4000ms");
	cr_assert_str_eq(c->type, "application/json");
	cr_assert_eq(c->lane, HTTP_BIND);
	world_answer(c, 201, "{\"kind\":\"Status\",\"status\":\"Success\",\"code\":201}");
	expect("bound ");
	cr_assert_str_eq(b.noticed, "ns/a n1 ok");
	expect_rest();
}

Test(binder, sends_the_newest_version_that_the_watch_showed)
{
	begin();
	bind_pod("a");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "12", "", ""));
	binder_poll(b.binder);
	world_take_with(&b.w, "POST", POST, "\"resourceVersion\":\"12\"");
}

static void expect_refused(int status, const char *body, unsigned retry_ms, const char *notice)
{
	char said[32];

	snprintf(said, sizeof(said), "refused:%u ", retry_ms);
	world_answer(posted(), status, body);
	expect(said);
	cr_assert(strstr(b.noticed, notice) != NULL, "%s", b.noticed);
	expect_rest();
}

Test(binder, a_pod_that_is_gone_is_refused)
{
	expect_refused(404, world_status(404, "NotFound", "pods \\\"a\\\" not found"), 0, "");
}

Test(binder, a_deleting_pod_is_refused)
{
	expect_refused(409, conflict("... pod a is being deleted, cannot be assigned to a host"), 0,
	               "");
}

Test(binder, a_gated_pod_is_refused)
{
	expect_refused(409, conflict("... pod a has non-empty .spec.schedulingGates"), 0, "");
}

Test(binder, forbidden_is_refused_and_told)
{
	expect_refused(403, world_status(403, "Forbidden", "may not create pods/binding"), 0,
	               "HTTP 403: may not create");
}

Test(binder, a_refusal_is_logged_with_what_it_is_about)
{
	world_answer(posted(), 403, world_status(403, "Forbidden", "no"));
	expect("refused:0 ");
	cr_assert(strstr(b.w.log, " pod=\"") && strstr(b.w.log, " uid=\"") &&
	              strstr(b.w.log, " node=\"") && strstr(b.w.log, " status=403"),
	          "%s", b.w.log);
}

Test(binder, bad_requests_are_refused_for_long_and_told)
{
	expect_refused(400, world_status(400, "BadRequest", "name mismatch"), 600000,
	               "HTTP 400: name mismatch");
	expect_refused(422, world_status(422, "Invalid", "no"), 600000, "HTTP 422");
	expect_refused(
		500,
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"target.name: Required value\",\"code\":500}",
		600000, "HTTP 500: target.name");
}

static const char *const moved_on = "8";

Test(binder, already_assigned_is_read_and_ours)
{
	world_answer(posted(), 409, conflict(ASSIGNED));
	reads("8", ON("n1"));
	expect_last("bound ");
}

Test(binder, already_assigned_is_read_and_lost)
{
	world_answer(posted(), 409, conflict(ASSIGNED));
	reads("8", ON("n2"));
	expect_last("refused:0 ");
}

Test(binder, a_pod_that_changed_is_sent_again_with_its_new_version)
{
	struct http_call *c;

	world_answer(posted(), 409, conflict(PRECONDITION));
	reads(moved_on, "");
	c = next("POST", POST);
	expect_version(c, "8");
	cr_assert(strstr(c->body, "\"name\":\"n1\""));
	expect("");
	world_answer(c, 201, "");
	expect("bound ");
}

Test(binder, a_pod_that_changed_in_what_matters_is_refused)
{
	static const struct {
		const char *spec, *status;
	} changed[] = {
		{ "\"schedulingGates\":[{\"name\":\"g\"}]", "" },
		{ "", "\"phase\":\"Failed\"" },
	};

	for (size_t i = 0; i < 2; i++) {
		world_answer(posted(), 409, conflict(PRECONDITION));
		world_answer(next("GET", POD), 200,
		             world_pod("a", moved_on, changed[i].spec, changed[i].status));
		expect_last("refused:0 ");
	}
}

Test(binder, another_pod_of_that_name_is_refused)
{
	char other[4096];

	world_answer(posted(), 409,
	             conflict("Precondition failed: UID in precondition: x, UID in object meta: y"));
	snprintf(other, sizeof(other), "%s", world_pod("a", moved_on, "", ""));
	memcpy(strstr(other, "00000000-"), "ffffffff-", 9);
	world_answer(next("GET", POD), 200, other);
	expect_last("refused:0 ");
}

Test(binder, unknown_and_it_landed)
{
	for (int way = 0; way < WAYS; way++) {
		struct http_call *c = unknown(way);

		cr_assert_str_eq(c->path, POD, "a read with a version may be old");
		world_answer(c, 200, world_pod("a", "8", ON("n1"), ""));
		expect_last("bound ");
	}
}

Test(binder, unknown_and_it_did_not_land_is_sent_again_to_the_same_node)
{
	for (int way = 0; way < WAYS; way++) {
		struct http_call *c = unknown(way);

		for (int i = 0; i < 5; i++) {
			world_answer(c, 200, world_pod("a", "5", "", ""));
			expect("");
			c = next("POST", POST);
			cr_assert(strstr(c->body, "\"resourceVersion\":\"5\"") &&
			          strstr(c->body, "\"name\":\"n1\""));
			world_fail(c, HTTP_BROKEN);
			expect(""); /* unknown is said once */
			c = next("GET", POD);
		}
		world_answer(c, 200, world_pod("a", "6", ON("n1"), ""));
		expect("bound ");
	}
}

Test(binder, unknown_and_another_node_or_gone_is_refused)
{
	for (int way = 0; way < WAYS; way++) {
		struct http_call *c = unknown(way);

		world_answer(c, 200, world_pod("a", "8", ON("n2"), ""));
		expect_last("refused:0 ");
		c = unknown(way);
		world_answer(c, 404, world_status(404, "NotFound", "pods \\\"a\\\" not found"));
		expect_last("refused:0 ");
	}
}

/* The version moved on without a node: the first one is dead by that. */
Test(binder, unknown_and_the_version_moved_on_is_sent_again_with_it)
{
	struct http_call *c = unknown(5);

	world_answer(c, 200, world_pod("a", moved_on, "", ""));
	c = next("POST", POST);
	expect_version(c, "8");
	world_answer(c, 403, world_status(403, "Forbidden", "no"));
	expect_last("refused:0 ");
}

Test(binder, unknown_and_now_gated_by_a_newer_version_is_refused)
{
	struct http_call *c = unknown(4);

	world_answer(c, 200, world_pod("a", moved_on, "\"schedulingGates\":[{\"name\":\"g\"}]", ""));
	expect_last("refused:0 ");
}

/* One server died with the Binding and had done it, or still does; the next one had just started
 * and knew no rights. */
Test(binder, refused_at_the_second_try_is_read_before_it_is_refused)
{
	static const char *const specs[] = { ON("n1"), "" };

	for (size_t i = 0; i < 2; i++) {
		struct http_call *c;

		c = posted();
		world_answer_repeated(c, 403, world_status(403, "Forbidden", "no"));
		expect("");
		reads(i == 0 ? "8" : "5", specs[i]);
		if (i == 0) {
			expect("bound ");
		} else {
			fenced();
			reads("9", "");
			expect("refused:0 ");
		}
		expect_rest();
	}
}

Test(binder, a_read_that_fails_is_repeated)
{
	struct http_call *c = unknown(5);

	world_answer(c, 500, "");
	world_fail(next("GET", POD), HTTP_NOT_SENT);
	world_answer(next("GET", POD), 200, "{\"kind\":\"Pod\"}");
	world_answer(next("GET", POD), 404, "404 page not found"); /* a proxy's */
	expect("");
	reads("8", ON("n1"));
	expect("bound ");
}

Test(binder, what_was_not_sent_is_sent_again)
{
	struct http_call *c = posted();

	for (int i = 0; i < 4; i++) {
		world_fail(c, HTTP_NOT_SENT);
		c = next("POST", POST);
	}
	cr_assert_geq(b.w.now_ns, 1000 * SECOND + (100 + 200 + 400 + 800) * MS);
	world_answer(c, 201, "");
	expect("bound ");
}

Test(binder, too_many_requests_waits_as_told_and_halves_the_window)
{
	world_answer_after(posted(), 429, "slow down", 3000);
	cr_assert_eq(binder_window(b.binder), 2);
	cr_assert_eq(binder_poll(b.binder), 1003 * SECOND);
	cr_assert_eq(world_open(&b.w), 0);
	world_answer(next("POST", POST), 201, "");
	expect("bound ");
}

static void begin_with_four(void)
{
	begin_with(4);
	for (const char *name = "bcde"; *name; name++) {
		char text[2] = { *name };

		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(text, "20", "", ""));
		bind_pod(text);
	}
}

/* The `n` in flight are answered 429, the last one with Retry-After; the pause in ms. */
static uint64_t pause_after_flight(unsigned n, int64_t retry_after_ms)
{
	struct http_call *c[4];

	binder_poll(b.binder);
	cr_assert_eq(world_open(&b.w), n);
	for (unsigned i = 0; i < n; i++)
		c[i] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/");
	b.w.now_ns += MS;
	for (unsigned i = 0; i < n; i++)
		world_answer_after(c[i], 429, "", i == n - 1 ? retry_after_ms : -1);
	return (binder_poll(b.binder) - b.w.now_ns) / MS;
}

Test(binder, the_pause_after_too_many_requests_doubles_with_each_flight)
{
	static const unsigned flights[] = { 4, 2, 1 };

	begin_with_four();
	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(pause_after_flight(flights[i], -1), 100u << i);
		b.w.now_ns += (100u << i) * MS;
	}
}

Test(binder, what_one_request_of_a_flight_is_told_to_wait_holds_for_all)
{
	begin_with_four();
	cr_assert_eq(pause_after_flight(4, 3000), 3000);
}

Test(binder, a_refused_token_is_read_again_each_time)
{
	world_answer(posted(), 401, "");
	cr_assert_eq(b.w.renewals, 1);
	world_answer(next("POST", POST), 401, "");
	cr_assert_eq(b.w.renewals, 2);
	cr_assert(world_said(&b.w, "401"));
	world_answer(next("POST", POST), 201, "");
	expect("bound ");
}

Test(binder, a_node_that_went_is_refused_unsent)
{
	struct decode_error e;
	const char *node;

	begin();
	bind_pod("a");
	node = world_node("n1", "9");
	model_remove(b.m, RESOURCE_INDEX_NODES, node, strlen(node), &e);
	binder_poll(b.binder);
	expect_last("refused:0 ");
}

Test(binder, a_pod_that_went_or_was_bound_is_refused_unsent)
{
	struct decode_error e;
	const char *pod;

	begin();
	bind_pod("a");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", ON("n2"), ""));
	binder_poll(b.binder);
	expect("refused:0 ");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("b", "10", "", ""));
	bind_pod("b");
	pod = world_pod("b", "11", "", "");
	model_remove(b.m, RESOURCE_INDEX_PODS, pod, strlen(pod), &e);
	binder_poll(b.binder);
	expect_last("refused:0 ");
}

/* The core is never told to place these; found by fuzz_commands. */
Test(binder, a_pod_that_is_not_ours_to_place_is_refused_unsent)
{
	static const char theirs[] =
		"{\"metadata\":{\"name\":\"t\",\"namespace\":\"ns\",\"uid\":\"u-t\",\"resourceVersion\":\"8\"},"
		"\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}";

	begin();
	model_free(b.m);
	binder_free(b.binder);
	b.m = world_model_of_all();
	b.binder = binder_new(&(struct binder_config){ .env = &b.w.env,
	                                               .connections = 4,
	                                               .result = on_result,
	                                               .notice = on_notice,
	                                               .context = &b,
	                                               .model = b.m });
	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b.m, RESOURCE_INDEX_PODS, theirs);
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("c", "5",
	                    "\"resourceClaims\":[{\"name\":\"r\",\"resourceClaimName\":\"r\"}]", ""));
	world_flush(b.m);
	cr_assert_eq(bind_pod("t"), 0);
	binder_poll(b.binder);
	expect("refused:0 ");
	cr_assert_eq(bind_pod("c"), 0);
	binder_poll(b.binder);
	expect("refused:0 ");
	cr_assert_eq(command(CMD_RETRY_BIND, "t"), 0);
	binder_poll(b.binder);
	expect("refused:0 ");
	cr_assert_eq(command(CMD_CANCEL_BIND, "t"), 0);
	binder_poll(b.binder);
	expect("refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
	/* What we refuse only now may have been sent before. */
	cr_assert_eq(command(CMD_RETRY_BIND, "c"), 0);
	next("GET", "/api/v1/namespaces/ns/pods/c");
	expect("");
}

Test(binder, a_second_binding_of_a_pod_is_a_mistake_of_the_core)
{
	posted();
	cr_assert_eq(bind_pod("a"), -EPROTO);
}

Test(binder, sends_in_order_and_not_more_than_its_window)
{
	struct http_call *c[3];

	begin_with(2);
	for (const char *name = "bcdefgh"; *name; name++) {
		char text[2] = { *name };

		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(text, "20", "", ""));
		bind_pod(text);
	}
	binder_poll(b.binder);
	cr_assert_eq(world_open(&b.w), 2);
	c[0] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding");
	c[1] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/c/binding");
	world_answer(c[1], 201, "");
	binder_poll(b.binder);
	c[1] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/d/binding");
	world_answer(c[0], 429, "");
	cr_assert_eq(binder_window(b.binder), 1);
	world_answer(c[1], 201, "");
	cr_assert_eq(binder_window(b.binder), 2, "it grows again with each success");
	expect("bound bound ");
	c[0] = next("POST", "/api/v1/namespaces/ns/pods/b/binding"); /* before the rest */
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/e/binding");
}
