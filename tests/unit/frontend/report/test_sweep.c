/* SPDX-License-Identifier: Apache-2.0 */
/* What is reported converges: statuses, conditions and Events that were not written are written
 * once they can be, and an Event that the gap between two held back follows. */
#include "frontend/report/report.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define QUEUE_MAX 8

struct bench {
	struct world w;
	struct model *m;
	struct report *r;
	/* The server: */
	int refuses[2];     /* the status of an answer about events and about anything else; 0: none */
	const char *why;    /* its message */
	bool keeps_nothing; /* writes of statuses are accepted and ignored */
	unsigned version;
	unsigned asked[2], statuses, scheduled, placed, failed;
	char last[4096]; /* body of the last request that was accepted */
	char refused_name[300];
};

static struct bench b;

static void begin(void)
{
	struct report_config config = {
		.env = &b.w.env,
		.per_second = 1000,
		.queue_max = QUEUE_MAX,
		.delay_ns = SECOND,
		.instance = "i",
	};

	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model();
	b.version = 100;
	config.model = b.m;
	b.r = report_new(&config);
	report_lists_in(b.r);
}

static void end(void)
{
	report_free(b.r);
	model_free(b.m);
	world_free(&b.w);
}

TestSuite(report_sweep, .init = begin, .fini = end);

static void group(const char *name, const char *status)
{
	char text[2048];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%u\"},"
		"\"spec\":{\"minMember\":1},\"status\":%s}",
		name, name, b.version++, status);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, text);
}

static struct pod_view pod_of(const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", name, &v));
	return v;
}

/* A pod of the group, which has a node or waits. */
static void member(const char *name, const char *of, bool bound)
{
	char version[16];

	snprintf(version, sizeof(version), "%u", b.version++);
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_member(name, version, of, bound ? "\"nodeName\":\"n1\"" : ""));
}

static void lone(const char *name)
{
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod(name, "5", "", ""));
}

static void becomes(const char *pod, enum gang_state state)
{
	struct cmd_gang cmd = {
		.gang = pod_of(pod).gang_id, .state = state, .members = 1, .bound = 1, .quorum = 1
	};

	cmd.generation = model_gang_generation(b.m, cmd.gang);
	report_gang(b.r, &cmd);
}

static void reason(const char *pod, uint32_t nodes)
{
	struct pod_view v = pod_of(pod);
	struct cmd_reason cmd = { .gang = ID_NONE,
		                      .pod = v.id,
		                      .pod_generation = v.generation,
		                      .reason = { .why = WAIT_ROOM, .nodes = nodes, .need = 1 } };

	cmd.reason.counts_n = 1;
	cmd.reason.counts[0] = (struct filter_count){ .why = FILTER_CORDONED, .nodes = nodes };
	report_reason(b.r, &cmd);
}

static void bound(const char *pod)
{
	struct bind_notice n = {
		.namespace = "ns", .name = pod, .uid = "u", .node = "n1", .scheduler = "muster"
	};

	report_bind(b.r, &n);
}

/* The watch shows what was written. */
static void show(const struct http_call *c)
{
	const char *status = strstr(c->body, "\"status\":{"), *at = strstr(c->path, "/podgroups/");
	char name[64], text[2048];

	if (!status || b.keeps_nothing)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)strlen(status) - 10, status + 9);
	if (at) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 11, "/"), at + 11);
		group(name, text);
		b.statuses++;
		return;
	}
	snprintf(name, sizeof(name), "%u", b.version++);
	at = strstr(c->path, "/pods/") + 6;
	text[strlen(text) - 1] = '\0';
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod((char[]){ *at, 0 }, name, "", text + 1));
}

