/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions and Events: what is written and what is spared. */
#include "tests/unit/support_report.h"

TestSuite(report, .init = begin, .fini = end);

Test(report, writes_the_condition_and_then_an_event)
{
	struct http_call *c;

	reason("a", WAIT_ROOM, 3);
	c = next("PATCH", STATUS("a"));
	cr_assert_str_eq(c->type, "application/strategic-merge-patch+json");
	cr_assert_eq(c->lane, HTTP_REPORT);
	cr_assert_str_eq(
		c->body,
		"{\"metadata\":{\"uid\":\"00000000-0000-0000-0000-000000000061\"},\"status\":{\"conditions\":[{"
		"\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":"
		"\"0/3 nodes are available: 3 node(s) were unschedulable.\","
		"\"lastTransitionTime\":\"2023-11-14T22:30:00Z\"}]}}");
	world_answer(c, 200, "{}");
	c = next("POST", EVENTS);
}

Test(report, an_event_has_what_the_api_wants)
{
	struct http_call *c;

	reason("a", WAIT_ROOM, 3);
	world_answer(next("PATCH", STATUS("a")), 200, "{}");
	c = next("POST", EVENTS);
	has(c, "\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\"");
	has(c,
	    "\"eventTime\":\"2023-11-14T22:30:00.000000Z\",\"type\":\"Warning\",\"reason\":\"FailedScheduling\","
	    "\"action\":\"Scheduling\",\"note\":\"0/3 nodes are available: 3 node(s) were unschedulable.\","
	    "\"reportingController\":\"muster\",\"reportingInstance\":\"muster-host\"");
	has(c,
	    "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"00000000-");
	world_answer(c, 201, "{}");
	cr_assert_eq(open_after(0), 0);
	cr_assert_eq(report_queued(b.r), 0);
}

#define SAID                                                                                        \
	"\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"," \
	"\"message\":\"0/3 nodes are available: 3 node(s) were unschedulable.\"}]"

Test(report, what_the_pod_says_already_is_not_written)
{
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "6", "", SAID));
	reason("a", WAIT_ROOM, 3);
	next("POST", EVENTS);
	cr_assert_eq(report_counts(b.r)->unchanged, 1);
}

Test(report, the_time_of_transition_is_kept_while_the_status_is)
{
	struct http_call *c;

	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "6", "", SAID));
	reason("a", WAIT_ROOM, 4);
	c = next("PATCH", STATUS("a"));
	has(c, "0/4 nodes");
	cr_assert_null(strstr(c->body, "lastTransitionTime"));
}

Test(report, a_refused_binding_is_a_scheduler_error)
{
	reason("a", WAIT_BIND_REFUSED, 0);
	has(next("PATCH", STATUS("a")), "\"reason\":\"SchedulerError\"");
}

Test(report, the_newest_reason_wins)
{
	reason("a", WAIT_ROOM, 3);
	reason("b", WAIT_ROOM, 3);
	reason("a", WAIT_ROOM, 4);
	cr_assert_eq(report_counts(b.r)->coalesced, 1);
	has(next("PATCH", STATUS("a")), "0/4 nodes");
	has(next("PATCH", STATUS("b")), "0/3 nodes");
}

/* While the members of a gang arrive, each of them changes the reason of all. */
Test(report, a_reason_that_stands_only_for_a_moment_is_not_written)
{
	uint64_t due;

	report_free(b.r);
	b.r = report_new(&(struct report_config){
		.env = &b.w.env,
		.model = b.m,
		.per_second = 100,
		.queue_max = 10,
		.delay_ns = SECOND,
		.instance = "i",
	});
	reason("a", WAIT_ROOM, 3);
	reason("b", WAIT_ROOM, 3);
	due = report_poll(b.r, false);
	cr_assert_eq(due, b.w.now_ns + SECOND);
	b.w.now_ns += 900 * MS;
	reason("b", WAIT_ROOM, 4); /* the wait is that of the first */
	bound("c");
	next("POST", EVENTS);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", "\"nodeName\":\"n1\"", ""));
	b.w.now_ns = due;
	has(next("PATCH", STATUS("b")), "0/4 nodes");
}

