/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicies in the model: their part in the shapes of pending pods, and the pods that they
 * refuse. */
#include "tests/unit/support_random.h"
#include "tests/unit/support_rules.h"

TestSuite(model_policy, .init = start, .fini = end);

#define API "kosmos.io/v1alpha1"
#define KIND "WorkloadPolicy"
#define BY(name) "\"app\":\"web\",\"workload-policy/kosmos.io\":\"" name "\""
#define SELECTOR "\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}"
#define SHARES                                                                                     \
	"\"allocationPolicy\":[{\"name\":\"b\",\"replicas\":3},{\"name\":\"a\",\"replicas\":5}]"
#define NOT_FOUND                                                                                  \
	"running PreFilter plugin \"LeafNodeWorkloadPolicy\": Fail to obtain pod's(ns/w) workload-policy(p): "

static int put_policy(const char *namespace, const char *name, const char *spec)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "\"spec\":{\"topologyKey\":\"zone\",%s}", spec);
	return put(API, KIND, namespace, name, "", rest);
}

/* "zone Required Fill: app In web; a=5 b=3 " by value; "" without a policy. */
static const char *policy_of(const char *name)
{
	static char text[1024];
	struct shape_record r = shape(name);
	const struct policy *p = r.policies;
	size_t used;

	text[0] = '\0';
	if (r.body->policies_n == 0)
		return text;
	cr_assert_eq(r.body->policies_n, 1);
	cr_assert(p->shares.first == 0 && p->shares.n == r.body->shares_n);
	cr_assert_neq(r.body->namespace, ID_NONE);
	used = (size_t)snprintf(text, sizeof(text), "%s %s %s%s: %s", key(p->topology),
	                        p->flags & POLICY_REQUIRED ? "Required" : "Preferred",
	                        p->flags & POLICY_FILL ? "Fill" : "Balance",
	                        p->flags & POLICY_UNSELECTED ? " unselected" : "",
	                        span_text(&r, p->clauses));
	for (char domain = 'a'; domain <= 'z'; domain++)
		for (uint32_t i = 0; i < r.body->shares_n; i++)
			if (*value(r.shares[i].value) == domain)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%c=%u ", domain,
				                         r.shares[i].replicas);
	return text;
}

/* Sends everything first. */
static void expect_refused(const char *text)
{
	flush();
	cr_assert(pod("w")->flags & POD_REFUSED);
	cr_assert_str_eq(view_of("w").refusal, text);
	cr_assert_eq(shape("w").body->policies_n, 0);
}

/* Sends everything first. */
static void expect_policy(const char *text)
{
	flush();
	cr_assert(!(pod("w")->flags & POD_REFUSED), "%s", view_of("w").refusal);
	cr_assert_str_eq(view_of("w").refusal, "");
	cr_assert_str_eq(policy_of("w"), text);
}

Test(model_policy, comes_before_or_after_its_pods)
{
	put_pod("w", BY("p"), "");
	expect_refused(NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	cr_assert_eq(put_policy("ns", "p", SELECTOR "," SHARES ",\"allocationType\":\"Required\""), 0);
	cr_assert_eq(flush(), 2, "a shape and the pod; its old shape is idle");
	expect_policy("zone Required Balance: app In web; a=5 b=3 ");
	put_pod("after", BY("p"), "");
	flush();
	cr_assert_eq(pod("after")->shape, pod("w")->shape);
}

/* Each change of 50 a second made the core plan 2,000 pods again, of a shape each. */
Test(model_policy, that_changes_again_and_again_lets_its_pods_wait)
{
	const uint64_t rest = UINT64_C(100000000), first = 1000 * rest;
	char name[16], spec[256];

	cr_assert_eq(model_respread(s.m, first), UINT64_MAX);
	put_pod("w", BY("p"), "");
	for (int i = 1; i < 20; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put_pod(name, BY("p"), "");
	}
	flush();
	put_policy("ns", "p", SELECTOR "," SHARES);
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	for (int i = 0; i < 50; i++) {
		model_respread(s.m, first + (uint64_t)i * rest / 51);
		snprintf(spec, sizeof(spec),
		         SELECTOR ",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":%d}]", i + 10);
		put_policy("ns", "p", spec);
		cr_assert_eq(flush(), i == 0 ? 20 : 0, "change %d", i);
		cr_assert(pod("w")->flags & POD_REFUSED, "the old rules are over, the new ones not there");
	}
	cr_assert_str_eq(view_of("w").refusal,
	                 NOT_FOUND "it was changed again soon after a change, which applies within a "
	                           "minute");
	put_pod("after", BY("p"), "");
	flush();
	cr_assert(pod("after")->flags & POD_REFUSED, "as the others");
	put_policy("elsewhere", "p", SELECTOR "," SHARES);
	cr_assert_eq(model_respread(s.m, first + rest - 1), first + rest);
	cr_assert_eq(model_respread(s.m, first + rest), UINT64_MAX);
	expect_policy("zone Preferred Balance: app In web; a=59 ");
	flush();
	cr_assert_str_eq(policy_of("after"), policy_of("w"));
	/* Deleting and creating it again is no way around. */
	delete (API, KIND, "ns", "p");
	flush();
	cr_assert(strstr(view_of("w").refusal, "changed again"), "%s", view_of("w").refusal);
	put_policy("ns", "p", SELECTOR "," SHARES);
	cr_assert_eq(flush(), 0);
	model_respread(s.m, first + 3 * rest);
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
}

