/* SPDX-License-Identifier: Apache-2.0 */
/* Every answer to a binding, and that a pod is never refused to the core while one
 * of its bindings may still land. */
#include "frontend/bind/writer.h"

#include "tests/unit/support_world.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POST "/api/v1/namespaces/ns/pods/a/binding"
#define POD "/api/v1/namespaces/ns/pods/a"

struct bench {
	struct world w;
	struct model *m;
	struct writer *writer;
	bool other_core; /* than the one that commanded it */
	char said[1024]; /* results: "B u R:600000 " */
	char noticed[1024];
};

static void on_result(void *context, enum record_kind kind, const struct result *r)
{
	struct bench *b = context;
	size_t n = strlen(b->said);

	cr_assert_eq(r->attempt, b->other_core ? ATTEMPT_OTHER : 7);
	if (kind == RESULT_REFUSED)
		snprintf(b->said + n, sizeof(b->said) - n, "refused:%u ", r->retry_ms);
	else
		snprintf(b->said + n, sizeof(b->said) - n, "%s ",
		         kind == RESULT_BOUND ? "bound" : "unknown");
}

static void on_notice(void *context, const struct bind_notice *n)
{
	struct bench *b = context;

	snprintf(b->noticed, sizeof(b->noticed), "%s/%s %s %s", n->namespace, n->name, n->node,
	         n->error ? n->error : "ok");
}

static void begin_with(struct bench *b, unsigned connections)
{
	struct writer_config config = {
		.env = &b->w.env,
		.connections = connections,
		.result = on_result,
		.notice = on_notice,
		.context = b,
	};

	memset(b, 0, sizeof(*b));
	world_init(&b->w);
	b->m = world_model();
	config.model = b->m;
	world_put(b->m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	world_put(b->m, RESOURCE_INDEX_NODES, world_node("n2", "2"));
	world_put(b->m, RESOURCE_INDEX_PODS, world_pod("a", "5", "", ""));
	while (!model_flush(b->m, &world_sink))
		continue;
	b->writer = writer_new(&config);
}

static void begin(struct bench *b)
{
	begin_with(b, 4);
}

static void end(struct bench *b)
{
	writer_free(b->writer);
	model_free(b->m);
	world_free(&b->w);
}

static int command(struct bench *b, enum record_kind kind, const char *name)
{
	struct pod_view v;
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .gang = ID_NONE, .attempt = 7 };

	cr_assert(model_pod_by_name(b->m, "ns", name, &v));
	cr_assert_str_eq(model_node(b->m, 0, 1), "n1");
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	return writer_bind(b->writer, kind, &cmd);
}

static int bind_pod(struct bench *b, const char *name)
{
	return command(b, CMD_BIND, name);
}

/* Bind "a" to n1; the POST. */
static struct http_call *posted(struct bench *b)
{
	begin(b);
	cr_assert_eq(bind_pod(b, "a"), 0);
	writer_poll(b->writer);
	return world_take(&b->w, "POST", POST);
}

/* Go on to the next request, whenever it is due. */
static struct http_call *next(struct bench *b, const char *method, const char *path)
{
	for (int i = 0; world_open(&b->w) == 0; i++) {
		uint64_t due = writer_poll(b->writer);

		cr_assert_lt(i, 10);
		if (world_open(&b->w) == 0) {
			cr_assert_neq(due, UINT64_MAX, "nothing is due");
			b->w.now_ns = due > b->w.now_ns ? due : b->w.now_ns + 1;
		}
	}
	return world_take(&b->w, method, path);
}

static void expect(struct bench *b, const char *said)
{
	cr_assert_str_eq(b->said, said);
	b->said[0] = '\0';
}

/* Nothing is under way or to come. */
static void expect_rest(struct bench *b)
{
	cr_assert_eq(writer_unknown(b->writer), 0);
	cr_assert_eq(writer_queued(b->writer), 0);
	cr_assert_eq(world_open(&b->w), 0);
}

static const char *conflict(const char *message)
{
	return world_status(409, "Conflict", message);
}

#define PRECONDITION                                                                                                     \
	"Operation cannot be fulfilled on pods \\\"a\\\": StorageError: invalid object, Code: 4, Key: /registry/pods/ns/a, " \
	"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ResourceVersion in precondition: 5, "                  \
	"ResourceVersion in object meta: 8"