/* Two writes of one pod on two connections could land in the wrong order. */
Test(report, one_that_comes_meanwhile_waits_for_the_answer)
{
	struct http_call *c;

	reason("a", WAIT_ROOM, 3);
	c = next("PATCH", STATUS("a"));
	reason("a", WAIT_ROOM, 4);
	reason("a", WAIT_ROOM, 5);
	cr_assert_eq(open_after(0), 1);
	world_answer(c, 200, "{}");
	has(next("PATCH", STATUS("a")), "0/5 nodes");
}

static void said_once(uint32_t nodes)
{
	reason("a", WAIT_ROOM, nodes);
	world_answer(next("PATCH", STATUS("a")), 200, "{}");
}

Test(report, an_equal_event_counts_up_and_a_new_text_is_a_new_one)
{
	struct http_call *c;
	char path[512];

	said_once(3);
	world_answer(next("POST", EVENTS), 201, "{}");
	b.w.now_ns += 5 * SECOND;
	said_once(4); /* too soon for an event: the condition says it */
	cr_assert_eq(open_after(0), 0);
	b.w.now_ns += 6 * SECOND;
	said_once(3);
	c = next("PATCH", EVENTS "/a.");
	cr_assert_str_eq(c->type, "application/merge-patch+json");
	has(c, "{\"series\":{\"count\":2,\"lastObservedTime\":\"2023-11-14T22:30:11.000000Z\"}}");
	snprintf(path, sizeof(path), "%s", c->path);
	world_answer(c, 200, "{}");
	b.w.now_ns += 11 * SECOND;
	said_once(3);
	c = next("PATCH", path);
	has(c, "\"count\":3");
	world_answer(c, 404, world_status(404, "NotFound", "gone"));
	c = next("POST", EVENTS); /* it was too old */
	world_answer(c, 201, "{}");
	b.w.now_ns += 11 * SECOND;
	said_once(9);
	has(next("POST", EVENTS), "0/9 nodes");
}

Test(report, a_bound_pod_has_an_event)
{
	struct http_call *c;

	bound("a");
	c = next("POST", EVENTS);
	has(c, "\"type\":\"Normal\",\"reason\":\"Scheduled\",\"action\":\"Binding\","
	       "\"note\":\"Successfully assigned ns/a to n1\"");
	world_answer(c, 201, "{}");
	cr_assert_eq(report_counts(b.r)->events, 1);
}

Test(report, reasons_go_before_events_of_bindings)
{
	begin_with(4, 10); /* one request at a time */
	bound("a");
	reason("b", WAIT_ROOM, 3);
	next("PATCH", STATUS("b"));
}

Test(report, a_pod_that_is_bound_or_gone_is_passed_over)
{
	struct decode_error e;
	const char *pod;

	reason("a", WAIT_ROOM, 3);
	reason("b", WAIT_ROOM, 3);
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "9", "\"nodeName\":\"n1\"", ""));
	pod = world_pod("b", "9", "", "");
	model_remove(b.m, RESOURCE_INDEX_PODS, pod, strlen(pod), &e);
	cr_assert_eq(open_after(0), 0);
	cr_assert_eq(report_queued(b.r), 0);
}

/* Its pod is replaced while a write is in flight that fails: only the queue has it.  LeakSanitizer
 * finds it if it is forgotten there. */
Test(report, one_of_a_pod_that_was_replaced_is_freed_when_it_is_deferred)
{
	struct pod_view old, new;
	struct http_call *c;
	char replaced[2000];

	report_free(b.r);
	b.r = report_new(&(struct report_config){
		.env = &b.w.env, .model = b.m, .per_second = 100, .queue_max = 1, .instance = "i" });
	reason("a", WAIT_ROOM, 3);
	c = next("PATCH", STATUS("a"));
	cr_assert(model_pod_by_name(b.m, "ns", "a", &old));
	snprintf(replaced, sizeof(replaced), "%s", world_pod("a", "9", "", ""));
	memcpy(strstr(replaced, "000000000061"), "000000000099", 12);
	world_put(b.m, RESOURCE_INDEX_PODS, replaced);
	cr_assert(model_pod_by_name(b.m, "ns", "a", &new));
	cr_assert(new.id == old.id &&new.generation != old.generation);
	reason("a", WAIT_ROOM, 3);
	world_answer(c, 503, "");
	reason("b", WAIT_ROOM, 3);
	cr_assert_eq(report_queued(b.r), 1);
}

static void no_result(void *context, enum record_kind kind, const struct result *r)
{
}

static void no_notice(void *context, const struct bind_notice *n)
{
}

