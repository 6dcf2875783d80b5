/* SPDX-License-Identifier: Apache-2.0 */
/* What the extractor reads of rules between pods, of ports and images, and of the kinds that
 * pods refer to; and what it refuses, as the API server does. */
#include "frontend/decode/extract.h"

#include "tests/unit/test.h"

#include <time.h>

static struct pod_object pod;
static struct arena arena;
static struct decode_error error;

static int read_pod(const char *metadata, const char *spec)
{
	static char json[8192];
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"%s},\"spec\":{%s}}",
	                 metadata, spec);

	arena_free(&arena);
	error = (struct decode_error){ .text = "" };
	return extract_pod(json, (size_t)n, &arena, &pod, &error);
}

static void pod_is_good(const char *metadata, const char *spec)
{
	cr_assert_eq(read_pod(metadata, spec), 0, "%s: %s: %s", error.object, error.field, error.text);
}

static void end(void)
{
	arena_free(&arena);
}

TestSuite(extract_rules, .fini = end);

/* "key Op a,b" for each rule, one after the other; "none" when there is no selector. */
static const char *shown(const struct selector_object *s)
{
	static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist" };
	static char text[512];
	size_t n = 0;

	if (!s->is_given)
		return "none";
	text[0] = '\0';
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct node_rule *r = &s->rules.rules[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s %s", i ? "; " : "",
		                      (int)r->key.bytes, r->key.at, operators[r->op]);
		for (size_t v = 0; v < r->values_n; v++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", v ? "," : " ",
			                      (int)r->values[v].bytes, r->values[v].at);
	}
	return text;
}

#define TEXT_IS(t, expected)                                                                       \
	cr_assert(text_is(t, expected), "\"%.*s\", not \"%s\"", (int)(t).bytes, (t).at, expected)
#define LABELS ",\"labels\":{\"app\":\"web\",\"rev\":\"7\"}"
#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""
#define PREFERRED "\"preferredDuringSchedulingIgnoredDuringExecution\""

Test(extract_rules, terms_of_pod_affinity)
{
	pod_is_good(
		LABELS,
		"\"affinity\":{\"podAffinity\":{" REQUIRED
		":[{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchExpressions\":"
		"[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"x\",\"y\"]}],\"matchLabels\":{\"c\":\"2\",\"b\":\"1\"}},"
		"\"namespaces\":[\"one\",\"two\"],\"namespaceSelector\":{}}]," PREFERRED
		":[{\"weight\":100,\"podAffinityTerm\":{\"topologyKey\":\"k\"}}]},"
		"\"podAntiAffinity\":{" REQUIRED
		":[{\"topologyKey\":\"h\",\"labelSelector\":{},\"namespaceSelector\":null}]," PREFERRED
		":[{\"podAffinityTerm\":{\"topologyKey\":\"z\",\"namespaceSelector\":{\"matchExpressions\":"
		"[{\"key\":\"t\",\"operator\":\"Exists\"}]}},\"weight\":1}]}}");
	cr_assert_eq(pod.pod_terms_n, 4);
	cr_assert_eq(pod.pod_terms[0].kind, POD_TERM_AFFINITY);
	cr_assert_eq(pod.pod_terms[0].weight, 0);
	TEXT_IS(pod.pod_terms[0].topology, "zone");
	cr_assert_str_eq(shown(&pod.pod_terms[0].selector), "a NotIn x,y; b In 1; c In 2");
	cr_assert_str_eq(shown(&pod.pod_terms[0].namespace_selector), "");
	cr_assert_eq(pod.pod_terms[0].namespaces.n, 2);
	TEXT_IS(pod.pod_terms[0].namespaces.at[1], "two");
	cr_assert_eq(pod.pod_terms[1].kind, POD_TERM_PREFERRED);
	cr_assert_eq(pod.pod_terms[1].weight, 100);
	cr_assert_str_eq(shown(&pod.pod_terms[1].selector), "none");
	cr_assert_eq(pod.pod_terms[2].kind, POD_TERM_ANTI_AFFINITY);
	cr_assert_str_eq(shown(&pod.pod_terms[2].selector), "");
	cr_assert_str_eq(shown(&pod.pod_terms[2].namespace_selector), "none");
	cr_assert_eq(pod.pod_terms[3].kind, POD_TERM_PREFERRED_ANTI);
	cr_assert_str_eq(shown(&pod.pod_terms[3].namespace_selector), "t Exists");
}

