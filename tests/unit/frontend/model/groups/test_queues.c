/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue pods are in while objects of queues come and change. */
#include "frontend/queues/past.h"
#include "frontend/queues/queues.h"
#include "tests/unit/support_model.h"

TestSuite(queues, .fini = end);

static void put_pod(const char *name, const char *label, const char *spec)
{
	cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
	                        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\","
	                        "\"resourceVersion\":\"1\",\"labels\":{%s}},"
	                        "\"spec\":{\"schedulerName\":\"muster\"%s}}",
	                        name, name, label, spec),
	             0, "%s", s.error.text);
}

static const char *queue_of(const char *pod)
{
	return model_queue_name(s.m, replay_pod(&s.replay, pod)->queue);
}

#define TEAM "\"kai.scheduler/queue\":\"team\""

/* The tree of KAI's queues stays, and so do its marks. */
Test(queues, a_second_source_does_not_move_pods)
{
	start_model((struct model_config){ .limits = SMALL, .queues = MODEL_QUEUES_AUTO }, 1);
	cr_assert_eq(put_object(model_resource_index(s.m, "scheduling.run.ai/v2", "Queue"),
	                        "{\"metadata\":{\"name\":\"team\",\"uid\":\"u-1\","
	                        "\"resourceVersion\":\"1\"},\"spec\":{\"resources\":{"
	                        "\"cpu\":{\"quota\":-1,\"limit\":-1,\"overQuotaWeight\":1}}}}"),
	             0, "%s", s.error.text);
	put_pod("p", TEAM, "");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "team");
	cr_assert_eq(
		put_object(model_resource_index(s.m, "scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota"),
	               "{\"metadata\":{\"name\":\"mine\",\"namespace\":\"tenant\",\"uid\":\"u-2\","
	               "\"resourceVersion\":\"1\"},\"spec\":{\"max\":{\"cpu\":1}}}"),
		0, "%s", s.error.text);
	flush();
	put_pod("q", TEAM, "");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "team");
	cr_assert_str_eq(queue_of("ns/q"), "team");
}

/* reclaimMinRuntime as Go writes durations. */
Test(queues_read, a_minimum_run_time_of_kai_is_a_duration)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -1: refused */
	} cases[] = {
		{ "\"60s\"", 60 },
		{ "\"1h30m\"", 5400 },
		{ "\"1.5h\"", 5400 },
		{ "\"1500ms\"", 2 },
		{ "\"1ns\"", 1 },
		{ "\"1h1us\"", 3601 },
		{ "\"0\"", 0 },
		{ "null", 0 },
		{ "\"\"", -1 },
		{ "\"5\"", -1 },
		{ "\"s\"", -1 },
		{ "\".s\"", -1 },
		{ "\"-1s\"", -1 },
		{ "\"1.2.3s\"", -1 },
		{ "\"1d\"", -1 },
		{ "\"9999999h\"", -1 },
		{ "\"99999999999s\"", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct queues_read *q = queues_new(QUEUES_KAI);
		char json[128], error[256];
		bool ok;

		snprintf(json, sizeof(json), "{\"spec\":{\"reclaimMinRuntime\":%s}}", cases[i].text);
		ok = queues_read_object(q, "", "a", text_of(json), error, sizeof(error));
		cr_assert_eq(ok, cases[i].seconds >= 0, "%s", cases[i].text);
		if (ok)
			cr_assert_eq(q->queues[1].min_run_s, cases[i].seconds, "%s", cases[i].text);
		else
			cr_assert_not_null(strstr(error, "not a duration"), "%s: %s", cases[i].text, error);
		queues_read_free(q);
	}
}

/* Queues of a ConfigMap, which put_config() writes; a factor of 0: without history. */
static void start_config(uint32_t factor, uint32_t half_life_s)
{
	start_model((struct model_config){ .limits = SMALL,
	                                   .queues = MODEL_QUEUES_CONFIG,
	                                   .dialects_off = UINT32_MAX,
	                                   .queues_namespace = "sys",
	                                   .queues_name = "queues",
	                                   .history_factor = factor,
	                                   .history_half_life_s = half_life_s },
	            1);
}

