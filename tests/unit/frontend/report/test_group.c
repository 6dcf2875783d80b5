/* SPDX-License-Identifier: Apache-2.0 */
/* The status of groups' objects and their Events: written once for each change, and
 * what happens when the server does not take it. */
#include "frontend/report/report.h"

#include "frontend/dialect/dialects.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define PATH "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g/status"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"

static struct bench {
	struct world w;
	struct model *m;
	struct report *r;
	gang_id gang;
	uint32_t generation;
} b;

static void end(void)
{
	report_free(b.r);
	model_free(b.m);
	world_free(&b.w);
}

static void begin_with(unsigned per_second)
{
	struct report_config config = {
		.env = &b.w.env,
		.per_second = per_second,
		.queue_max = 64,
		.delay_ns = SECOND,
		.instance = "i",
	};

	if (b.r)
		end();
	memset(&b, 0, sizeof(b));
	world_init(&b.w);
	b.m = world_model();
	config.model = b.m;
	b.r = report_new(&config);
	report_lists_in(b.r);
}

static void begin(void)
{
	begin_with(100);
}

TestSuite(report_group, .init = begin, .fini = end);

/* The object as the watch shows it. */
static void group_named(const char *name, const char *version, unsigned quorum, const char *status)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u\","
	         "\"resourceVersion\":\"%s\"},\"spec\":{\"minMember\":%u},\"status\":{%s}}",
	         name, version, quorum, status);
	world_put(b.m, RESOURCE_INDEX_DIALECTS, text);
}

static void group(const char *version, unsigned quorum, const char *status)
{
	group_named("g", version, quorum, status);
}

static void member(const char *name, const char *version, const char *spec)
{
	struct pod_view v;
	struct gang_view g;

	world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, version, "g", spec));
	cr_assert(model_pod_by_name(b.m, "ns", name, &v));
	b.gang = v.gang_id;
	for (b.generation = 1; !model_gang(b.m, b.gang, b.generation, &g); b.generation++)
		cr_assert_lt(b.generation, 10);
}

static void waits(uint32_t why, uint32_t members)
{
	struct cmd_reason cmd = {
		.gang = b.gang,
		.gang_generation = b.generation,
		.pod = ID_NONE,
		.reason = { .why = why, .quorum = 3, .members = members, .need = 3, .nodes = 2 }
	};

	report_reason(b.r, &cmd);
}

static void becomes(enum gang_state state)
{
	struct cmd_gang cmd = { .gang = b.gang,
		                    .generation = b.generation,
		                    .state = state,
		                    .members = 3,
		                    .bound = 3,
		                    .quorum = 3 };

	report_gang(b.r, &cmd);
}

static struct http_call *next(const char *method, const char *path)
{
	report_poll(b.r, false);
	b.w.now_ns += 1100 * MS;
	report_poll(b.r, false);
	return world_take(&b.w, method, path);
}

static void quiet(void)
{
	unsigned open = world_open(&b.w);

	for (int i = 0; i < 3; i++) {
		report_poll(b.r, false);
		b.w.now_ns += 1100 * MS;
	}
	report_poll(b.r, false);
	cr_assert_eq(world_open(&b.w), open);
}

static void has(const struct http_call *c, const char *part)
{
	cr_assert(strstr(c->body, part), "no %s in %s", part, c->body);
}

Test(report_group, a_status_is_a_merge_patch_with_the_version_it_was_made_for)
{
	struct http_call *c;

	group("7", 3, "");
	cr_assert_eq(report_poll(b.r, false), b.w.now_ns + SECOND, "not before it stood for a second");
	c = next("PATCH", PATH);
	cr_assert_str_eq(c->type, "application/merge-patch+json");
	cr_assert_eq(c->lane, HTTP_REPORT);
	cr_assert_str_eq(
		c->body, "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"phase\":\"Pending\"}}");
	world_answer(c, 200, "{}");
	quiet();
	cr_assert_eq(report_counts(b.r)->statuses, 1);
}

Test(report_group, what_the_object_says_already_is_not_written)
{
	group("7", 3, "\"phase\":\"Pending\"");
	quiet();
	group("8", 4, "\"phase\":\"Failed\",\"failed\":4");
	member("a", "9", "");
	quiet();
	group("10", 3, "\"phase\":[]");
	quiet();
}

/* Many changes within a second are one write, and one that comes while it is on its way
 * waits until the watch has shown it. */
