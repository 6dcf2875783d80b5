/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of pods about nodes and other pods, and the objects they refer to: objects in, records of
 * shapes, pods, nodes and namespaces out. */
#include "frontend/model/pods/owners.h"
#include "tests/unit/support_rules.h"

TestSuite(model_rules, .init = start, .fini = end);

Test(model_rules, a_pod_comes_with_its_labels)
{
	const struct pod_label *l;
	bool web = false;

	put_pod("a", "\"z\":\"1\",\"app\":\"old\",\"app\":\"web\",\"empty\":\"\"", "");
	flush();
	cr_assert_str_eq(value(pod("a")->namespace), "ns");
	cr_assert_eq(pod("a")->labels_n, 3, "each key once");
	l = replay_pod_labels(pod("a"));
	for (int i = 0; i < 3; i++)
		web |= strcmp(key(l[i].key), "app") == 0 && strcmp(value(l[i].value), "web") == 0;
	cr_assert(web, "the last of a key that is there twice");
	put_pod("a", "\"app\":\"api\"", "");
	cr_assert_eq(flush(), 1);
	cr_assert_eq(pod("a")->labels_n, 1);
	put_pod("a", "\"app\":\"api\"", "");
	cr_assert_eq(flush(), 0, "nothing changed");
}

static char *many_labels(int n)
{
	static char text[200000];
	size_t used = (size_t)snprintf(text, sizeof(text), "\"labels\":{");

	for (int i = 0; i < n; i++)
		used +=
			(size_t)snprintf(text + used, sizeof(text) - used, "%s\"k%d\":\"v\"", i ? "," : "", i);
	snprintf(text + used, sizeof(text) - used, "}");
	return text;
}

#define SPEC "\"spec\":{\"schedulerName\":\"muster\",\"containers\":[]"

Test(model_rules, a_pod_with_too_many_labels_is_refused)
{
	cr_assert_eq(put("v1", "Pod", "ns", "a", many_labels(1024), SPEC "}"), 0);
	cr_assert_eq(put("v1", "Pod", "ns", "b", many_labels(1025), SPEC "}"), 0);
	cr_assert_eq(put("v1", "Pod", "ns", "c", many_labels(1025), SPEC ",\"nodeName\":\"n\"}"),
	             -EINVAL);
	cr_assert(strstr(s.error.text, "1024"), "%s", s.error.text);
	flush();
	cr_assert_eq(pod("a")->labels_n, 1024);
	cr_assert_str_eq(view_of("a").refusal, "");
	cr_assert(strstr(view_of("b").refusal, "1024 labels"));
	cr_assert_eq(pod("c")->labels_n, 0);
	cr_assert_neq(pod("c")->node, ID_NONE, "it takes its room");
}

static const struct event_namespace *namespace(const char *name)
{
	for (uint32_t i = 0; i < s.m->values.pool.n; i++)
		if (intern_text(&s.m->values, i) && strcmp(value(i), name) == 0)
			return replay_namespace(&s.replay, i);
	return NULL;
}

Test(model_rules, namespaces_come_with_their_labels)
{
	put_pod("a", "", "");
	put("v1", "Namespace", "", "ns", "\"labels\":{\"team\":\"a\",\"env\":\"prod\"}", "");
	put("v1", "Namespace", "", "other", "", "");
	flush();
	cr_assert_eq(namespace("ns")->labels_n, 2);
	cr_assert_eq(namespace("other")->labels_n, 0);
	put("v1", "Namespace", "", "ns", "\"labels\":{\"team\":\"a\",\"env\":\"prod\"}", "");
	cr_assert_eq(flush(), 0);
	put("v1", "Namespace", "", "ns", "\"labels\":{\"team\":\"b\",\"env\":\"prod\"}", "");
	cr_assert_eq(flush(), 1);
	delete ("v1", "Namespace", "", "ns");
	delete ("v1", "Namespace", "", "other");
	cr_assert_eq(flush(), 2);
	cr_assert_null(namespace("ns"));
	cr_assert_str_eq(value(pod("a")->namespace), "ns", "pods in it keep its number");
	put("v1", "Namespace", "", "ns", "", "");
	model_restart(s.m);
	replay_forget(&s.replay);
	flush();
	cr_assert_eq(namespace("ns")->labels_n, 0);
	cr_assert_eq(put("v1", "Namespace", "", "ns", many_labels(1025), ""), -EINVAL);
	cr_assert_eq(s.m->namespaces.pool.used, 1);
	model_replace_begin(s.m, resource_of("v1", "Namespace"));
	model_replace_end(s.m, resource_of("v1", "Namespace"));
	delete ("v1", "Pod", "ns", "a");
	flush();
	cr_assert_eq(s.m->namespaces.pool.used, 0);
}

