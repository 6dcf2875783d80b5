/* SPDX-License-Identifier: Apache-2.0 */
/* What apisim answers, without a socket.  conformance.py compares the same with
 * the real server; here are the things that need no comparison, or that a real
 * server can't be made to do. */
#include "tests/unit/support_apisim.h"
#include "tests/unit/test.h"

#define PODS "/api/v1/namespaces/default/pods"
#define MERGE "application/merge-patch+json"
#define STRATEGIC "application/strategic-merge-patch+json"

static struct server s;

static void setup(void)
{
	server_start(&s, 1000);
}

static void teardown(void)
{
	server_stop(&s);
}

TestSuite(apisim_api, .init = setup, .fini = teardown);

static int patch(const char *type, const char *target, const char *body)
{
	s.type = type;
	return server_send(&s, "PATCH", target, body);
}

static void arm(const char *fault)
{
	cr_assert_eq(server_send(&s, "POST", "/apisim/faults", fault), 200, "%s",
	             server_text(&s, "message"));
}

static struct as_watch *watch(const char *format, uint64_t version)
{
	char target[256];

	snprintf(target, sizeof(target), "%s%llu", format, (unsigned long long)version);
	cr_assert_eq(server_send(&s, "GET", target, NULL), 200, "%s", server_text(&s, "message"));
	cr_assert_not_null(s.watch);
	return s.watch;
}

static uint64_t present(void)
{
	server_send(&s, "GET", PODS "?limit=1", NULL);
	return server_version(&s);
}

Test(apisim_api, a_write_that_changes_nothing_is_no_version)
{
	uint64_t before;

	server_pod(&s, "p");
	before = server_version(&s);
	cr_expect_eq(patch(MERGE, PODS "/p", "{\"metadata\":{\"labels\":null}}"), 200);
	cr_expect_eq(server_version(&s), before);
	cr_expect_eq(patch(STRATEGIC, PODS "/p/status", "{\"status\":{\"phase\":\"Pending\"}}"), 200);
	cr_expect_eq(server_version(&s), before);
	cr_expect_eq(
		patch(STRATEGIC, PODS "/p/status",
	          "{\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]}}"),
		200);
	cr_expect_eq(server_version(&s), before + 1);
	cr_expect_eq(present(), before + 1);
}

Test(apisim_api, conditions_merge_by_type)
{
	const struct as_json *list;

	server_pod(&s, "p");
	patch(
		STRATEGIC, PODS "/p/status",
		"{\"status\":{\"conditions\":[{\"type\":\"A\",\"status\":\"False\"},{\"type\":\"B\",\"status\":\"False\"}]}}");
	cr_expect_eq(patch(STRATEGIC, PODS "/p/status",
	                   "{\"status\":{\"$setElementOrder/conditions\":[{\"type\":\"B\"}],"
	                   "\"conditions\":[{\"type\":\"B\",\"status\":\"True\"}]}}"),
	             200);
	list = as_json_array(as_json_get(s.body, "status"), "conditions");
	cr_assert(list->first != NULL && list->first->next == list->last);
	cr_expect_str_eq(as_json_string(list->first, "type"), "A");
	cr_expect_str_eq(as_json_string(list->first, "status"), "False");
	cr_expect_str_eq(as_json_string(list->last, "type"), "B");
	cr_expect_str_eq(as_json_string(list->last, "status"), "True");
}

Test(apisim_api, what_it_does_not_do_is_refused)
{
	server_pod(&s, "p");
	cr_expect_eq(patch("application/apply-patch+yaml", PODS "/p", "{}"), 415);
	cr_expect_eq(patch("application/json-patch+json", PODS "/p", "[]"), 415);
	s.type = "application/yaml";
	cr_expect_eq(server_send(&s, "POST", PODS, "a: b"), 415);
	cr_expect_eq(server_send(&s, "POST", PODS "?fieldValidation=Strict", "{}"), 400);
	cr_expect_eq(server_send(&s, "DELETE", PODS "/p?propagationPolicy=Foreground", ""), 400);
	cr_expect_eq(server_send(&s, "GET", PODS "/p/log", NULL), 404);
	cr_expect_eq(server_send(&s, "POST", PODS "/p/eviction", "{}"), 400);
	cr_expect_eq(server_send(&s, "POST", "/apisim/faults", "{\"fault\":\"flood\"}"), 400);
	cr_expect_eq(server_send(&s, "POST", "/apisim/faults", "{\"fault\":\"delay\",\"hours\":1}"),
	             400);
	cr_expect_eq(server_send(&s, "GET", "/apisim/nothing", NULL), 404);
	cr_expect_eq(server_send(&s, "GET", "/", NULL), 404);
	cr_expect_eq(server_send(&s, "GET", "/apis/scheduling.k8s.io/v1alpha2/podgroups", NULL), 404);
}

