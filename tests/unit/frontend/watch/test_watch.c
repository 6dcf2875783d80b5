/* SPDX-License-Identifier: Apache-2.0 */
/* A collection kept equal to the API server's, through every way in which a list
 * or a watch ends. */
#include "tests/unit/support_watch.h"

TestSuite(watch, .fini = end);

Test(watch, lists_page_by_page_without_a_version)
{
	struct http_call *c;
	char items[8192];

	begin(PODS);
	c = world_take(&b.w, "GET", "/api/v1/pods?limit=500");
	cr_assert_str_eq(c->path, "/api/v1/pods?limit=500");
	cr_assert_eq(c->lane, HTTP_LIST);
	world_answer(c, 200, list_of("10", "t+/=", world_pod("a", "3", "", "")));
	cr_assert(!watch_synced(b.watch));
	c = next("/api/v1/pods?");
	cr_assert_str_eq(c->path, "/api/v1/pods?limit=500&continue=t%2B%2F%3D");
	snprintf(items, sizeof(items), "%s", world_pod("b", "4", "", ""));
	world_answer(c, 200, list_of("12", "", items));
	cr_assert(watch_synced(b.watch));
	cr_assert(has_pod("a") && has_pod("b"));
	c = next("/api/v1/pods?watch=1&resourceVersion=10&"); /* of the first page */
	cr_assert_eq(c->lane, HTTP_WATCH);
	cr_assert_eq(c->timeout_ms, 120000);
}

/* Only what has the labels: asked for in each request, and gone when it has them no more. */
Test(watch, selects_by_labels)
{
	static const char selector[] = "labelSelector=pool%20in%20%28a%2Cb%29%2C%21spot";
	char list[200], page[200], full[200], probe[200], query[300];
	struct http_call *c;

	snprintf(list, sizeof(list), "/api/v1/pods?limit=500&%s", selector);
	snprintf(page, sizeof(page), "/api/v1/pods?limit=500&continue=t&%s", selector);
	snprintf(full, sizeof(full), "/api/v1/pods?%s", selector);
	snprintf(probe, sizeof(probe), "/api/v1/pods?limit=1&%s", selector);
	world_init(&b.w);
	b.m = world_model();
	b.watch = watch_new(&b.w.env, b.m, PODS);
	watch_select(b.watch, "pool in (a,b),!spot");
	c = next("/api/v1/pods?");
	cr_assert_str_eq(c->path, list);
	world_answer(c, 200, list_of("10", "t", world_pod("a", "3", "", "")));
	c = next("/api/v1/pods?");
	cr_assert_str_eq(c->path, page);
	world_answer(c, 410, world_status(410, "Expired", "too old"));
	c = next("/api/v1/pods?");
	cr_assert_str_eq(c->path, full);
	world_answer(c, 200, list_of("20", "", world_pod("a", "3", "", "")));
	c = next("/api/v1/pods?watch=1&resourceVersion=20&");
	snprintf(query, sizeof(query), "&%s", selector);
	cr_assert_not_null(strstr(c->path, query), "%s", c->path);
	cr_assert(world_text(c, event_of("DELETED", world_pod("a", "21", "", ""))));
	cr_assert(!has_pod("a"));
	world_fail(c, HTTP_BROKEN);
	pass(60000 * MS);
	c = world_take(&b.w, "GET", "/api/v1/pods?");
	cr_assert_str_eq(c->path, probe);
	world_answer(c, 200, list_of("99", "", ""));
}

Test(watch, gone_while_paging_gives_one_full_list)
{
	struct http_call *c;

	begin(PODS);
	watch_limit_pages(b.watch, 1000);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 200,
	             list_of("10", "t", world_pod("a", "3", "", "")));
	c = next("/api/v1/pods");
	cr_assert_eq(c->answer_bytes_max, 1000);
	world_answer(c, 410, world_status(410, "Expired", "too old"));
	c = next("/api/v1/pods");
	cr_assert_str_eq(c->path, "/api/v1/pods");
	cr_assert_eq(c->answer_bytes_max, 16000, "it would never end with the bytes of a page");
	cr_assert(!watch_synced(b.watch));
	world_answer(c, 200, list_of("20", "", world_pod("b", "4", "", "")));
	cr_assert(watch_synced(b.watch));
	cr_assert(has_pod("b"));
}