#define TERM(more)                                                                                 \
	"{\"topologyKey\":\"zone\",\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}}" more "}"
#define REQUIRED(term)                                                                             \
	"\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[" term "]}"

Test(model_rules, a_term_has_its_namespaces)
{
	struct shape_record r;

	cr_assert_eq(put_affinity("own", REQUIRED(TERM(""))), 0);
	put_affinity("listed", REQUIRED(TERM(",\"namespaces\":[\"b\",\"a\",\"b\"]")));
	put_affinity("every", REQUIRED(TERM(",\"namespaceSelector\":{}")));
	put_affinity(
		"chosen",
		REQUIRED(TERM(",\"namespaces\":[\"a\"],\"namespaceSelector\":{\"matchExpressions\":"
	                  "[{\"key\":\"env\",\"operator\":\"NotIn\",\"values\":[\"prod\"]}]}")));
	put_affinity("nothing", REQUIRED("{\"topologyKey\":\"zone\"}"));
	flush();
	r = shape("own");
	cr_assert_eq(r.body->pod_terms_n, 1);
	cr_assert_eq(r.pod_terms[0].kind, POD_TERM_AFFINITY);
	cr_assert_eq(r.pod_terms[0].flags, 0);
	cr_assert_str_eq(key(r.pod_terms[0].topology), "zone");
	cr_assert_eq(r.pod_terms[0].namespaces.n, 1);
	cr_assert_str_eq(value(r.values[r.pod_terms[0].namespaces.first]), "ns");
	cr_assert_str_eq(span_text(&r, r.pod_terms[0].clauses), "app In web; ");
	r = shape("listed");
	cr_assert_eq(r.pod_terms[0].namespaces.n, 2, "each once");
	cr_assert_lt(r.values[r.pod_terms[0].namespaces.first],
	             r.values[r.pod_terms[0].namespaces.first + 1]);
	r = shape("every");
	cr_assert_eq(r.pod_terms[0].flags, TERM_EVERY_NAMESPACE);
	cr_assert_eq(r.pod_terms[0].namespaces.n, 0);
	r = shape("chosen");
	cr_assert_eq(r.pod_terms[0].flags, TERM_NAMESPACES_CHOSEN);
	cr_assert_eq(r.pod_terms[0].namespaces.n, 1);
	cr_assert_str_eq(span_text(&r, r.pod_terms[0].namespace_clauses), "env NotIn prod; ");
	r = shape("nothing");
	cr_assert_eq(r.pod_terms[0].flags, TERM_MATCHES_NOTHING);
}

Test(model_rules, a_bound_pod_carries_what_bears_on_others)
{
	static const char all[] =
		"\"nodeSelector\":{\"disk\":\"ssd\"},\"tolerations\":[{\"operator\":\"Exists\"}],"
		"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\"}],"
		"\"affinity\":{\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,"
		"\"podAffinityTerm\":{\"topologyKey\":\"zone\",\"labelSelector\":{}}}]}},"
		"\"initContainers\":[{\"name\":\"i\",\"image\":\"x\",\"ports\":[{\"containerPort\":1,\"hostPort\":9}],"
		"\"restartPolicy\":\"Always\"}]";
	struct shape_record r;
	char spec[2000];

	put_pod("waits", "", all);
	snprintf(spec, sizeof(spec), "%s,\"nodeName\":\"n\"", all);
	put_pod("stands", "", spec);
	flush();
	r = shape("waits");
	cr_assert(r.body->requirements_n == 1 && r.body->tolerations_n == 1 && r.body->spreads_n == 1 &&
	          r.body->images_n == 1 && r.body->pod_terms_n == 1 && r.body->ports_n == 1);
	cr_assert_str_eq(value(r.body->namespace), "ns");
	cr_assert_eq(r.body->image_containers, 2);
	r = shape("stands");
	cr_assert(r.body->requirements_n == 0 && r.body->tolerations_n == 0 && r.body->spreads_n == 0 &&
	          r.body->images_n == 0);
	cr_assert_eq(r.body->namespace, ID_NONE);
	cr_assert(r.body->pod_terms_n == 1 && r.body->ports_n == 1 && r.body->amounts_n == 1);
	cr_assert_eq(r.pod_terms[0].kind, POD_TERM_PREFERRED_ANTI);
	cr_assert_eq(r.pod_terms[0].weight, 7);
	cr_assert_eq(r.pod_terms[0].flags, 0, "an empty selector matches every pod");
}