Test(model_policy, that_changes_changes_the_shapes)
{
	put_policy("ns", "p", SELECTOR "," SHARES);
	put_pod("w", BY("p"), "");
	put_pod("bound", BY("p"), "\"nodeName\":\"n\"");
	put_pod("other", "\"app\":\"web\"", "");
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	cr_assert_eq(shape("bound").body->policies_n, 0, "what runs, runs");
	put_policy("ns", "p", SELECTOR "," SHARES);
	cr_assert_eq(flush(), 0, "it says the same");
	put_policy(
		"ns", "p",
		SELECTOR
		",\"scheduleStrategy\":\"FILL\",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":1},{\"name\":\"a\",\"replicas\":2}]");
	cr_assert_eq(flush(), 3);
	expect_policy("zone Preferred Fill: app In web; a=2 ");
	delete (API, KIND, "ns", "p");
	expect_refused(NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	cr_assert_str_eq(policy_of("other"), "");
}

Test(model_policy, is_of_the_pods_namespace)
{
	put_policy("elsewhere", "p", SELECTOR "," SHARES);
	put_pod("w", BY("p"), "");
	expect_refused(NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	put_policy("ns", "p", SELECTOR "," SHARES);
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	delete (API, KIND, "elsewhere", "p");
	cr_assert_eq(flush(), 0);
}

Test(model_policy, follows_the_labels_of_the_pod)
{
	put_policy("ns", "p", SELECTOR "," SHARES);
	put_policy(
		"ns", "q",
		"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"web\",\"x\"]},"
		"{\"key\":\"tier\",\"operator\":\"DoesNotExist\"}]},\"allocationPolicy\":[]");
	put_pod("w", BY("p"), "");
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	put_pod("w", BY("q"), "");
	expect_policy("zone Preferred Balance unselected: app NotIn web,x; tier DoesNotExist; ");
	put_pod("w", "\"app\":\"api\",\"workload-policy.kosmos.io\":\"q\"", "");
	expect_policy("zone Preferred Balance: app NotIn web,x; tier DoesNotExist; ");
	put_pod("w", "\"app\":\"api\",\"tier\":\"1\",\"workload-policy.kosmos.io\":\"q\"", "");
	expect_policy("zone Preferred Balance unselected: app NotIn web,x; tier DoesNotExist; ");
	put_pod("w", BY("p") ",\"workload-policy.kosmos.io\":\"q\"", "");
	expect_refused(
		"label workload-policy/kosmos.io names policy p, label workload-policy.kosmos.io names policy q");
	put_pod("w", BY("p") ",\"workload-policy.kosmos.io\":\"p\"", "");
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	put_pod("w", "\"app\":\"web\"", "");
	expect_policy("");
	delete (API, KIND, "ns", "p");
	delete (API, KIND, "ns", "q");
	cr_assert_eq(s.m->policies.pool.used, 0);
}

/* The chain of pods of a policy, with pods put and removed in any order. */
Test(model_policy, keeps_the_pods_that_wait_for_it)
{
	for (int i = 0; i < 4; i++)
		put_pod((char[]){ (char)('t' + i), 0 }, BY("p"), "");
	put_pod("u", BY("p"), "\"nodeName\":\"n\"");
	delete ("v1", "Pod", "ns", "t");
	put_policy("ns", "p", SELECTOR "," SHARES);
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	cr_assert_eq(pod("v")->shape, pod("w")->shape);
	delete ("v1", "Pod", "ns", "v");
	delete ("v1", "Pod", "ns", "w");
	delete (API, KIND, "ns", "p");
	cr_assert_eq(s.m->policies.pool.used, 0);
	flush();
}

Test(model_policy, lets_daemons_be)
{
	cr_assert_eq(
		put("v1", "Pod", "ns", "w",
	        "\"labels\":{" BY(
				"p") "},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
	                 "\"kind\":\"DaemonSet\",\"name\":\"d\",\"uid\":\"u\",\"controller\":true}]",
	        "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]}"),
		0);
	expect_policy("");
}

Test(model_policy, combines_with_services_and_claims)
{
	struct shape_record r;

	put_pod("w", BY("p"),
	        "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]");
	put_policy("ns", "p", SELECTOR "," SHARES);
	put("v1", "Service", "ns", "s", "", "\"spec\":{\"selector\":{\"app\":\"web\"}}");
	flush();
	cr_assert_str_eq(view_of("w").refusal, "persistentvolumeclaim \"data\" not found");
	put("v1", "PersistentVolumeClaim", "ns", "data",
	    "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}",
	    "\"spec\":{\"volumeName\":\"pv\",\"accessModes\":[\"ReadWriteOncePod\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},"
	    "\"status\":{\"phase\":\"Bound\"}");
	put("v1", "PersistentVolume", "", "pv", "",
	    "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOncePod\"],"
	    "\"hostPath\":{\"path\":\"/x\"},\"claimRef\":{\"namespace\":\"ns\",\"name\":\"data\",\"uid\":\"u-data\"},\"nodeAffinity\":"
	    "{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}},"
	    "\"status\":{\"phase\":\"Bound\"}");
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
	r = shape("w");
	cr_assert(r.body->spreads_n == 2 && r.body->volume_rules_n == 1);
	cr_assert_str_eq(span_text(&r, r.spreads[1].clauses), "app In web; ");
	cr_assert_str_eq(span_text(&r, r.alternatives[0]), "zone In a; ");
	delete ("v1", "Service", "ns", "s");
	delete (API, KIND, "ns", "p");
	expect_refused(NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	r = shape("w");
	cr_assert(r.body->spreads_n == 0 && r.body->volume_rules_n == 1 &&
	          r.body->namespace == ID_NONE);
	cr_assert_str_eq(span_text(&r, r.alternatives[0]), "zone In a; ");
	delete ("v1", "PersistentVolume", "", "pv");
	put_policy("ns", "p", SELECTOR "," SHARES);
	flush();
	cr_assert_str_eq(view_of("w").refusal, "persistentvolume \"pv\" not found");
	cr_assert(pod("w")->flags & POD_REFUSED);
}

Test(model_policy, that_is_bad_refuses_its_pods)
{
	put_policy("ns", "p", SELECTOR "," SHARES);
	put_pod("w", BY("p"), "");
	flush();
	cr_assert_eq(put_policy("ns", "p", SELECTOR "," SHARES ",\"allocationType\":\"maybe\""),
	             -EINVAL);
	cr_assert_str_eq(s.error.object, "WorkloadPolicy ns/p");
	expect_refused(NOT_FOUND "spec.allocationType: \"maybe\" is not Required or Preferred");
	cr_assert_eq(put_policy("ns", "p", SHARES), -EINVAL);
	expect_refused(NOT_FOUND "spec: has no labelSelector");
	/* Its name is behind what cannot be read. */
	cr_assert_eq(put(API, KIND, "ns", "p", "", "\"spec\":{\"topologyKey\":7}"), -EINVAL);
	flush();
	cr_assert(strstr(view_of("w").refusal, "spec.topologyKey: "), "%s", view_of("w").refusal);
	cr_assert_eq(
		put_policy("ns", "p", SELECTOR ",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":-1}]"),
		-EINVAL);
	cr_assert_str_eq(s.error.text,
	                 "spec.allocationPolicy[0].replicas: -1 is below 0, and counts as 0");
	expect_policy("zone Preferred Balance: app In web; a=0 ");
}

/* All values were copied for each of its pods, which were rejected for the length of the record. */
Test(model_policy, with_too_many_values_refuses_its_pods)
{
	static char spec[1 << 17];

	put_pod("w", BY("p"), "");
	for (int values = 4096; values <= 20000; values += 15904) {
		size_t n = (size_t)snprintf(spec, sizeof(spec),
		                            "\"spec\":{\"topologyKey\":\"zone\"," SHARES
		                            ",\"labelSelector\":{\"matchExpressions\":[{"
		                            "\"key\":\"app\",\"operator\":\"In\",\"values\":[\"web\"");

		for (int i = 1; i < values; i++)
			n += (size_t)snprintf(spec + n, sizeof(spec) - n, ",\"v\"");
		snprintf(spec + n, sizeof(spec) - n, "]}]}}");
		cr_assert_eq(put(API, KIND, "ns", "p", "", spec), values == 4096 ? 0 : -EINVAL);
		flush();
		cr_assert_eq(shape("w").body->values_n, values == 4096 ? 4096 : 0);
	}
	cr_assert_str_eq(s.error.object, "WorkloadPolicy ns/p");
	expect_refused(NOT_FOUND "spec.labelSelector: has 20000 values, the limit is 4096");
}

/* Bytes changed at random: read or refused with a text, never past the end, and the pod has the
 * refusal. */
Test(model_policy, broken_ones_are_no_harm)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]},"
		"\"allocationType\":\"Required\",\"allocationMethod\":\"Fill\",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":5},"
		"{\"name\":\"b\",\"replicas\":3}]}}";
	struct random r = random_start("policies");
	uint32_t good = 0, bad = 0;

	put_pod("w", BY("p"), "");
	for (int round = 0; round < 4000; round++) {
		size_t n = random_below(&r, 4) ? sizeof(text) - 1 : random_below(&r, sizeof(text));
		char *copy = malloc(n + (n == 0));
		struct pod_view v;
		int rc;

		cr_assert(copy);
		memcpy(copy, text, n);
		for (uint32_t i = random_below(&r, 3); i > 0 && n > 0; i--)
			copy[random_below(&r, (uint32_t)n)] = "{}[]\",:0n-\\\x01\xff"
												  "5"[random_below(&r, 14)];
		rc = model_put(s.m, resource_of(API, KIND), copy, n, &s.error);
		free(copy);
		cr_assert(rc == 0 || (rc == -EINVAL && s.error.text[0]));
		good += rc == 0;
		bad += rc < 0;
		check();
		cr_assert(model_pod_by_name(s.m, "ns", "w", &v));
		flush();
		cr_assert_eq(*v.refusal != 0, shape("w").body->policies_n == 0);
	}
	cr_assert(good > 400 && bad > 400, "%u good, %u bad", good, bad);
}