/* The API server writes what the keys add into the selector, once. */
Test(extract_rules, match_keys_become_rules_of_the_selector)
{
	static const struct {
		const char *term, *selector;
	} rows[] = {
		{ "\"labelSelector\":{},\"matchLabelKeys\":[\"app\"]", "app In web" },
		{ "\"labelSelector\":{},\"matchLabelKeys\":[\"app\",\"app\"],\"mismatchLabelKeys\":[\"app\"]",
		  "app In web" },
		{ "\"labelSelector\":{},\"mismatchLabelKeys\":[\"rev\",\"missing\"]", "rev NotIn 7" },
		{ "\"labelSelector\":{\"matchLabels\":{\"x\":\"y\"}},\"matchLabelKeys\":[\"rev\"],\"mismatchLabelKeys\":[\"app\"]",
		  "x In y; rev In 7; app NotIn web" },
		{ "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"old\"]}]},\"matchLabelKeys\":[\"app\"]",
		  "app In old" },
		{ "\"labelSelector\":{\"matchLabels\":{\"x\":\"y\"}},\"matchLabelKeys\":[\"missing\"]",
		  "x In y" },
	};
	char spec[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(spec, sizeof(spec),
		         "\"affinity\":{\"podAffinity\":{" REQUIRED ":[{\"topologyKey\":\"z\",%s}]}}",
		         rows[i].term);
		pod_is_good(LABELS, spec);
		cr_assert_str_eq(shown(&pod.pod_terms[0].selector), rows[i].selector);
	}
}

/* A list of the labels l0 to l(n-1), each with what follows it. */
static size_t listed(char *out, const char *before, const char *after, unsigned n)
{
	size_t at = 0;

	for (unsigned i = 0; i < n; i++)
		at += (size_t)sprintf(out + at, "%s%s\"l%u\"%s", i ? "," : "", before, i, after);
	return at;
}

/* Each key was looked for among all rules: 1.6 s for each event of such a pod, of 1.4 MB. */
Test(extract_rules, many_match_keys_cost_no_square)
{
	const unsigned n = 20000;
	char *json = malloc((size_t)4 << 20), *at = json;
	const clock_t since = clock();

	at += sprintf(at, "{\"metadata\":{\"name\":\"p\",\"labels\":{");
	at += listed(at, "", ":\"\"", n);
	at += sprintf(at, "}},\"spec\":{\"affinity\":{\"podAffinity\":{" REQUIRED
	                  ":[{\"topologyKey\":\"z\",\"labelSelector\":{\"matchExpressions\":[");
	at += listed(at, "{\"key\":", ",\"operator\":\"Exists\"}", n);
	at += sprintf(at, "]},\"matchLabelKeys\":[");
	at += listed(at, "", "", n);
	at += sprintf(at, "]}]}}}}");
	arena_free(&arena);
	cr_assert_eq(extract_pod(json, (size_t)(at - json), &arena, &pod, &error), 0);
	cr_assert_eq(pod.pod_terms[0].selector.rules.n, n);
	cr_assert_lt((double)(clock() - since) / CLOCKS_PER_SEC, 1.0);
	free(json);
}

