/* SPDX-License-Identifier: Apache-2.0 */
/* A collection kept equal to the API server's, through every way in which a list
 * or a watch ends. */
#include "frontend/watch/watch.h"

#include "frontend/model/groups/queues.h"
#include "tests/unit/support_world.h"

#define PODS RESOURCE_INDEX_PODS
#define GROUPS RESOURCE_INDEX_DIALECTS

static struct bench {
	struct world w;
	struct model *m;
	struct watch *watch;
} b;

static void end(void)
{
	watch_free(b.watch);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(watch, .fini = end);

static void begin(int index)
{
	if (b.m)
		end();
	world_init(&b.w);
	b.m = world_model();
	b.watch = watch_new(&b.w.env, b.m, index);
	watch_poll(b.watch);
}

/* Its number, which is the same in each model. */
static int world_resource(const char *api_version, const char *kind)
{
	struct model *m = world_model();
	int index = model_resource_index(m, api_version, kind);

	model_free(m);
	return index;
}

static const char *list_of(const char *version, const char *token, const char *items)
{
	static char text[16384];

	snprintf(text, sizeof(text),
	         "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"%s\",\"continue\":\"%s\"},"
	         "\"items\":[%s]}",
	         version, token, items);
	return text;
}

static char *event_of(const char *type, const char *object)
{
	static char text[8192];

	snprintf(text, sizeof(text), "{\"type\":\"%s\",\"object\":%s}\n", type, object);
	return text;
}

static bool has_pod(const char *name)
{
	struct pod_view v;

	return model_pod_by_name(b.m, "ns", name, &v);
}

static void pass(uint64_t ns)
{
	b.w.now_ns += ns;
	watch_poll(b.watch);
}

/* The request that a poll starts. */
static struct http_call *next(const char *path)
{
	watch_poll(b.watch);
	return world_take(&b.w, "GET", path);
}

/* List pods "a" at version 10 and start the watch. */
static struct http_call *watching(void)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods?limit=500"), 200,
	             list_of("10", "", world_pod("a", "9", "", "")));
	return next(
		"/api/v1/pods?watch=1&resourceVersion=10&allowWatchBookmarks=true&timeoutSeconds=90");
}

/* The wait that watch_poll() asks for, in ms. */
static unsigned wait_ms(void)
{
	uint64_t due = watch_poll(b.watch);

	cr_assert_eq(world_open(&b.w), 0, "a request before its time");
	cr_assert_neq(due, UINT64_MAX);
	return (unsigned)((due - b.w.now_ns) / MS);
}

/* The wait is so long, and over. */
static void wait_out(unsigned ms)
{
	cr_assert_eq(wait_ms(), ms);
	pass(ms * MS);
}

/* A connection broke: the server is asked for its version before the next watch. */
static void same_state(void)
{
	world_answer(next("/api/v1/pods?limit=1"), 200, list_of("99", "", ""));
	watch_poll(b.watch);
}

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
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 200,
	             list_of("10", "t", world_pod("a", "3", "", "")));
	world_answer(next("/api/v1/pods"), 410, world_status(410, "Expired", "too old"));
	c = next("/api/v1/pods");
	cr_assert_str_eq(c->path, "/api/v1/pods");
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
	size_t n = (4u << 20) + 100;
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

Test(watch, one_that_expires_later_is_no_refusal_at_start)
{
	struct http_call *c = watching();

	world_answer(c, 401, "");
	cr_assert_eq(b.w.renewals, 1);
	world_answer(next("/api/v1/pods?watch=1"), 401, "");
	cr_assert(!watch_refused_at_start(b.watch));
	cr_assert_eq(wait_ms(), 800);
}

Test(watch, forbidden_names_verb_and_resource)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 403,
	             world_status(403, "Forbidden", "no"));
	cr_assert(world_said(&b.w, "forbids to list pods (403)"));
	cr_assert(!watch_synced(b.watch));
	cr_assert(!watch_refused_at_start(b.watch));
	cr_assert_eq(wait_ms(), 800);
}