Test(watch, follows_events_cut_into_single_bytes)
{
	struct http_call *c = watching();
	char text[8192] = "";

	strcat(text, event_of("ADDED", world_pod("b", "11", "", "")));
	strcat(text, event_of("MODIFIED", world_pod("a", "12", "\"nodeName\":\"n1\"", "")));
	strcat(text, event_of("DELETED", world_pod("b", "13", "", "")));
	for (const char *p = text; *p; p++)
		cr_assert(world_piece(c, 200, p, 1));
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", "a", &v));
	cr_assert_str_eq(v.node, "n1");
	cr_assert(!has_pod("b"));
	cr_assert_eq(watch_counts(b.watch)->events, 3);
}

/* Resume from the newest version seen, of an event or of a bookmark. */
Test(watch, resumes_from_the_last_version)
{
	struct http_call *c = watching();

	world_text(c, event_of("ADDED", world_pod("b", "11", "", "")));
	b.w.now_ns += 2 * SECOND;
	world_end(c);
	c = next("/api/v1/pods?watch=1&resourceVersion=11&");
	world_text(
		c,
		"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"40\"}}}");
	b.w.now_ns += 2 * SECOND;
	world_end(c);
	next("/api/v1/pods?watch=1&resourceVersion=40&");
	cr_assert_eq(watch_counts(b.watch)->relists, 0);
	cr_assert_eq(watch_counts(b.watch)->lists, 1);
}

Test(watch, a_connection_that_breaks_is_watched_again_after_a_wait)
{
	struct http_call *c = watching();

	world_text(c, event_of("ADDED", world_pod("b", "11", "", "")));
	world_fail(c, HTTP_BROKEN);
	cr_assert_eq(wait_ms(), 800);
	b.w.now_ns += 800 * MS;
	same_state();
	world_take(&b.w, "GET", "/api/v1/pods?watch=1&resourceVersion=11&");
}

Test(watch, one_that_ends_at_once_and_said_nothing_is_backed_off)
{
	struct http_call *c = watching();
	static const unsigned waits[] = { 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000 };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		world_text(c, "");
		world_end(c);
		cr_assert_eq(wait_ms(), waits[i], "wait %zu is %u", i, wait_ms());
		pass(waits[i] * MS);
		c = world_take(&b.w, "GET", "/api/v1/pods?watch=1&resourceVersion=10&");
	}
	/* Two minutes without failure, and it starts over. */
	b.w.now_ns += 121 * SECOND;
	world_fail(c, HTTP_BROKEN);
	cr_assert_eq(wait_ms(), 800);
}

Test(watch, waits_have_jitter)
{
	struct http_call *c = watching();

	b.w.random = 700 * MS;
	world_fail(c, HTTP_NOT_SENT);
	cr_assert_eq(wait_ms(), 1500);
}

/* The server says 410 in two ways: by status, and by an event after a 200. */
static void expect_relist(void)
{
	struct http_call *c;

	c = next("/api/v1/pods?limit=500");
	cr_assert_eq(watch_counts(b.watch)->relists, 1);
	cr_assert(has_pod("a")); /* until the list is whole */
	world_answer(c, 200, list_of("50", "", world_pod("c", "45", "", "")));
	cr_assert(!has_pod("a") && has_pod("c"), "a list replaces what was known");
	next("/api/v1/pods?watch=1&resourceVersion=50&");
}

Test(watch, gone_by_event_lists_again_and_replaces)
{
	struct http_call *c = watching();
	char text[1100];

	snprintf(text, sizeof(text), "{\"type\":\"ERROR\",\"object\":%s}",
	         world_status(410, "Expired", "too old (1)"));
	cr_assert(!world_text(c, text));
	world_fail(c, HTTP_BROKEN); /* data() said stop */
	expect_relist();
}

Test(watch, gone_by_status_lists_again_and_replaces)
{
	struct http_call *c = watching();

	world_answer(c, 410, world_status(410, "Gone", "old"));
	expect_relist();
}

Test(watch, a_server_that_always_says_gone_is_not_listed_in_a_circle)
{
	struct http_call *c = watching();

	world_answer(c, 410, world_status(410, "Gone", "old"));
	expect_relist();
	for (c = b.w.calls; !c->open; c = c->next)
		continue;
	world_answer(c, 410, world_status(410, "Gone", "old"));
	cr_assert_eq(wait_ms(), 800);
}