#define ASSIGNED                                                                                   \
	"Operation cannot be fulfilled on pods/binding \\\"a\\\": pod a is already assigned to node \\\"n1\\\""
#define ETCD                                                                                       \
	"Operation cannot be fulfilled on pods/binding \\\"a\\\": etcdserver: request timed out"

Test(writer, names_uid_and_version)
{
	struct bench b;
	struct http_call *c = posted(&b);

	cr_assert_str_eq(
		c->body,
		"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
		"\"uid\":\"00000000-0000-0000-0000-000000000061\",\"resourceVersion\":\"5\"},"
		"\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}");
	cr_assert_str_eq(c->type, "application/json");
	cr_assert_eq(c->lane, HTTP_BIND);
	world_answer(c, 201, "{\"kind\":\"Status\",\"status\":\"Success\",\"code\":201}");
	expect(&b, "bound ");
	cr_assert_str_eq(b.noticed, "ns/a n1 ok");
	expect_rest(&b);
	end(&b);
}

Test(writer, sends_the_newest_version_that_the_watch_showed)
{
	struct bench b;

	begin(&b);
	bind_pod(&b, "a");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "12", "", ""));
	writer_poll(b.writer);
	cr_assert(strstr(world_take(&b.w, "POST", POST)->body, "\"resourceVersion\":\"12\""));
	end(&b);
}

/* ---- a clear no: nothing is under way, the core may choose again ---------------- */

static void expect_refused(int status, const char *body, unsigned retry_ms, const char *notice)
{
	struct bench b;
	char said[32];

	snprintf(said, sizeof(said), "refused:%u ", retry_ms);
	world_answer(posted(&b), status, body);
	expect(&b, said);
	cr_assert(strstr(b.noticed, notice) != NULL, "%s", b.noticed);
	expect_rest(&b);
	end(&b);
}

Test(writer, a_pod_that_is_gone_is_refused)
{
	expect_refused(404, world_status(404, "NotFound", "pods \\\"a\\\" not found"), 0, "");
}

Test(writer, a_deleting_pod_is_refused)
{
	expect_refused(409, conflict("... pod a is being deleted, cannot be assigned to a host"), 0,
	               "");
}

Test(writer, a_gated_pod_is_refused)
{
	expect_refused(409, conflict("... pod a has non-empty .spec.schedulingGates"), 0, "");
}

Test(writer, forbidden_is_refused_and_told)
{
	expect_refused(403, world_status(403, "Forbidden", "may not create pods/binding"), 0,
	               "HTTP 403: may not create");
}

Test(writer, a_refusal_is_logged_with_what_it_is_about)
{
	struct bench b;

	world_answer(posted(&b), 403, world_status(403, "Forbidden", "no"));
	expect(&b, "refused:0 ");
	cr_assert(strstr(b.w.log, " pod=\"") && strstr(b.w.log, " uid=\"") &&
	              strstr(b.w.log, " node=\"") && strstr(b.w.log, " status=403"),
	          "%s", b.w.log);
	end(&b);
}

Test(writer, bad_requests_are_refused_for_long_and_told)
{
	expect_refused(400, world_status(400, "BadRequest", "name mismatch"), 600000,
	               "HTTP 400: name mismatch");
	expect_refused(422, world_status(422, "Invalid", "no"), 600000, "HTTP 422");
	expect_refused(
		500,
		"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"target.name: Required value\",\"code\":500}",
		600000, "HTTP 500: target.name");
}

/* ---- read the pod: it decides ------------------------------------------------------ */

static const char *const moved_on = "8";

Test(writer, already_assigned_is_read_and_ours)
{
	struct bench b;

	world_answer(posted(&b), 409, conflict(ASSIGNED));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "\"nodeName\":\"n1\"", ""));
	expect(&b, "bound ");
	expect_rest(&b);
	end(&b);
}

Test(writer, already_assigned_is_read_and_lost)
{
	struct bench b;

	world_answer(posted(&b), 409, conflict(ASSIGNED));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "\"nodeName\":\"n2\"", ""));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

Test(writer, a_pod_that_changed_is_sent_again_with_its_new_version)
{
	struct bench b;
	struct http_call *c;

	world_answer(posted(&b), 409, conflict(PRECONDITION));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", moved_on, "", ""));
	c = next(&b, "POST", POST);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"8\""));
	cr_assert(strstr(c->body, "\"name\":\"n1\""));
	expect(&b, "");
	world_answer(c, 201, "");
	expect(&b, "bound ");
	end(&b);
}

