/* SPDX-License-Identifier: Apache-2.0 */
/* The status of groups' objects and their Events: written once for each change, and
 * what happens when the server does not take it. */
#include "frontend/report/report.h"

#include "frontend/dialect/dialect.h"

#include "tests/unit/support_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ns/podgroups/g/status"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"

struct bench {
	struct world w;
	struct model *m;
	struct report *r;
	gang_id gang;
	uint32_t generation;
};

static void begin(struct bench *b, unsigned per_second)
{
	struct report_config config = {
		.env = &b->w.env,
		.per_second = per_second,
		.queue_max = 64,
		.delay_ns = SECOND,
		.instance = "i",
	};

	memset(b, 0, sizeof(*b));
	world_init(&b->w);
	b->m = world_model();
	config.model = b->m;
	b->r = report_new(&config);
	report_lists_in(b->r);
}

static void end(struct bench *b)
{
	report_free(b->r);
	model_free(b->m);
	world_free(&b->w);
}

/* The object as the watch shows it. */
static void group(struct bench *b, const char *version, unsigned quorum, const char *status)
{
	char text[1024];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"%s\"},"
		"\"spec\":{\"minMember\":%u},\"status\":{%s}}",
		version, quorum, status);
	world_put(b->m, RESOURCE_INDEX_DIALECTS, text);
}

static void member(struct bench *b, const char *name, const char *version, const char *spec)
{
	struct pod_view v;
	struct gang_view g;

	world_put(b->m, RESOURCE_INDEX_PODS, world_member(name, version, "g", spec));
	cr_assert(model_pod_by_name(b->m, "ns", name, &v));
	b->gang = v.gang_id;
	for (b->generation = 1; !model_gang(b->m, b->gang, b->generation, &g); b->generation++)
		cr_assert_lt(b->generation, 10);
}

static void waits(struct bench *b, uint32_t why, uint32_t members)
{
	struct cmd_reason cmd = {
		.gang = b->gang,
		.gang_generation = b->generation,
		.pod = ID_NONE,
		.reason = { .why = why, .quorum = 3, .members = members, .need = 3, .nodes = 2 }
	};

	report_reason(b->r, &cmd);
}

static void becomes(struct bench *b, enum gang_state state)
{
	struct cmd_gang cmd = { .gang = b->gang,
		                    .generation = b->generation,
		                    .state = state,
		                    .members = 3,
		                    .bound = 3,
		                    .quorum = 3 };

	report_gang(b->r, &cmd);
}

static struct http_call *next(struct bench *b, const char *method, const char *path)
{
	report_poll(b->r, false);
	b->w.now_ns += 1100 * MS;
	report_poll(b->r, false);
	return world_take(&b->w, method, path);
}

static void quiet(struct bench *b)
{
	unsigned open = world_open(&b->w);

	for (int i = 0; i < 3; i++) {
		report_poll(b->r, false);
		b->w.now_ns += 1100 * MS;
	}
	report_poll(b->r, false);
	cr_assert_eq(world_open(&b->w), open);
}

static void has(const struct http_call *c, const char *part)
{
	cr_assert(strstr(c->body, part), "no %s in %s", part, c->body);
}

Test(report_group, a_status_is_a_merge_patch_with_the_version_it_was_made_for)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "");
	cr_assert_eq(report_poll(b.r, false), b.w.now_ns + SECOND, "not before it stood for a second");
	c = next(&b, "PATCH", PATH);
	cr_assert_str_eq(c->type, "application/merge-patch+json");
	cr_assert_eq(c->lane, HTTP_REPORT);
	cr_assert_str_eq(
		c->body, "{\"metadata\":{\"resourceVersion\":\"7\"},\"status\":{\"phase\":\"Pending\"}}");
	world_answer(c, 200, "{}");
	quiet(&b);
	cr_assert_eq(report_counts(b.r)->statuses, 1);
	end(&b);
}