static void error_event(struct http_call *c, int code, const char *reason)
{
	char text[1100];

	snprintf(text, sizeof(text), "{\"type\":\"ERROR\",\"object\":%s}",
	         world_status(code, reason, "m"));
	world_text(c, text);
	world_fail(c, HTTP_BROKEN);
}

Test(watch, too_many_requests_by_event_watches_again)
{
	struct http_call *c = watching();

	error_event(c, 429, "TooManyRequests");
	wait_out(800);
	world_take(&b.w, "GET", "/api/v1/pods?watch=1&resourceVersion=10&");
}

Test(watch, an_internal_error_by_event_lists_again_after_a_wait)
{
	struct http_call *c = watching();

	error_event(c, 500, "InternalError");
	wait_out(800);
	world_take(&b.w, "GET", "/api/v1/pods?limit=500");
}

Test(watch, retry_after_is_waited_for)
{
	struct http_call *c = watching();

	world_answer_after(c, 429, "too many requests", 7000);
	wait_out(7000);
	world_take(&b.w, "GET", "/api/v1/pods?watch=1&resourceVersion=10&");
}

Test(watch, a_foreign_event_type_closes_the_connection)
{
	struct http_call *c = watching();

	cr_assert(!world_text(c, "{\"type\":\"NEWS\",\"object\":{}}"));
	world_fail(c, HTTP_BROKEN);
	cr_assert_eq(wait_ms(), 800);
	cr_assert(world_said(&b.w, "no watch event"));
}

Test(watch, an_object_over_the_cap_closes_the_connection_and_lists_again)
{
	struct http_call *c = watching();
	size_t n = (10u << 20) + 100;
	char *big = malloc(n);

	memset(big, 'x', n);
	memcpy(big, "{\"type\":\"", 9);
	cr_assert(!world_piece(c, 200, big, n));
	free(big);
	world_fail(c, HTTP_BROKEN);
	cr_assert_eq(watch_counts(b.watch)->too_large, 1);
	wait_out(800);
	world_take(&b.w, "GET", "/api/v1/pods?limit=500");
}

/* 1.5 MiB of '<' in etcd, each 6 bytes of the API server's JSON. */
Test(watch, an_object_of_escapes_is_read)
{
	static const char pod[] =
		"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\",\"namespace\":"
		"\"ns\",\"uid\":\"u-b\",\"resourceVersion\":\"11\",\"annotations\":{\"a\":\"";
	static const char escape[] = "\\u003c",
					  end[] = "\"}},\"spec\":{\"schedulerName\":\"muster\"}}}\n";
	struct http_call *c = watching();
	char *text = malloc(sizeof(pod) + (9u << 20) + sizeof(end)), *at = text;

	at = stpcpy(at, pod);
	for (size_t i = 0; i < 3u << 19; i++)
		at = stpcpy(at, escape);
	at = stpcpy(at, end);
	for (char *from = text; from < at; from += 1 << 16)
		cr_assert(world_piece(c, 200, from, (size_t)(at - from < 1 << 16 ? at - from : 1 << 16)));
	cr_assert(has_pod("b"));
	cr_assert_eq(watch_counts(b.watch)->too_large, 0);
	free(text);
}

/* Restored from a backup: the same address, an older state.  A watch from a version
 * that does not exist yet is taken, and nothing comes. */
Test(watch, an_older_state_is_noticed_and_nothing_more_is_asked)
{
	struct http_call *c = watching();

	cr_assert(!world_text(
		c, "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}"));
	world_fail(c, HTTP_BROKEN);
	cr_assert(world_said(&b.w, "went back from 10 to 9"));
	cr_assert(watch_went_back(b.watch));
	cr_assert_eq(watch_poll(b.watch), UINT64_MAX);
	cr_assert_eq(world_open(&b.w), 0);
}

Test(watch, after_a_broken_connection_the_state_is_looked_at)
{
	static const char *const versions[] = { "9", "10", "11" };

	for (int i = 0; i < 3; i++) {
		world_fail(watching(), i % 2 ? HTTP_BROKEN : HTTP_NOT_SENT);
		pass(800 * MS);
		world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=1"), 200,
		             list_of(versions[i], "more", ""));
		watch_poll(b.watch);
		cr_assert_eq(watch_went_back(b.watch), i == 0);
		cr_assert_eq(world_open(&b.w), i == 0 ? 0 : 1);
		cr_assert(has_pod("a"));
	}
}