Test(writer, a_pod_that_changed_in_what_matters_is_refused)
{
	static const struct {
		const char *spec, *status;
	} changed[] = {
		{ "\"schedulingGates\":[{\"name\":\"g\"}]", "" },
		{ "", "\"phase\":\"Failed\"" },
	};

	for (size_t i = 0; i < 2; i++) {
		struct bench b;

		world_answer(posted(&b), 409, conflict(PRECONDITION));
		world_answer(next(&b, "GET", POD), 200,
		             world_pod("a", moved_on, changed[i].spec, changed[i].status));
		expect(&b, "refused:0 ");
		expect_rest(&b);
		end(&b);
	}
}

Test(writer, another_pod_of_that_name_is_refused)
{
	struct bench b;
	char other[4096];

	world_answer(posted(&b), 409,
	             conflict("Precondition failed: UID in precondition: x, UID in object meta: y"));
	snprintf(other, sizeof(other), "%s", world_pod("a", moved_on, "", ""));
	memcpy(strstr(other, "00000000-"), "ffffffff-", 9);
	world_answer(next(&b, "GET", POD), 200, other);
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

/* ---- unknown: it may have landed or may still land ------------------------------------ */

/* All the ways in which the server does not say. */
static struct http_call *unknown(struct bench *b, int way)
{
	struct http_call *c = posted(b);

	switch (way) {
	case 0:
		world_answer(c, 409, conflict(ETCD));
		break;
	case 1:
		world_answer(c, 500, world_status(500, "InternalError", "x"));
		break;
	case 2:
		world_answer(c, 502, "<html>");
		break;
	case 3:
		world_answer(c, 503, "no");
		break;
	case 4:
		world_answer(
			c, 504,
			world_status(504, "Timeout", "request did not complete within requested timeout"));
		break;
	case 5:
		world_fail(c, HTTP_BROKEN);
		break;
	case 6:
		world_answer(c, 404, "404 page not found");
		break;
	case 7:
		world_answer(c, 409, "no status at all");
		break;
	case 8:
		world_answer(c, 302, "");
		break;
	}
	cr_assert_str_eq(b->said, "unknown ", "way %d: %s", way, b->said);
	b->said[0] = '\0';
	return next(b, "GET", POD);
}

#define WAYS 9

Test(writer, unknown_and_it_landed)
{
	for (int way = 0; way < WAYS; way++) {
		struct bench b;
		struct http_call *c = unknown(&b, way);

		cr_assert_str_eq(c->path, POD, "a read with a version may be old");
		world_answer(c, 200, world_pod("a", "8", "\"nodeName\":\"n1\"", ""));
		expect(&b, "bound ");
		expect_rest(&b);
		end(&b);
	}
}

Test(writer, unknown_and_it_did_not_land_is_sent_again_to_the_same_node)
{
	for (int way = 0; way < WAYS; way++) {
		struct bench b;
		struct http_call *c = unknown(&b, way);

		for (int i = 0; i < 5; i++) {
			world_answer(c, 200, world_pod("a", "5", "", ""));
			expect(&b, "");
			c = next(&b, "POST", POST);
			cr_assert(strstr(c->body, "\"resourceVersion\":\"5\"") &&
			          strstr(c->body, "\"name\":\"n1\""));
			world_fail(c, HTTP_BROKEN);
			expect(&b, ""); /* unknown is said once */
			c = next(&b, "GET", POD);
		}
		world_answer(c, 200, world_pod("a", "6", "\"nodeName\":\"n1\"", ""));
		expect(&b, "bound ");
		end(&b);
	}
}

Test(writer, unknown_and_another_node_or_gone_is_refused)
{
	for (int way = 0; way < WAYS; way++) {
		struct bench b;
		struct http_call *c = unknown(&b, way);

		world_answer(c, 200, world_pod("a", "8", "\"nodeName\":\"n2\"", ""));
		expect(&b, "refused:0 ");
		expect_rest(&b);
		end(&b);
		c = unknown(&b, way);
		world_answer(c, 404, world_status(404, "NotFound", "pods \\\"a\\\" not found"));
		expect(&b, "refused:0 ");
		expect_rest(&b);
		end(&b);
	}
}

/* The version moved on without a node: the first one is dead by that. */
Test(writer, unknown_and_the_version_moved_on_is_sent_again_with_it)
{
	struct bench b;
	struct http_call *c = unknown(&b, 5);

	world_answer(c, 200, world_pod("a", moved_on, "", ""));
	c = next(&b, "POST", POST);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"8\""));
	world_answer(c, 403, world_status(403, "Forbidden", "no"));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