Test(model_rules, ports_know_addresses_and_protocols)
{
	struct shape_record r;

	put_pod("a", "",
	        "\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":\"Always\",\"ports\":["
	        "{\"hostPort\":80},{\"hostPort\":81,\"hostIP\":\"0.0.0.0\",\"protocol\":\"UDP\"},"
	        "{\"hostPort\":82,\"hostIP\":\"::\"},{\"containerPort\":83}]}]");
	flush();
	r = shape("a");
	cr_assert_eq(r.body->ports_n, 3);
	cr_assert(r.ports[0].address == PORT_EVERY_ADDRESS && r.ports[0].port == 80);
	cr_assert_str_eq(value(r.ports[0].protocol), "TCP");
	cr_assert_eq(r.ports[1].address, PORT_EVERY_ADDRESS);
	cr_assert_str_eq(value(r.ports[1].protocol), "UDP");
	cr_assert_str_eq(value(r.ports[2].address), "::");
}

Test(model_rules, spread_constraints_have_their_selectors)
{
	struct shape_record r;

	put_pod(
		"a", "\"app\":\"web\",\"rev\":\"7\"",
		"\"topologySpreadConstraints\":["
		"{\"maxSkew\":2,\"topologyKey\":\"kubernetes.io/hostname\",\"whenUnsatisfiable\":\"ScheduleAnyway\","
		"\"labelSelector\":{\"matchLabels\":{\"app\":\"web\"}},\"matchLabelKeys\":[\"rev\",\"gone\"]},"
		"{\"maxSkew\":1,\"topologyKey\":\"zone\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"minDomains\":3,"
		"\"nodeAffinityPolicy\":\"Ignore\",\"nodeTaintsPolicy\":\"Honor\"},"
		"{\"maxSkew\":1,\"topologyKey\":\"rack\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{}}]");
	flush();
	r = shape("a");
	cr_assert_eq(r.body->spreads_n, 3);
	cr_assert_eq(r.spreads[0].flags, SPREAD_BY_NODE);
	cr_assert(r.spreads[0].max_skew == 2 && r.spreads[0].min_domains == 1);
	cr_assert(strstr(span_text(&r, r.spreads[0].clauses), "app In web; "));
	cr_assert(strstr(span_text(&r, r.spreads[0].clauses), "rev In 7; "));
	cr_assert_eq(r.spreads[0].clauses.n, 2);
	cr_assert_eq(r.spreads[1].flags, SPREAD_HARD | SPREAD_IGNORES_AFFINITY | SPREAD_HONORS_TAINTS |
	                                     SPREAD_MATCHES_NOTHING);
	cr_assert_eq(r.spreads[1].min_domains, 3);
	cr_assert_eq(r.spreads[2].flags, SPREAD_HARD);
	cr_assert_eq(r.spreads[2].clauses.n, 0);
}

#define NODE_TERM(rules)                                                                                   \
	"\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{" rules \
	"}]}}"
#define PREFERRED(rules)                                                                                          \
	"\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":5,\"preference\":{" rules \
	"}}]}"

Test(model_rules, a_term_that_cant_be_parsed_keeps_its_names)
{
	struct shape_record r;

	put_affinity(
		"two",
		NODE_TERM(
			"\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"a\",\"b\"]}]"));
	put_affinity(
		"gt",
		NODE_TERM(
			"\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Gt\",\"values\":[\"1.5\"]}]"));
	flush();
	r = shape("two");
	cr_assert_str_eq(clauses(&r, r.requirements, r.body->requirements_n),
	                 "NAME In a,b; NAME DoesNotExist; ");
	r = shape("gt");
	cr_assert_str_eq(clauses(&r, r.requirements, r.body->requirements_n), "NAME DoesNotExist; ");
	cr_assert_eq(r.body->terms_n, 1);
}