static void serve(struct http_call *c)
{
	bool event = strstr(c->path, "/events") != NULL;
	int status = b.refuses[!event];

	c->taken = true;
	b.asked[!event]++;
	if (status) {
		snprintf(b.refused_name, sizeof(b.refused_name), "%.200s",
		         event ? strstr(c->body, "\"metadata\"") : "");
		world_answer(c, status, world_status(status, "Forbidden", b.why ? b.why : "no right"));
		return;
	}
	b.scheduled += strstr(c->body, "\"reason\":\"Scheduled\"") != NULL;
	b.placed += strstr(c->body, "\"reason\":\"GangPlaced\"") != NULL;
	b.failed += strstr(c->body, "\"reason\":\"FailedScheduling\"") != NULL;
	snprintf(b.last, sizeof(b.last), "%s", c->body);
	show(c);
	world_answer(c, 200, "{}");
}

/* The time goes on, and each request is answered. */
static void run(unsigned seconds)
{
	const uint64_t until = b.w.now_ns + seconds * SECOND;
	uint64_t next;

	while (b.w.now_ns < until) {
		next = report_poll(b.r, false);
		for (struct http_call *c = b.w.calls; c; c = c->next)
			if (c->open)
				serve(c);
		if (world_open(&b.w) == 0 && next > b.w.now_ns + 100 * MS)
			next = b.w.now_ns + 100 * MS;
		b.w.now_ns = next > b.w.now_ns ? next : b.w.now_ns + MS;
	}
}

/* Nothing of the gang changes any more; the right comes back after 45 s. */
Test(report_sweep, a_placed_gang_is_reported_after_an_outage_of_rights)
{
	group("g", "{}");
	member("a", "g", false);
	becomes("a", GANG_BINDING);
	b.refuses[0] = b.refuses[1] = 403;
	member("a", "g", true);
	bound("a");
	becomes("a", GANG_PLACED);
	run(45);
	cr_assert_eq(b.statuses + b.scheduled + b.placed, 0);
	b.refuses[0] = b.refuses[1] = 0;
	run(70);
	cr_assert_eq(b.statuses, 1, "%u", b.statuses);
	cr_assert_eq(b.scheduled, 1, "%u", b.scheduled);
	cr_assert_eq(b.placed, 1, "%u", b.placed);
	cr_assert_eq(report_counts(b.r)->dropped, 0);
	cr_assert_gt(report_counts(b.r)->deferred, 0);
	memset(b.asked, 0, sizeof(b.asked));
	run(120);
	cr_assert_eq(b.asked[0] + b.asked[1], 0, "all is written");
}

/* As long as the right is missing one of many groups asks for it. */
Test(report_sweep, one_group_asks_for_the_right_that_all_lack)
{
	b.refuses[1] = 403;
	for (const char *name = "abcdefgh"; *name; name++) {
		group((char[]){ *name, 0 }, "{}");
		member((char[]){ 'p', *name, 0 }, (char[]){ *name, 0 }, true);
	}
	run(29);
	memset(b.asked, 0, sizeof(b.asked));
	run(300);
	cr_assert_leq(b.asked[1], 11, "%u", b.asked[1]);
	cr_assert_geq(b.asked[1], 9, "%u", b.asked[1]);
	b.refuses[1] = 0;
	run(62);
	cr_assert_eq(b.statuses, 8, "%u", b.statuses);
}

Test(report_sweep, what_the_server_does_not_keep_is_not_written_by_each_sweep)
{
	b.keeps_nothing = true;
	group("g", "{}");
	member("a", "g", true);
	run(200);
	cr_assert_eq(b.asked[1], 1, "%u", b.asked[1]);
}

Test(report_sweep, an_invalid_status_is_written_once_for_each_version)
{
	b.refuses[1] = 422;
	group("g", "{}");
	member("a", "g", true);
	run(100);
	cr_assert_eq(b.asked[1], 1, "%u", b.asked[1]);
	cr_assert_eq(report_counts(b.r)->dropped, 1);
	group("g", "{\"failed\":3}");
	run(100);
	cr_assert_eq(b.asked[1], 2, "%u", b.asked[1]);
}