Test(report_group, changes_are_written_together)
{
	struct http_call *c;

	group("7", 3, "");
	for (const char *name = "abc"; *name; name++)
		member((char[]){ *name, 0 }, "8", "");
	c = next("PATCH", PATH);
	has(c, "\"status\":{\"phase\":\"Scheduling\"}");
	cr_assert_eq(world_open(&b.w), 1);
	for (const char *name = "abc"; *name; name++)
		world_put(b.m, RESOURCE_INDEX_PODS,
		          world_member((char[]){ *name, 0 }, "11", "g", "\"nodeName\":\"n1\""));
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_PODS, world_member("c", "12", "g", ""),
	                          strlen(world_member("c", "12", "g", "")), NULL),
	             0);
	quiet();
	world_answer(c, 200, "{}");
	quiet();
	group("10", 3, "\"phase\":\"Scheduling\"");
	c = next("PATCH", PATH);
	has(c, "{\"resourceVersion\":\"10\"},\"status\":{\"phase\":\"Pending\"}");
}

/* A server that drops a field of the status is not asked again and again. */
Test(report_group, what_the_server_does_not_keep_is_written_once)
{
	group("7", 3, "");
	world_answer(next("PATCH", PATH), 200, "{}");
	for (int i = 0; i < 5; i++) {
		member("a", (char[]){ '8', (char)('0' + i), 0 }, i % 2 ? "\"priority\":1" : "");
		quiet();
	}
	cr_assert_eq(b.w.calls_n, 1);
}

Test(report_group, somebody_else_wrote_it_first)
{
	struct http_call *c;

	group("7", 3, "");
	world_answer(next("PATCH", PATH), 409,
	             world_status(409, "Conflict", "the object has been modified"));
	group("8", 3, "\"occupiedBy\":\"x\"");
	c = next("PATCH", PATH);
	has(c, "{\"resourceVersion\":\"8\"},\"status\":{\"phase\":\"Pending\"}");
	world_answer(c, 200, "{}");
	quiet();
}

Test(report_group, a_server_that_fails_is_asked_again)
{
	struct http_call *c;

	group("7", 3, "");
	world_answer(next("PATCH", PATH), 500, "{}");
	b.w.now_ns += 60 * SECOND;
	c = next("PATCH", PATH);
	world_answer(c, 200, "{}");
	quiet();
	cr_assert_eq(report_counts(b.r)->statuses, 1);
}

Test(report_group, a_right_that_is_missing_is_told_and_no_more_is_asked)
{
	group("7", 3, "");
	for (int i = 0; i < 4; i++) {
		b.w.now_ns += 5 * SECOND;
		world_answer(next("PATCH", PATH), 403,
		             world_status(403, "Forbidden", "no podgroups/status"));
	}
	quiet();
	cr_assert(world_said(&b.w, "status of a group (patch podgroups/status, or podgroups)"), "%s",
	          b.w.log);
	cr_assert_eq(report_counts(b.r)->deferred, 1);
}

Test(report_group, a_group_that_is_gone_is_dropped)
{
	struct http_call *c;

	group("7", 3, "");
	c = next("PATCH", PATH);
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "9", 3),
	                          strlen(world_group("g", "9", 3)), NULL),
	             0);
	world_answer(c, 404, world_status(404, "NotFound", "there is no such group"));
	quiet();
	cr_assert_eq(report_queued(b.r), 0);
	cr_assert_str_eq(b.w.log, "");
}

/* Answers all requests for so long; the text of the last condition of a pod, "" without any. */
static const char *told(unsigned seconds)
{
	static char last[4096];
	const uint64_t until = b.w.now_ns + seconds * SECOND;

	last[0] = '\0';
	while (b.w.now_ns < until) {
		report_poll(b.r, false);
		for (struct http_call *c = b.w.calls; c; c = c->next) {
			if (!c->open)
				continue;
			c->taken = true;
			if (strstr(c->path, "/pods/"))
				snprintf(last, sizeof(last), "%s", c->body);
			world_answer(c, 200, "{}");
		}
		b.w.now_ns += 100 * MS;
	}
	return last;
}