Test(model_rules, a_preference_that_cant_be_parsed_refuses_the_pod)
{
	struct shape_record r;

	put_affinity(
		"good",
		PREFERRED(
			"\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Gt\",\"values\":[\"007\"]}]"));
	put_affinity(
		"bad",
		PREFERRED(
			"\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Gt\",\"values\":[\"1.5\"]}]"));
	put_affinity("none", PREFERRED("\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\"}]"));
	flush();
	r = shape("good");
	cr_assert_eq(r.body->preferences_n, 1);
	cr_assert_eq(r.preferences[0].weight, 5);
	cr_assert_eq(r.clauses[r.preferences[0].clauses.first].number, 7);
	cr_assert(pod("bad")->flags & POD_REFUSED);
	cr_assert(pod("none")->flags & POD_REFUSED);
}

static void put_node(const char *name, const char *images)
{
	char rest[1000];

	snprintf(rest, sizeof(rest),
	         "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"pods\":\"10\"},\"images\":[%s]}",
	         images);
	cr_assert_eq(put("v1", "Node", "", name, "", rest), 0);
}

#define IMAGE(names, size) "{\"names\":[" names "],\"sizeBytes\":" size "}"

static void put_image_pod(const char *name, const char *image)
{
	char rest[500];

	snprintf(
		rest, sizeof(rest),
		"\"spec\":{\"schedulerName\":\"muster\",\"containers\":[{\"name\":\"c\",\"image\":\"%s\"}]}",
		image);
	cr_assert_eq(put("v1", "Pod", "ns", name, "", rest), 0);
}

static const char *images_of(const char *node)
{
	const struct event_node *e = replay_node(&s.replay, node);
	static char text[500];
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < e->images_n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s:%lld ",
		                         intern_text(&s.m->images, replay_images(e)[i].image),
		                         (long long)replay_images(e)[i].bytes);
	return text;
}

Test(model_rules, nodes_tell_of_images_that_are_asked_for)
{
	put_node("n1", IMAGE("\"web:latest\",\"web@sha256:0\"", "5") "," IMAGE("\"db:1\"", "7"));
	put_node("n2", IMAGE("\"db:1\"", "7"));
	flush();
	cr_assert_str_eq(images_of("n1"), "");
	put_image_pod("a", "web");
	cr_assert_eq(flush(), 3, "a shape, a pod, and the node that has it");
	cr_assert_str_eq(images_of("n1"), "web:latest:5 ");
	put_node("n1", IMAGE("\"web:latest\",\"web@sha256:0\"", "5") "," IMAGE("\"cache:2\"", "9"));
	cr_assert_eq(flush(), 0, "nobody asks for what came and went");
	put_image_pod("b", "cache:2");
	cr_assert_eq(flush(), 3);
	delete ("v1", "Pod", "ns", "a");
	delete ("v1", "Pod", "ns", "b");
	flush();
	put_image_pod("c", "web");
	cr_assert_eq(flush(), 1, "the core has its shape and knows where it is");
	put_node("n1", IMAGE("\"cache:2\"", "9"));
	cr_assert_eq(flush(), 1);
	cr_assert_str_eq(images_of("n1"), "cache:2:9 ");
	put_node("n2", IMAGE("\"web:latest\"", "5"));
	cr_assert_eq(flush(), 1);
	cr_assert_str_eq(images_of("n2"), "web:latest:5 ");
}

Test(model_rules, a_name_without_a_tag_is_the_latest)
{
	static const struct {
		const char *written, *normal;
	} names[] = {
		{ "web", "web:latest" },
		{ "web:1", "web:1" },
		{ "reg:5000/web", "reg:5000/web:latest" },
		{ "reg:5000/web:1", "reg:5000/web:1" },
		{ "web@sha256:0", "web@sha256:0" },
		{ "a/b", "a/b:latest" },
	};
	struct shape_record r;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put_image_pod("a", names[i].written);
		flush();
		r = shape("a");
		cr_assert_eq(r.body->images_n, 1);
		cr_assert_str_eq(intern_text(&s.m->images, r.images[0]), names[i].normal);
	}
}