Test(watch, a_relist_with_an_older_state_is_noticed)
{
	world_answer(watching(), 410, world_status(410, "Gone", "old"));
	world_answer(next("/api/v1/pods?limit=500"), 200, list_of("7", "", ""));
	cr_assert(watch_went_back(b.watch));
	cr_assert(has_pod("a"), "half a state is worse than an old one");
}

/* A silent connection is dead, once two bookmarks said that the server speaks. */
Test(watch, silence_after_bookmarks_watches_again)
{
	struct http_call *c = watching();
	static const char bookmark[] =
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"60\"}}}";

	b.w.now_ns += 280 * SECOND; /* none seen: it may be so */
	watch_poll(b.watch);
	cr_assert(c->open);
	world_text(c, bookmark);
	b.w.now_ns += 70 * SECOND;
	world_text(c, bookmark);
	pass(174 * SECOND);
	cr_assert(c->open);
	b.w.now_ns += 1 * SECOND; /* 2.5 times the gap of 70 s */
	watch_poll(b.watch);
	cr_assert(c->cancelled);
	cr_assert_eq(watch_counts(b.watch)->silences, 1);
	same_state();
	world_take(&b.w, "GET", "/api/v1/pods?watch=1&resourceVersion=60&");
	cr_assert_eq(watch_counts(b.watch)->lists, 1);
}

/* No bookmark was seen yet, so a connection that is silent from its first moment is not noticed:
 * its watch is short.  The time in which it was silent is no gap between bookmarks.  The
 * simulator's seeds 673 and 913. */
Test(watch, a_first_watch_is_short_and_later_ones_are_not)
{
	struct http_call *c = watching();
	static const char bookmark[] =
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"60\"}}}";

	cr_assert_eq(c->timeout_ms, 120000);
	world_text(c, bookmark);
	b.w.now_ns += 400 * SECOND;
	world_fail(c, HTTP_BROKEN);
	pass(2 * SECOND);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=1"), 200, list_of("60", "", ""));
	c = next("/api/v1/pods?watch=1&resourceVersion=60&allowWatchBookmarks=true&timeoutSeconds=90");
	world_text(c, bookmark); /* the second */
	pass(151 * SECOND);
	cr_assert(c->cancelled);
	pass(2 * SECOND);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=1"), 200, list_of("60", "", ""));
	next("/api/v1/pods?watch=1&resourceVersion=60&allowWatchBookmarks=true&timeoutSeconds=300");
}

Test(watch, a_token_that_is_refused_is_read_again_each_time)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 401, "Unauthorized");
	cr_assert_eq(b.w.renewals, 1);
	world_answer(next("/api/v1/pods"), 401, "Unauthorized");
	cr_assert_eq(b.w.renewals, 2);
	cr_assert(watch_refused_at_start(b.watch));
	cr_assert(world_said(&b.w, "error: the API server refuses these credentials (401)"));
	wait_out(800);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 200, list_of("10", "", ""));
	cr_assert(watch_synced(b.watch));
}

static int lines_with(const char *part)
{
	int n = 0;

	for (const char *at = b.w.log; (at = strstr(at, part)) != NULL; at += strlen(part))
		n++;
	return n;
}

static void fails_twice(enum http_end end, int status)
{
	static const char *const paths[] = { "/api/v1/pods", "/api/v1/nodes" };

	for (size_t i = 0; i < 2; i++) {
		struct http_call *c = world_take(&b.w, "GET", paths[i]);

		if (end == HTTP_ANSWERED)
			world_answer(c, status, world_status(status, "Failed", "failed"));
		else
			world_fail(c, end);
	}
}