/* Such a condition would stand on a pod that has a node, and its version would refuse the Binding:
 * a server that answered 429 for a while. */
Test(report, a_pod_that_is_being_bound_is_passed_over)
{
	struct binder *binder;
	struct cmd_bind cmd = { .node = 0, .node_generation = 1, .gang = ID_NONE };
	struct pod_view v;

	world_put(b.m, RESOURCE_INDEX_NODES, world_node("n1", "1"));
	binder = binder_new(&(struct binder_config){
		.env = &b.w.env,
		.model = b.m,
		.connections = 1,
		.result = no_result,
		.notice = no_notice,
	});
	report_free(b.r);
	b.r = report_new(&(struct report_config){
		.env = &b.w.env,
		.model = b.m,
		.per_second = 100,
		.queue_max = 10,
		.instance = "i",
		.binder = binder,
	});
	cr_assert(model_pod_by_name(b.m, "ns", "a", &v));
	cmd.pod = v.id;
	cmd.pod_generation = v.generation;
	reason("a", WAIT_ROOM, 3);
	cr_assert_eq(binder_bind(binder, CMD_BIND, &cmd), 0);
	cr_assert(binder_has(binder, v.id, v.generation));
	cr_assert_not(binder_has(binder, v.id, v.generation + 1));
	cr_assert_not(binder_has(binder, v.id + 100000, 1));
	cr_assert_eq(open_after(0), 0, "it is queued");
	binder_poll(binder);
	reason("a", WAIT_ROOM, 4); /* of its gang, for the members that are left */
	cr_assert_eq(open_after(40 * SECOND), 1, "it is sent");
	world_answer(world_take(&b.w, "POST", "/api/v1/namespaces/ns/pods/a/binding"), 422, "{}");
	cr_assert_not(binder_has(binder, v.id, v.generation));
	open_after(40 * SECOND);
	has(next("PATCH", STATUS("a")), "0/4 nodes");
	binder_free(binder);
}

/* The API server itself says SchedulingGated. */
Test(report, a_gated_pod_is_passed_over)
{
	world_put(b.m, RESOURCE_INDEX_PODS,
	          world_pod("a", "9", "\"schedulingGates\":[{\"name\":\"g\"}]", ""));
	reason("a", WAIT_GATED, 0);
	cr_assert_eq(report_queued(b.r), 0);
}

/* An outage lasted longer than four tries; the simulator found it with seed 527. */
Test(report, a_condition_that_was_dropped_is_said_again)
{
	reason("a", WAIT_ROOM, 3);
	for (int i = 0; i < 4; i++) {
		world_fail(next("PATCH", STATUS("a")), HTTP_NOT_SENT);
		b.w.now_ns += 5 * SECOND;
	}
	cr_assert_eq(open_after(0), 0);
	open_after(30 * SECOND);
	b.w.now_ns += 2 * SECOND;
	world_answer(next("PATCH", STATUS("a")), 200, "{}");
}

/* A write that the server had held back came after ours: seed 1023. */
Test(report, a_condition_that_was_overwritten_is_said_again)
{
	static const char said[] = "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
							   "\"reason\":\"Unschedulable\",\"message\":"
							   "\"0/3 nodes are available: 3 node(s) were unschedulable.\"}]";
	static const char other[] = "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
								"\"reason\":\"SchedulerError\",\"message\":\"taking back\"}]";

	reason("a", WAIT_ROOM, 3);
	world_answer(next("PATCH", STATUS("a")), 200, "{}");
	world_answer(next("POST", EVENTS), 201, "{}");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "6", "", said));
	open_after(40 * SECOND);
	cr_assert_eq(report_queued(b.r), 0, "it says so still");
	world_put(b.m, RESOURCE_INDEX_PODS, world_pod("a", "7", "", other));
	open_after(40 * SECOND);
	b.w.now_ns += 2 * SECOND;
	has(next("PATCH", STATUS("a")), "were unschedulable.");
}

Test(report, what_is_forbidden_is_said_once_and_dropped)
{
	reason("a", WAIT_ROOM, 3);
	/* A server that has just started does not know the rights yet. */
	for (int i = 0; i < 3; i++) {
		world_answer(next("PATCH", STATUS("a")), 403, world_status(403, "Forbidden", "no patch"));
		cr_assert_eq(report_poll(b.r, false), b.w.now_ns + 2 * SECOND);
		b.w.now_ns += 2 * SECOND;
	}
	world_answer(next("PATCH", STATUS("a")), 403, world_status(403, "Forbidden", "no patch"));
	cr_assert(world_said(&b.w, "patch pods/status"));
	world_answer(next("POST", EVENTS), 403, world_status(403, "Forbidden", "no create"));
	cr_assert(world_said(&b.w, "create and patch events"));
	report_poll(b.r, false);
	cr_assert_eq(report_queued(b.r), 0);
}