/* A controller that starts pods in an order creates no more of them. */
Test(report_group, what_holds_members_back_is_named_after_a_while)
{
	const char *text;

	group("7", 3, "");
	member("a", "8", "");
	waits(WAIT_MEMBERS, 1);
	text = told(25);
	cr_assert(strstr(text, "gang ns/g: 1 of 3 members are there."), "%s", text);
	cr_assert_null(strstr(text, "startupPolicy"), "%s", text);
	/* One more: it is counted from there. */
	member("b", "9", "");
	waits(WAIT_MEMBERS, 2);
	text = told(25);
	cr_assert(strstr(text, "2 of 3 members are there."), "%s", text);
	cr_assert_null(strstr(text, "startupPolicy"), "%s", text);
	waits(WAIT_MEMBERS, 2);
	text = told(10);
	cr_assert(strstr(text, "2 of 3 members are there. None has come for 30 s: controllers"), "%s",
	          text);
	cr_assert(strstr(text, "JobSet with startupPolicy InOrder"), "%s", text);
	/* No more when the reason is another one. */
	waits(WAIT_ROOM, 3);
	text = told(40);
	cr_assert(*text && !strstr(text, "startupPolicy"), "%s", text);
}

#define API "/apis/scheduling.x-k8s.io/v1alpha1"
#define OBJECT API "/namespaces/ns/podgroups/g"

static const char *resources(const char *more)
{
	static char text[512];

	snprintf(text, sizeof(text),
	         "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"resources\":["
	         "{\"name\":\"podgroups\",\"kind\":\"PodGroup\"}%s]}",
	         more);
	return text;
}

/* The CRD of Volcano has none. */
Test(report_group, a_status_without_a_subresource_is_written_to_the_object)
{
	struct http_call *c;

	group("7", 3, "");
	world_answer(next("PATCH", PATH), 404, world_status(404, "NotFound", "no such resource"));
	world_answer(next("GET", API), 200, resources(""));
	c = next("PATCH", OBJECT);
	has(c, "{\"resourceVersion\":\"7\"},\"status\":{\"phase\":\"Pending\"}");
	world_answer(c, 200, "{}");
	cr_assert_eq(report_counts(b.r)->statuses, 1);
	cr_assert(world_said(&b.w, "no status subresource"), "%s", b.w.log);
	/* It is known now, for all groups; after some minutes it is asked again. */
	group("8", 3, "");
	world_answer(next("PATCH", OBJECT), 200, "{}");
	quiet();
	b.w.now_ns += 600 * SECOND;
	group("9", 3, "");
	world_answer(next("GET", API), 200, resources(",{\"name\":\"podgroups/status\"}"));
	world_answer(next("PATCH", PATH), 200, "{}");
	quiet();
}

/* Groups that are written side by side: discovery answers one before the other's 404 is in. */
Test(report_group, a_status_in_flight_while_discovery_answers_is_written_to_the_object)
{
	struct http_call *first, *second;

	group("7", 3, "");
	group_named("h", "8", 3, "");
	first = next("PATCH", PATH);
	second = next("PATCH", API "/namespaces/ns/podgroups/h/status");
	world_answer(first, 404, world_status(404, "NotFound", "no such resource"));
	world_answer(next("GET", API), 200, resources(""));
	world_answer(next("PATCH", OBJECT), 200, "{}");
	world_answer(second, 404, world_status(404, "NotFound", "no such resource"));
	world_answer(next("PATCH", API "/namespaces/ns/podgroups/h"), 200, "{}");
	cr_assert_eq(report_counts(b.r)->statuses, 2);
	quiet();
}

/* A server that says of a group that it is gone, and of the resource that it has a status. */
Test(report_group, a_status_that_is_not_found_is_given_up_once_discovery_has_it)
{
	group("7", 3, "");
	world_answer(next("PATCH", PATH), 404, world_status(404, "NotFound", "there is no such group"));
	world_answer(next("GET", API), 200, "{\"kind\":\"Status\"}");
	world_answer(next("PATCH", PATH), 404, world_status(404, "NotFound", "there is no such group"));
	quiet();
	cr_assert(world_said(&b.w, "group ns/g: HTTP 404"), "%s", b.w.log);
	b.w.now_ns += 600 * SECOND;
	group("8", 3, "");
	world_answer(next("PATCH", PATH), 404, world_status(404, "NotFound", "there is no such group"));
	world_answer(next("GET", API), 200, resources(",{\"name\":\"podgroups/status\"}"));
	world_answer(next("PATCH", PATH), 200, "{}");
	quiet();
}

/* The list of pods may come after that of groups: nobody is told that there are none. */
Test(report_group, nothing_is_written_before_all_lists_are_in)
{
	report_free(b.r);
	b.r = report_new(&(struct report_config){
		.env = &b.w.env,
		.model = b.m,
		.per_second = 100,
		.queue_max = 10,
		.delay_ns = SECOND,
		.instance = "i",
	});
	group("7", 1, "\"phase\":\"Running\",\"running\":1");
	quiet();
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("x", "8", "", ""));
	report_lists_in(b.r);
	has(next("PATCH", PATH), "\"status\":{\"phase\":\"Pending\",\"running\":0}");
}