/* What a gang lacks changes within seconds of the first Event, and then no more. */
Test(report_sweep, the_event_that_the_gap_held_back_follows)
{
	lone("a");
	reason("a", 1);
	run(3);
	cr_assert_eq(b.failed, 1);
	reason("a", 2);
	run(2);
	reason("a", 3);
	run(3);
	cr_assert_eq(b.failed, 1, "one in 10 s");
	run(4);
	cr_assert_eq(b.failed, 2, "%u", b.failed);
	cr_assert(strstr(b.last, "0/3 nodes are available"), "%s", b.last);
	run(100);
	cr_assert_eq(b.failed, 2, "%u", b.failed);
}

Test(report_sweep, no_event_follows_if_the_text_is_the_old_one_or_the_pod_is_bound)
{
	lone("a");
	lone("b");
	reason("a", 1);
	reason("b", 1);
	run(2);
	cr_assert_eq(b.failed, 2);
	reason("a", 2);
	reason("b", 2);
	run(2);
	reason("a", 1);
	run(2);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("b", "900", "\"nodeName\":\"n1\"", ""));
	run(60);
	cr_assert_eq(b.failed, 2, "%u", b.failed);
}

Test(report_sweep, a_pods_event_is_written_once_it_may_be)
{
	lone("a");
	b.refuses[0] = 403;
	reason("a", 1);
	run(100);
	cr_assert_eq(b.failed, 0);
	cr_assert_leq(b.asked[0], 8, "%u", b.asked[0]);
	b.refuses[0] = 0;
	run(31);
	cr_assert_eq(b.failed, 1);
}

/* The same object each time, of the time of the binding: the answer to one that was written may
 * have been lost. */
Test(report_sweep, the_event_of_a_binding_is_retried_under_one_name)
{
	char name[300];

	bound("a");
	b.refuses[0] = 403;
	run(20);
	snprintf(name, sizeof(name), "%s", b.refused_name);
	cr_assert(*name);
	run(30);
	cr_assert_str_eq(b.refused_name, name);
	b.refuses[0] = 409;
	run(31);
	cr_assert_eq(report_queued(b.r), 0);
	cr_assert_eq(report_counts(b.r)->dropped, 0);
	cr_assert_eq(report_counts(b.r)->events, 1);
}

Test(report_sweep, an_event_that_is_an_hour_late_is_dropped)
{
	group("g", "{}");
	member("p", "g", false);
	becomes("p", GANG_BINDING);
	member("p", "g", true);
	becomes("p", GANG_PLACED);
	bound("p");
	b.refuses[0] = 403;
	run(3500);
	cr_assert_eq(report_counts(b.r)->dropped, 0);
	run(200);
	cr_assert_eq(report_counts(b.r)->dropped, 2, "%lu", report_counts(b.r)->dropped);
	cr_assert(world_said(&b.w, "the event of a binding could not be written for an hour"));
	cr_assert_eq(report_queued(b.r), 0);
}

Test(report_sweep, so_many_events_are_kept)
{
	b.refuses[0] = 403;
	for (int i = 0; i < 3 * QUEUE_MAX; i++) {
		bound("a");
		run(1);
	}
	run(60);
	cr_assert_leq(report_queued(b.r), QUEUE_MAX);
	cr_assert_eq(report_counts(b.r)->dropped, 2 * QUEUE_MAX);
	cr_assert(world_said(&b.w, "too many events of bindings could not be written"));
	b.refuses[0] = 0;
	run(100);
	cr_assert_eq(b.scheduled, QUEUE_MAX, "%u", b.scheduled);
}

/* The next right that is missed does not wait for that namespace. */
Test(report_sweep, no_event_is_kept_for_a_namespace_that_ends)
{
	lone("a");
	b.refuses[0] = 403;
	b.why =
		"events.events.k8s.io \\\"a\\\" is forbidden: unable to create new content in namespace "
		"ns because it is being terminated";
	reason("a", 1);
	bound("b");
	run(120);
	cr_assert_eq(b.asked[0], 2, "each once: %u", b.asked[0]);
	cr_assert_eq(report_counts(b.r)->terminating, 2);
	cr_assert_eq(report_counts(b.r)->deferred, 0);
	cr_assert_eq(report_counts(b.r)->dropped, 0);
	cr_assert_not(world_said(&b.w, "can't write"));
}
