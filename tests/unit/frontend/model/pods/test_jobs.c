/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of Jobs as ends of their pods (--job-deadlines). */
#include "tests/unit/support_model.h"

static void start(void)
{
	start_model((struct model_config){ .limits = SMALL, .job_deadlines = true }, 2);
}

TestSuite(jobs, .init = start, .fini = end);

#define OF(kind, name, uid)                                                                        \
	",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"" kind "\",\"name\":\"" name    \
	"\",\"uid\":\"" uid "\",\"controller\":true}]"
#define OF_J OF("Job", "j", "u-j")
#define ENDS(s) "\"activeDeadlineSeconds\":" s
#define STARTED "\"startTime\":\"2001-09-09T01:46:40Z\""
#define CONDITION(type) STARTED ",\"conditions\":[{\"type\":\"" type "\",\"status\":\"True\"}]"

static int put_job(const char *uid, const char *spec, const char *status)
{
	return put_object(resource_of("batch/v1", "Job"),
	                  "{\"metadata\":{\"name\":\"j\",\"namespace\":\"ns\",\"uid\":\"%s\","
	                  "\"resourceVersion\":\"%d\"},\"spec\":{%s},\"status\":{%s}}",
	                  uid, ++s.version, spec, status);
}

/* Its grace is 10 s; `bound`: 100 s after the time of STARTED. */
static void put_pod(const char *namespace, const char *name, const char *owner, const char *spec,
                    bool bound)
{
	cr_assert_eq(put_object(RESOURCE_INDEX_PODS,
	                        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s\","
	                        "\"resourceVersion\":\"%d\"%s},\"spec\":{\"schedulerName\":\"muster\","
	                        "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":10%s%s},"
	                        "\"status\":{%s}}",
	                        name, namespace, name, ++s.version, owner, spec,
	                        bound ? ",\"nodeName\":\"n\"" : "",
	                        bound
	                            ? "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\","
	                              "\"lastTransitionTime\":\"2001-09-09T01:48:20Z\"}]"
	                            : ""),
	             0);
}

/* As the core has it. */
static uint32_t run_s(const char *name)
{
	char full[64];

	flush();
	snprintf(full, sizeof(full), "ns/%s", name);
	return replay_pod(&s.replay, full)->run_s;
}

Test(jobs, ends_of_pods_that_wait_and_that_run)
{
	static const struct {
		const char *job, *status, *pod;
		uint32_t waits_s, runs_s;
	} rows[] = {
		{ ENDS("300"), "", "", 370, 370 }, /* not started: a minute until it is */
		{ ENDS("300"), STARTED, "", 310, 210 },
		{ ENDS("300") ",\"suspend\":false", STARTED, "", 310, 210 },
		{ ENDS("300") ",\"managedBy\":\"kubernetes.io/job-controller\"", STARTED, "", 310, 210 },
		{ ENDS("0"), STARTED, "", 10, 1 }, /* over before the pod was bound */
		{ ENDS("89"), STARTED, "", 99, 1 },
		{ ENDS("92"), STARTED, "", 102, 2 },
		/* The earlier one of the two counts. */
		{ ENDS("300"), STARTED, "," ENDS("20"), 90, 90 },
		{ ENDS("300"), STARTED, "," ENDS("9000"), 310, 210 },
		{ "", STARTED, "," ENDS("20"), 90, 90 },
		/* Nothing ends its pods at a deadline. */
		{ "", STARTED, "", 0, 0 },
		{ ENDS("null"), STARTED, "", 0, 0 },
		{ ENDS("300") ",\"suspend\":true", "", "", 0, 0 },
		{ ENDS("300") ",\"suspend\":true", STARTED, "", 0, 0 },
		{ ENDS("300") ",\"managedBy\":\"kueue.x-k8s.io/multikueue\"", STARTED, "", 0, 0 },
		{ ENDS("300"), CONDITION("Complete"), "", 0, 0 },
		{ ENDS("300"), CONDITION("Failed"), "", 0, 0 },
		{ ENDS("300"), CONDITION("FailureTarget"), "", 310, 210 },
		/* Hostile. */
		{ ENDS("-1"), STARTED, "", 0, 0 },
		{ ENDS("-9223372036854775808"), STARTED, "", 0, 0 },
		{ ENDS("9223372036854775807"), "", "", 315360000, 315360000 },
		{ ENDS("9223372036854775807"), STARTED, "", 315360000, 315359910 },
		{ ENDS("300"), "\"startTime\":\"9999-12-31T23:59:59Z\"", "", 310, 315360000 },
		{ ENDS("300"), "\"startTime\":\"1969-12-31T23:59:59Z\"", "", 370, 370 },
		{ ENDS("300"), "\"startTime\":\"1970-01-01T00:00:01Z\"", "", 310, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int after = 0; after < 2; after++) {
			start();
			if (!after)
				cr_assert_eq(put_job("u-j", rows[i].job, rows[i].status), 0, "row %zu", i);
			put_pod("ns", "w", OF_J, rows[i].pod, false);
			put_pod("ns", "b", OF_J, rows[i].pod, true);
			flush();
			if (after)
				cr_assert_eq(put_job("u-j", rows[i].job, rows[i].status), 0, "row %zu", i);
			cr_assert_eq(run_s("w"), rows[i].waits_s, "row %zu: %u", i, run_s("w"));
			cr_assert_eq(run_s("b"), rows[i].runs_s, "row %zu: %u", i, run_s("b"));
		}
	}
}