static void forbid(const char *pod, const char *status, int tries)
{
	reason(pod, WAIT_ROOM, 3);
	for (int i = 0; i < tries; i++) {
		world_answer(next("PATCH", status), 403, world_status(403, "Forbidden", "no patch"));
		b.w.now_ns += 2 * SECOND;
	}
	world_answer(next("POST", EVENTS), 201, "{}");
}

/* Of all that were forbidden one asks again; once it may, the others say it too. */
Test(report, what_was_forbidden_is_said_when_the_right_is_there)
{
	forbid("a", STATUS("a"), 4);
	forbid("b", STATUS("b"), 1); /* it is known by then */
	open_after(31 * SECOND);
	cr_assert_eq(open_after(2 * SECOND), 1, "each of them asks");
	world_answer(next("PATCH", STATUS("a")), 200, "{}");
	world_answer(next("PATCH", EVENTS), 200, "{}");
	open_after(31 * SECOND);
	b.w.now_ns += 2 * SECOND;
	world_answer(next("PATCH", STATUS("a")), 200, "{}"); /* the watch did not show it */
	world_answer(next("PATCH", STATUS("b")), 200, "{}");
}

Test(report, a_note_is_cut_and_a_name_too)
{
	struct http_call *c;
	char error[1100], name[254];
	struct bind_notice n = {
		.namespace = "ns",
		.name = name,
		.uid = "u",
		.node = "n1",
		.scheduler = "muster",
		.error = error,
	};
	const char *note;

	memset(error, 'x', sizeof(error) - 1);
	error[sizeof(error) - 1] = '\0';
	memcpy(error + 1018, "\xc3\xa9\xc3\xa9\xc3\xa9", 6); /* the cut falls into the second */
	memset(name, 'p', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	report_bind(b.r, &n);
	c = next("POST", EVENTS);
	has(c, "\"type\":\"Warning\",\"reason\":\"FailedScheduling\",\"action\":\"Scheduling\"");
	note = strstr(c->body, "\"note\":\"") + 8;
	cr_assert(strncmp(strchr(note, '"') - 6, "\xc3\xa9 ...", 6) == 0);
	cr_assert_eq(strchr(note, '"') - note, 1024);
	cr_assert_eq(strcspn(strstr(c->body, "{\"name\":\"") + 9, "\""), 253);
}

/* Whoever writes to the pod at the same time: it had no condition until its reason changed.  One
 * that is invalid is not sent again. */
Test(report, a_condition_that_met_another_write_is_said_again)
{
	static const int answers[] = { 409, 422 };

	for (size_t i = 0; i < 2; i++) {
		begin_with(100, 10);
		reason("a", WAIT_ROOM, 3);
		world_answer(next("PATCH", STATUS("a")), answers[i],
		             world_status(answers[i], "Conflict", "no"));
		world_answer(next("POST", EVENTS), 201, "{}");
		open_after(31 * SECOND);
		cr_assert_eq(open_after(2 * SECOND), answers[i] == 409);
		if (answers[i] == 409)
			world_answer(world_take(&b.w, "PATCH", STATUS("a")), 200, "{}");
	}
}

/* The bad value is quoted up to its 60th byte, which is half a character.  The API server kept the
 * half as U+FFFD, so that the pod never said what it was to say, and was written again in each
 * sweep. */
Test(report, a_text_is_cut_between_characters)
{
	struct cmd_reason cmd = { .pod = ID_NONE,
		                      .gang_generation = 1,
		                      .reason = { .why = WAIT_REFUSED } };
	struct gang_view gang;
	struct pod_view pod;
	struct http_call *c;

	world_put(
		b.m, RESOURCE_INDEX_PODS,
		"{\"metadata\":{\"name\":\"k\",\"namespace\":\"ns\",\"uid\":\"u-k\",\"resourceVersion\":\"7\",\"annotations\":{"
		"\"gang.scheduling.koordinator.sh/name\":\"kg\",\"gang.scheduling.koordinator.sh/min-available\":\"1\","
		"\"gang.scheduling.koordinator.sh/waiting-time\":\"a second that is longer than any that were seen before it d\xc3\xa9j\xc3\xa0\"}},"
		"\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]}}");
	cr_assert(model_pod_by_name(b.m, "ns", "k", &pod));
	cmd.gang = pod.gang_id;
	while (!model_gang(b.m, cmd.gang, cmd.gang_generation, &gang))
		cr_assert_lt(cmd.gang_generation++, 5);
	report_reason(b.r, &cmd);
	c = next("PATCH", STATUS("k"));
	has(c, "before it d\\\" is not a duration");
}

/* All members of a gang hear the same. */
Test(report, a_gang_tells_each_pending_member)
{
	struct cmd_reason cmd = { .pod = ID_NONE,
		                      .reason = { .why = WAIT_MEMBERS, .quorum = 3, .members = 2 } };
	struct pod_view v;

	world_put(b.m, RESOURCE_INDEX_DIALECTS, world_group("g", "3", 3));
	for (int i = 0; i < 3; i++) {
		static const char *const spec[] = { "", "\"nodeName\":\"n1\"",
			                                "\"schedulingGates\":[{\"name\":\"g\"}]" };
		char name[2] = { (char)('x' + i) };

		world_put(b.m, RESOURCE_INDEX_PODS, world_member(name, "7", "g", spec[i]));
	}
	cr_assert(model_pod_by_name(b.m, "ns", "x", &v));
	cr_assert_str_eq(v.gang, "g");
	cmd.gang = v.gang_id;
	for (cmd.gang_generation = 1; cmd.gang_generation < 5; cmd.gang_generation++) {
		struct gang_view g;

		if (model_gang(b.m, cmd.gang, cmd.gang_generation, &g))
			break;
	}
	report_reason(b.r, &cmd);
	has(next("PATCH", STATUS("x")),
	    "\"pre-filter pod x cannot find enough sibling pods, current pods number: 2, minMember of group: 3. gang ns/g: 2 of 3 members");
	next("PATCH", GROUP("g") "/status");
	cr_assert_eq(open_after(0), 2, "the others are bound or gated");
}

static void nominate(const char *pod, const char *node)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(b.m, "ns", pod, &v));
	report_nominate(b.r, v.id, v.generation, node);
}