static void put_config(int version, const char *queue)
{
	cr_assert_eq(
		put_object(model_resource_index(s.m, "v1", "ConfigMap"),
	               "{\"metadata\":{\"name\":\"queues\",\"namespace\":\"sys\",\"uid\":\"u\","
	               "\"resourceVersion\":\"%d\"},\"data\":{\"queues.yaml\":\"queues:\\n"
	               "- name: %s\\n  namespaces: [ns]\\n- name: other\\n\"}}",
	               version, queue),
		0, "%s", s.error.text);
}

/* The core may plan after each record: it counts what runs in the new queue before a gang that
 * waits asks for it. */
Test(queues, what_waits_is_not_in_its_new_queue_before_what_runs)
{
	start_config(0, 0);
	put_config(1, "a");
	put_pod("waits", "", "");
	put_pod("runs", "", ",\"nodeName\":\"n\"");
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "a");
	cr_assert_str_eq(queue_of("ns/runs"), "a");
	put_config(2, "b");
	while (!replay_flush(&s.replay, s.m, 1))
		cr_assert(strcmp(queue_of("ns/waits"), "b") != 0 || strcmp(queue_of("ns/runs"), "b") == 0);
	cr_assert_str_eq(queue_of("ns/waits"), "b");
	cr_assert_str_eq(queue_of("ns/runs"), "b");
}

static uint32_t expected_of(const char *pod)
{
	return replay_pod(&s.replay, pod)->expected_s;
}

/* With the minute until status.startTime. */
Test(queues, pods_that_say_nothing_run_for_as_long_as_their_queue_says)
{
#define ENDS ",\"restartPolicy\":\"Never\""
	start_config(0, 0);
	put_config(1, "a\\n  runSeconds: 100");
	put_pod("p", "", ENDS);
	put_pod("deadline", "", ENDS ",\"activeDeadlineSeconds\":50");
	put_pod("lasts", "", "");
	put_pod("other", "\"muster.dev/queue\":\"other\"", ENDS);
	flush();
	cr_assert_eq(expected_of("ns/p"), 160);
	cr_assert_eq(expected_of("ns/deadline"), 0, "it has an end");
	cr_assert_eq(expected_of("ns/lasts"), 0);
	cr_assert_eq(expected_of("ns/other"), 0);
	put_config(2, "a\\n  runSeconds: 200");
	flush();
	cr_assert_eq(expected_of("ns/p"), 260, "%u", expected_of("ns/p"));
	put_config(3, "a");
	flush();
	cr_assert_eq(expected_of("ns/p"), 0);
	put_config(4, "up\\n  runSeconds: 50\\n- name: a\\n  parent: up");
	flush();
	cr_assert_eq(expected_of("ns/p"), 110, "of the queue above");
	put_config(5, "a\\n  runSeconds: 4000000000");
	flush();
	cr_assert_eq(expected_of("ns/p"), 315360060, "ten years at most");
	put_config(6, "up\\n  runSeconds: 50\\n- name: a\\n  parent: up\\n  maxRunSeconds: 40");
	flush();
	cr_assert_eq(expected_of("ns/p"), 100, "no longer than it may state");
	put_config(7, "up\\n  maxRunSeconds: 30\\n- name: a\\n  parent: up\\n  runSeconds: 50");
	flush();
	cr_assert_eq(expected_of("ns/p"), 90, "nor in the queue above");
}

/* Also of who names the queue that is for all of them. */
Test(queues, each_namespace_has_a_queue_of_its_own)
{
	start_config(0, 0);
	put_config(1, "teams\\n  perNamespace: true\\n  runSeconds: 100");
	put_pod("p", "", ENDS);
	put_pod("named", "\"muster.dev/queue\":\"teams\"", "");
	put_pod("elsewhere", "\"muster.dev/queue\":\"other\"", "");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "teams.ns");
	cr_assert_eq(expected_of("ns/p"), 160);
	cr_assert_str_eq(queue_of("ns/named"), "teams.ns");
	cr_assert_str_eq(queue_of("ns/elsewhere"), "other");
	put_config(2, "a\\n  namespaces: [ns]\\n- name: teams\\n  perNamespace: true");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "a");
	cr_assert_str_eq(queue_of("ns/named"), "teams.ns", "a queue with children takes no gangs");
	put_config(3, "teams");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "teams");
	cr_assert_str_eq(queue_of("ns/named"), "teams");
}