/* kube-scheduler adds them once more, so that another label since then matches nothing. */
Test(extract_rules, match_keys_of_spread_are_added_to_what_is_there)
{
	pod_is_good(
		LABELS,
		"\"topologySpreadConstraints\":["
		"{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchExpressions\":"
		"[{\"key\":\"rev\",\"operator\":\"In\",\"values\":[\"7\"]}]},\"matchLabelKeys\":[\"rev\"]},"
		"{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchExpressions\":"
		"[{\"key\":\"rev\",\"operator\":\"In\",\"values\":[\"6\"]}]},\"matchLabelKeys\":[\"rev\",\"missing\"]}]");
	cr_assert_str_eq(shown(&pod.spreads[0].selector), "rev In 7");
	cr_assert_str_eq(shown(&pod.spreads[1].selector), "rev In 6; rev In 7");
}

/* Labels may come after spec, and be there twice. */
Test(extract_rules, match_keys_see_labels_wherever_they_are)
{
	static const char json[] =
		"{\"spec\":{\"affinity\":{\"podAntiAffinity\":{" REQUIRED
		":[{\"matchLabelKeys\":[\"b\",\"a\"],\"topologyKey\":"
		"\"z\",\"labelSelector\":{}}]}}},\"metadata\":{\"name\":\"p\",\"labels\":{\"b\":\"1\",\"a\":\"\\u0032\",\"b\":\"3\"}}}";

	cr_assert_eq(extract_pod(json, strlen(json), &arena, &pod, &error), 0);
	cr_assert_eq(pod.meta.labels.n, 2);
	cr_assert_str_eq(shown(&pod.pod_terms[0].selector), "b In 3; a In 2");
}

Test(extract_rules, preferences)
{
	pod_is_good(
		"",
		"\"affinity\":{\"nodeAffinity\":{" PREFERRED ":["
		"{\"weight\":7,\"preference\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"3\"]}]}},"
		"{\"weight\":8,\"preference\":{}},{\"weight\":9,\"preference\":{\"matchFields\":"
		"[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n\"]}]}}]}}");
	cr_assert_eq(pod.preferences_n, 2, "an empty one is passed over");
	cr_assert_eq(pod.preferences[0].weight, 7);
	cr_assert_eq(pod.preferences[0].term.rules[0].op, REQUIRE_GT);
	cr_assert_eq(pod.preferences[1].weight, 9);
	cr_assert(pod.preferences[1].term.rules[0].is_field);
	cr_assert_not(pod.preferences[0].term.rules[0].is_void);
}

/* What kube-scheduler can't parse: a required term matches nothing, a preferred one fails. */
Test(extract_rules, requirements_that_can_not_be_parsed)
{
	static const char *const rules[] = {
		"\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"-5\"]",
		"\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1.5\"]",
		"\"key\":\"a\",\"operator\":\"Lt\",\"values\":[\"9223372036854775808\"]",
		"\"key\":\"a\",\"operator\":\"Lt\",\"values\":[\"\"]",
		"\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\",\"2\"]",
		"\"key\":\"a\",\"operator\":\"In\",\"values\":[\"good\",\"-bad\"]",
		"\"key\":\"a\",\"operator\":\"In\"",
		"\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"x\"]",
		"\"key\":\"a b\",\"operator\":\"Exists\"",
		"\"key\":\"A.b/c\",\"operator\":\"Exists\"",
		"\"key\":\"\",\"operator\":\"Exists\"",
	};
	char spec[1024];

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		snprintf(spec, sizeof(spec),
		         "\"affinity\":{\"nodeAffinity\":{" REQUIRED
		         ":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{%s}]}]}," PREFERRED
		         ":[{\"weight\":1,\"preference\":{\"matchExpressions\":[{%s}]}}]}}",
		         rules[i], rules[i]);
		pod_is_good("", spec);
		cr_assert(pod.terms[0].rules[0].is_void, "%s", rules[i]);
		cr_assert(pod.preferences[0].term.rules[0].is_void, "%s", rules[i]);
	}
	pod_is_good(
		"",
		"\"affinity\":{\"nodeAffinity\":{" REQUIRED
		":{\"nodeSelectorTerms\":[{\"matchExpressions\":["
		"{\"key\":\"x.y-z/A_b.c\",\"operator\":\"In\",\"values\":[\"\",\"A-b_c.9\"]},{\"key\":\"a\",\"operator\":\"Lt\",\"values\":[\"007\"]}]}]}}}");
	cr_assert_not(pod.terms[0].rules[0].is_void);
	cr_assert_not(pod.terms[0].rules[1].is_void);
}

