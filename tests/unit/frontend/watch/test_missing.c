/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that are forbidden, absent, or served in an older version. */
#include "frontend/model/groups/queues.h"
#include "tests/unit/support_watch.h"

TestSuite(watch_missing, .fini = end);

Test(watch_missing, forbidden_names_verb_and_resource)
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
Test(watch_missing, an_absent_custom_resource_is_empty_and_looked_for_again)
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
Test(watch_missing, a_resource_that_was_there_is_missing_when_it_is_so_twice)
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

Test(watch_missing, a_404_of_a_proxy_is_a_failure)
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
	world_init(&b.w);
	b.m = world_model_with((struct model_config){ .queues = MODEL_QUEUES_AUTO });
	b.watch = watch_new(&b.w.env, b.m, model_resource_index(b.m, "scheduling.run.ai/v2", "Queue"));
}

static void forbid_queues(struct http_call *c)
{
	world_answer(c, 403, world_status(403, "Forbidden", "queues is forbidden"));
}

/* Else gangs are decided without limits until they are looked for again. */
Test(watch_missing, queues_that_are_forbidden_for_a_moment_at_a_start_are_waited_for)
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

Test(watch_missing, queues_that_are_forbidden_for_long_at_a_start_are_gone_on_without)
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

/* --job-deadlines without the right: promises are made without those ends. */
Test(watch_missing, jobs_that_are_forbidden_for_long_at_a_start_are_gone_on_without)
{
	unsigned lists = 0;

	world_init(&b.w);
	b.m = world_model_with((struct model_config){ .job_deadlines = true });
	b.watch = watch_new(&b.w.env, b.m, model_resource_index(b.m, "batch/v1", "Job"));
	for (; !watch_synced(b.watch); lists++) {
		cr_assert_lt(lists, 7);
		pass(lists > 0 ? 5 * SECOND : 0);
		world_answer(world_take(&b.w, "GET", "/apis/batch/v1/jobs?limit=500"), 403,
		             world_status(403, "Forbidden", "jobs is forbidden"));
	}
	cr_assert_eq(lists, 7);
	cr_assert(watch_absent(b.watch));
	cr_assert(world_said(&b.w, "forbids to list jobs.batch (403): their deadlines end no pods "
	                           "(deploy/job-deadlines has the right)"));
}

/* A page that was read is a break, too. */
Test(watch_missing, queues_of_which_a_page_was_read_are_not_forbidden_for_long)
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

Test(watch_missing, queues_that_were_listed_stay_when_they_are_forbidden)
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
Test(watch_missing, a_resource_is_looked_for_in_its_older_versions)
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
Test(watch_missing, a_version_counts_once_it_is_served)
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

Test(watch_missing, a_resource_in_no_version_is_absent_and_looked_for_from_the_newest)
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

Test(watch_missing, absent_pods_are_a_failure)
{
	begin(PODS);
	world_answer(world_take(&b.w, "GET", "/api/v1/pods"), 404, "404 page not found");
	cr_assert(!watch_synced(b.watch));
	cr_assert_eq(wait_ms(), 800);
}