static const char *spread_of(const char *name)
{
	struct shape_record r = shape(name);

	if (r.body->spreads_n == 0)
		return "";
	cr_assert_eq(r.body->spreads_n, 2);
	cr_assert_str_eq(key(r.spreads[0].topology), "kubernetes.io/hostname");
	cr_assert_str_eq(key(r.spreads[1].topology), "topology.kubernetes.io/zone");
	cr_assert(r.spreads[0].flags == (SPREAD_DEFAULT | SPREAD_BY_NODE) &&
	          r.spreads[1].flags == SPREAD_DEFAULT);
	cr_assert(r.spreads[0].max_skew == 3 && r.spreads[1].max_skew == 5);
	cr_assert_eq(r.spreads[0].clauses.n, r.spreads[1].clauses.n);
	return span_text(&r, r.spreads[1].clauses);
}

static void put_service(const char *namespace, const char *name, const char *selector)
{
	char rest[300];

	snprintf(rest, sizeof(rest), "\"spec\":{\"selector\":{%s}}", selector);
	cr_assert_eq(put("v1", "Service", namespace, name, "", rest), 0);
}

Test(model_rules, services_spread_the_pods_that_they_select)
{
	put_pod("before", "\"app\":\"web\",\"tier\":\"1\"", "");
	put_pod("other", "\"app\":\"db\"", "");
	put_pod("own", "\"app\":\"web\"",
	        "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\","
	        "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{}}]");
	put_pod("bound", "\"app\":\"web\"", "\"nodeName\":\"n\"");
	flush();
	put_service("elsewhere", "w", "\"app\":\"web\"");
	put_service("ns", "nobody", "");
	cr_assert_eq(flush(), 0);
	put_service("ns", "w", "\"app\":\"web\"");
	cr_assert_eq(flush(), 2, "a shape and the pod that it selects");
	cr_assert_str_eq(spread_of("before"), "app In web; ");
	cr_assert_eq(shape("own").body->spreads_n, 1);
	cr_assert_eq(shape("bound").body->spreads_n, 0);
	put_service("ns", "x", "\"tier\":\"1\",\"app\":\"web\"");
	put_service("ns", "y", "\"app\":\"web\"");
	put_service("ns", "z", "\"app\":\"web\",\"tier\":\"2\"");
	put_pod("after", "\"app\":\"web\",\"tier\":\"1\"", "");
	flush();
	cr_assert_str_eq(spread_of("after"), spread_of("before"));
	cr_assert(strstr(spread_of("after"), "tier In 1; ") &&
	          strstr(spread_of("after"), "app In web; "));
	cr_assert_eq(pod("after")->shape, pod("before")->shape);
	put_service("ns", "x", "\"app\":\"nothing\"");
	flush();
	cr_assert_str_eq(spread_of("before"), "app In web; ");
	delete ("v1", "Service", "ns", "w");
	cr_assert_eq(flush(), 0, "there is another one that says the same");
	delete ("v1", "Service", "ns", "y");
	flush();
	cr_assert_str_eq(spread_of("before"), "");
	cr_assert_str_eq(spread_of("after"), "");
	model_replace_begin(s.m, resource_of("v1", "Service"));
	model_replace_end(s.m, resource_of("v1", "Service"));
	cr_assert_eq(s.m->owners.pool.used, 0);
}

/* Each change of 50 a second made the core plan 2,000 pods again, of a shape each. */
Test(model_rules, services_that_change_again_and_again_respread_pods_together)
{
	const uint64_t rest = UINT64_C(100000000), first = 1000 * rest;
	char name[16];

	cr_assert_eq(model_respread(s.m, first), UINT64_MAX);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put_pod(name, "\"app\":\"web\",\"tier\":\"1\"", "");
	}
	flush();
	put_service("ns", "w", "\"app\":\"web\"");
	cr_assert_eq(flush(), 21, "the first one applies at once: a shape and the pods");
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(model_respread(s.m, first + (uint64_t)i * rest / 51),
		             i == 0 ? UINT64_MAX : first + rest);
		put_service("ns", "w", i % 2 ? "\"app\":\"web\"" : "\"tier\":\"1\"");
		cr_assert_eq(flush(), 0);
	}
	put_service("ns", "w", "\"tier\":\"1\"");
	put_pod("after", "\"app\":\"web\",\"tier\":\"1\"", "");
	put_service("elsewhere", "w", "\"app\":\"web\"");
	flush();
	cr_assert_str_eq(spread_of("p0"), "app In web; ");
	cr_assert_str_eq(spread_of("after"), "tier In 1; ", "a pod that comes has the latest");
	cr_assert_eq(model_respread(s.m, first + rest - 1), first + rest);
	cr_assert_eq(model_respread(s.m, first + rest), UINT64_MAX);
	cr_assert(flush() <= 21, "the pods, once, and the drop of a shape");
	cr_assert_str_eq(spread_of("p0"), "tier In 1; ");
	/* Deleting and creating it again is no way around. */
	delete ("v1", "Service", "ns", "w");
	cr_assert_eq(flush(), 0);
	model_respread(s.m, first + 3 * rest);
	flush();
	cr_assert_str_eq(spread_of("p0"), "");
}