Test(writer, unknown_and_now_gated_by_a_newer_version_is_refused)
{
	struct bench b;
	struct http_call *c = unknown(&b, 4);

	world_answer(c, 200, world_pod("a", moved_on, "\"schedulingGates\":[{\"name\":\"g\"}]", ""));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

/* Forbidden now, but the first one may land: only a version that moved on makes a
 * refusal true, so it is moved. */
Test(writer, unknown_and_then_forbidden_is_fenced_before_it_is_refused)
{
	struct bench b;
	struct http_call *c = unknown(&b, 4);

	world_answer(c, 200, world_pod("a", "5", "", ""));
	world_answer(next(&b, "POST", POST), 403, world_status(403, "Forbidden", "no"));
	expect(&b, "");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "5", "", ""));
	c = next(&b, "PATCH", POD "/status");
	cr_assert_str_eq(c->type, "application/strategic-merge-patch+json");
	cr_assert(strstr(c->body, "{\"metadata\":{\"uid\":\"00000000-"));
	cr_assert(strstr(c->body, "\",\"resourceVersion\":\"5\"},\"status\":{\"conditions\":[{"), "%s",
	          c->body);
	expect(&b, "");
	world_answer(c, 200, "{}");
	expect(&b, "");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

Test(writer, a_fence_that_lost_the_race_finds_it_bound)
{
	struct bench b;
	struct http_call *c = unknown(&b, 4);

	world_answer(c, 200, world_pod("a", "5", "", ""));
	world_answer(next(&b, "POST", POST), 403, world_status(403, "Forbidden", "no"));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "5", "", ""));
	world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "\"nodeName\":\"n1\"", ""));
	expect(&b, "bound ");
	end(&b);
}

/* One server died with the Binding and had done it, or still does; the next one had just started
 * and knew no rights. */
Test(writer, refused_at_the_second_try_is_read_before_it_is_refused)
{
	static const char *const specs[] = { "\"nodeName\":\"n1\"", "" };

	for (size_t i = 0; i < 2; i++) {
		struct http_call *c;
		struct bench b;

		c = posted(&b);
		world_answer_repeated(c, 403, world_status(403, "Forbidden", "no"));
		expect(&b, "");
		world_answer(next(&b, "GET", POD), 200, world_pod("a", i == 0 ? "8" : "5", specs[i], ""));
		if (i == 0) {
			expect(&b, "bound ");
		} else {
			world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
			world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
			expect(&b, "refused:0 ");
		}
		expect_rest(&b);
		end(&b);
	}
}

Test(writer, unknown_and_the_node_went_is_fenced_before_it_is_refused)
{
	struct bench b;
	struct decode_error e;
	struct http_call *c = unknown(&b, 5);
	const char *node = world_node("n1", "9");

	model_remove(b.m, RESOURCE_INDEX_NODES, node, strlen(node), &e);
	world_answer(c, 200, world_pod("a", "5", "", ""));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "5", "", ""));
	world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

Test(writer, a_read_that_fails_is_repeated)
{
	struct bench b;
	struct http_call *c = unknown(&b, 5);

	world_answer(c, 500, "");
	world_fail(next(&b, "GET", POD), HTTP_NOT_SENT);
	world_answer(next(&b, "GET", POD), 200, "{\"kind\":\"Pod\"}");
	world_answer(next(&b, "GET", POD), 404, "404 page not found"); /* a proxy's */
	expect(&b, "");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "\"nodeName\":\"n1\"", ""));
	expect(&b, "bound ");
	end(&b);
}

/* ---- not taken, sent again ---------------------------------------------------------- */

Test(writer, what_was_not_sent_is_sent_again)
{
	struct bench b;
	struct http_call *c = posted(&b);

	for (int i = 0; i < 4; i++) {
		world_fail(c, HTTP_NOT_SENT);
		c = next(&b, "POST", POST);
	}
	cr_assert_geq(b.w.now_ns, 1000 * SECOND + (100 + 200 + 400 + 800) * MS);
	world_answer(c, 201, "");
	expect(&b, "bound ");
	end(&b);
}