/* A server that is away, or refuses the token, is told once, not for each of its collections. */
Test(watch, what_is_the_servers_is_told_once)
{
	static const struct {
		enum http_end end;
		int status, lines;
		const char *said;
	} cases[] = {
		{ HTTP_NOT_SENT, 0, 1, "can't list" }, { HTTP_ANSWERED, 401, 1, "(401) to list" },
		{ HTTP_ANSWERED, 403, 2, "(403)" },    { HTTP_ANSWERED, 500, 2, "can't list" },
		{ HTTP_BROKEN, 0, 2, "can't list" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct watch_outage outage = { 0 };
		struct watch *nodes;

		begin(PODS);
		nodes = watch_new(&b.w.env, b.m, RESOURCE_INDEX_NODES);
		watch_share_outage(b.watch, &outage);
		watch_share_outage(nodes, &outage);
		watch_poll(nodes);
		fails_twice(cases[i].end, cases[i].status);
		if (cases[i].status == 401) { /* the first one only reads the token again */
			watch_poll(b.watch);
			watch_poll(nodes);
			fails_twice(cases[i].end, cases[i].status);
		}
		cr_assert_eq(lines_with(cases[i].said), cases[i].lines, "%zu: %s", i, b.w.log);
		cr_assert_neq(watch_error(nodes)[0], '\0', "readyz names each");
		watch_free(nodes);
	}
}

Test(watch, one_that_expires_later_is_no_refusal_at_start)
{
	struct http_call *c = watching();

	world_answer(c, 401, "");
	cr_assert_eq(b.w.renewals, 1);
	world_answer(next("/api/v1/pods?watch=1"), 401, "");
	cr_assert(!watch_refused_at_start(b.watch));
	cr_assert_eq(wait_ms(), 800);
}

Test(watch, a_bad_object_is_named_counted_and_not_the_end)
{
	struct http_call *c;
	char items[4096], bad[2048];

	begin(RESOURCE_INDEX_NODES);
	snprintf(bad, sizeof(bad), "%s", world_node("n1", "3"));
	memcpy(strstr(bad, "\"8\""), "\"x\"", 3);
	snprintf(items, sizeof(items), "%s,%s", bad, world_node("n2", "4"));
	world_answer(world_take(&b.w, "GET", "/api/v1/nodes"), 200, list_of("10", "", items));
	cr_assert(watch_synced(b.watch));
	cr_assert_eq(watch_counts(b.watch)->bad_objects, 1);
	cr_assert(world_said(&b.w, "error: Node n1: status.allocatable[\"cpu\"]: "), "%s", b.w.log);
	c = next("/api/v1/nodes?watch=1");
	for (int i = 0; i < 100; i++) {
		snprintf(bad, sizeof(bad), "%s",
		         world_node("n1", (char[]){ '1', (char)('0' + i / 10), (char)('0' + i % 10), 0 }));
		memcpy(strstr(bad, "\"8\""), "\"x\"", 3);
		cr_assert(world_text(c, event_of("MODIFIED", bad)));
	}
	cr_assert_eq(watch_counts(b.watch)->bad_objects, 101);
	int lines = 0;

	for (const char *p = b.w.log; (p = strstr(p, "Node n1")) != NULL; p++)
		lines++;
	cr_assert_eq(lines, 10, "%d lines in a minute", lines);
}

Test(watch, what_is_no_list_is_a_failure)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 200, "<html>proxy</html>");
	cr_assert(!watch_synced(b.watch));
	cr_assert(world_said(&b.w, "the answer is no list"));
	cr_assert_eq(wait_ms(), 800);
}

Test(watch, a_list_that_fails_half_way_removes_nothing)
{
	struct http_call *c = watching();

	world_answer(c, 410, world_status(410, "Gone", "old"));
	world_answer(next("/api/v1/pods"), 200, list_of("50", "t", world_pod("c", "45", "", "")));
	world_answer(next("/api/v1/pods"), 400, world_status(400, "BadRequest", "no such token"));
	cr_assert(has_pod("a"));
	wait_out(800);
	cr_assert_str_eq(world_take(&b.w, "GET", "/api/v1/pods")->path, "/api/v1/pods?limit=500");
}

#define PAGE "/api/v1/pods?limit=500&continue=t"

/* The first page of the pods; the second one has been asked for. */
static struct http_call *second_page(void)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "t", world_pod("a", "9", "", "")));
	return next(PAGE);
}