/* The PodGroup definition may be installed later. */
Test(watch, an_absent_custom_resource_is_empty_and_looked_for_again)
{
	begin(GROUPS);
	world_answer(world_take(&b.w, "GET", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500"),
	             404, "404 page not found");
	cr_assert(watch_synced(b.watch));
	cr_assert(watch_absent(b.watch));
	wait_out(30000);
	world_answer(world_take(&b.w, "GET", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups?limit=500"),
	             200, list_of("7", "", ""));
	cr_assert(!watch_absent(b.watch));
	next("/apis/scheduling.x-k8s.io/v1alpha1/podgroups?watch=1&resourceVersion=7");
}

#define VOLCANO_LIST "/apis/scheduling.volcano.sh/v1beta1/podgroups?limit=500"

static struct http_call *volcano_gone(void)
{
	begin(world_resource("scheduling.volcano.sh/v1beta1", "PodGroup"));
	world_answer(
		world_take(&b.w, "GET", VOLCANO_LIST), 200,
		list_of(
			"7", "",
			"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"5\"},"
			"\"spec\":{\"minMember\":2}}"));
	world_answer(next("/apis/scheduling.volcano.sh/v1beta1/podgroups?watch=1"), 410,
	             world_status(410, "Gone", "old"));
	return next(VOLCANO_LIST);
}

static bool waits_as_a_gang(void)
{
	struct pod_view v;

	world_put(
		b.m, PODS,
		"{\"metadata\":{\"name\":\"m\",\"namespace\":\"ns\",\"uid\":\"u-m\",\"resourceVersion\":\"6\","
		"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\"}},\"spec\":{\"schedulerName\":\"muster\","
		"\"containers\":[{\"name\":\"c\"}]}}");
	cr_assert(model_pod_by_name(b.m, "ns", "m", &v));
	return strcmp(v.gang, "g") == 0;
}

/* Without Volcano's groups a pod that names one is an ordinary one, and starts without the others.
 */
Test(watch, a_resource_that_was_there_is_missing_when_it_is_so_twice)
{
	struct http_call *c = volcano_gone();

	world_answer(c, 404, "404 page not found\n");
	cr_assert(!watch_absent(b.watch) && waits_as_a_gang());
	wait_out(5000);
	world_answer(world_take(&b.w, "GET", VOLCANO_LIST), 404,
	             world_status(404, "NotFound", "no such resource"));
	cr_assert(watch_absent(b.watch) && !waits_as_a_gang());
	cr_assert_eq(wait_ms(), 30000);
}

Test(watch, a_404_of_a_proxy_is_a_failure)
{
	struct http_call *c = volcano_gone();

	for (int i = 0; i < 3; i++) {
		world_answer(c, 404, "<html><h1>404 Not Found</h1></html>");
		cr_assert(!watch_absent(b.watch) && waits_as_a_gang());
		pass(60 * SECOND);
		c = world_take(&b.w, "GET", VOLCANO_LIST);
	}
	world_answer(c, 200, list_of("9", "", ""));
	next("/apis/scheduling.volcano.sh/v1beta1/podgroups?watch=1&resourceVersion=9&");
}

#define KAI_LIST "/apis/scheduling.run.ai/v2/queues?limit=500"
#define KAI_WATCH "/apis/scheduling.run.ai/v2/queues?watch=1"

/* --queues auto: the first list of the queues of KAI is due. */
static void begin_queues(void)
{
	static const char *const names[] = { "muster" };
	struct model_config config = {
		.scheduler_names = names, .scheduler_names_n = 1, .queues = MODEL_QUEUES_AUTO,
		.limits = {
			.nodes = 64, .pods = 256, .gangs = 64, .shapes = 64, .names = 64, .resources = 16,
			.name_bytes = 1u << 16, .command_ring_bytes = 1u << 16,
		},
	};

	world_init(&b.w);
	b.m = model_new(&config);
	b.watch = watch_new(&b.w.env, b.m, model_resource_index(b.m, "scheduling.run.ai/v2", "Queue"));
}

static void forbid_queues(struct http_call *c)
{
	world_answer(c, 403, world_status(403, "Forbidden", "queues is forbidden"));
}

/* Else gangs are decided without limits until they are looked for again. */
Test(watch, queues_that_are_forbidden_for_a_moment_at_a_start_are_waited_for)
{
	begin_queues();
	for (int i = 0; i < 4; i++) {
		forbid_queues(next(KAI_LIST));
		cr_assert(!watch_synced(b.watch) && !watch_absent(b.watch));
		cr_assert_leq(watch_poll(b.watch) - b.w.now_ns, 5 * SECOND);
		pass(5 * SECOND);
	}
	world_answer(next(KAI_LIST), 503, world_status(503, "ServiceUnavailable", "no"));
	cr_assert(!watch_synced(b.watch));
	pass(60 * SECOND);
	forbid_queues(next(KAI_LIST)); /* not for a minute without a break */
	cr_assert(!watch_synced(b.watch));
	pass(5 * SECOND);
	world_answer(next(KAI_LIST), 200, list_of("7", "", ""));
	cr_assert(watch_synced(b.watch) && !watch_absent(b.watch));
	next(KAI_WATCH);
}

Test(watch, queues_that_are_forbidden_for_long_at_a_start_are_gone_on_without)
{
	unsigned lists = 0;

	begin_queues();
	for (; !watch_synced(b.watch); lists++) {
		cr_assert_lt(lists, 7);
		pass(lists > 0 ? 5 * SECOND : 0);
		forbid_queues(world_take(&b.w, "GET", KAI_LIST));
	}
	cr_assert_eq(lists, 7);
	cr_assert(watch_absent(b.watch));
	cr_assert(world_said(&b.w, "forbids to list queues.scheduling.run.ai (403): --queues auto goes "
	                           "on without these queues (deploy/queues has the rights)"));
	wait_out(30000);
	world_answer(world_take(&b.w, "GET", KAI_LIST), 200, list_of("7", "", ""));
	cr_assert(!watch_absent(b.watch));
}

/* A page that was read is a break, too. */
Test(watch, queues_of_which_a_page_was_read_are_not_forbidden_for_long)
{
	begin_queues();
	forbid_queues(next(KAI_LIST));
	pass(25 * SECOND);
	world_answer(next(KAI_LIST), 200, list_of("7", "more", ""));
	pass(10 * SECOND);
	forbid_queues(next(KAI_LIST "&continue=more"));
	cr_assert(!watch_synced(b.watch) && !watch_absent(b.watch));
	pass(5 * SECOND);
	world_answer(next(KAI_LIST), 200, list_of("8", "", ""));
	cr_assert(watch_synced(b.watch) && !watch_absent(b.watch));
}

Test(watch, queues_that_were_listed_stay_when_they_are_forbidden)
{
	begin_queues();
	world_answer(next(KAI_LIST), 200,
	             list_of("7", "",
	                     "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":\"5\"},"
	                     "\"spec\":{\"resources\":{\"cpu\":{\"quota\":0,\"limit\":0}}}}"));
	world_answer(next(KAI_WATCH), 410, world_status(410, "Gone", "old"));
	for (int i = 0; i < 20; i++) {
		forbid_queues(next(KAI_LIST));
		pass(60 * SECOND);
		cr_assert(!watch_absent(b.watch));
	}
	queues_refresh(b.m);
	cr_assert(model_has_queues(b.m));
}

#define NATIVE_LIST(version) "/apis/scheduling.k8s.io/" version "/podgroups?limit=500"

/* What an API server of 1.36 serves, and one of 1.37 after it. */
Test(watch, a_resource_is_looked_for_in_its_older_versions)
{
	static const char *const paths[] = { NATIVE_LIST("v1"), NATIVE_LIST("v1beta1"),
		                                 NATIVE_LIST("v1alpha3") };
	struct http_call *c;

	begin(world_resource("scheduling.k8s.io/v1", "PodGroup"));
	for (int i = 0; i < 3; i++) {
		world_answer(world_take(&b.w, "GET", paths[i]), 404, "404 page not found");
		cr_assert(!watch_synced(b.watch));
		watch_poll(b.watch);
	}
	world_answer(world_take(&b.w, "GET", NATIVE_LIST("v1alpha2")), 200, list_of("10", "", ""));
	cr_assert(watch_synced(b.watch) && !watch_absent(b.watch));
	c = next("/apis/scheduling.k8s.io/v1alpha2/podgroups?watch=1&resourceVersion=10&");
	world_answer(c, 404, "404 page not found");
	pass(800 * MS);
	world_answer(world_take(&b.w, "GET", NATIVE_LIST("v1")), 404, "404 page not found");
	world_answer(next(NATIVE_LIST("v1beta1")), 200, list_of("12", "", ""));
	next("/apis/scheduling.k8s.io/v1beta1/podgroups?watch=1&resourceVersion=12&");
}

/* Others read and write its objects where the server has them, also while newer versions are tried.
 */
Test(watch, a_version_counts_once_it_is_served)
{
	static const char *const paths[] = { NATIVE_LIST("v1"), NATIVE_LIST("v1beta1"),
		                                 NATIVE_LIST("v1alpha3") };
	const int native = world_resource("scheduling.k8s.io/v1", "PodGroup");
	const struct resource *r;
	size_t n;

	begin(native);
	r = &model_resources(b.m, &n)[native];
	for (int i = 0; i < 3; i++) {
		world_answer(world_take(&b.w, "GET", paths[i]), 404, "404 page not found");
		watch_poll(b.watch);
	}
	world_answer(world_take(&b.w, "GET", NATIVE_LIST("v1alpha2")), 200, list_of("10", "", ""));
	cr_assert_str_eq(r->version, "v1alpha2");
	world_answer(next("/apis/scheduling.k8s.io/v1alpha2/podgroups?watch=1"), 410,
	             world_status(410, "Gone", "old"));
	world_answer(next(NATIVE_LIST("v1")), 404, "404 page not found");
	cr_assert_str_eq(r->version, "v1alpha2");
	world_answer(next(NATIVE_LIST("v1beta1")), 200, list_of("12", "t", ""));
	cr_assert_str_eq(r->version, "v1beta1");
}

Test(watch, a_resource_in_no_version_is_absent_and_looked_for_from_the_newest)
{
	static const char *const paths[] = { NATIVE_LIST("v1"), NATIVE_LIST("v1beta1"),
		                                 NATIVE_LIST("v1alpha3"), NATIVE_LIST("v1alpha2") };

	begin(world_resource("scheduling.k8s.io/v1", "PodGroup"));
	for (int i = 0; i < 4; i++) {
		world_answer(world_take(&b.w, "GET", paths[i]), 404, "404 page not found");
		if (i < 3)
			watch_poll(b.watch);
	}
	cr_assert(watch_synced(b.watch) && watch_absent(b.watch));
	wait_out(30000);
	world_take(&b.w, "GET", NATIVE_LIST("v1"));
}

Test(watch, absent_pods_are_a_failure)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 404, "404 page not found");
	cr_assert(!watch_synced(b.watch));
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
	world_text(c, event_of("ADDED", world_pod("b", "5", "", "")));
	world_text(c, event_of("ADDED", world_pod("a", "9", "", "")));
	cr_assert(!watch_synced(b.watch));
	return c;
}