Test(writer, too_many_requests_waits_as_told_and_halves_the_window)
{
	struct bench b;

	world_answer_after(posted(&b), 429, "slow down", 3000);
	cr_assert_eq(writer_window(b.writer), 2);
	cr_assert_eq(writer_poll(b.writer), 1003 * SECOND);
	cr_assert_eq(world_open(&b.w), 0);
	world_answer(next(&b, "POST", POST), 201, "");
	expect(&b, "bound ");
	end(&b);
}

Test(writer, a_refused_token_is_read_again_each_time)
{
	struct bench b;

	world_answer(posted(&b), 401, "");
	cr_assert_eq(b.w.renewals, 1);
	world_answer(next(&b, "POST", POST), 401, "");
	cr_assert_eq(b.w.renewals, 2);
	cr_assert(world_said(&b.w, "401"));
	world_answer(next(&b, "POST", POST), 201, "");
	expect(&b, "bound ");
	end(&b);
}

/* ---- before anything is sent --------------------------------------------------------- */

Test(writer, a_node_that_went_is_refused_unsent)
{
	struct bench b;
	struct decode_error e;
	const char *node;

	begin(&b);
	bind_pod(&b, "a");
	node = world_node("n1", "9");
	model_remove(b.m, RESOURCE_INDEX_NODES, node, strlen(node), &e);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

Test(writer, a_pod_that_went_or_was_bound_is_refused_unsent)
{
	struct bench b;
	struct decode_error e;
	const char *pod;

	begin(&b);
	bind_pod(&b, "a");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", "\"nodeName\":\"n2\"", ""));
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("b", "10", "", ""));
	bind_pod(&b, "b");
	pod = world_pod("b", "11", "", "");
	model_remove(b.m, RESOURCE_INDEX_PODS, pod, strlen(pod), &e);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