Test(report_group, what_the_object_says_already_is_not_written)
{
	struct bench b;

	begin(&b, 100);
	group(&b, "7", 3, "\"phase\":\"Pending\"");
	quiet(&b);
	group(&b, "8", 4, "\"phase\":\"Failed\",\"failed\":4");
	member(&b, "a", "9", "");
	quiet(&b);
	group(&b, "10", 3, "\"phase\":[]");
	quiet(&b);
	end(&b);
}

/* Many changes within a second are one write, and one that comes while it is on its way
 * waits until the watch has shown it. */
Test(report_group, changes_are_written_together)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "");
	for (const char *name = "abc"; *name; name++)
		member(&b, (char[]){ *name, 0 }, "8", "");
	c = next(&b, "PATCH", PATH);
	has(c, "\"status\":{\"phase\":\"Scheduling\"}");
	cr_assert_eq(world_open(&b.w), 1);
	for (const char *name = "abc"; *name; name++)
		world_put(b.m, RESOURCE_INDEX_PODS,
		          world_member((char[]){ *name, 0 }, "11", "g", "\"nodeName\":\"n1\""));
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_PODS, world_member("c", "12", "g", ""),
	                          strlen(world_member("c", "12", "g", "")), NULL),
	             0);
	quiet(&b);
	world_answer(c, 200, "{}");
	quiet(&b);
	group(&b, "10", 3, "\"phase\":\"Scheduling\"");
	c = next(&b, "PATCH", PATH);
	has(c, "{\"resourceVersion\":\"10\"},\"status\":{\"phase\":\"Pending\"}");
	end(&b);
}

/* A server that drops a field of the status is not asked again and again. */
Test(report_group, what_the_server_does_not_keep_is_written_once)
{
	struct bench b;

	begin(&b, 100);
	group(&b, "7", 3, "");
	world_answer(next(&b, "PATCH", PATH), 200, "{}");
	for (int i = 0; i < 5; i++) {
		member(&b, "a", (char[]){ '8', (char)('0' + i), 0 }, i % 2 ? "\"priority\":1" : "");
		quiet(&b);
	}
	cr_assert_eq(b.w.calls_n, 1);
	end(&b);
}

Test(report_group, somebody_else_wrote_it_first)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "");
	world_answer(next(&b, "PATCH", PATH), 409,
	             world_status(409, "Conflict", "the object has been modified"));
	group(&b, "8", 3, "\"occupiedBy\":\"x\"");
	c = next(&b, "PATCH", PATH);
	has(c, "{\"resourceVersion\":\"8\"},\"status\":{\"phase\":\"Pending\"}");
	world_answer(c, 200, "{}");
	quiet(&b);
	end(&b);
}

Test(report_group, a_server_that_fails_is_asked_again)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "");
	world_answer(next(&b, "PATCH", PATH), 500, "{}");
	b.w.now_ns += 60 * SECOND;
	c = next(&b, "PATCH", PATH);
	world_answer(c, 200, "{}");
	quiet(&b);
	cr_assert_eq(report_counts(b.r)->statuses, 1);
	end(&b);
}

Test(report_group, a_right_that_is_missing_is_told_and_no_more_is_asked)
{
	struct bench b;

	begin(&b, 100);
	group(&b, "7", 3, "");
	for (int i = 0; i < 4; i++) {
		b.w.now_ns += 5 * SECOND;
		world_answer(next(&b, "PATCH", PATH), 403,
		             world_status(403, "Forbidden", "no podgroups/status"));
	}
	quiet(&b);
	cr_assert(world_said(&b.w, "status of a group (patch podgroups/status)"), "%s", b.w.log);
	cr_assert_eq(report_counts(b.r)->dropped, 1);
	end(&b);
}

Test(report_group, a_group_that_is_gone_is_dropped)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "");
	c = next(&b, "PATCH", PATH);
	cr_assert_eq(model_remove(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "9", 3),
	                          strlen(world_group("g", "9", 3)), NULL),
	             0);
	world_answer(c, 404, "{}");
	quiet(&b);
	cr_assert_eq(report_queued(b.r), 0);
	cr_assert_str_eq(b.w.log, "");
	end(&b);
}