Test(extract_rules, spread_constraints)
{
	pod_is_good(
		"",
		"\"topologySpreadConstraints\":[{\"maxSkew\":2,\"minDomains\":3,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\","
		"\"nodeAffinityPolicy\":\"Ignore\",\"nodeTaintsPolicy\":\"Honor\",\"labelSelector\":{\"matchLabels\":{\"a\":\"b\"}}},"
		"{\"maxSkew\":1,\"minDomains\":null,\"topologyKey\":\"h\",\"whenUnsatisfiable\":\"ScheduleAnyway\",\"nodeAffinityPolicy\":\"Honor\","
		"\"nodeTaintsPolicy\":null}]");
	cr_assert_eq(pod.spreads_n, 2);
	TEXT_IS(pod.spreads[0].topology, "zone");
	cr_assert_eq(pod.spreads[0].flags,
	             SPREAD_HARD | SPREAD_IGNORES_AFFINITY | SPREAD_HONORS_TAINTS);
	cr_assert_eq(pod.spreads[0].max_skew, 2);
	cr_assert_eq(pod.spreads[0].min_domains, 3);
	cr_assert_str_eq(shown(&pod.spreads[0].selector), "a In b");
	cr_assert_eq(pod.spreads[1].flags, 0);
	cr_assert_eq(pod.spreads[1].min_domains, 0);
	cr_assert_str_eq(shown(&pod.spreads[1].selector), "none");
}

#define SPREAD(more)                                                                                                    \
	"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\"," more \
	"}]"
#define TERM(more)                                                                                 \
	"\"affinity\":{\"podAffinity\":{" REQUIRED ":[{\"topologyKey\":\"z\"," more "}]}}"
#define TERM_AT "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
#define SPREAD_AT "spec.topologySpreadConstraints[0]"

struct refused {
	const char *spec, *field, *text;
};

static void check_refused(const struct refused *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(read_pod("", rows[i].spec), -EINVAL, "%s", rows[i].spec);
		cr_assert_str_eq(error.field, rows[i].field);
		cr_assert_str_eq(error.text, rows[i].text);
	}
}