static void put_namespace(int version, const char *labels)
{
	cr_assert_eq(put_object(model_resource_index(s.m, "v1", "Namespace"),
	                        "{\"metadata\":{\"name\":\"ns\",\"uid\":\"u-ns\","
	                        "\"resourceVersion\":\"%d\",\"labels\":{%s}}}",
	                        version, labels),
	             0, "%s", s.error.text);
}

static void put_queues(int version, const char *queues)
{
	cr_assert_eq(
		put_object(model_resource_index(s.m, "v1", "ConfigMap"),
	               "{\"metadata\":{\"name\":\"queues\",\"namespace\":\"sys\",\"uid\":\"u\","
	               "\"resourceVersion\":\"%d\"},\"data\":{\"queues.yaml\":\"%s\"}}",
	               version, queues),
		0, "%s", s.error.text);
}

#define SELECTS(name, team) "- {name: " name ", namespaces: [{matchLabels: {team: " team "}}]}\\n"

/* A name comes before a label, and of two queues that select the namespace the first one by name.
 */
Test(queues, labels_of_a_namespace_choose_the_queue)
{
	start_config(0, 0);
	put_queues(1, SELECTS("b", "x") SELECTS("a", "y"));
	put_pod("waits", "", "");
	put_pod("runs", "", ",\"nodeName\":\"n\"");
	put_pod("named", "\"muster.dev/queue\":\"a\"", "");
	flush();
	cr_assert_str_eq(queue_of("ns/named"), "a");
	cr_assert(replay_pod(&s.replay, "ns/waits")->queue == QUEUE_MISSING ||
	          strcmp(queue_of("ns/waits"), "default") == 0);
	put_namespace(1, "\"team\":\"x\"");
	while (!replay_flush(&s.replay, s.m, 1))
		cr_assert(strcmp(queue_of("ns/waits"), "b") != 0 || strcmp(queue_of("ns/runs"), "b") == 0,
		          "what runs comes first");
	cr_assert_str_eq(queue_of("ns/waits"), "b");
	cr_assert_str_eq(queue_of("ns/runs"), "b");
	put_namespace(2, "\"team\":\"y\"");
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "a");
	put_queues(2, SELECTS("b", "y") SELECTS("a", "y"));
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "a", "the first by name");
	put_queues(3, SELECTS("a", "y") "- {name: b, namespaces: [ns]}\\n");
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "b", "a name comes before a label");
	put_queues(4, SELECTS("a", "y") "- name: default\\n");
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "a");
	put_namespace(3, "");
	flush();
	cr_assert_str_eq(queue_of("ns/waits"), "default");
	cr_assert_str_eq(queue_of("ns/named"), "a");
}

/* Other objects than labels do not cost its pods a record. */
Test(queues, a_namespace_that_keeps_its_queue_moves_nobody)
{
	start_config(0, 0);
	put_queues(1,
	           "- {name: a, namespaces: [{matchExpressions: [{key: team, operator: Exists}]}]}\\n");
	put_namespace(1, "\"team\":\"x\"");
	put_pod("p", "", "");
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "a");
	put_namespace(2, "\"team\":\"y\"");
	s.replay.room = 1000;
	model_flush(s.m, &s.replay.sink);
	for (size_t i = 0; i < s.replay.queue_n; i++)
		cr_assert_neq(s.replay.queue[i].kind, EVENT_POD);
	flush();
	cr_assert_str_eq(queue_of("ns/p"), "a");
}

/* How many records of the kind the next flush has. */
static uint32_t flushed_of(uint32_t kind)
{
	uint32_t n = 0;

	s.replay.room = 1000;
	model_flush(s.m, &s.replay.sink);
	for (size_t i = 0; i < s.replay.queue_n; i++)
		n += s.replay.queue[i].kind == kind;
	flush();
	return n;
}