/* The core is never told to place these; found by fuzz_commands. */
Test(writer, a_pod_that_is_not_ours_to_place_is_refused_unsent)
{
	static const char theirs[] =
		"{\"metadata\":{\"name\":\"t\",\"namespace\":\"ns\",\"uid\":\"u-t\",\"resourceVersion\":\"8\"},"
		"\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\"}]}}";
	struct bench b;

	begin(&b);
	model_free(b.m);
	writer_free(b.writer);
	b.m = world_model_of_all();
	b.writer = writer_new(&(struct writer_config){ .env = &b.w.env,
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
	while (!model_flush(b.m, &world_sink))
		continue;
	cr_assert_eq(bind_pod(&b, "t"), 0);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	cr_assert_eq(bind_pod(&b, "c"), 0);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	cr_assert_eq(command(&b, CMD_BIND_AGAIN, "t"), 0);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	cr_assert_eq(command(&b, CMD_TAKE_BACK, "t"), 0);
	writer_poll(b.writer);
	expect(&b, "refused:0 ");
	cr_assert_eq(world_open(&b.w), 0);
	/* What we refuse only now may have been sent before. */
	cr_assert_eq(command(&b, CMD_BIND_AGAIN, "c"), 0);
	next(&b, "GET", "/api/v1/namespaces/ns/pods/c");
	expect(&b, "");
	end(&b);
}

Test(writer, a_second_binding_of_a_pod_is_a_mistake_of_the_core)
{
	struct bench b;

	posted(&b);
	cr_assert_eq(bind_pod(&b, "a"), -EPROTO);
	end(&b);
}

/* ---- window and order ------------------------------------------------------------------- */

Test(writer, sends_in_order_and_not_more_than_its_window)
{
	struct bench b;
	struct http_call *c[3];

	begin_with(&b, 2);
	for (const char *name = "bcdefgh"; *name; name++) {
		char text[2] = { *name };

		world_put(b.m, RESOURCE_INDEX_PODS, world_pod(text, "20", "", ""));
		bind_pod(&b, text);
	}
	writer_poll(b.writer);
	cr_assert_eq(world_open(&b.w), 2);
	c[0] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/b/binding");
	c[1] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/c/binding");
	world_answer(c[1], 201, "");
	writer_poll(b.writer);
	c[1] = world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/d/binding");
	world_answer(c[0], 429, "");
	cr_assert_eq(writer_window(b.writer), 1);
	world_answer(c[1], 201, "");
	cr_assert_eq(writer_window(b.writer), 2, "it grows again with each success");
	expect(&b, "bound bound ");
	c[0] = next(&b, "POST", "/api/v1/namespaces/ns/pods/b/binding"); /* before the rest */
	world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/e/binding");
	end(&b);
}

/* ---- the core dies ------------------------------------------------------------------------ */

/* Counts POD_BINDING records of a replay. */
struct replay {
	_Alignas(8) unsigned char room[RECORD_BYTES_MAX];
	enum record_kind kind;
	unsigned binding, pods;
};

static void replay_count(struct replay *r)
{
	const struct event_pod *e = (const void *)r->room;

	if (r->kind != EVENT_POD)
		return;
	r->pods++;
	r->binding += (e->flags & POD_BINDING) != 0;
}

static void *replay_reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	struct replay *r = context;

	(void)bytes;
	replay_count(r);
	r->kind = kind;
	return r->room;
}

static unsigned replayed_binding(struct bench *b)
{
	static struct replay r;
	struct model_sink sink = { .reserve = replay_reserve, .context = &r };

	memset(&r, 0, sizeof(r));
	model_restart(b->m);
	cr_assert(model_flush(b->m, &sink));
	replay_count(&r);
	cr_assert_gt(r.pods, 0);
	return r.binding;
}

Test(writer, what_was_never_sent_is_forgotten_with_the_core)
{
	struct bench b;

	begin(&b);
	bind_pod(&b, "a");
	writer_core_down(b.writer);
	writer_poll(b.writer);
	expect_rest(&b);
	expect(&b, "");
	cr_assert_eq(replayed_binding(&b), 0);
	cr_assert_eq(bind_pod(&b, "a"), 0, "the next core may bind it");
	end(&b);
}

Test(writer, what_was_sent_goes_on_and_the_next_core_hears_of_it)
{
	struct bench b;
	struct http_call *c = posted(&b);

	writer_core_down(b.writer);
	b.other_core = true;
	cr_assert_eq(replayed_binding(&b), 1);
	writer_core_up(b.writer);
	expect(&b, "");
	world_answer(c, 201, "");
	expect(&b, "bound ");
	end(&b);
}

#define POST_M "/api/v1/namespaces/ns/pods/m/binding"

/* A member of a gang, its Binding refused. */
static void member_refused(struct bench *b)
{
	begin(b);
	world_put(b->m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 2));
	world_put(b->m, RESOURCE_INDEX_PODS, world_member("m", "6", "g", ""));
	cr_assert_eq(bind_pod(b, "m"), 0);
	writer_poll(b->writer);
	world_answer(world_take(&b->w, "POST", POST_M), 403, world_status(403, "Forbidden", "no"));
	expect(b, "refused:0 ");
	cr_assert_eq(replayed_binding(b), 0);
}

/* How many a new core is told of as under way, and whether it hears at the end that one is refused.
 */
static void expect_next_core(struct bench *b, unsigned binding, const char *said)
{
	writer_core_down(b->writer);
	b->other_core = true;
	writer_core_up(b->writer);
	cr_assert_eq(replayed_binding(b), binding);
	expect(b, "");
	writer_core_read_all(b->writer);
	expect(b, said);
	cr_assert_eq(replayed_binding(b), 0);
}

/* The core keeps room for it while its gang is half bound; the next one knew nothing of it, and
 * another gang that had begun took it. */
Test(writer, a_refused_member_is_refused_to_the_next_core_as_well)
{
	struct bench b;

	member_refused(&b);
	expect_next_core(&b, 1, "refused:0 ");
	writer_core_read_all(b.writer);
	expect(&b, "");
	/* A core that dies while it reads. */
	writer_core_down(b.writer);
	writer_core_up(b.writer);
	expect_next_core(&b, 1, "refused:0 ");
	/* It is asked for again, which that core does not live to see sent; and once more. */
	cr_assert_eq(bind_pod(&b, "m"), 0);
	expect_next_core(&b, 1, "refused:0 ");
	cr_assert_eq(bind_pod(&b, "m"), 0);
	writer_poll(b.writer);
	b.other_core = false;
	world_answer(world_take(&b.w, "POST", POST_M), 201, "");
	expect(&b, "bound ");
	writer_core_read_all(b.writer);
	expect(&b, "");
	end(&b);
}