static uint32_t owner_of(const char *name)
{
	STORE_EACH(&s.m->owners, i)
	if (strcmp(intern_text(&s.m->values, owner_at(s.m, i)->key.name), name) == 0)
		return i;
	abort();
}

/* What --max-memory withdraws applies at once, and to the pods that it selected alone. */
Test(model_rules, a_service_that_is_withdrawn_leaves_the_changes_of_others_due)
{
	const uint64_t rest = UINT64_C(5000000), first = 1000 * rest;

	put_pod("p", "\"app\":\"web\"", "");
	put_service("ns", "v", "\"tier\":\"1\"");
	cr_assert_eq(model_respread(s.m, first), UINT64_MAX);
	put_service("ns", "w", "\"app\":\"web\"");
	flush();
	cr_assert_str_eq(spread_of("p"), "app In web; ");
	put_service("ns", "w", "\"app\":\"db\"");
	cr_assert_eq(flush(), 0);
	owner_withdraw(s.m, owner_of("v"));
	model_respread(s.m, first + 2 * rest);
	flush();
	cr_assert_str_eq(spread_of("p"), "");
}

/* The core plans those again alone whose shape changes. */
Test(model_rules, pods_that_deferred_changes_leave_as_they_are_hardly_count)
{
	const uint64_t ms = UINT64_C(1000000), first = 1000000 * ms;
	char name[16];

	put_pod("p", "\"app\":\"web\"", "");
	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "q%d", i);
		put_pod(name, "\"app\":\"db\"", "");
	}
	flush();
	cr_assert_eq(model_respread(s.m, first), UINT64_MAX);
	put_service("ns", "v", "\"app\":\"web\"");
	put_service("ns", "w", "\"app\":\"web\",\"tier\":\"1\"");
	cr_assert_eq(model_respread(s.m, first), first + 5 * ms, "one pod has another shape");
	cr_assert_eq(model_respread(s.m, first + 5 * ms), UINT64_MAX);
	put_service("ns", "v", "\"app\":\"none\"");
	cr_assert_eq(model_respread(s.m, first + 5 * ms), first + 20 * ms, "25 keep theirs");
}

static void put_owned(const char *name, const char *api_version, const char *kind)
{
	char meta[500];

	snprintf(
		meta, sizeof(meta),
		"\"labels\":{\"app\":\"web\",\"hash\":\"7\"},\"ownerReferences\":[{\"apiVersion\":\"%s\","
		"\"kind\":\"%s\",\"name\":\"owner\",\"uid\":\"u\",\"controller\":true}]",
		api_version, kind);
	cr_assert_eq(put("v1", "Pod", "ns", name, meta, SPEC "}"), 0);
}

/* Each pod that waits costs the square of the pairs. */
Test(model_rules, a_selector_longer_than_the_labels_of_a_pod_selects_none)
{
	static char rest[1 << 16];

	put_owned("rc", "v1", "ReplicationController");
	for (int pairs = 1024; pairs <= 1025; pairs++) {
		size_t n = (size_t)snprintf(rest, sizeof(rest), "\"spec\":{\"selector\":{\"hash\":\"7\"");

		for (int i = 1; i < pairs; i++)
			n += (size_t)snprintf(rest + n, sizeof(rest) - n, ",\"k%d\":\"\"", i);
		snprintf(rest + n, sizeof(rest) - n, "}}");
		cr_assert_eq(put("v1", "ReplicationController", "ns", "owner", "", rest),
		             pairs == 1024 ? 0 : -EINVAL);
		flush();
		cr_assert_eq(shape("rc").body->spreads_n, pairs == 1024 ? 2 : 0);
	}
	cr_assert(strstr(s.error.text, "1025 requirements, the limit is 1024; it selects no pod"), "%s",
	          s.error.text);
}