/* The list of pods may come after that of groups: nobody is told that there are none. */
Test(report_group, nothing_is_written_before_all_lists_are_in)
{
	struct bench b;

	begin(&b, 100);
	report_free(b.r);
	b.r = report_new(&(struct report_config){
		.env = &b.w.env,
		.model = b.m,
		.per_second = 100,
		.queue_max = 10,
		.delay_ns = SECOND,
		.instance = "i",
	});
	group(&b, "7", 1, "\"phase\":\"Running\",\"running\":1");
	quiet(&b);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("x", "8", "", ""));
	report_lists_in(b.r);
	has(next(&b, "PATCH", PATH), "\"status\":{\"phase\":\"Pending\",\"running\":0}");
	end(&b);
}

/* ---- Events --------------------------------------------------------------------------- */

Test(report_group, an_event_when_it_comes_to_wait_and_one_when_it_is_placed)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	group(&b, "7", 3, "\"phase\":\"Pending\"");
	member(&b, "a", "8", "\"schedulingGates\":[{\"name\":\"x\"}]"); /* nothing is said about it */
	becomes(&b, GANG_INCOMPLETE);
	waits(&b, WHY_MEMBERS, 1);
	waits(&b, WHY_MEMBERS, 2);
	c = next(&b, "POST", EVENTS);
	has(c, "\"type\":\"Warning\",\"reason\":\"GangWaiting\",\"action\":\"Scheduling\"");
	has(c, "gang ns/g: 2 of 3 members are there.");
	has(c, "\"reportingController\":\"muster\"");
	has(c,
	    "\"regarding\":{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"namespace\":\"ns\","
	    "\"name\":\"g\",\"uid\":\"u\"}");
	world_answer(c, 201, "{}");
	becomes(&b, GANG_WAITING);
	waits(&b, WHY_ROOM, 3);
	quiet(&b);
	b.w.now_ns += 10 * SECOND;
	c = next(&b, "POST", EVENTS);
	has(c,
	    "\"reason\":\"GangWaiting\",\"action\":\"Scheduling\",\"note\":\"0/2 nodes are available.");
	world_answer(c, 201, "{}");
	becomes(&b, GANG_BINDING);
	becomes(&b, GANG_PLACED);
	c = next(&b, "POST", EVENTS);
	has(c,
	    "\"type\":\"Normal\",\"reason\":\"GangPlaced\",\"action\":\"Binding\",\"note\":\"gang ns/g: 3 of 3 members are bound, "
	    "its quorum is 3.\"");
	world_answer(c, 201, "{}");
	becomes(&b, GANG_PLACED);
	quiet(&b);
	end(&b);
}

/* After a restart of either process every gang that runs is told to be placed. */
Test(report_group, that_a_gang_still_runs_is_no_news)
{
	struct bench b;

	begin(&b, 100);
	group(&b, "7", 3, "\"phase\":\"Pending\"");
	member(&b, "a", "8", "\"nodeName\":\"n1\"");
	becomes(&b, GANG_INCOMPLETE);
	becomes(&b, GANG_PLACED);
	quiet(&b);
	end(&b);
}

/* ---- timeouts ------------------------------------------------------------------------------ */

static int configmaps(const struct bench *b)
{
	int resource = model_resource_index(b->m, "v1", "ConfigMap");

	cr_assert(resource >= 0);
	return resource;
}

/* The pod in the ConfigMap's group, with that status. */
static void put_pod(struct bench *b, unsigned version, const char *status)
{
	char text[4096];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"ua\",\"resourceVersion\":\"%u\","
		"\"labels\":{\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"c\"}},\"spec\":{\"schedulerName\":\"muster\","
		"\"containers\":[{\"name\":\"c\"}]},\"status\":%s}",
		version, status);
	world_put(b->m, RESOURCE_INDEX_PODS, text);
}

/* The server takes the condition, and the watch shows it. */
static void taken(struct bench *b, struct http_call *c, unsigned version)
{
	const char *status = strstr(c->body, "\"status\":{");
	char text[2048];

	cr_assert(status);
	status += strlen("\"status\":");
	snprintf(text, sizeof(text), "%.*s", (int)strlen(status) - 1, status);
	put_pod(b, version, text);
	world_answer(c, 200, "{}");
}

