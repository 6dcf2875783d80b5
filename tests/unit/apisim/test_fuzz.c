/* SPDX-License-Identifier: Apache-2.0 */
/* apisim under requests that are almost right: whatever comes, it answers with a
 * status, and what it stores is an object that it can read again. */
#include "tests/unit/support_apisim.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#define ROUNDS 30000

static const char *const methods[] = { "GET",   "POST",   "PUT",  "PATCH",
	                                   "PATCH", "DELETE", "POST", "HEAD" };
static const char *const types[] = { NULL, "application/json", "application/merge-patch+json",
	                                 "application/strategic-merge-patch+json" };

/* clang-format off */
static const char *const targets[] = {
	"/api/v1/nodes", "/api/v1/nodes/n", "/api/v1/nodes/n/status", "/api/v1/namespaces",
	"/api/v1/namespaces/default", "/api/v1/namespaces/default/pods",
	"/api/v1/namespaces/default/pods/p", "/api/v1/namespaces/default/pods/p/status",
	"/api/v1/namespaces/default/pods/p/binding", "/api/v1/namespaces/default/bindings",
	"/apis/events.k8s.io/v1/namespaces/default/events",
	"/apis/events.k8s.io/v1/namespaces/default/events/e",
	"/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
	"/apis/scheduling.k8s.io/v1/priorityclasses",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gangs.x.io",
	"/apis/x.io/v1/namespaces/default/gangs", "/apis/x.io/v1/namespaces/default/gangs/g",
	"/apis/x.io/v1/namespaces/default/gangs/g/status", "/apisim/faults", "/apisim/stats",
	"/version", "/api", "/apis", "/apis/x.io", "/apis/x.io/v1", "/healthz",
};
/* clang-format on */

/* clang-format off */
static const char *const queries[] = {
	"", "", "", "", "?limit=1", "?watch=1", "?watch=1&resourceVersion=7&allowWatchBookmarks=true",
	"?dryRun=All", "?labelSelector=a+in+(b,c),!d",
	"?fieldSelector=metadata.name%3Dp,status.phase!%3DFailed", "?gracePeriodSeconds=1",
	"?resourceVersion=9&resourceVersionMatch=Exact",
	"?limit=1&continue=eyJydiI6OSwibGVmdCI6MSwic3RhcnQiOiJhIn0",
	"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "?labelSelector=n>3",
};
/* clang-format on */

static const char *const bodies[] = {
	"",
	"{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
	"\"resources\":{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"memory\":\"1Gi\"}}}],\"tolerations\":[{\"operator\":\"Exists\"}],"
	"\"schedulingGates\":[],\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
	"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]}]}]}}}}}",
	"{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"}]},\"status\":{\"capacity\":"
	"{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":110},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
	"{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}",
	"{\"metadata\":{\"name\":\"p\",\"uid\":\"x\",\"resourceVersion\":\"9\"},\"target\":{\"name\":\"n\"}}",
	"{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]}}",
	"{\"status\":{\"$setElementOrder/conditions\":[{\"type\":\"A\"}],\"conditions\":[{\"type\":\"A\",\"$patch\":\"delete\"}]}}",
	"{\"metadata\":{\"finalizers\":[\"a/b\"],\"labels\":{\"a\":null},\"$retainKeys\":[\"name\"]}}",
	"{\"metadata\":{\"annotations\":{\"muster.io/run-seconds\":\"1\"}},\"spec\":{\"nodeName\":\"n\"}}",
	"{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"t\",\"reportingController\":\"a\",\"reportingInstance\":\"b\",\"action\":\"c\","
	"\"reason\":\"d\",\"type\":\"Normal\",\"regarding\":{\"namespace\":\"default\"}}",
	"{\"metadata\":{\"name\":\"l\"},\"spec\":{\"leaseDurationSeconds\":15}}",
	"{\"metadata\":{\"name\":\"c\"},\"value\":7,\"globalDefault\":true}",
	"{\"metadata\":{\"name\":\"gangs.x.io\"},\"spec\":{\"group\":\"x.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"gangs\","
	"\"kind\":\"Gang\",\"shortNames\":[\"g\"]},\"versions\":[{\"name\":\"v1\",\"subresources\":{\"status\":{}}}]}}",
	"{\"apiVersion\":\"x.io/v1\",\"kind\":\"Gang\",\"metadata\":{\"name\":\"g\"},\"spec\":{\"n\":1},\"status\":{\"n\":2}}",
	"{\"preconditions\":{\"uid\":\"x\"},\"gracePeriodSeconds\":0,\"propagationPolicy\":\"Background\"}",
	"{\"fault\":\"bind-late\",\"count\":1,\"ms\":5}",
	"{\"metadata\":{\"deletionTimestamp\":null,\"finalizers\":null,\"ownerReferences\":[]}}",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void count_below(const struct as_json *v, unsigned *n)
{
	for (const struct as_json *m = v->first; m != NULL; m = m->next) {
		++*n;
		count_below(m, n);
	}
}