Test(report, a_nomination_is_written_with_the_condition)
{
	struct http_call *c;

	nominate("a", NULL);
	cr_assert_eq(open_after(0), 0, "there is nothing to clear");
	nominate("a", "n1");
	reason("a", WAIT_ROOM, 3);
	c = next("PATCH", STATUS("a"));
	has(c, "\"status\":{\"nominatedNodeName\":\"n1\",\"conditions\":[{\"type\":\"PodScheduled\"");
	world_answer(c, 200, "{}");
	world_answer(next("POST", EVENTS), 201, "{}");
	/* the condition stays, the nomination ends */
	nominate("a", NULL);
	c = next("PATCH", STATUS("a"));
	has(c, "\"nominatedNodeName\":null");
}

Test(report, a_victim_gets_an_event)
{
	struct http_call *c;

	report_happened(b.r, &(struct report_event){ .what = REPORT_PREEMPTED,
	                                             .namespace = "ns",
	                                             .name = "v",
	                                             .uid = "u",
	                                             .scheduler = "muster",
	                                             .note = "Preempted by gang ns/g (x) on node n1" });
	c = next("POST", EVENTS);
	has(c, "\"type\":\"Normal\",\"reason\":\"Preempted\",\"action\":\"Preempting\","
	       "\"note\":\"Preempted by gang ns/g (x) on node n1\"");
	has(c,
	    "\"regarding\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"namespace\":\"ns\",\"name\":\"v\"");
	world_answer(c, 201, "{}");
	report_happened(b.r, &(struct report_event){ .what = REPORT_PREEMPTING,
	                                             .namespace = "ns",
	                                             .name = "g",
	                                             .uid = "u",
	                                             .api_version = "scheduling.x-k8s.io/v1alpha1",
	                                             .kind = "PodGroup",
	                                             .scheduler = "muster",
	                                             .note = "evicts" });
	c = next("POST", EVENTS);
	has(c, "\"reason\":\"Preempting\"");
	has(c, "\"regarding\":{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\"");
}