static void expect_conflict(const char *words)
{
	cr_expect_eq(s.status, 409);
	cr_expect_str_eq(server_text(&s, "reason"), "Conflict");
	cr_expect(strstr(server_text(&s, "message"), words) != NULL, "%s", server_text(&s, "message"));
}

Test(apisim_api, a_binding_is_refused_in_the_real_words)
{
	char uid[64];
	uint64_t version;

	server_pod(&s, "p");
	snprintf(uid, sizeof(uid), "%s", server_text(&s, "metadata.uid"));
	version = server_version(&s);
	cr_expect_eq(server_bind(&s, "none", "n"), 404);
	server_sendf(&s, "POST", PODS "/p/binding",
	             "{\"metadata\":{\"name\":\"p\",\"uid\":\"other\"},\"target\":{\"name\":\"n\"}}");
	expect_conflict("Precondition failed: UID in precondition: other, UID in object meta: ");
	server_sendf(
		&s, "POST", PODS "/p/binding",
		"{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"%llu\"},\"target\":{\"name\":\"n\"}}",
		(unsigned long long)version - 1);
	expect_conflict("Precondition failed: ResourceVersion in precondition: ");
	cr_expect_eq(
		server_sendf(&s, "POST", PODS "/p/binding",
	                 "{\"metadata\":{\"name\":\"p\",\"uid\":\"%s\",\"resourceVersion\":\"%llu\"},"
	                 "\"target\":{\"name\":\"n\"}}",
	                 uid, (unsigned long long)version),
		201);
	cr_expect_str_eq(server_text(&s, "status"), "Success");
	server_bind(&s, "p", "n");
	expect_conflict("pod p is already assigned to node \"n\"");
	server_send(&s, "DELETE", PODS "/p", "");
	server_bind(&s, "p", "n");
	expect_conflict("is being deleted, cannot be assigned to a host");
	server_send(&s, "POST", PODS,
	            "{\"metadata\":{\"name\":\"g\"},\"spec\":{\"schedulingGates\":[{\"name\":\"a/b\"}],"
	            "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
	server_bind(&s, "g", "n");
	expect_conflict("has non-empty .spec.schedulingGates");
	server_send(&s, "GET", "/apisim/stats", NULL);
	cr_expect_str_eq(server_text(&s, "binds"), "1");
	cr_expect_str_eq(server_text(&s, "bindConflicts"), "5");
	cr_expect_str_eq(server_text(&s, "doubleBindAttempts"), "1");
}

static const char *node_of(const char *pod)
{
	char target[128];

	snprintf(target, sizeof(target), PODS "/%s", pod);
	server_send(&s, "GET", target, NULL);
	return server_text(&s, "spec.nodeName");
}

Test(apisim_api, faults_of_bindings_before_and_after)
{
	static const struct {
		const char *fault;
		int status;
		const char *node;
	} cases[] = {
		{ "bind-500-before", 500, "" }, { "bind-500-after", 500, "n" },
		{ "bind-504-after", 504, "n" }, { "bind-409-before", 409, "" },
		{ "bind-409-after", 409, "n" }, { "bind-429", 429, "" },
		{ "bind-cut-before", 504, "" }, { "bind-cut-after", 504, "n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char pod[32], fault[96];

		snprintf(pod, sizeof(pod), "p%zu", i);
		snprintf(fault, sizeof(fault), "{\"fault\":\"%s\",\"retryAfterSeconds\":7}",
		         cases[i].fault);
		server_pod(&s, pod);
		arm(fault);
		cr_expect_eq(server_bind(&s, pod, "n"), cases[i].status, "%s", cases[i].fault);
		cr_expect_eq(s.cut, strstr(cases[i].fault, "cut") != NULL, "%s", cases[i].fault);
		cr_expect_eq(s.retry_after_s, cases[i].status == 429 ? 7 : 0);
		cr_expect_str_eq(node_of(pod), cases[i].node, "%s", cases[i].fault);
		/* Only the next one was to be hit. */
		cr_expect_eq(server_bind(&s, pod, "n"), cases[i].node[0] == '\0' ? 201 : 409, "%s",
		             cases[i].fault);
	}
}

Test(apisim_api, a_late_binding_lands_later)
{
	server_pod(&s, "p");
	server_pod(&s, "q");
	arm("{\"fault\":\"bind-late\",\"count\":2,\"ms\":5000}");
	cr_expect_eq(server_bind(&s, "p", "n"), 504);
	cr_expect_eq(server_bind(&s, "q", "n"), 504);
	cr_expect_str_eq(node_of("p"), "");
	cr_expect_eq(as_api_due_ns(s.api), s.now_ns + 5 * SECOND_NS);
	patch(MERGE, PODS "/q", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	server_bind(&s, "q", "elsewhere");
	s.now_ns += 5 * SECOND_NS;
	as_api_advance(s.api, s.now_ns);
	cr_expect_str_eq(node_of("p"), "n");
	cr_expect_str_eq(node_of("q"), "elsewhere");
	cr_expect_eq(as_api_due_ns(s.api), UINT64_MAX);
}

Test(apisim_api, a_watch_tells_what_happens)
{
	struct as_watch *all, *bound;
	uint64_t now = present();

	all = watch(PODS "?watch=1&resourceVersion=", now);
	bound = watch(PODS "?watch=1&fieldSelector=spec.nodeName%3Dn&resourceVersion=", now);
	cr_expect_str_eq(server_events(&s, all), "");
	cr_expect_not(as_watch_ready(all, s.now_ns));
	server_pod(&s, "p");
	server_pod(&s, "q");
	cr_expect(as_watch_ready(all, s.now_ns));
	cr_expect_not(as_watch_ready(bound, s.now_ns));
	server_bind(&s, "p", "n");
	cr_expect(as_watch_ready(bound, s.now_ns));
	cr_expect_str_eq(server_events(&s, all), "ADDED p, ADDED q, MODIFIED p");
	server_send(&s, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
	server_send(&s, "DELETE", PODS "/q", "");
	cr_expect_str_eq(server_events(&s, all), "MODIFIED p, DELETED p, MODIFIED q, DELETED q");
	cr_expect_str_eq(server_events(&s, bound), "ADDED p, MODIFIED p, DELETED p");
	as_watch_free(all);
	as_watch_free(bound);
}

Test(apisim_api, leaving_a_selector_is_a_deletion_of_what_was)
{
	struct as_watch *w;
	enum as_watch_state state;
	char text[4096];
	size_t n;

	w = watch(PODS "?watch=1&labelSelector=in%3Dyes&resourceVersion=", present());
	server_pod(&s, "p");
	patch(MERGE, PODS "/p", "{\"metadata\":{\"labels\":{\"in\":\"yes\"}}}");
	cr_expect_str_eq(server_events(&s, w), "ADDED p");
	patch(MERGE, PODS "/p", "{\"metadata\":{\"labels\":{\"in\":\"no\"}}}");
	n = as_watch_read(w, s.now_ns, text, sizeof(text) - 1, &state);
	text[n] = '\0';
	cr_expect_not_null(strstr(text, "\"type\":\"DELETED\""));
	cr_expect_not_null(strstr(text, "\"in\":\"yes\""));
	snprintf(text + 2048, 64, "\"resourceVersion\":\"%llu\"",
	         (unsigned long long)server_version(&s));
	cr_expect_not_null(strstr(text, text + 2048));
	as_watch_free(w);
}

Test(apisim_api, the_present_first_then_a_mark)
{
	struct as_watch *w;

	server_pod(&s, "a");
	server_pod(&s, "b");
	w = watch(
		PODS
		"?watch=1&allowWatchBookmarks=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=",
		0);
	server_pod(&s, "c");
	cr_expect_str_eq(server_events(&s, w), "ADDED a, ADDED b, BOOKMARK 8, ADDED c");
	as_watch_free(w);
}

Test(apisim_api, bookmarks_and_the_end)
{
	struct as_watch *w;
	uint64_t now;

	now = present();
	w = watch(PODS "?watch=1&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=", now);
	cr_expect_eq(as_watch_due_ns(w), s.now_ns + 60 * SECOND_NS);
	server_node(&s, "n", "1"); /* moves the version, is no event here */
	cr_expect_str_eq(server_events(&s, w), "");
	s.now_ns += 60 * SECOND_NS;
	cr_expect(as_watch_ready(w, s.now_ns));
	cr_expect_str_eq(server_events(&s, w), "BOOKMARK 7");
	cr_expect_eq(now + 1, 7);
	cr_expect_str_eq(server_events(&s, w), "");
	s.now_ns += 30 * SECOND_NS;
	cr_expect_str_eq(server_events(&s, w), "BOOKMARK 7 (end)");
	as_watch_free(w);
}

Test(apisim_api, history_that_is_gone_is_an_error_event)
{
	struct as_watch *old, *slow;
	uint64_t before = present();

	slow = watch(PODS "?watch=1&resourceVersion=", before);
	server_pod(&s, "p");
	arm("{\"fault\":\"compact\"}");
	cr_expect_str_eq(server_events(&s, slow), "(end)");
	old = watch(PODS "?watch=1&resourceVersion=", before);
	cr_expect(as_watch_ready(old, s.now_ns));
	cr_expect_str_eq(server_events(&s, old), "ERROR Expired (end)");
	as_watch_free(old);
	old = watch(PODS "?watch=1&resourceVersion=", present());
	cr_expect_str_eq(server_events(&s, old), "");
	as_watch_free(old);
	as_watch_free(slow);
}

Test(apisim_api, a_page_of_history_that_is_gone_is_410)
{
	char target[512];

	for (int i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "p%d", i);
		server_pod(&s, name);
	}
	cr_assert_eq(server_send(&s, "GET", PODS "?limit=2", NULL), 200);
	snprintf(target, sizeof(target), PODS "?limit=2&continue=%s",
	         server_text(&s, "metadata.continue"));
	arm("{\"fault\":\"compact\"}");
	cr_expect_eq(server_send(&s, "GET", target, NULL), 410);
	cr_expect_str_eq(server_text(&s, "reason"), "Expired");
	cr_expect_eq(server_send(&s, "GET", PODS "?resourceVersionMatch=Exact&resourceVersion=8", NULL),
	             410);
}

Test(apisim_api, a_watcher_that_lags_is_known)
{
	struct as_watch *w = watch(PODS "?watch=1&resourceVersion=", present());

	for (int i = 0; i < 600; i++) {
		cr_expect_eq(as_watch_lags(w), i > 501, "after %d", i);
		server_sendf(
			&s, "POST", PODS,
			"{\"metadata\":{\"name\":\"p%d\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
			i);
	}
	cr_expect_str_neq(server_events(&s, w), "");
	cr_expect_not(as_watch_lags(w));
	as_watch_free(w);
}

Test(apisim_api, a_custom_resource_comes_and_goes)
{
	static const char target[] = "/apis/x.example.com/v1/namespaces/default/gangs";
	char *why = NULL;

	cr_expect_eq(server_send(&s, "GET", target, NULL), 404);
	cr_assert_eq(as_api_add_custom(s.api, "x.example.com", "v1", "gangs", "Gang", true, true,
	                               s.now_ns, &why),
	             0);
	cr_expect_eq(server_send(&s, "GET", target, NULL), 200);
	cr_expect_str_eq(server_text(&s, "kind"), "GangList");
	cr_expect_eq(
		server_send(
			&s, "POST", target,
			"{\"apiVersion\":\"x.example.com/v1\",\"kind\":\"Gang\",\"metadata\":{\"name\":\"g\"},"
			"\"spec\":{\"n\":1},\"status\":{\"n\":2}}"),
		201);
	cr_expect_str_eq(server_text(&s, "spec.n"), "1");
	cr_expect_str_eq(server_text(&s, "status.n"), "");
	cr_expect_lt(as_api_add_custom(s.api, "x.example.com", "v1", "gangs", "Gang", true, true,
	                               s.now_ns, &why),
	             0);
	free(why);
	cr_expect_eq(
		server_send(&s, "DELETE",
	                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.x.example.com",
	                ""),
		200);
	cr_expect_eq(server_send(&s, "GET", target, NULL), 404);
	cr_assert_eq(as_api_add_custom(s.api, "x.example.com", "v1", "gangs", "Gang", true, true,
	                               s.now_ns, &why),
	             0);
	cr_expect_eq(server_send(&s, "GET", "/apis/x.example.com/v1/namespaces/default/gangs/g", NULL),
	             404);
}

#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static void evictable(const char *name, const char *app)
{
	char target[128];

	server_sendf(&s, "POST", PODS,
	             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}},\"spec\":{"
	             "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
	             name, app);
	cr_assert_eq(s.status, 201, "%s", server_text(&s, "message"));
	cr_assert_eq(server_bind(&s, name, "n"), 201);
	snprintf(target, sizeof(target), PODS "/%s/status", name);
	cr_assert_eq(patch(MERGE, target,
	                   "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
	                   "\"status\":\"True\"}]}}"),
	             200);
}

/* kubectl describe and kubectl events ask for the older form. */
Test(apisim_api, an_event_is_read_in_both_forms)
{
#define CORE_EVENTS "/api/v1/namespaces/default/events"
	const char *event =
		"{\"metadata\":{\"name\":\"p.1\"},\"eventTime\":\"2026-11-28T10:00:00.000000Z\",\"type\":"
		"\"Normal\",\"reason\":\"Scheduled\",\"action\":\"Binding\",\"note\":\"text\","
		"\"reportingController\":\"muster\",\"reportingInstance\":\"i\",\"regarding\":{\"kind\":"
		"\"Pod\",\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"u\"}}";
	uint64_t from = present();
	struct as_watch *w;

	cr_assert_eq(server_send(&s, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", event),
	             201);
	cr_assert_eq(server_send(&s, "GET", CORE_EVENTS "/p.1", NULL), 200);
	cr_expect_str_eq(server_text(&s, "apiVersion"), "v1");
	cr_expect_str_eq(server_text(&s, "message"), "text");
	cr_expect_str_eq(server_text(&s, "reportingComponent"), "muster");
	cr_expect_str_eq(as_json_string(as_json_get(s.body, "involvedObject"), "name"), "p");
	cr_expect_null(as_json_get(s.body, "note"));
	server_send(&s, "GET", CORE_EVENTS "?fieldSelector=involvedObject.uid=u", NULL);
	cr_expect_not_null(as_json_array(s.body, "items")->first);
	server_send(&s, "GET", CORE_EVENTS "?fieldSelector=involvedObject.uid=other", NULL);
	cr_expect_null(as_json_array(s.body, "items")->first);
	w = watch(CORE_EVENTS "?watch=1&fieldSelector=involvedObject.name=p&resourceVersion=", from);
	cr_assert(as_watch_ready(w, s.now_ns));
	cr_expect_str_eq(server_events(&s, w), "ADDED p.1");
	as_watch_free(w);
	cr_expect_eq(server_send(&s, "POST", CORE_EVENTS, event), 405);
	cr_expect_eq(server_send(&s, "DELETE", CORE_EVENTS "/p.1", NULL), 200);
	cr_expect_eq(
		server_send(&s, "GET", "/apis/events.k8s.io/v1/namespaces/default/events/p.1", NULL), 404);
}

static int evict(const char *name, const char *options)
{
	char target[128];

	snprintf(target, sizeof(target), PODS "/%s/eviction", name);
	return server_sendf(&s, "POST", target,
	                    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{"
	                    "\"name\":\"%s\",\"namespace\":\"default\"},\"deleteOptions\":{%s}}",
	                    name, options);
}

static void with_budgets(void)
{
	char *why = NULL;

	cr_assert_eq(as_api_add_custom(s.api, "policy", "v1", "poddisruptionbudgets",
	                               "PodDisruptionBudget", true, false, s.now_ns, &why),
	             0);
}

static void budget(const char *name, const char *selector, int allowed)
{
	server_sendf(&s, "POST", BUDGETS,
	             "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{"
	             "\"name\":\"%s\"},\"spec\":{\"selector\":%s},\"status\":{"
	             "\"disruptionsAllowed\":%d,\"desiredHealthy\":1,\"currentHealthy\":%d}}",
	             name, selector, allowed, allowed + 1);
	cr_assert_eq(s.status, 201, "%s", server_text(&s, "message"));
}

Test(apisim_api, an_eviction_marks_the_pod_and_takes_a_disruption)
{
	with_budgets();
	evictable("a", "x");
	evictable("b", "x");
	budget("one",
	       "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"x\"]}]}", 1);
	budget("empty", "{}", 0);
	cr_expect_eq(evict("none", ""), 404);
	cr_expect_eq(evict("a", ""), 201, "%s", server_text(&s, "message"));
	server_send(&s, "GET", PODS "/a", NULL);
	cr_expect_neq(server_text(&s, "metadata.deletionTimestamp")[0], '\0');
	cr_expect_not_null(strstr(as_json_find(s.body, "status", "conditions", NULL)->last->first->text,
	                          "DisruptionTarget"));
	server_send(&s, "GET", BUDGETS "/one", NULL);
	cr_expect_str_eq(server_text(&s, "status.disruptionsAllowed"), "0");
	cr_expect_neq(server_text(&s, "status.disruptedPods.a")[0], '\0');
	/* again: it goes already, and counts for no budget */
	cr_expect_eq(evict("a", ""), 201);
	cr_expect_eq(evict("b", ""), 429);
	cr_expect_str_eq(server_text(&s, "reason"), "TooManyRequests");
	cr_expect_str_eq(server_text(&s, "message"),
	                 "Cannot evict pod as it would violate the pod's disruption budget.");
	cr_expect_str_eq(
		as_json_string(as_json_find(s.body, "details", "causes", NULL)->first, "reason"),
		"DisruptionBudget");
	server_send(&s, "GET", PODS "/b", NULL);
	cr_expect_str_eq(server_text(&s, "metadata.deletionTimestamp"), "");
}

Test(apisim_api, an_eviction_names_the_uid_and_one_budget_at_most)
{
	with_budgets();
	evictable("a", "x");
	cr_expect_eq(evict("a", "\"preconditions\":{\"uid\":\"other\"}"), 409);
	cr_expect_not_null(strstr(server_text(&s, "message"), "the UID in the precondition (other)"));
	budget("one", "{\"matchLabels\":{\"app\":\"x\"}}", 5);
	budget("two", "{\"matchLabels\":{\"app\":\"x\"}}", 5);
	cr_expect_eq(evict("a", ""), 500);
	cr_expect_not_null(strstr(server_text(&s, "message"), "more than one PodDisruptionBudget"));
	server_send(&s, "GET", PODS "/a", NULL);
	cr_expect_str_eq(server_text(&s, "metadata.deletionTimestamp"), "");
	/* a pod that does not run is in nobody's budget */
	cr_assert_eq(patch(MERGE, PODS "/a/status", "{\"status\":{\"phase\":\"Pending\"}}"), 200);
	cr_expect_eq(evict("a", ""), 201);
}

Test(apisim_api, one_may_ask_what_one_may_do)
{
	static const char path[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
	static const char ask[] = "{\"spec\":{\"resourceAttributes\":{\"verb\":\"create\","
							  "\"resource\":\"pods\",\"subresource\":\"eviction\"}}}";

	arm("{\"fault\":\"deny-access\",\"count\":1}");
	cr_expect_eq(server_send(&s, "POST", path, ask), 201);
	cr_expect_eq(as_json_find(s.body, "status", "allowed", NULL)->kind, AS_FALSE);
	cr_expect_eq(server_send(&s, "POST", path, ask), 201);
	cr_expect_eq(as_json_find(s.body, "status", "allowed", NULL)->kind, AS_TRUE);
}