Test(report_group, an_event_when_it_comes_to_wait_and_one_when_it_is_placed)
{
	struct http_call *c;

	group("7", 3, "\"phase\":\"Pending\"");
	member("a", "8", "\"schedulingGates\":[{\"name\":\"x\"}]"); /* nothing is said about it */
	becomes(GANG_INCOMPLETE);
	waits(WAIT_MEMBERS, 1);
	waits(WAIT_MEMBERS, 2);
	c = next("POST", EVENTS);
	has(c, "\"type\":\"Warning\",\"reason\":\"GangWaiting\",\"action\":\"Scheduling\"");
	has(c, "gang ns/g: 2 of 3 members are there.");
	has(c, "\"reportingController\":\"muster\"");
	has(c,
	    "\"regarding\":{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"namespace\":\"ns\","
	    "\"name\":\"g\",\"uid\":\"u\"}");
	world_answer(c, 201, "{}");
	becomes(GANG_WAITING);
	waits(WAIT_ROOM, 3);
	quiet();
	b.w.now_ns += 10 * SECOND;
	c = next("POST", EVENTS);
	has(c,
	    "\"reason\":\"GangWaiting\",\"action\":\"Scheduling\",\"note\":\"0/2 nodes are available.");
	world_answer(c, 201, "{}");
	becomes(GANG_BINDING);
	becomes(GANG_PLACED);
	c = next("POST", EVENTS);
	has(c,
	    "\"type\":\"Normal\",\"reason\":\"GangPlaced\",\"action\":\"Binding\",\"note\":\"gang ns/g: 3 of 3 members are bound, "
	    "its quorum is 3.\"");
	world_answer(c, 201, "{}");
	becomes(GANG_PLACED);
	quiet();
}

/* The Event of an incomplete gang, and its body up to its name. */
static struct http_call *first_event(char *head, size_t head_bytes)
{
	struct http_call *c;

	group("7", 3, "\"phase\":\"Pending\"");
	member("a", "8", "\"schedulingGates\":[{\"name\":\"x\"}]");
	becomes(GANG_INCOMPLETE);
	waits(WAIT_MEMBERS, 1);
	c = next("POST", EVENTS);
	has(c, "gang ns/g: 1 of 3 members are there.");
	snprintf(head, head_bytes, "%.*s", (int)strcspn(c->body + 55, ",") + 55, c->body);
	return c;
}

/* kubectl describe shows Events alone: the first numbers would stay there for good. */
Test(report_group, an_event_when_the_numbers_of_its_reason_change)
{
	char name[300];
	struct http_call *c = first_event(name, sizeof(name));

	world_answer(c, 201, "{}");
	waits(WAIT_MEMBERS, 2);
	quiet();
	waits(WAIT_MEMBERS, 1);
	b.w.now_ns += 10 * SECOND;
	quiet();
	waits(WAIT_MEMBERS, 2);
	c = next("POST", EVENTS);
	has(c, "gang ns/g: 2 of 3 members are there.");
	cr_assert_neq(strncmp(c->body, name, strlen(name)), 0, "the name of the first: %s", c->body);
	world_answer(c, 500, "{}");
	waits(WAIT_MEMBERS, 1);
	b.w.now_ns += 15 * SECOND;
	quiet();
	cr_assert_eq(report_counts(b.r)->events, 1, "the last one that was written has that text");
}

/* The name of the first attempt with another text would be a conflict if that one was written. */
Test(report_group, an_event_with_a_new_text_has_a_new_name_after_one_that_was_deferred)
{
	char name[300];
	struct http_call *c = first_event(name, sizeof(name));

	world_answer(c, 405, "{}");
	cr_assert_eq(report_counts(b.r)->deferred, 1);
	waits(WAIT_MEMBERS, 1);
	c = next("POST", EVENTS);
	cr_assert_eq(strncmp(c->body, name, strlen(name)), 0, "%s: %s", name, c->body);
	world_answer(c, 405, "{}");
	waits(WAIT_MEMBERS, 2);
	c = next("POST", EVENTS);
	has(c, "gang ns/g: 2 of 3 members are there.");
	cr_assert_neq(strncmp(c->body, name, strlen(name)), 0, "the name of the first: %s", c->body);
	world_answer(c, 201, "{}");
	quiet();
}

/* After a restart of either process every gang that runs is told to be placed. */
Test(report_group, that_a_gang_still_runs_is_no_news)
{
	group("7", 3, "\"phase\":\"Pending\"");
	member("a", "8", "\"nodeName\":\"n1\"");
	becomes(GANG_INCOMPLETE);
	becomes(GANG_PLACED);
	quiet();
}