/* Each core is told once how the past counts; without a factor there is no such record. */
Test(queues, the_terms_of_history_are_sent_to_each_core)
{
	for (uint32_t factor = 0; factor <= 1000; factor += 1000) {
		start_config(factor, 3600);
		cr_assert_eq(flushed_of(EVENT_QUEUE_TERMS), factor > 0);
		put_config(1, "a");
		cr_assert_eq(flushed_of(EVENT_QUEUE_TERMS), 0);
		replay_forget(&s.replay);
		model_restart(s.m);
		cr_assert_eq(flushed_of(EVENT_QUEUE_TERMS), factor > 0);
	}
}

/* The name of the queue and " resource:value+part" of each, of all histories that the next flush
 * sends, after the records of the queues and before EVENT_SYNCED. */
static const char *pasts_flushed(size_t room)
{
	static char text[400];
	bool all = false, synced = false;

	text[0] = '\0';
	for (int i = 0; i < 100 && !all; i++) {
		s.replay.room = room;
		all = model_flush(s.m, &s.replay.sink);
		for (size_t k = 0; k < s.replay.queue_n; k++) {
			const struct replay_record *r = &s.replay.queue[k];
			const struct event_queue_past *e = (const void *)((const struct record *)r->data + 1);
			const struct queue_past *amounts = (const void *)(e + 1);
			size_t n = strlen(text);

			synced = synced || r->kind == EVENT_SYNCED;
			if (r->kind != EVENT_QUEUE_PAST)
				continue;
			cr_assert(!synced && e->at_s == 123);
			n +=
				(size_t)snprintf(text + n, sizeof(text) - n, "%s", model_queue_name(s.m, e->queue));
			for (uint32_t a = 0; a < e->amounts_n; a++)
				n +=
					(size_t)snprintf(text + n, sizeof(text) - n, " %u:%lld+%u", amounts[a].resource,
				                     (long long)amounts[a].value, amounts[a].part);
			snprintf(text + n, sizeof(text) - n, "; ");
		}
		replay_flush(&s.replay, s.m, 0); /* takes what came */
	}
	cr_assert(all);
	return text;
}

static struct queues_past *some_past(void)
{
	struct queues_past *p = past_new(123, 60);

	past_add_queue(p, "gone");
	past_add_amount(p, "cpu", 1, 0);
	past_add_queue(p, "a");
	past_add_amount(p, "memory", 5, 6);
	past_add_amount(p, "unknown.example.com/x", 1, 0);
	past_add_amount(p, "cpu", 7, 8);
	past_add_queue(p, "other");
	past_add_amount(p, "unknown.example.com/x", 1, 0);
	past_add_queue(p, "root");
	past_add_amount(p, "memory", 9, 0);
	return p;
}

/* Names that are gone are passed over; each core gets it, whatever room there is at once. */
Test(queues, what_they_used_is_sent_before_synced)
{
	start_config(1000, 60);
	put_config(1, "a");
	cr_assert_str_eq(pasts_flushed(1000), "", "none is known");
	cr_assert_null(model_past(s.m));
	model_keep_past(s.m, some_past());
	cr_assert_str_eq(pasts_flushed(1000), "", "this core has its own");
	model_send_past(s.m);
	model_set_synced(s.m);
	cr_assert_str_eq(pasts_flushed(1000), "a 0:7+8 1:5+6; root 1:9+0; ");
	cr_assert_str_eq(pasts_flushed(1000), "", "once");
	for (size_t room = 1; room < 12; room++) {
		replay_forget(&s.replay);
		model_restart(s.m);
		cr_assert_str_eq(pasts_flushed(room), "a 0:7+8 1:5+6; root 1:9+0; ", "room for %zu", room);
	}
	model_keep_past(s.m, NULL);
	replay_forget(&s.replay);
	model_restart(s.m);
	cr_assert_str_eq(pasts_flushed(1000), "");
}