/* What the API server would not store. */
Test(jobs, one_that_cannot_be_read_ends_nothing)
{
	static const char *const bad[] = { ENDS("\"300\""), ENDS("300.5"),
		                               ENDS("1e400"),   ENDS("9223372036854775808"),
		                               ENDS("{}"),      ENDS("true") };

	put_pod("ns", "b", OF_J, "", true);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_assert_eq(put_job("u-j", ENDS("300"), STARTED), 0);
		cr_assert_eq(run_s("b"), 210);
		cr_assert_eq(put_job("u-j", bad[i], STARTED), -EINVAL, "row %zu", i);
		cr_assert_eq(run_s("b"), 0, "row %zu", i);
	}
	cr_assert_eq(put_object(resource_of("batch/v1", "Job"), "{\"spec\":{\"suspend\":[]}}"),
	             -EINVAL);
	cr_assert_eq(put_object(resource_of("batch/v1", "Job"), "[]"), -EINVAL);
}

Test(jobs, of_its_controller_alone)
{
	static const struct {
		const char *namespace, *owner;
	} rows[] = {
		{ "ns", OF("Job", "j", "u-of-another") },
		{ "ns", OF("Job", "k", "u-j") },
		{ "ns", OF("Job", "j", "") },
		{ "ns", OF("MyJob", "j", "u-j") },
		{ "other", OF_J },
		{ "ns", ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
		        "\"name\":\"j\",\"uid\":\"u-j\"}]" },
		{ "ns", ",\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1\",\"kind\":\"Job\","
		        "\"name\":\"j\",\"uid\":\"u-j\",\"controller\":true}]" },
		{ "ns", "" },
	};

	put_job("u-j", ENDS("300"), STARTED);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char full[64];

		put_pod(rows[i].namespace, "p", rows[i].owner, "", true);
		flush();
		snprintf(full, sizeof(full), "%s/p", rows[i].namespace);
		cr_assert_eq(replay_pod(&s.replay, full)->run_s, 0, "row %zu", i);
	}
	put_pod("ns", "p", OF_J, "", true);
	cr_assert_eq(run_s("p"), 210);
	put_pod("ns", "p", "", "", true);
	cr_assert_eq(run_s("p"), 0, "it was orphaned");
}

Test(jobs, an_edited_deadline_is_followed)
{
	put_job("u-j", ENDS("300"), STARTED);
	put_pod("ns", "w", OF_J, "", false);
	put_pod("ns", "b", OF_J, "", true);
	cr_assert_eq(run_s("b"), 210);
	put_job("u-j", ENDS("500"), STARTED);
	cr_assert_eq(run_s("b"), 410);
	cr_assert_eq(run_s("w"), 510);
	put_job("u-j", ENDS("200"), STARTED);
	cr_assert_eq(run_s("b"), 110);
	put_job("u-j", ENDS("200"), STARTED ",\"active\":7");
	cr_assert_eq(flush(), 0, "nothing that ends pods changed");
	put_job("u-j", "", STARTED);
	cr_assert_eq(run_s("b"), 0);
	cr_assert_eq(run_s("w"), 0);
}

/* The garbage collector ends them a moment later. */
Test(jobs, pods_that_run_keep_the_end_of_a_job_that_is_over)
{
	const int jobs = resource_of("batch/v1", "Job");

	for (int how = 0; how < 4; how++) {
		start();
		put_job("u-j", ENDS("300"), STARTED);
		put_pod("ns", "w", OF_J, "", false);
		put_pod("ns", "b", OF_J, "", true);
		flush();
		if (how == 0)
			remove_object(jobs, "j", "u-j", ++s.version);
		else if (how == 1)
			put_job("u-j", ENDS("300"), CONDITION("Failed"));
		else if (how == 2)
			put_job("u-j", ENDS("300") ",\"suspend\":true", "");
		else {
			model_replace_begin(s.m, jobs);
			model_replace_end(s.m, jobs);
		}
		cr_assert_eq(run_s("b"), 210, "%d", how);
		cr_assert_eq(run_s("w"), 0, "%d", how);
		put_pod("ns", "b", OF_J, "", true);
		put_pod("ns", "w", OF_J, "", true);
		cr_assert_eq(run_s("b"), 210, "%d: it was put again", how);
		cr_assert_eq(run_s("w"), 0, "%d: it was bound later", how);
		/* Another one of that name, and then the same, resumed. */
		put_job("u-2", ENDS("900"), STARTED);
		cr_assert_eq(run_s("b"), 210, "%d", how);
		put_job("u-j", ENDS("400"), STARTED);
		cr_assert_eq(run_s("b"), 310, "%d", how);
		put_job("u-j", "", STARTED);
		cr_assert_eq(run_s("b"), 0, "%d", how);
	}
}

