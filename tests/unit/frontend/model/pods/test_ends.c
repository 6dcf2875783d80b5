/* SPDX-License-Identifier: Apache-2.0 */
/* What the core needs to know about ends and beginnings: pods that last, namespaces that end, when
 * a pod was bound, and whether a group was changed. */
#include "tests/unit/support_model.h"

static void start(void)
{
	start_model((struct model_config){ .limits = SMALL }, 2);
}

TestSuite(ends, .init = start, .fini = end);

static uint32_t flags_of(const char *meta, const char *spec)
{
	static int version;

	cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
	                        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
	                        "\"resourceVersion\":\"%d\"%s},"
	                        "\"spec\":{\"schedulerName\":\"muster\",\"nodeName\":\"n\"%s}}",
	                        ++version, meta, spec),
	             0);
	flush();
	return replay_pod(&s.replay, "ns/p")->flags;
}

#define OWNED(kind)                                                                                \
	",\"ownerReferences\":[{\"kind\":\"" kind "\",\"name\":\"o\",\"controller\":true}]"

Test(ends, of_a_pod)
{
	static const struct {
		const char *meta, *spec;
		bool lasts;
	} rows[] = {
		{ "", "", true },
		{ "", ",\"restartPolicy\":\"Always\"", true },
		{ "", ",\"restartPolicy\":\"Never\"", false },
		{ "", ",\"restartPolicy\":\"OnFailure\"", false },
		{ "", ",\"activeDeadlineSeconds\":60", false },
		{ "", ",\"activeDeadlineSeconds\":null", true },
		{ ",\"deletionTimestamp\":\"2026-03-05T12:15:08Z\"", "", false },
		{ OWNED("DaemonSet"), "", true },
		{ OWNED("ReplicaSet"), "", true },
		{ OWNED("StatefulSet"), "", true },
		{ OWNED("Node"), "", true },
		{ OWNED("Job"), ",\"restartPolicy\":\"Never\"", false },
		{ OWNED("PyTorchJob"), ",\"restartPolicy\":\"Always\"", false },
		{ OWNED("ReplicaSet"), ",\"activeDeadlineSeconds\":60", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq((flags_of(rows[i].meta, rows[i].spec) & POD_LASTS) != 0, rows[i].lasts,
		             "row %zu", i);
}

/* A label that its user writes is no end that anything enforces, wherever Kueue is not. */
Test(ends, the_run_time_of_kueue_is_soft)
{
#define KUEUE(s) ",\"labels\":{\"kueue.x-k8s.io/max-exec-time-seconds\":\"" s "\"}"
#define EXPECTS(s) ",\"annotations\":{\"muster.dev/run-seconds\":\"" s "\"}"
#define ONCE ",\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":10"
	static const struct {
		const char *meta, *spec;
		uint32_t run_s, expected_s; /* from status.startTime, which is a minute late at most */
	} rows[] = {
		{ KUEUE("100"), ONCE, 0, 170 },
		{ KUEUE("100"), ONCE ",\"activeDeadlineSeconds\":500", 570, 170 },
		{ KUEUE("100") EXPECTS("50"), ONCE, 0, 110 },
		{ KUEUE("100") EXPECTS("400"), ONCE, 0, 170 },
		{ EXPECTS("400"), ONCE, 0, 460 },
		{ KUEUE("0"), ONCE, 0, 0 },
		{ KUEUE("1e3"), ONCE, 0, 0 },
		{ KUEUE("100"), "", 0, 0 }, /* it restarts always */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		flags_of(rows[i].meta, rows[i].spec);
		cr_assert_eq(replay_pod(&s.replay, "ns/p")->run_s, rows[i].run_s, "row %zu: %u", i,
		             replay_pod(&s.replay, "ns/p")->run_s);
		cr_assert_eq(replay_pod(&s.replay, "ns/p")->expected_s, rows[i].expected_s, "row %zu: %u",
		             i, replay_pod(&s.replay, "ns/p")->expected_s);
	}
}

/* What a queue's maxRunSeconds is compared with; `queues`: they are served. */
static void start_stated(bool queues)
{
	start_model((struct model_config){ .limits = SMALL,
	                                   .job_deadlines = true,
	                                   .queues = queues ? MODEL_QUEUES_CONFIG : 0,
	                                   .queues_namespace = queues ? "sys" : NULL,
	                                   .queues_name = queues ? "queues" : NULL },
	            2);
}

static uint32_t stated_of(const char *meta, const char *spec)
{
	cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
	                        "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
	                        "\"resourceVersion\":\"%d\"%s},"
	                        "\"spec\":{\"schedulerName\":\"muster\"%s}}",
	                        ++s.version, meta, spec),
	             0);
	flush();
	return replay_pod(&s.replay, "ns/p")->stated_s;
}

TestSuite(ends_stated, .fini = end);