Test(writer, what_is_not_as_it_was_refused_is_not_told_to_the_next_core)
{
	static const char *const now[] = { "\"schedulingGates\":[{\"name\":\"x\"}]",
		                               "\"nodeName\":\"n2\"" };
	struct bench b;

	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
		member_refused(&b);
		world_put(b.m, RESOURCE_INDEX_PODS, world_member("m", "7", "g", now[i]));
		expect_next_core(&b, 0, "");
		end(&b);
	}
	/* A pod by itself keeps no room. */
	world_answer(posted(&b), 403, world_status(403, "Forbidden", "no"));
	expect(&b, "refused:0 ");
	expect_next_core(&b, 0, "");
	end(&b);
}

/* ---- what an earlier frontend may have sent ---------------------------------------------- */

static struct http_call *commanded(struct bench *b, enum record_kind kind)
{
	begin(b);
	cr_assert_eq(command(b, kind, "a"), 0);
	return kind == CMD_TAKE_BACK ? next(b, "GET", POD) : next(b, "POST", POST);
}

/* By which version nobody knows: that the pod has another one now than its list told proves
 * nothing. */
static void expect_taken_back(struct bench *b, struct http_call *read, const char *version,
                              const char *after)
{
	world_answer(read, 200, world_pod("a", version, "", ""));
	world_answer(next(b, "PATCH", POD "/status"), 200, "{}");
	expect(b, "");
	world_answer(next(b, "GET", POD), 200, world_pod("a", after, "", ""));
	expect(b, "refused:0 ");
	expect_rest(b);
	cr_assert_eq(replayed_binding(b), 0);
	cr_assert_str_eq(b->noticed, "");
}

Test(writer, taken_back_by_a_write_after_a_read)
{
	static const char *const versions[] = { "5", "8" };

	for (size_t i = 0; i < 2; i++) {
		struct bench b;
		struct http_call *c = commanded(&b, CMD_TAKE_BACK);

		cr_assert_eq(writer_counts(b.writer)->withdrawn, 1);
		expect_taken_back(&b, c, versions[i], "9");
		cr_assert_eq(writer_counts(b.writer)->posts, 0);
		end(&b);
	}
}

Test(writer, taken_back_too_late)
{
	struct bench b;
	struct http_call *c = commanded(&b, CMD_TAKE_BACK);

	world_answer(c, 200, world_pod("a", "8", "\"nodeName\":\"n1\"", ""));
	expect(&b, "bound ");
	end(&b);
	c = commanded(&b, CMD_TAKE_BACK);
	world_answer(c, 200, world_pod("a", "8", "\"nodeName\":\"n2\"", ""));
	expect(&b, "refused:0 ");
	end(&b);
	c = commanded(&b, CMD_TAKE_BACK);
	world_answer(c, 404, world_status(404, "NotFound", "pods \\\"a\\\" not found"));
	expect(&b, "refused:0 ");
	end(&b);
}

/* A write that failed has not moved the version, whatever that was in the list. */
Test(writer, taken_back_by_no_less_than_a_write)
{
	struct bench b;
	struct http_call *c = commanded(&b, CMD_TAKE_BACK);

	world_answer(c, 200, world_pod("a", "8", "", ""));
	world_answer(next(&b, "PATCH", POD "/status"), 503, "no");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "", ""));
	expect(&b, "");
	world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	expect_rest(&b);
	end(&b);
}

/* It would say of a pod that has just got a node that it has none: what was read is written over,
 * nothing newer. That something newer is there is as good as a write. */
Test(writer, a_fence_is_for_the_version_that_was_read)
{
	static const char *const specs[] = { "\"nodeName\":\"n1\"", "" }, *const said[] = {
		"bound ", "refused:0 "
	};

	for (size_t i = 0; i < 2; i++) {
		struct bench b;
		struct http_call *c = commanded(&b, CMD_TAKE_BACK);
		uint64_t now;

		world_answer(c, 200, world_pod("a", "8", "", ""));
		c = next(&b, "PATCH", POD "/status");
		cr_assert(strstr(c->body, "\"resourceVersion\":\"8\""), "%s", c->body);
		world_answer(c, 409, conflict("the object has been modified"));
		now = b.w.now_ns;
		c = next(&b, "GET", POD);
		cr_assert_leq(b.w.now_ns, now + 1, "there is nothing to wait for");
		world_answer(c, 200, world_pod("a", "9", specs[i], ""));
		expect(&b, said[i]);
		end(&b);
	}
}

