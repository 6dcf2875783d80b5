/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as streams: the initial events of a watch. */
#include "tests/unit/support_watch.h"

TestSuite(watch_stream, .fini = end);

#define STREAM                                                                                     \
	"/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"                \
	"&allowWatchBookmarks=true&timeoutSeconds="
#define INITIAL_END(version)                                                                           \
	"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version \
	"\",\"annotations\":{\"a\":[1],\"k8s.io/initial-events-end\":\"true\"}}}}\n"

static void begin_streaming(void)
{
	if (b.m)
		end();
	world_init(&b.w);
	b.m = world_model();
	b.watch = watch_new(&b.w.env, b.m, PODS);
	watch_stream_lists(b.watch);
	watch_poll(b.watch);
}

static struct http_call *streaming(void)
{
	struct http_call *c;

	begin_streaming();
	c = next(STREAM);
	world_text(c, event_of("ADDED", world_pod("b", "9", "", "")));
	world_text(c, event_of("ADDED", world_pod("a", "5", "", ""))); /* in no order of versions */
	cr_assert(!watch_synced(b.watch));
	return c;
}

/* What changes before the bookmark is a part of the list, what comes behind it is an event. */
Test(watch_stream, a_list_comes_as_a_stream)
{
	struct http_call *c = streaming();

	world_text(c, event_of("DELETED", world_pod("b", "11", "", "")));
	world_text(c, INITIAL_END("12"));
	cr_assert(watch_synced(b.watch));
	cr_assert(has_pod("a") && !has_pod("b"));
	cr_assert_eq(watch_counts(b.watch)->lists, 1);
	cr_assert_eq(watch_counts(b.watch)->streamed, 1);
	world_text(c, event_of("ADDED", world_pod("c", "13", "", "")));
	cr_assert(has_pod("c"));
	world_end(c);
	next("/api/v1/pods?watch=1&resourceVersion=13&");
}

/* Nothing is known to be gone before the list is complete. */
Test(watch_stream, a_stream_replaces_what_was_known_at_its_end)
{
	struct http_call *c = streaming();

	world_text(c, INITIAL_END("12"));
	watch_relist(b.watch, RELIST_LEADING);
	c = next(STREAM);
	world_text(c, event_of("ADDED", world_pod("b", "5", "", "")));
	cr_assert(has_pod("a"));
	world_text(c, INITIAL_END("14"));
	cr_assert(has_pod("b") && !has_pod("a"));
}

Test(watch_stream, a_server_that_refuses_streams_is_asked_for_pages)
{
	static const int refusals[] = { 400, 422 };

	for (size_t i = 0; i < 2; i++) {
		begin_streaming();
		world_answer(next(STREAM), refusals[i],
		             world_status(refusals[i], "Invalid", "sendInitialEvents is forbidden"));
		world_answer(next("/api/v1/pods?limit=500"), 200,
		             list_of("7", "", world_pod("a", "5", "", "")));
		cr_assert(watch_synced(b.watch) && has_pod("a"));
		next("/api/v1/pods?watch=1&resourceVersion=7&");
		watch_relist(b.watch, RELIST_LEADING);
		next("/api/v1/pods?limit=500");
	}
}

/* kube-apiserver 1.36 over etcd 3.4. */
Test(watch_stream, a_stream_that_begins_with_an_error_means_pages)
{
	static const char error[] =
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":"
		"\"a watch stream was requested by the client but the required storage feature "
		"RequestWatchProgress is disabled\",\"reason\":\"InternalError\",\"code\":500}}";
	struct http_call *c;

	begin_streaming();
	c = next(STREAM);
	cr_assert(!world_piece(c, 200, error, strlen(error)));
	world_fail(c, HTTP_BROKEN);
	world_answer(next("/api/v1/pods?limit=500"), 200, list_of("7", "", ""));
	cr_assert(watch_synced(b.watch));
	watch_relist(b.watch, RELIST_LEADING);
	next("/api/v1/pods?limit=500");
}

/* An old server takes it for a watch without a version, which has no end. */
Test(watch_stream, a_bookmark_that_ends_no_list_means_pages)
{
	static const char bookmark[] =
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"12\"}}}";
	struct http_call *c = streaming();

	cr_assert(!world_piece(c, 200, bookmark, strlen(bookmark)));
	world_fail(c, HTTP_BROKEN);
	cr_assert(!watch_synced(b.watch));
	world_answer(next("/api/v1/pods?limit=500"), 200,
	             list_of("12", "", world_pod("a", "9", "", "")));
	cr_assert(has_pod("a") && !has_pod("b"));
}

/* The next list is one of pages; a later one is tried as a stream again. */
Test(watch_stream, a_stream_that_breaks_is_no_list)
{
	struct http_call *c = streaming();

	world_fail(c, HTTP_BROKEN);
	cr_assert(!watch_synced(b.watch));
	pass(60 * SECOND);
	world_answer(next("/api/v1/pods?limit=500"), 200,
	             list_of("12", "", world_pod("a", "9", "", "")));
	cr_assert(has_pod("a") && !has_pod("b"));
	watch_relist(b.watch, RELIST_LEADING);
	next(STREAM);
}

Test(watch_stream, a_silent_stream_is_no_list)
{
	struct http_call *c = streaming();

	pass(61 * SECOND);
	cr_assert(c->cancelled);
	pass(60 * SECOND);
	next("/api/v1/pods?limit=500");
}

Test(watch_stream, a_stream_of_an_older_state_ends_it)
{
	struct http_call *c = streaming();

	world_text(c, INITIAL_END("12"));
	watch_relist(b.watch, RELIST_LEADING);
	c = next(STREAM);
	world_piece(c, 200, INITIAL_END("3"), strlen(INITIAL_END("3")));
	cr_assert(watch_went_back(b.watch));
}