Test(jobs, another_job_of_the_same_name_is_another)
{
	put_job("u-j", ENDS("300"), STARTED);
	put_pod("ns", "old", OF_J, "", true);
	remove_object(resource_of("batch/v1", "Job"), "j", "u-j", ++s.version);
	put_job("u-2", ENDS("500"), STARTED);
	put_pod("ns", "new", OF("Job", "j", "u-2"), "", true);
	cr_assert_eq(run_s("old"), 210);
	cr_assert_eq(run_s("new"), 410);
	remove_object(resource_of("batch/v1", "Job"), "j", "u-j", ++s.version);
	put_job("u-2", ENDS("600"), STARTED);
	cr_assert_eq(run_s("new"), 510);
	/* A pod of that name, too. */
	put_object(RESOURCE_INDEX_PODS,
	           "{\"metadata\":{\"name\":\"new\",\"namespace\":\"ns\",\"uid\":\"u-other\","
	           "\"resourceVersion\":\"%d\"},\"spec\":{\"nodeName\":\"n\"}}",
	           ++s.version);
	cr_assert_eq(run_s("new"), 0);
}

/* A cluster has many that ended long ago. */
Test(jobs, only_those_with_a_deadline_are_stored)
{
	const uint32_t numbers = s.m->values.pool.used;

	put_job("u-1", "", STARTED);
	put_job("u-2", ENDS("300"), CONDITION("Complete"));
	put_job("u-3", ENDS("-1"), STARTED);
	put_job("u-4", ENDS("300") ",\"suspend\":true", "");
	flush();
	cr_assert_eq(s.m->values.pool.used, numbers);
	put_job("u-1", ENDS("300"), STARTED);
	put_job("u-2", ENDS("300"), STARTED);
	flush();
	cr_assert_eq(s.m->values.pool.used, numbers + 4, "ns, j and two uids");
	remove_object(resource_of("batch/v1", "Job"), "j", "u-1", ++s.version);
	put_job("u-2", "", STARTED);
	flush();
	cr_assert_eq(s.m->values.pool.used, numbers);
	put_pod("ns", "p", OF_J, "", true);
	remove_object(RESOURCE_INDEX_PODS, "p", "u-p", ++s.version);
}

Test(jobs, more_than_fit_are_left_out)
{
	char uid[32];
	int rc = 0, n = 0;

	for (; rc == 0 && n < 70000; n++) {
		char json[256];
		const int bytes = snprintf(json, sizeof(json),
		                           "{\"metadata\":{\"name\":\"j%d\",\"namespace\":\"ns\",\"uid\":"
		                           "\"u-%d\",\"resourceVersion\":\"1\"},\"spec\":{" ENDS("9") "}}",
		                           n, n);

		rc = model_put(s.m, resource_of("batch/v1", "Job"), json, (size_t)bytes, &s.error);
	}
	cr_assert_eq(rc, -ENOSPC);
	cr_assert_eq(n, 65537);
	/* What a pod names is stored. */
	snprintf(uid, sizeof(uid), "u-j");
	put_pod("ns", "p", OF_J, "", true);
	cr_assert_eq(put_job(uid, ENDS("300"), STARTED), 0);
	cr_assert_eq(run_s("p"), 210);
}

Test(jobs, off_by_default)
{
	start_model((struct model_config){ .limits = SMALL }, 2);
	cr_assert_eq(model_resource_index(s.m, "batch/v1", "Job"), -1);
	put_pod("ns", "p", OF_J, "," ENDS("20"), true);
	cr_assert_eq(run_s("p"), 90);
	put_pod("ns", "q", OF_J, "", true);
	cr_assert_eq(run_s("q"), 0);
}

Test(jobs, a_new_core_gets_the_same)
{
	put_job("u-j", ENDS("300"), STARTED);
	put_pod("ns", "b", OF_J, "", true);
	flush();
	model_restart(s.m);
	cr_assert_eq(run_s("b"), 210);
}