/* What changes before the bookmark is a part of the list, what comes behind it is an event. */
Test(watch, a_list_comes_as_a_stream)
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
Test(watch, a_stream_replaces_what_was_known_at_its_end)
{
	struct http_call *c = streaming();

	world_text(c, INITIAL_END("12"));
	watch_relist(b.watch, RELIST_ROOM);
	c = next(STREAM);
	world_text(c, event_of("ADDED", world_pod("b", "5", "", "")));
	cr_assert(has_pod("a"));
	world_text(c, INITIAL_END("14"));
	cr_assert(has_pod("b") && !has_pod("a"));
}

Test(watch, a_server_that_refuses_streams_is_asked_for_pages)
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
		watch_relist(b.watch, RELIST_ROOM);
		next("/api/v1/pods?limit=500");
	}
}

/* kube-apiserver 1.36 over etcd 3.4. */
Test(watch, a_stream_that_begins_with_an_error_means_pages)
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
	watch_relist(b.watch, RELIST_ROOM);
	next("/api/v1/pods?limit=500");
}

/* An old server takes it for a watch without a version, which has no end. */
Test(watch, a_bookmark_that_ends_no_list_means_pages)
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
Test(watch, a_stream_that_breaks_is_no_list)
{
	struct http_call *c = streaming();

	world_fail(c, HTTP_BROKEN);
	cr_assert(!watch_synced(b.watch));
	pass(60 * SECOND);
	world_answer(next("/api/v1/pods?limit=500"), 200,
	             list_of("12", "", world_pod("a", "9", "", "")));
	cr_assert(has_pod("a") && !has_pod("b"));
	watch_relist(b.watch, RELIST_ROOM);
	next(STREAM);
}

Test(watch, a_silent_stream_is_no_list)
{
	struct http_call *c = streaming();

	pass(61 * SECOND);
	cr_assert(c->cancelled);
	pass(60 * SECOND);
	next("/api/v1/pods?limit=500");
}

Test(watch, a_stream_of_an_older_state_ends_it)
{
	struct http_call *c = streaming();

	world_text(c, INITIAL_END("12"));
	watch_relist(b.watch, RELIST_ROOM);
	c = next(STREAM);
	world_piece(c, 200, INITIAL_END("3"), strlen(INITIAL_END("3")));
	cr_assert(watch_went_back(b.watch));
}