static void configmap_and_pod(struct bench *b)
{
	struct gang_view g;
	struct pod_view v;

	world_put(
		b->m, configmaps(b),
		"{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"1\"},"
		"\"data\":{\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"90\"}}");
	put_pod(b, 2, "{}");
	cr_assert(model_pod_by_name(b->m, "ns", "a", &v));
	b->gang = v.gang_id;
	for (b->generation = 1; !model_gang(b->m, b->gang, b->generation, &g); b->generation++)
		cr_assert_lt(b->generation, 10);
}

#define POD_STATUS "/api/v1/namespaces/ns/pods/a/status"
#define TIMED_OUT                                                                                  \
	"rejected due to timeout after waiting 1m30s at plugin sample: gang ns/c could not be completed. gang ns/c: 2 of 3 "

Test(report_group, members_hear_that_the_timeout_has_passed)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	configmap_and_pod(&b);
	waits(&b, WHY_MEMBERS, 2);
	c = next(&b, "PATCH", POD_STATUS);
	has(c, "\"reason\":\"Unschedulable\",\"message\":\"gang ns/c: 2 of 3 members are there.\"");
	taken(&b, c, 3);
	world_answer(next(&b, "POST", EVENTS), 201, "{}");
	b.w.now_ns += 80 * SECOND;
	quiet(&b);
	b.w.now_ns += 10 * SECOND;
	c = next(&b, "PATCH", POD_STATUS);
	has(c, TIMED_OUT);
	taken(&b, c, 4);
	c = next(&b, "POST", EVENTS);
	has(c, TIMED_OUT);
	world_answer(c, 201, "{}");
	/* Once; and in front of what is said from then on. */
	b.w.now_ns += 200 * SECOND;
	quiet(&b);
	waits(&b, WHY_ROOM, 3);
	has(next(&b, "PATCH", POD_STATUS), "rejected due to timeout after waiting 1m30s");
	end(&b);
}

Test(report_group, a_gang_that_was_placed_waits_anew)
{
	struct bench b;
	struct http_call *c;

	begin(&b, 100);
	configmap_and_pod(&b);
	waits(&b, WHY_MEMBERS, 2);
	taken(&b, next(&b, "PATCH", POD_STATUS), 3);
	world_answer(next(&b, "POST", EVENTS), 201, "{}");
	becomes(&b, GANG_PLACED);
	b.w.now_ns += 200 * SECOND;
	quiet(&b);
	waits(&b, WHY_MEMBERS, 1);
	c = next(&b, "PATCH", POD_STATUS);
	has(c, "\"message\":\"gang ns/c: 1 of 3 members are there.\"");
	end(&b);
}

/* As its users know it: an error of a plugin, and no matter of time. */
Test(report_group, a_configmap_that_is_not_there)
{
	struct bench b;

	begin(&b, 100);
	configmap_and_pod(&b);
	waits(&b, WHY_GROUP_MISSING, 1);
	has(next(&b, "PATCH", POD_STATUS),
	    "\"reason\":\"SchedulerError\",\"message\":\"running Permit plugin \\\"sample\\\": podgroup "
	    "configmap not found, please create configmap first: ns/c\"");
	end(&b);
}

/* ---- pace --------------------------------------------------------------------------------- */

Test(report_group, groups_and_pods_take_turns)
{
	struct bench b;

	begin(&b, 1);
	group(&b, "7", 3, "");
	member(&b, "a", "8", "");
	member(&b, "b", "9", "");
	report_poll(b.r, false);
	waits(&b, WHY_MEMBERS, 2);
	b.w.now_ns += 2 * SECOND;
	world_answer(next(&b, "PATCH", "/api/v1/namespaces/ns/pods/"), 200, "{}");
	b.w.now_ns += 2 * SECOND;
	world_answer(next(&b, "PATCH", PATH), 200, "{}");
	end(&b);
}