/* An empty list removes all policies. */
Test(model_policy, is_gone_with_a_list_without_it)
{
	int r = resource_of(API, KIND);
	put_policy("ns", "p", SELECTOR "," SHARES);
	put_pod("w", BY("p"), "");
	flush();
	model_replace_begin(s.m, r);
	model_replace_abort(s.m, r);
	model_replace_begin(s.m, r);
	put_policy("ns", "p", SELECTOR "," SHARES);
	model_replace_end(s.m, r);
	cr_assert_eq(flush(), 0);
	model_replace_begin(s.m, r);
	model_replace_end(s.m, r);
	check();
	expect_refused(NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
}

/* Late events of a policy, and of an earlier one with the same name. */
Test(model_policy, is_the_newest_one)
{
	static const char old[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-p\",\"resourceVersion\":\"1\"},\"spec\":{"
		"\"topologyKey\":\"zone\",\"labelSelector\":{},\"allocationPolicy\":[]}}";
	static const char former[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-former\",\"resourceVersion\":\"2\"}}";
	int r;

	s.version = 10;
	r = resource_of(API, KIND);
	put_policy("ns", "p", SELECTOR "," SHARES);
	put_pod("w", BY("p"), "");
	flush();
	cr_assert_eq(model_put(s.m, r, old, strlen(old), NULL), 0);
	cr_assert_eq(model_remove(s.m, r, former, strlen(former), NULL), 0);
	check();
	cr_assert_eq(flush(), 0);
	expect_policy("zone Preferred Balance: app In web; a=5 b=3 ");
}