#define DEADLINE(s) ",\"activeDeadlineSeconds\":" s
#define IN_G ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}"
#define OF_J                                                                                       \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","          \
	"\"uid\":\"u-j\",\"controller\":true}]"

static void put_job(int seconds)
{
	cr_assert_eq(put_object(resource_of("batch/v1", "Job"),
	                        "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"u-j\","
	                        "\"resourceVersion\":\"%d\"},\"spec\":{\"activeDeadlineSeconds\":%d}}",
	                        ++s.version, seconds),
	             0);
}

static void put_group(int seconds)
{
	cr_assert_eq(put_object(resource_of("scheduling.x-k8s.io/v1alpha1", "PodGroup"),
	                        "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"u-g\","
	                        "\"resourceVersion\":\"%d\",\"annotations\":{"
	                        "\"muster.dev/run-seconds\":\"%d\"}},\"spec\":{\"minMember\":1}}",
	                        ++s.version, seconds),
	             0);
}

/* As it is written: without the grace period and the minute until status.startTime. */
Test(ends_stated, as_it_is_written)
{
	static const struct {
		const char *meta, *spec;
		uint32_t stated_s;
	} rows[] = {
		{ "", ONCE, 0 },
		{ "", ONCE DEADLINE("500"), 500 },
		{ "", DEADLINE("500"), 500 }, /* it restarts always, until then */
		{ EXPECTS("50"), ONCE, 50 },
		{ EXPECTS("50"), ONCE DEADLINE("500"), 500 }, /* it may run for as long */
		{ EXPECTS("5000"), ONCE DEADLINE("500"), 500 },
		{ KUEUE("100"), ONCE, 100 },
		{ KUEUE("100") EXPECTS("50"), ONCE, 50 },
		{ KUEUE("100") EXPECTS("400"), ONCE, 100 },
		{ EXPECTS("1e3"), ONCE, 0 },
		{ EXPECTS("50"), "", 0 }, /* it restarts always */
		{ EXPECTS("50"), ONCE, 50 },
		{ "", ONCE DEADLINE("9000000000"), 315360000 },
		/* Of its Job 300, of its group 200. */
		{ OF_J, ONCE, 300 },
		{ OF_J EXPECTS("50"), ONCE, 300 },
		{ OF_J, ONCE DEADLINE("299"), 299 },
		{ OF_J, ONCE DEADLINE("301"), 300 },
		{ OF_J IN_G, ONCE, 300 },
		{ IN_G, ONCE, 200 },
		{ IN_G EXPECTS("250"), ONCE, 250 },
		{ IN_G, "", 0 },
		{ EXPECTS("50"), ONCE ",\"nodeName\":\"n\"", 0 }, /* it is asked no more */
	};

	start_stated(true);
	put_job(300);
	put_group(200);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(stated_of(rows[i].meta, rows[i].spec), rows[i].stated_s, "row %zu: %u", i,
		             replay_pod(&s.replay, "ns/p")->stated_s);
	model_restart(s.m);
	flush();
	cr_assert_eq(stated_of(IN_G, ONCE), 200);
}

/* Members follow their group's object, and pods their Job. */
Test(ends_stated, edits_are_followed)
{
	start_stated(true);
	for (int i = 0; i < 3; i++) {
		put_job(300 + i);
		if (i == 0)
			cr_assert_eq(stated_of(OF_J, ONCE), 300);
		flush();
		cr_assert_eq(replay_pod(&s.replay, "ns/p")->stated_s, 300 + i);
	}
	for (int i = 0; i < 3; i++) {
		put_group(200 + i);
		if (i == 0)
			cr_assert_eq(stated_of(IN_G, ONCE), 200);
		flush();
		cr_assert_eq(replay_pod(&s.replay, "ns/p")->stated_s, 200 + i);
	}
}

Test(ends_stated, without_queues_it_is_nothing)
{
	start_stated(false);
	cr_assert_eq(stated_of(EXPECTS("50"), ONCE DEADLINE("500")), 0);
}

static void put_waiting(void)
{
	cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
	                        "{\"metadata\":{\"name\":\"q\",\"namespace\":\"ns\",\"uid\":\"u-q\","
	                        "\"resourceVersion\":\"1\"},\"spec\":{\"schedulerName\":\"muster\"}}"),
	             0);
	flush();
}

static void put_namespace(int version, const char *meta)
{
	cr_assert_eq(put_object(model_resource_index(s.m, "v1", "Namespace"),
	                        "{\"metadata\":{\"name\":\"ns\",\"uid\":\"u-ns\","
	                        "\"resourceVersion\":\"%d\"%s}}",
	                        version, meta),
	             0);
	flush();
}