/* It was tried again for ever, and nobody was told why the pod goes nowhere. */
Test(writer, a_fence_that_is_refused_is_told)
{
	struct bench b;
	struct http_call *c = commanded(&b, CMD_TAKE_BACK);

	for (int i = 0; i < 5; i++) {
		cr_assert_eq(b.noticed[0] != '\0', i >= 3, "%d: %s", i, b.noticed);
		world_answer(c, 200, world_pod("a", "8", "", ""));
		c = next(&b, "PATCH", POD "/status");
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
		c = next(&b, "GET", POD);
	}
	cr_assert_str_eq(b.noticed, "once");
	world_answer(c, 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	end(&b);
}

/* It was told as a refusal. */
Test(writer, a_fence_of_a_pod_that_is_gone_is_no_refusal)
{
	struct bench b;
	struct http_call *c = commanded(&b, CMD_TAKE_BACK);
	uint64_t now;

	world_answer(c, 200, world_pod("a", "8", "", ""));
	c = next(&b, "PATCH", POD "/status");
	now = b.w.now_ns;
	world_answer(
		c, 422,
		world_status(422, "Invalid", "metadata.uid: Invalid value: \\\"u\\\": field is immutable"));
	c = next(&b, "GET", POD);
	cr_assert_leq(b.w.now_ns, now + 1, "there is nothing to wait for");
	cr_assert(!world_said(&b.w, "may still land"));
	world_answer(c, 404, world_status(404, "NotFound", "no pod"));
	expect(&b, "refused:0 ");
	end(&b);
}

Test(writer, sent_again_and_refused_takes_the_earlier_one_back)
{
	struct bench b;

	world_answer(commanded(&b, CMD_BIND_AGAIN), 201, "");
	expect(&b, "bound ");
	end(&b);
	world_answer(commanded(&b, CMD_BIND_AGAIN), 403, world_status(403, "Forbidden", "no"));
	b.noticed[0] = '\0';
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "", ""));
	world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
	expect(&b, "");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	end(&b);
}

/* Another version than was sent by may be the one that an earlier frontend sent by. */
Test(writer, sent_again_by_a_newer_version_is_no_proof)
{
	struct bench b;
	struct http_call *c = commanded(&b, CMD_BIND_AGAIN);

	world_answer(c, 409, conflict(PRECONDITION));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "", ""));
	c = next(&b, "POST", POST);
	cr_assert(strstr(c->body, "\"resourceVersion\":\"8\""));
	world_answer(c, 403, world_status(403, "Forbidden", "no"));
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "8", "", ""));
	world_answer(next(&b, "PATCH", POD "/status"), 200, "{}");
	world_answer(next(&b, "GET", POD), 200, world_pod("a", "9", "", ""));
	expect(&b, "refused:0 ");
	end(&b);
}

Test(writer, what_an_earlier_frontend_sent_is_not_forgotten_with_the_core)
{
	static const enum record_kind kinds[] = { CMD_BIND_AGAIN, CMD_TAKE_BACK };

	for (size_t i = 0; i < 2; i++) {
		struct bench b;

		begin(&b);
		cr_assert_eq(command(&b, kinds[i], "a"), 0);
		cr_assert_eq(replayed_binding(&b), 1);
		writer_core_down(b.writer);
		b.other_core = true;
		cr_assert_eq(replayed_binding(&b), 1, "the next core keeps its room");
		writer_core_up(b.writer);
		expect_taken_back(&b, next(&b, "GET", POD), "5", "9");
		end(&b);
	}
}

/* Between the answer and the event on the watch the model does not show a node: a
 * core that starts just then must not think that the pod is free. */
Test(writer, what_landed_is_told_again_until_the_watch_shows_it)
{
	struct bench b;
	struct http_call *c = posted(&b);

	world_answer(c, 201, "");
	expect(&b, "bound ");
	writer_core_down(b.writer);
	b.other_core = true;
	cr_assert_eq(replayed_binding(&b), 1);
	writer_core_up(b.writer);
	expect(&b, "bound ");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", "\"nodeName\":\"n1\"", ""));
	b.w.now_ns += SECOND;
	writer_poll(b.writer);
	writer_core_down(b.writer);
	cr_assert_eq(replayed_binding(&b), 0);
	writer_core_up(b.writer);
	expect(&b, "");
	end(&b);
}