/* The pod was rejected, after all values had been copied for it. */
Test(model_rules, a_selector_with_too_many_values_selects_none)
{
	static char rest[1 << 17];

	for (int values = 4096; values <= 20000; values += 15904) {
		size_t n = (size_t)snprintf(rest, sizeof(rest),
		                            "\"spec\":{\"selector\":{\"matchExpressions\":[{"
		                            "\"key\":\"hash\",\"operator\":\"In\",\"values\":[\"7\"");

		for (int i = 1; i < values; i++)
			n += (size_t)snprintf(rest + n, sizeof(rest) - n, ",\"v\"");
		snprintf(rest + n, sizeof(rest) - n, "]}]}}");
		cr_assert_eq(put("apps/v1", "ReplicaSet", "ns", "owner", "", rest),
		             values == 4096 ? 0 : -EINVAL);
		cr_assert(values == 4096 ||
		              strstr(s.error.text, "20000 values, the limit is 4096; it selects no pod"),
		          "%s", s.error.text);
		put_owned(values == 4096 ? "before" : "after", "apps/v1", "ReplicaSet");
		flush();
		cr_assert_eq(shape("before").body->values_n, values == 4096 ? 4096 : 0);
	}
	cr_assert_eq(shape("after").body->spreads_n, 0);
	cr_assert_not(pod("after")->flags & POD_REFUSED);
}

Test(model_rules, controllers_spread_the_pods_that_they_own)
{
	put_owned("rs", "apps/v1", "ReplicaSet");
	put_owned("old", "extensions/v1beta1", "ReplicaSet");
	put_owned("rc", "v1", "ReplicationController");
	put_owned("sts", "apps/v1", "StatefulSet");
	put_owned("job", "batch/v1", "Job");
	put_service("ns", "w", "\"app\":\"web\"");
	flush();
	put("apps/v1", "ReplicaSet", "ns", "owner", "",
	    "\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"},"
	    "\"matchExpressions\":[{\"key\":\"hash\",\"operator\":\"Exists\"}]}}");
	cr_assert_eq(flush(), 2);
	put("v1", "ReplicationController", "ns", "owner", "",
	    "\"spec\":{\"selector\":{\"hash\":\"7\"}}");
	put("apps/v1", "StatefulSet", "ns", "owner", "",
	    "\"spec\":{\"selector\":{\"matchExpressions\":"
	    "[{\"key\":\"app\",\"operator\":\"In\",\"values\":[\"web\",\"api\"]}]}}");
	flush();
	cr_assert_str_eq(spread_of("rs"), "app In web; hash Exists; ");
	cr_assert_str_eq(spread_of("old"), "app In web; ");
	cr_assert(strstr(spread_of("rc"), "app In web; ") && strstr(spread_of("rc"), "hash In 7; "));
	cr_assert_str_eq(spread_of("sts"), "app In web; app In web,api; ");
	cr_assert_str_eq(spread_of("job"), "app In web; ");
	delete ("v1", "Service", "ns", "w");
	delete ("apps/v1", "StatefulSet", "ns", "owner");
	flush();
	cr_assert_str_eq(spread_of("rs"), "app In web; hash Exists; ");
	cr_assert_str_eq(spread_of("rc"), "hash In 7; ");
	cr_assert_str_eq(spread_of("sts"), "");
	/* One that cannot be read selects no pods until it can. */
	cr_assert_eq(put("apps/v1", "ReplicaSet", "ns", "owner", "", "\"spec\":{\"selector\":[]}"),
	             -EINVAL);
	flush();
	cr_assert_str_eq(spread_of("rs"), "");
}

/* Pods enter and leave their namespace's chain as they are put, bound and removed. */
Test(model_rules, bound_pods_get_no_default_constraints)
{
	for (int i = 0; i < 4; i++)
		put_pod((char[]){ (char)('a' + i), 0 }, "\"app\":\"web\"", "");
	put_pod("b", "\"app\":\"web\"", "\"nodeName\":\"n\"");
	delete ("v1", "Pod", "ns", "d");
	flush();
	put_service("ns", "w", "\"app\":\"web\"");
	cr_assert_eq(flush(), 3, "a shape, a and c; their old shape is idle");
	cr_assert_str_eq(spread_of("b"), "");
	cr_assert_str_eq(spread_of("c"), "app In web; ");
	delete ("v1", "Pod", "ns", "c");
	delete ("v1", "Pod", "ns", "a");
	delete ("v1", "Service", "ns", "w");
	flush();
}