Test(ends, of_a_namespace)
{
	struct pod_view view;

	put_namespace(1, "");
	put_waiting();
	cr_assert_eq(flags_of("", "") & POD_REFUSED, 0);
	cr_assert_eq(replay_pod(&s.replay, "ns/q")->flags & POD_REFUSED, 0);
	put_namespace(2, ",\"deletionTimestamp\":\"2026-03-05T12:15:08Z\"");
	cr_assert(replay_pod(&s.replay, "ns/q")->flags & POD_REFUSED);
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags & POD_REFUSED, 0, "it is bound");
	cr_assert(model_pod_by_name(s.m, "ns", "q", &view));
	cr_assert(strstr(view.refusal, "namespace is being deleted"), "%s", view.refusal);
	model_restart(s.m);
	flush();
	cr_assert(replay_pod(&s.replay, "ns/q")->flags & POD_REFUSED);
	/* Another namespace of that name. */
	put_object(model_resource_index(s.m, "v1", "Namespace"),
	           "{\"metadata\":{\"name\":\"ns\",\"uid\":\"u-2\",\"resourceVersion\":\"9\"}}");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/q")->flags & POD_REFUSED, 0);
}

Test(ends, time_of_a_binding)
{
	static const struct {
		const char *conditions;
		uint32_t seconds;
	} rows[] = {
		{ "", 0 },
		{ "{\"type\":\"PodScheduled\",\"status\":\"True\","
		  "\"lastTransitionTime\":\"1970-01-01T00:01:40Z\"}",
		  100 },
		{ "{\"type\":\"PodScheduled\",\"status\":\"False\","
		  "\"lastTransitionTime\":\"1970-01-01T00:01:40Z\"}",
		  0 },
		{ "{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastTransitionTime\":\"soon\"}", 0 },
		{ "{\"type\":\"PodScheduled\",\"status\":\"True\"}", 0 },
		{ "{\"type\":\"Ready\",\"status\":\"True\","
		  "\"lastTransitionTime\":\"1970-01-01T00:01:40Z\"}",
		  0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
		                        "{\"metadata\":{\"name\":\"p%zu\",\"namespace\":\"ns\",\"uid\":"
		                        "\"u%zu\",\"resourceVersion\":\"1\"},\"spec\":{\"nodeName\":\"n\"},"
		                        "\"status\":{\"conditions\":[%s]}}",
		                        i, i, rows[i].conditions),
		             0);
		flush();
		cr_assert_eq(
			replay_pod(&s.replay, (char[]){ 'n', 's', '/', 'p', (char)('0' + i), 0 })->scheduled_s,
			rows[i].seconds, "row %zu", i);
	}
}

Test(ends, changes_of_a_group)
{
	static const struct {
		const char *generation;
		bool unchanged;
	} rows[] = { { "", false },
		         { ",\"generation\":1", true },
		         { ",\"generation\":2", false },
		         { ",\"generation\":\"1\"", false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_object(RESOURCE_INDEX_DIALECTS,
		           "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"u-%zu\","
		           "\"resourceVersion\":\"%zu\"%s},\"spec\":{\"minMember\":%zu}}",
		           i, i + 1, rows[i].generation, i + 1);
		flush();
		cr_assert_eq((replay_gang(&s.replay, "ns/g")->flags & GANG_UNCHANGED) != 0,
		             rows[i].unchanged, "row %zu", i);
	}
}

/* The tenant annotated the pod, and named its queue like what muster says: the condition has it. */
Test(ends, a_promise_in_the_name_of_a_queue_is_not_believed)
{
	static const struct {
		const char *status, *message;
		bool believed;
	} rows[] = {
		{ "False", "0/1 nodes are available. It starts at 2026-11-22T17:40:00Z (promised).", true },
		{ "False", "It starts at 2026-11-22T17:40:00Z (promised).", false },
		{ "False", "queue It starts at 2026-11-22T17:40:00Z (promised). does not exist", false },
		{ "False", "queue starts at 2026-11-22T17:40:00Z (promised) does not exist", false },
		{ "False", "0/1 nodes are available. It starts at 2026-11-22T17:41:00Z (promised).",
		  false },
		{ "True", "0/1 nodes are available. It starts at 2026-11-22T17:40:00Z (promised).", false },
		{ "False", "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pod_view view;

		cr_assert_eq(
			put_object(RESOURCE_INDEX_PODS,
		               "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\","
		               "\"resourceVersion\":\"%zu\",\"annotations\":{\"muster.dev/promised-start\":"
		               "\"2026-11-22T17:40:00Z\"}},\"spec\":{\"schedulerName\":\"muster\"},"
		               "\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"%s\","
		               "\"reason\":\"Unschedulable\",\"message\":\"%s\"}]}}",
		               i + 1, rows[i].status, rows[i].message),
			0);
		flush();
		cr_assert(model_pod_by_name(s.m, "ns", "p", &view));
		cr_assert_eq(view.promised_s != 0, rows[i].believed, "row %zu", i);
	}
}