Test(extract_rules, an_affinity_that_the_api_server_would_refuse)
{
	static const struct refused rows[] = {
		{ TERM("\"topologyKey\":\"\""), TERM_AT, "has no topologyKey" },
		{ TERM("\"topologyKey\":\"a b\""), TERM_AT, "\"a b\" is not the key of a label" },
		{ TERM("\"matchLabelKeys\":[\"a\"]"), TERM_AT,
		  "has matchLabelKeys without a labelSelector" },
		{ TERM("\"labelSelector\":{\"matchLabels\":{\"a\":\"-\"}}"),
		  TERM_AT ".labelSelector.matchLabels", "\"-\" is not the value of a label" },
		{ TERM(
			  "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}"),
		  TERM_AT ".labelSelector.matchExpressions[0]",
		  "\"Gt\" is not an operator of a label selector" },
		{ TERM(
			  "\"labelSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\",\"values\":[]}]}"),
		  TERM_AT ".labelSelector.matchExpressions[0]", "has no values" },
		{ TERM(
			  "\"namespaceSelector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"b\"]}]}"),
		  TERM_AT ".namespaceSelector.matchExpressions[0]",
		  "has values, which its operator takes none of" },
		{ "\"affinity\":{\"podAffinity\":{" PREFERRED
		  ":[{\"weight\":101,\"podAffinityTerm\":{\"topologyKey\":\"z\"}}]}}",
		  "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
		  "101 is not a weight from 1 to 100" },
		{ "\"affinity\":{\"podAffinity\":{" PREFERRED ":[{\"weight\":1}]}}",
		  "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]",
		  "has no podAffinityTerm" },
		{ "\"affinity\":{\"nodeAffinity\":{" PREFERRED ":[{\"preference\":{}}]}}",
		  "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]",
		  "has no weight" },
		{ "\"affinity\":{\"podAffinity\":{" REQUIRED ":[null]}}", TERM_AT, "has no topologyKey" },
		{ "\"affinity\":{\"podAffinity\":{" PREFERRED
		  ":[{\"weight\":1,\"podAffinityTerm\":{\"topologyKey\":\"z\"},\"podAffinityTerm\":{}}]}}",
		  "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm",
		  "has no topologyKey" },
	};

	check_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract_rules, a_spread_that_the_api_server_would_refuse)
{
	static const struct refused rows[] = {
		{ SPREAD("\"maxSkew\":0"), SPREAD_AT ".maxSkew", "0 is less than 1" },
		{ SPREAD("\"minDomains\":-1"), SPREAD_AT ".minDomains", "-1 is less than 1" },
		{ SPREAD("\"minDomains\":2,\"whenUnsatisfiable\":\"ScheduleAnyway\""), SPREAD_AT,
		  "has minDomains without DoNotSchedule" },
		{ SPREAD("\"whenUnsatisfiable\":\"Never\""), SPREAD_AT ".whenUnsatisfiable",
		  "\"Never\" is neither ScheduleAnyway nor DoNotSchedule" },
		{ SPREAD("\"nodeTaintsPolicy\":\"honor\""), SPREAD_AT ".nodeTaintsPolicy",
		  "\"honor\" is neither Ignore nor Honor" },
		{ "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\"}]", SPREAD_AT,
		  "has no whenUnsatisfiable" },
		{ "\"topologySpreadConstraints\":[{\"whenUnsatisfiable\":\"DoNotSchedule\",\"topologyKey\":\"z\"}]",
		  SPREAD_AT, "has no maxSkew" },
		{ "\"topologySpreadConstraints\":[null]", SPREAD_AT, "has no topologyKey" },
	};

	check_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract_rules, a_toleration_that_the_api_server_would_refuse)
{
	static const struct refused rows[] = {
		{ "\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoWay\"}]",
		  "spec.tolerations[0].effect", "\"NoWay\" is not an effect of a taint" },
		{ "\"tolerations\":[{\"key\":\"a\",\"operator\":\"Is\"}]", "spec.tolerations[0]",
		  "\"Is\" is not an operator of a toleration" },
		{ "\"tolerations\":[{\"value\":\"a\"}]", "spec.tolerations[0]",
		  "has no key: its operator must be Exists" },
		{ "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"value\":\"a\"}]",
		  "spec.tolerations[0]", "has the value \"a\", which its operator takes none of" },
		{ "\"tolerations\":[null]", "spec.tolerations[0]",
		  "has no key: its operator must be Exists" },
	};

	check_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract_rules, a_field_that_the_api_server_would_refuse)
{
	static const struct refused rows[] = {
		{ "\"containers\":[{\"ports\":[{\"hostPort\":65536}]}]",
		  "spec.containers[0].ports[0].hostPort", "65536 is not a port" },
		{ "\"containers\":[{\"ports\":[{\"protocol\":\"tcp\"}]}]",
		  "spec.containers[0].ports[0].protocol", "\"tcp\" is not a protocol" },
		{ "\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"500m\"}}}]",
		  "spec.containers[0].resources.requests[\"nvidia.com/gpu\"]",
		  "\"500m\" is not a whole number" },
		{ "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"-1\"}}}]",
		  "spec.containers[0].resources.requests[\"cpu\"]", "\"-1\" is negative" },
		{ "\"priority\":2147483648", "spec.priority", "2147483648 is not a 32-bit integer" },
	};

	check_refused(rows, sizeof(rows) / sizeof(rows[0]));
}