Test(watch, a_page_that_fails_is_asked_for_again)
{
	struct http_call *c = second_page();

	world_answer_after(c, 429, "slower", 3000);
	wait_out(3000);
	world_answer(world_take(&b.w, "GET", PAGE), 503, "busy");
	wait_out(800);
	world_fail(world_take(&b.w, "GET", PAGE), HTTP_BROKEN);
	pass(1600 * MS);
	world_answer(world_take(&b.w, "GET", PAGE), 200,
	             list_of("10", "", world_pod("b", "8", "", "")));
	cr_assert(watch_synced(b.watch) && has_pod("a") && has_pod("b"));
	next("/api/v1/pods?watch=1&resourceVersion=10&");
}

#define PART(n) "/api/v1/pods?limit=" n "&continue=t"

/* Objects of tenants may have a megabyte and more.  The next list is in usual pages. */
Test(watch, a_page_that_is_too_long_has_fewer_objects)
{
	world_too_long(second_page());
	world_too_long(next(PART("250")));
	world_too_long(next(PART("125")));
	world_answer(next(PART("62")), 200, list_of("10", "t", world_pod("b", "8", "", "")));
	world_answer(next(PART("62")), 200, list_of("10", "", world_pod("c", "8", "", "")));
	cr_assert(watch_synced(b.watch) && has_pod("a") && has_pod("b") && has_pod("c"));
	cr_assert_eq(watch_counts(b.watch)->relists, 0);
	watch_relist(b.watch, RELIST_LEADING);
	next("/api/v1/pods?limit=500");
}

/* One object is not bounded by the limit of pages: a text of 1.5 MB that JSON escapes has 9 MB. */
Test(watch, an_object_that_is_too_long_fails)
{
	struct http_call *c;

	begin(PODS);
	watch_limit_pages(b.watch, 1000);
	c = next("/api/v1/pods?limit=500");
	for (int n = 500; n > 1; n /= 2) {
		world_too_long(c);
		c = next("/api/v1/pods?limit=");
		cr_assert_eq(c->answer_bytes_max, n / 2 > 1 ? 1000 : 0);
	}
	world_too_long(c);
	cr_assert_str_neq(watch_error(b.watch), "");
}

Test(watch, a_page_that_always_fails_begins_the_list_anew)
{
	struct http_call *c = second_page();

	for (int i = 0; i < 10; i++) {
		cr_assert(strcmp(c->path, PAGE) == 0, "%d: %s", i, c->path);
		world_answer(c, 503, "busy");
		pass(60 * SECOND);
		c = world_take(&b.w, "GET", "/api/v1/pods?limit=500");
	}
	cr_assert_str_eq(c->path, "/api/v1/pods?limit=500");
}

/* It may be longer than an answer may be, or take longer: then pages are the only way. */
Test(watch, a_full_list_that_fails_is_no_habit)
{
	struct http_call *c = second_page();

	world_answer(c, 410, world_status(410, "Expired", "too old"));
	c = next("/api/v1/pods");
	cr_assert_str_eq(c->path, "/api/v1/pods");
	world_fail(c, HTTP_BROKEN);
	pass(SECOND);
	cr_assert_str_eq(world_take(&b.w, "GET", "/api/v1/pods")->path, "/api/v1/pods?limit=500");
}

/* The server works on the next page while this one is decoded. */
Test(watch, the_next_page_is_requested_before_the_first_is_decoded)
{
	struct http_call *c;

	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "t", world_pod("a", "9", "", "")));
	c = world_take(&b.w, "GET", PAGE);
	cr_assert(!has_pod("a"));
	watch_poll(b.watch);
	cr_assert(has_pod("a"));
	world_answer(c, 200, list_of("10", "", world_pod("b", "8", "", "")));
	cr_assert(watch_synced(b.watch) && has_pod("a") && has_pod("b"));
}

Test(watch, a_page_whose_items_are_broken_cancels_the_next_request)
{
	struct http_call *c;

	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "t", "{} {}"));
	c = world_take(&b.w, "GET", PAGE);
	watch_poll(b.watch);
	cr_assert(c->cancelled && !watch_synced(b.watch));
	cr_assert(world_said(&b.w, "the answer is no list"));
	wait_out(800);
	cr_assert_str_eq(world_take(&b.w, "GET", "/api/v1/pods")->path, "/api/v1/pods?limit=500");
}

Test(watch, one_that_ends_between_two_pages_leaks_nothing)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "t", world_pod("a", "9", "", "")));
}