static int configmaps(void)
{
	int resource = model_resource_index(b.m, "v1", "ConfigMap");

	cr_assert(resource >= 0);
	return resource;
}

/* The pod in the ConfigMap's group, with that status. */
static void put_pod(unsigned version, const char *status)
{
	char text[4096];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"ua\",\"resourceVersion\":\"%u\","
		"\"labels\":{\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"c\"}},\"spec\":{\"schedulerName\":\"muster\","
		"\"containers\":[{\"name\":\"c\"}]},\"status\":%s}",
		version, status);
	world_put(b.m, RESOURCE_INDEX_PODS, text);
}

/* The server takes the condition, and the watch shows it. */
static void taken(struct http_call *c, unsigned version)
{
	const char *status = strstr(c->body, "\"status\":{");
	char text[2048];

	cr_assert(status);
	status += strlen("\"status\":");
	snprintf(text, sizeof(text), "%.*s", (int)strlen(status) - 1, status);
	put_pod(version, text);
	world_answer(c, 200, "{}");
}

static void configmap_and_pod(void)
{
	struct gang_view g;
	struct pod_view v;

	world_put(
		b.m, configmaps(),
		"{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
		"\"data\":{\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"90\"}}");
	put_pod(2, "{}");
	cr_assert(model_pod_by_name(b.m, "ns", "a", &v));
	b.gang = v.gang_id;
	for (b.generation = 1; !model_gang(b.m, b.gang, b.generation, &g); b.generation++)
		cr_assert_lt(b.generation, 10);
}

#define POD_STATUS "/api/v1/namespaces/ns/pods/a/status"
#define TIMED_OUT                                                                                  \
	"rejected due to timeout after waiting 1m30s at plugin sample: gang ns/c could not be completed. gang ns/c: 2 of 3 "

Test(report_group, members_hear_that_the_timeout_has_passed)
{
	struct http_call *c;

	configmap_and_pod();
	waits(WAIT_MEMBERS, 2);
	c = next("PATCH", POD_STATUS);
	has(c, "\"reason\":\"Unschedulable\",\"message\":\"gang ns/c: 2 of 3 members are there.\"");
	taken(c, 3);
	world_answer(next("POST", EVENTS), 201, "{}");
	b.w.now_ns += 80 * SECOND;
	quiet();
	b.w.now_ns += 10 * SECOND;
	c = next("PATCH", POD_STATUS);
	has(c, TIMED_OUT);
	taken(c, 4);
	c = next("POST", EVENTS);
	has(c, TIMED_OUT);
	world_answer(c, 201, "{}");
	/* Once; and in front of what is said from then on. */
	b.w.now_ns += 200 * SECOND;
	quiet();
	waits(WAIT_ROOM, 3);
	has(next("PATCH", POD_STATUS), "rejected due to timeout after waiting 1m30s");
}

Test(report_group, a_gang_that_was_placed_waits_anew)
{
	struct http_call *c;

	configmap_and_pod();
	waits(WAIT_MEMBERS, 2);
	taken(next("PATCH", POD_STATUS), 3);
	world_answer(next("POST", EVENTS), 201, "{}");
	becomes(GANG_PLACED);
	b.w.now_ns += 200 * SECOND;
	quiet();
	waits(WAIT_MEMBERS, 1);
	c = next("PATCH", POD_STATUS);
	has(c, "\"message\":\"gang ns/c: 1 of 3 members are there.\"");
}

/* As its users know it: an error of a plugin, and no matter of time. */
Test(report_group, a_configmap_that_is_not_there)
{
	configmap_and_pod();
	waits(WAIT_GROUP_MISSING, 1);
	has(next("PATCH", POD_STATUS),
	    "\"reason\":\"SchedulerError\",\"message\":\"running Permit plugin \\\"sample\\\": podgroup "
	    "configmap not found, please create configmap first: ns/c\"");
}

Test(report_group, groups_and_pods_take_turns)
{
	begin_with(1);
	group("7", 3, "");
	member("a", "8", "");
	member("b", "9", "");
	report_poll(b.r, false);
	waits(WAIT_MEMBERS, 2);
	b.w.now_ns += 2 * SECOND;
	world_answer(next("PATCH", "/api/v1/namespaces/ns/pods/"), 200, "{}");
	b.w.now_ns += 2 * SECOND;
	world_answer(next("PATCH", PATH), 200, "{}");
}