Test(extract_rules, ports_on_the_host)
{
	static const char spec[] =
		"\"containers\":[{\"ports\":[{\"containerPort\":80,\"hostPort\":8080,\"hostIP\":\"10.0.0.1\",\"protocol\":\"UDP\"},"
		"{\"containerPort\":81}]}],\"initContainers\":[{\"ports\":[{\"containerPort\":1,\"hostPort\":1}]},"
		"{\"restartPolicy\":\"Always\",\"ports\":[{\"containerPort\":2,\"hostPort\":3}]}]";
	char in_host[600];

	pod_is_good("", spec);
	cr_assert_eq(pod.ports_n, 2, "init containers have none, sidecars have");
	cr_assert_eq(pod.ports[0].port, 8080);
	TEXT_IS(pod.ports[0].address, "10.0.0.1");
	TEXT_IS(pod.ports[0].protocol, "UDP");
	cr_assert_eq(pod.ports[1].port, 3);
	TEXT_IS(pod.ports[1].protocol, "TCP");
	snprintf(in_host, sizeof(in_host), "%s,\"hostNetwork\":true", spec);
	pod_is_good("", in_host);
	cr_assert_eq(pod.ports_n, 3, "in the network of the host each port is one of it");
	cr_assert_eq(pod.ports[1].port, 81);
}

Test(extract_rules, images_of_containers_and_volumes)
{
	pod_is_good(
		"",
		"\"volumes\":[{\"name\":\"v\",\"image\":{\"reference\":\"quay.io/data:1\"}}],\"containers\":[{\"image\":\"nginx\"},{\"image\":\"\"},"
		"{\"image\":\"nginx\"}],\"initContainers\":[{\"image\":\"busybox@sha256:0\"}]");
	cr_assert_eq(pod.images_n, 4);
	cr_assert_eq(pod.image_containers, 4);
	TEXT_IS(pod.images[0], "quay.io/data:1");
	TEXT_IS(pod.images[2], "nginx");
	TEXT_IS(pod.images[3], "busybox@sha256:0");
}

Test(extract_rules, names_that_a_pod_refers_to)
{
	pod_is_good(
		",\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"uid\":\"1\"},{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
		"\"rs\",\"uid\":\"2\",\"controller\":true}]",
		"\"priority\":7,\"containers\":[{\"restartPolicyRules\":["
		"{\"action\":\"Restart\"},{\"action\":\"RestartAllContainers\"}]}]");
	TEXT_IS(pod.owner.kind, "ReplicaSet");
	TEXT_IS(pod.owner.api_version, "apps/v1");
	TEXT_IS(pod.owner.name, "rs");
	TEXT_IS(pod.owner.uid, "2");
	cr_assert_eq(pod.priority, 7);
	cr_assert(pod.needs_restart_all);
	pod_is_good(
		"",
		"\"priority\":null,\"containers\":[{\"restartPolicyRules\":[{\"action\":\"Restart\"}]}]");
	cr_assert_eq(pod.priority, 0);
	cr_assert_not(pod.needs_restart_all);
	TEXT_IS(pod.owner.kind, "");
}

/* Of a list that comes twice the last one counts, and nothing of the first is left. */
Test(extract_rules, the_last_of_two_lists_counts)
{
	pod_is_good(
		"",
		"\"containers\":[{\"image\":\"a\",\"ports\":[{\"hostPort\":1}]}],\"volumes\":[{\"image\":{\"reference\":\"v\"}}],"
		"\"containers\":[{\"image\":\"b\"}],\"volumes\":[],\"tolerations\":[{\"operator\":\"Exists\"}],\"tolerations\":[],"
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"DoNotSchedule\"}],"
		"\"topologySpreadConstraints\":null,\"affinity\":{\"podAffinity\":{" REQUIRED
		":[{\"topologyKey\":\"a\"}]," REQUIRED ":[{\"topologyKey\":\"b\"}]}}");
	cr_assert_eq(pod.containers_n, 1);
	cr_assert_eq(pod.images_n, 1);
	TEXT_IS(pod.images[0], "b");
	cr_assert_eq(pod.ports_n + pod.tolerations_n + pod.spreads_n, 0);
	cr_assert_eq(pod.pod_terms_n, 1);
	TEXT_IS(pod.pod_terms[0].topology, "b");
}