static struct as_json *nth_below(const struct as_json *v, unsigned *n)
{
	for (struct as_json *m = v->first, *found; m != NULL; m = m->next) {
		if ((*n)-- == 0)
			return m;
		found = nth_below(m, n);
		if (found != NULL)
			return found;
	}
	return NULL;
}

/* Another value in the place of one: types are what goes wrong. */
static void twist(struct random *r, struct as_arena *a, struct as_json *v)
{
	static const char *const values[] = { "null",      "[]",   "{}",         "\"\"",
		                                  "0",         "-1",   "true",       "\"x\"",
		                                  "[null]",    "[{}]", "{\"a\":{}}", "99999999999999999999",
		                                  "\"1e400\"", "[[]]", "{\"\":\"\"}" };
	struct as_json *at;
	const char *error;
	unsigned n = 0;

	count_below(v, &n);
	n = n > 0 ? random_below(r, n) : 0;
	at = nth_below(v, &n);
	if (at != NULL) {
		const char *text = values[random_below(r, COUNT(values))];
		struct as_json *other = as_json_parse(a, text, strlen(text), &error), *next = at->next;
		const char *name = at->name;
		uint32_t name_bytes = at->name_bytes;

		*at = *other;
		at->next = next;
		at->name = name;
		at->name_bytes = name_bytes;
	}
}

static char *make_body(struct random *r, struct as_arena *a)
{
	const char *base = bodies[random_below(r, COUNT(bodies))], *error;
	struct as_json *v = as_json_parse(a, base, strlen(base), &error);
	struct as_text out = { 0 };

	if (v == NULL)
		return as_copy(base);
	for (unsigned n = random_below(r, 3); n > 0; n--)
		twist(r, a, v);
	as_json_print(&out, v);
	as_text_add(&out, "", 1);
	if (random_below(r, 20) == 0)
		out.at[random_below(r, (uint32_t)out.bytes - 1)] = "{}[]\",:0\\"[random_below(r, 9)];
	return out.at;
}

static void check_all(struct server *s)
{
	static const char *const lists[] = { "/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces",
		                                 "/apis/events.k8s.io/v1/events",
		                                 "/apis/coordination.k8s.io/v1/leases" };

	for (size_t i = 0; i < COUNT(lists); i++) {
		cr_assert_eq(server_send(s, "GET", lists[i], NULL), 200);
		cr_assert_not_null(as_json_array(s->body, "items"), "%s is not a list any more", lists[i]);
	}
}

Test(apisim_fuzz, every_request_is_answered, .timeout = 120)
{
	struct random r = random_start("apisim_fuzz");
	struct as_watch *watches[8] = { NULL };
	struct as_arena arena = { 0 };
	unsigned good = 0;
	struct server s;

	server_start(&s, 50);
	s.kubelets = as_kubelets_new(
		s.api, &(struct as_kubelet_config){ .enabled = true, .start_ms = 1, .grace_ms = 1 });
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned slot = random_below(&r, 8);
		char target[512], *body = make_body(&r, &arena);

		snprintf(target, sizeof(target), "%s%s", targets[random_below(&r, COUNT(targets))],
		         queries[random_below(&r, COUNT(queries))]);
		if (random_below(&r, 30) == 0)
			target[1 + random_below(&r, (uint32_t)strlen(target) - 1)] =
				"/%?&=+x"[random_below(&r, 7)];
		s.type = types[random_below(&r, COUNT(types))];
		server_send(&s, methods[random_below(&r, COUNT(methods))], target, body);
		cr_assert(s.status >= 200 && s.status < 600, "%s: %d", target, s.status);
		good += s.status < 300;
		if (s.watch != NULL) {
			as_watch_free(watches[slot]);
			watches[slot] = s.watch;
		} else if (watches[slot] != NULL) {
			server_events(&s, watches[slot]);
		}
		s.now_ns += random_below(&r, 3) * 1000000;
		as_api_advance(s.api, s.now_ns);
		as_kubelets_run(s.kubelets, s.now_ns);
		if (i % 1000 == 0)
			check_all(&s);
		free(body);
		as_arena_reset(&arena);
	}
	check_all(&s);
	for (size_t i = 0; i < 8; i++)
		as_watch_free(watches[i]);
	as_arena_free(&arena);
	server_stop(&s);
	cr_expect_gt(good, ROUNDS / 20, "%u requests were good", good);
}
