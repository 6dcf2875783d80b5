/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicies in the model: what of them stands in the shapes of pods that wait, and whom they
 * refuse. */
#include "tests/unit/support_random.h"
#include "tests/unit/support_rules.h"

#include <stdlib.h>

TestSuite(model_policy);

#define API "kosmos.io/v1alpha1"
#define KIND "WorkloadPolicy"
#define BY(name) "\"app\":\"web\",\"workload-policy/kosmos.io\":\"" name "\""
#define SELECTOR "\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}"
#define SHARES                                                                                     \
	"\"allocationPolicy\":[{\"name\":\"b\",\"replicas\":3},{\"name\":\"a\",\"replicas\":5}]"
#define NOT_FOUND                                                                                  \
	"running PreFilter plugin \"LeafNodeWorkloadPolicy\": Fail to obtain pod's(ns/w) workload-policy(p): "

static int put_policy(struct story *s, const char *namespace, const char *name, const char *spec)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "\"spec\":{\"topologyKey\":\"zone\",%s}", spec);
	return put(s, API, KIND, namespace, name, "", rest);
}

/* "zone Required Fill: app In web; a=5 b=3 " by value; "" without a policy. */
static const char *policy_of(struct story *s, const char *name)
{
	static char text[1024];
	struct shape_record r = shape(s, name);
	const struct policy *p = r.policies;
	size_t used;

	text[0] = '\0';
	if (r.body->policies_n == 0)
		return text;
	cr_assert_eq(r.body->policies_n, 1);
	cr_assert(p->shares.first == 0 && p->shares.n == r.body->shares_n);
	cr_assert_neq(r.body->namespace, ID_NONE);
	used = (size_t)snprintf(text, sizeof(text), "%s %s %s%s: %s", key(s, p->topology),
	                        p->flags & POLICY_REQUIRED ? "Required" : "Preferred",
	                        p->flags & POLICY_FILL ? "Fill" : "Balance",
	                        p->flags & POLICY_UNSELECTED ? " unselected" : "",
	                        span_text(s, &r, p->clauses));
	for (char domain = 'a'; domain <= 'z'; domain++)
		for (uint32_t i = 0; i < r.body->shares_n; i++)
			if (*value(s, r.shares[i].value) == domain)
				used += (size_t)snprintf(text + used, sizeof(text) - used, "%c=%u ", domain,
				                         r.shares[i].replicas);
	return text;
}

static void expect_refused(struct story *s, const char *text)
{
	cr_assert(pod(s, "w")->flags & POD_REFUSED);
	cr_assert_str_eq(view_of(s, "w").refusal, text);
	cr_assert_eq(shape(s, "w").body->policies_n, 0);
}

static void expect_policy(struct story *s, const char *text)
{
	cr_assert(!(pod(s, "w")->flags & POD_REFUSED), "%s", view_of(s, "w").refusal);
	cr_assert_str_eq(view_of(s, "w").refusal, "");
	cr_assert_str_eq(policy_of(s, "w"), text);
}

/* ---- before and after ------------------------------------------------------------------ */