Test(extract_rules, images_and_features_of_a_node)
{
	static const char json[] =
		"{\"metadata\":{\"name\":\"n\"},\"status\":{\"images\":[{\"sizeBytes\":5000000000,\"names\":[\"a@sha256:1\",\"a:latest\"]},"
		"{\"names\":null},{\"names\":[\"b\"],\"sizeBytes\":-1}],\"declaredFeatures\":[\"Other\",\"RestartAllContainersOnContainerExits\"]}}";
	struct node_object node;

	cr_assert_eq(extract_node(json, strlen(json), &arena, &node, &error), 0);
	cr_assert_eq(node.images_n, 3);
	TEXT_IS(node.images[1].name, "a:latest");
	cr_assert_eq(node.images[0].bytes, INT64_C(5000000000));
	cr_assert_eq(node.images[1].bytes, INT64_C(5000000000));
	cr_assert_eq(node.images[2].bytes, 0);
	cr_assert(node.restarts_all);
}

static struct controller_object controller_of(const char *kind, const char *spec, int expected)
{
	static char json[1024];
	struct controller_object c;
	int n = snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"c\",\"namespace\":\"ns\",\"uid\":\"u\"},\"spec\":{%s}}", spec);

	cr_assert_eq(extract_controller(json, (size_t)n, &arena, kind, &c, &error), expected, "%s",
	             spec);
	return c;
}

Test(extract_rules, selectors_of_controllers)
{
	struct controller_object c =
		controller_of("ReplicaSet",
	                  "\"selector\":{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":["
	                  "{\"key\":\"c\",\"operator\":\"DoesNotExist\"}]}",
	                  0);

	cr_assert_str_eq(shown(&c.selector), "a In b; c DoesNotExist");
	TEXT_IS(c.meta.kind, "ReplicaSet");
	TEXT_IS(c.meta.uid, "u");
	c = controller_of("ReplicationController", "\"selector\":{\"b\":\"2\",\"a\":\"1\"}", 0);
	cr_assert_str_eq(shown(&c.selector), "a In 1; b In 2");
	c = controller_of("ReplicationController",
	                  "\"template\":{\"metadata\":{\"labels\":{\"a\":\"t\"}}}", 0);
	cr_assert_str_eq(shown(&c.selector), "a In t", "the API server's default");
	c = controller_of("StatefulSet", "\"replicas\":1", 0);
	cr_assert_str_eq(shown(&c.selector), "none");
	controller_of("StatefulSet",
	              "\"selector\":{\"matchExpressions\":[{\"key\":\"c\",\"operator\":\"Like\"}]}",
	              -EINVAL);
	cr_assert_str_eq(error.object, "StatefulSet ns/c");
	cr_assert_str_eq(error.field, "spec.selector.matchExpressions[0]");
}

Test(extract_rules, services_and_namespaces)
{
	static const char service[] =
		"{\"metadata\":{\"name\":\"s\"},\"spec\":{\"selector\":{\"b\":\"1\",\"a\":\"2\"}}}";
	static const char headless[] = "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"selector\":null}}";
	static const char namespace[] =
		"{\"metadata\":{\"name\":\"team\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"finalizers\":[]}}";
	struct service_object s;
	struct meta meta;

	cr_assert_eq(extract_service(service, strlen(service), &arena, &s, &error), 0);
	cr_assert_eq(s.selector.n, 2);
	TEXT_IS(s.selector.at[0].key, "a");
	cr_assert_eq(extract_service(headless, strlen(headless), &arena, &s, &error), 0);
	cr_assert_eq(s.selector.n, 0);
	cr_assert_eq(extract_namespace(namespace, strlen(namespace), &arena, &meta, &error), 0);
	TEXT_IS(meta.labels.at[0].value, "b");
}