#define CLAIM "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"data\"}}]"

static void put_volume(void)
{
	put("v1", "PersistentVolumeClaim", "ns", "data",
	    "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}",
	    "\"spec\":{\"volumeName\":\"pv\",\"accessModes\":[\"ReadWriteOncePod\"],"
	    "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},\"status\":{\"phase\":\"Bound\"}");
	put("v1", "PersistentVolume", "", "pv", "",
	    "\"spec\":{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOncePod\"],"
	    "\"csi\":{\"driver\":\"d.example.com\",\"volumeHandle\":\"h\"},\"claimRef\":{\"namespace\":\"ns\",\"name\":\"data\","
	    "\"uid\":\"u-data\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
	    "\"operator\":\"In\",\"values\":[\"a\"]}]}]}}},\"status\":{\"phase\":\"Bound\"}");
}

Test(model_rules, a_claim_that_comes_late_lifts_the_refusal)
{
	struct shape_record r;

	put_pod("waits", "\"app\":\"web\"", CLAIM);
	put_pod("stands", "", CLAIM ",\"nodeName\":\"n\"");
	put_service("ns", "w", "\"app\":\"web\"");
	flush();
	cr_assert(pod("waits")->flags & POD_REFUSED);
	cr_assert(view_of("waits").refusal_is_kube);
	cr_assert_str_eq(view_of("waits").refusal, "persistentvolumeclaim \"data\" not found");
	cr_assert(!(pod("stands")->flags & POD_REFUSED));
	put_volume();
	flush();
	cr_assert(!(pod("waits")->flags & POD_REFUSED), "%s", view_of("waits").refusal);
	cr_assert_str_eq(view_of("waits").refusal, "");
	r = shape("waits");
	cr_assert_geq(r.body->volume_rules_n, 1);
	cr_assert_eq(r.volume_rules[0].why, FILTER_VOLUME_NODE);
	cr_assert_str_eq(span_text(&r, r.alternatives[r.volume_rules[0].alternatives.first]),
	                 "zone In a; ");
	cr_assert_eq(r.body->exclusives_n, 1);
	cr_assert_eq(r.exclusives[0].flags, EXCLUSIVE_CLAIM);
	cr_assert_str_eq(spread_of("waits"), "app In web; ", "all derived parts are there");
	r = shape("stands");
	cr_assert(r.body->volume_rules_n == 0 && r.body->exclusives_n == 1 &&
	          r.body->attachments_n == 1);
	cr_assert_str_eq(value(r.attachments[0].driver), "d.example.com");
	delete ("v1", "Service", "ns", "w");
	flush();
	r = shape("waits");
	cr_assert(r.body->spreads_n == 0 && r.body->volume_rules_n >= 1);
	delete ("v1", "PersistentVolume", "", "pv");
	flush();
	cr_assert_str_eq(view_of("waits").refusal, "persistentvolume \"pv\" not found");
	cr_assert_eq(shape("waits").body->volume_rules_n, 0);
	delete ("v1", "Pod", "ns", "waits");
	put_volume();
	flush();
}

Test(model_rules, nodes_tell_of_their_volumes)
{
	const struct event_node *e;

	put_volume();
	put_node("n1", "");
	flush();
	put("storage.k8s.io/v1", "CSINode", "", "n1", "",
	    "\"spec\":{\"drivers\":[{\"name\":\"d.example.com\",\"nodeID\":\"n1\","
	    "\"allocatable\":{\"count\":3}}]}");
	put("storage.k8s.io/v1", "VolumeAttachment", "", "va", "",
	    "\"spec\":{\"attacher\":\"d.example.com\",\"nodeName\":\"n1\","
	    "\"source\":{\"persistentVolumeName\":\"pv\"}},\"status\":{\"attached\":true}");
	cr_assert_eq(flush(), 1);
	e = replay_node(&s.replay, "n1");
	cr_assert_eq(e->limits_n, 1);
	cr_assert_eq(e->attached_n, 1);
	put_node("n1", IMAGE("\"x:1\"", "1"));
	cr_assert_eq(flush(), 0);
	delete ("v1", "Node", "", "n1");
	flush();
}