Test(model_policy, comes_before_or_after_its_pods)
{
	struct story s;

	start(&s);
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	expect_refused(&s, NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	cr_assert_eq(put_policy(&s, "ns", "p", SELECTOR "," SHARES ",\"allocationType\":\"Required\""),
	             0);
	cr_assert_eq(flush(&s), 3, "a shape, the pod, and the drop of its old shape");
	expect_policy(&s, "zone Required Balance: app In web; a=5 b=3 ");
	put_pod(&s, "after", BY("p"), "");
	flush(&s);
	cr_assert_eq(pod(&s, "after")->shape, pod(&s, "w")->shape);
	end(&s);
}

Test(model_policy, that_changes_changes_the_shapes)
{
	struct story s;

	start(&s);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put_pod(&s, "w", BY("p"), "");
	put_pod(&s, "bound", BY("p"), "\"nodeName\":\"n\"");
	put_pod(&s, "other", "\"app\":\"web\"", "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	cr_assert_eq(shape(&s, "bound").body->policies_n, 0, "what runs, runs");
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	cr_assert_eq(flush(&s), 0, "it says the same");
	put_policy(
		&s, "ns", "p",
		SELECTOR
		",\"scheduleStrategy\":\"FILL\",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":1},{\"name\":\"a\",\"replicas\":2}]");
	cr_assert_eq(flush(&s), 3);
	expect_policy(&s, "zone Preferred Fill: app In web; a=2 ");
	delete (&s, API, KIND, "ns", "p");
	flush(&s);
	expect_refused(&s, NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	cr_assert_str_eq(policy_of(&s, "other"), "");
	end(&s);
}

Test(model_policy, is_of_the_pods_namespace)
{
	struct story s;

	start(&s);
	put_policy(&s, "elsewhere", "p", SELECTOR "," SHARES);
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	expect_refused(&s, NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	delete (&s, API, KIND, "elsewhere", "p");
	cr_assert_eq(flush(&s), 0);
	end(&s);
}

/* ---- labels of the pod -------------------------------------------------------------------- */

Test(model_policy, follows_the_labels_of_the_pod)
{
	struct story s;

	start(&s);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put_policy(
		&s, "ns", "q",
		"\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"NotIn\",\"values\":[\"web\",\"x\"]},"
		"{\"key\":\"tier\",\"operator\":\"DoesNotExist\"}]},\"allocationPolicy\":[]");
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	put_pod(&s, "w", BY("q"), "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance unselected: app NotIn web,x; tier DoesNotExist; ");
	put_pod(&s, "w", "\"app\":\"api\",\"workload-policy.kosmos.io\":\"q\"", "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app NotIn web,x; tier DoesNotExist; ");
	put_pod(&s, "w", "\"app\":\"api\",\"tier\":\"1\",\"workload-policy.kosmos.io\":\"q\"", "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance unselected: app NotIn web,x; tier DoesNotExist; ");
	put_pod(&s, "w", BY("p") ",\"workload-policy.kosmos.io\":\"q\"", "");
	flush(&s);
	expect_refused(
		&s,
		"label workload-policy/kosmos.io names policy p, label workload-policy.kosmos.io names policy q");
	put_pod(&s, "w", BY("p") ",\"workload-policy.kosmos.io\":\"p\"", "");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	put_pod(&s, "w", "\"app\":\"web\"", "");
	flush(&s);
	expect_policy(&s, "");
	delete (&s, API, KIND, "ns", "p");
	delete (&s, API, KIND, "ns", "q");
	cr_assert_eq(s.m->policies.used, 0);
	end(&s);
}

/* A list of their own, whoever comes and goes. */
Test(model_policy, keeps_the_pods_that_wait_for_it)
{
	struct story s;

	start(&s);
	for (int i = 0; i < 4; i++)
		put_pod(&s, (char[]){ (char)('t' + i), 0 }, BY("p"), "");
	put_pod(&s, "u", BY("p"), "\"nodeName\":\"n\"");
	delete (&s, "v1", "Pod", "ns", "t");
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	cr_assert_eq(pod(&s, "v")->shape, pod(&s, "w")->shape);
	delete (&s, "v1", "Pod", "ns", "v");
	delete (&s, "v1", "Pod", "ns", "w");
	delete (&s, API, KIND, "ns", "p");
	cr_assert_eq(s.m->policies.used, 0);
	flush(&s);
	end(&s);
}

Test(model_policy, lets_daemons_be)
{
	struct story s;

	start(&s);
	cr_assert_eq(
		put(&s, "v1", "Pod", "ns", "w",
	        "\"labels\":{" BY(
				"p") "},\"ownerReferences\":[{\"apiVersion\":\"apps/v1\","
	                 "\"kind\":\"DaemonSet\",\"name\":\"d\",\"uid\":\"u\",\"controller\":true}]",
	        "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\"}]}"),
		0);
	flush(&s);
	expect_policy(&s, "");
	end(&s);
}

/* ---- beside other things that shapes owe --------------------------------------------------- */

Test(model_policy, stands_beside_services_and_claims)
{
	struct shape_record r;
	struct story s;

	start(&s);
	put_pod(&s, "w", BY("p"),
	        "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]");
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put(&s, "v1", "Service", "ns", "s", "", "\"spec\":{\"selector\":{\"app\":\"web\"}}");
	flush(&s);
	cr_assert_str_eq(view_of(&s, "w").refusal, "persistentvolumeclaim \"data\" not found");
	put(&s, "v1", "PersistentVolumeClaim", "ns", "data",
	    "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}",
	    "\"spec\":{\"volumeName\":\"pv\",\"accessModes\":[\"ReadWriteOncePod\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},"
	    "\"status\":{\"phase\":\"Bound\"}");
	put(&s, "v1", "PersistentVolume", "", "pv", "",
	    "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOncePod\"],"
	    "\"hostPath\":{\"path\":\"/x\"},\"claimRef\":{\"namespace\":\"ns\",\"name\":\"data\",\"uid\":\"u-data\"},\"nodeAffinity\":"
	    "{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"In\",\"values\":[\"a\"]}]}]}}},"
	    "\"status\":{\"phase\":\"Bound\"}");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	r = shape(&s, "w");
	cr_assert(r.body->spreads_n == 2 && r.body->volume_rules_n == 1);
	cr_assert_str_eq(span_text(&s, &r, r.spreads[1].clauses), "app In web; ");
	cr_assert_str_eq(span_text(&s, &r, r.alternatives[0]), "zone In a; ");
	delete (&s, "v1", "Service", "ns", "s");
	delete (&s, API, KIND, "ns", "p");
	flush(&s);
	expect_refused(&s, NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	r = shape(&s, "w");
	cr_assert(r.body->spreads_n == 0 && r.body->volume_rules_n == 1 &&
	          r.body->namespace == ID_NONE);
	cr_assert_str_eq(span_text(&s, &r, r.alternatives[0]), "zone In a; ");
	delete (&s, "v1", "PersistentVolume", "", "pv");
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	flush(&s);
	cr_assert_str_eq(view_of(&s, "w").refusal, "persistentvolume \"pv\" not found");
	cr_assert(pod(&s, "w")->flags & POD_REFUSED);
	end(&s);
}

/* ---- what can't be read ------------------------------------------------------------------------
 */

Test(model_policy, that_is_bad_refuses_its_pods)
{
	struct story s;

	start(&s);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	cr_assert_eq(put_policy(&s, "ns", "p", SELECTOR "," SHARES ",\"allocationType\":\"maybe\""),
	             -EINVAL);
	cr_assert_str_eq(s.error.object, "WorkloadPolicy ns/p");
	flush(&s);
	expect_refused(&s, NOT_FOUND "spec.allocationType: \"maybe\" is not Required or Preferred");
	cr_assert_eq(put_policy(&s, "ns", "p", SHARES), -EINVAL);
	flush(&s);
	expect_refused(&s, NOT_FOUND "spec: has no labelSelector");
	/* Who it is stands behind what is wrong with it. */
	cr_assert_eq(put(&s, API, KIND, "ns", "p", "", "\"spec\":{\"topologyKey\":7}"), -EINVAL);
	flush(&s);
	cr_assert(strstr(view_of(&s, "w").refusal, "spec.topologyKey: "), "%s",
	          view_of(&s, "w").refusal);
	cr_assert_eq(put_policy(&s, "ns", "p",
	                        SELECTOR ",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":-1}]"),
	             -EINVAL);
	cr_assert_str_eq(s.error.text,
	                 "spec.allocationPolicy[0].replicas: -1 is below 0, and counts as 0");
	flush(&s);
	expect_policy(&s, "zone Preferred Balance: app In web; a=0 ");
	end(&s);
}

/* Bytes changed at random: read or refused with a text, never past the end, and its pod is told of
 * it. */
Test(model_policy, broken_ones_are_no_harm)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{"
		"\"app\":\"web\"},\"matchExpressions\":[{\"key\":\"x\",\"operator\":\"NotIn\",\"values\":[\"1\"]}]},"
		"\"allocationType\":\"Required\",\"allocationMethod\":\"Fill\",\"allocationPolicy\":[{\"name\":\"a\",\"replicas\":5},"
		"{\"name\":\"b\",\"replicas\":3}]}}";
	struct random r = random_start("policies");
	uint32_t good = 0, bad = 0;
	struct story s;

	start(&s);
	put_pod(&s, "w", BY("p"), "");
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
		rc = model_put(s.m, resource_of(&s, API, KIND), copy, n, &s.error);
		free(copy);
		cr_assert(rc == 0 || (rc == -EINVAL && s.error.text[0]));
		good += rc == 0;
		bad += rc < 0;
		check(&s);
		cr_assert(model_pod_by_name(s.m, "ns", "w", &v));
		flush(&s);
		cr_assert_eq(*v.refusal != 0, shape(&s, "w").body->policies_n == 0);
	}
	cr_assert(good > 400 && bad > 400, "%u good, %u bad", good, bad);
	end(&s);
}

/* A list that is empty: all of them are gone. */
Test(model_policy, is_gone_with_a_list_without_it)
{
	struct story s;
	int r;

	start(&s);
	r = resource_of(&s, API, KIND);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	model_replace_begin(s.m, r);
	model_replace_abort(s.m, r);
	model_replace_begin(s.m, r);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	model_replace_end(s.m, r);
	cr_assert_eq(flush(&s), 0);
	model_replace_begin(s.m, r);
	model_replace_end(s.m, r);
	check(&s);
	flush(&s);
	expect_refused(&s, NOT_FOUND "workloadpolicies.kosmos.io \"p\" not found");
	end(&s);
}

/* Late news of a policy that was there before, and of one of the same name. */
Test(model_policy, is_the_newest_one)
{
	static const char old[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-p\",\"resourceVersion\":\"1\"},\"spec\":{"
		"\"topologyKey\":\"zone\",\"labelSelector\":{},\"allocationPolicy\":[]}}";
	static const char former[] =
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-former\",\"resourceVersion\":\"2\"}}";
	struct story s = { 0 };
	int r;

	start(&s);
	s.version = 10;
	r = resource_of(&s, API, KIND);
	put_policy(&s, "ns", "p", SELECTOR "," SHARES);
	put_pod(&s, "w", BY("p"), "");
	flush(&s);
	cr_assert_eq(model_put(s.m, r, old, strlen(old), NULL), 0);
	cr_assert_eq(model_remove(s.m, r, former, strlen(former), NULL), 0);
	check(&s);
	cr_assert_eq(flush(&s), 0);
	expect_policy(&s, "zone Preferred Balance: app In web; a=5 b=3 ");
	end(&s);
}
