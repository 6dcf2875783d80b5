/* SPDX-License-Identifier: Apache-2.0 */
/* Names without columns, and tables that several namespaces fill. */
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/pods.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_model.h"

static const struct limits LIMITS =
	LIMITS_WITH(.pods = 64, .gangs = 16, .resources = 6, .command_ring_bytes = 8192);

#define NODE RESOURCE_INDEX_NODES
#define POD RESOURCE_INDEX_PODS
#define GROUP RESOURCE_INDEX_DIALECTS

static void start(void)
{
	start_model((struct model_config){ .limits = LIMITS }, 1);
	replay_add_core(&s.replay);
}

TestSuite(shares, .init = start, .fini = end);

static int put_node(const char *name, const char *amounts)
{
	return put_object(NODE,
	                  "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},"
	                  "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"pods\":\"10\"%s}}}",
	                  name, name, ++s.version, amounts);
}

/* With a request of one resource, and more fields of the metadata and the spec. */
static int put_pod(const char *namespace, const char *name, const char *request, const char *meta,
                   const char *spec)
{
	return put_object(POD,
	                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s-%s\","
	                  "\"resourceVersion\":\"%d\"%s},\"spec\":{\"schedulerName\":\"muster\"%s,"
	                  "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{%s}}}]}}",
	                  name, namespace, namespace, name, ++s.version, meta, spec, request);
}

/* "STEMnn", good until the next one is made. */
static const char *nth(const char *stem, int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%02d", stem, i);
	return name;
}

static struct pod_view pod_of(const char *namespace, const char *name)
{
	struct pod_view v;

	cr_assert(model_pod_by_name(s.m, namespace, name, &v), "%s/%s", namespace, name);
	return v;
}

static uint64_t names_used(void)
{
	struct model_counts counts;

	model_counts(s.m, &counts);
	return counts.names;
}

/* F6: a name that only pods ask for. */
Test(shares, f6_pods_take_no_column)
{
	char request[64];

	for (int i = 0; i < 8; i++) {
		snprintf(request, sizeof(request), "\"evil.com/%d\":\"1\"", i);
		cr_assert_eq(put_pod("evil", nth("e", i), request, "", ""), 0);
		flush();
	}
	cr_assert_eq(put_node("n1", ",\"a/a\":\"1\",\"b/b\":\"1\""), 0, "%s", s.error.text);
	flush();
}

/* F6: half of the names is for nodes. */
Test(shares, f6_pods_leave_names_for_taints)
{
	char request[64];
	int refused = 0;

	for (int i = 0; i < 24; i++) {
		snprintf(request, sizeof(request), "\"evil.com/%d\":\"1\"", i);
		refused += put_pod("evil", nth("e", i), request, "", "") == -ENOSPC;
		flush();
	}
	cr_assert_gt(refused, 0);
	cr_assert_leq(names_used(), 4 + (24 - 6) / 2);
	cr_assert_eq(put_object(NODE,
	                        "{\"metadata\":{\"name\":\"n1\",\"uid\":\"u\"},\"spec\":{\"taints\":["
	                        "{\"key\":\"a\",\"effect\":\"NoSchedule\"}]},"
	                        "\"status\":{\"allocatable\":{\"cpu\":\"4\"}}}"),
	             0, "%s", s.error.text);
	flush();
}

/* F6: when a node brings the name, and takes it away. */
Test(shares, f6_a_column_lives_as_long_as_nodes_have_it)
{
	uint64_t before;

	before = names_used();
	put_node("n1", "");
	put_pod("a", "p", "\"a/a\":\"1\"", "", "");
	put_pod("a", "bound", "\"a/a\":\"1\"", "", ",\"nodeName\":\"n1\"");
	flush();
	put_node("n1", ",\"a/a\":\"2\"");
	flush();
	cr_assert_eq(names_used(), before + 1);
	put_node("n1", "");
	flush();
	flush();
	put_node("n1", ",\"b/b\":\"1\",\"c/c\":\"1\"");
	cr_assert_eq(put_node("n2", ",\"b/b\":\"1\""), 0, "%s", s.error.text);
	flush();
}

/* F6: a node with more names than columns counts by the others. */
Test(shares, f6_a_node_with_too_many_names)
{
	cr_assert_eq(put_node("n1", ",\"a/a\":\"1\",\"b/b\":\"1\",\"c/c\":\"1\""), -ENOSPC);
	cr_assert(strstr(s.error.text, "its c/c does not count"), "%s", s.error.text);
	cr_assert(model_node_id(s.m, text_of("n1")) != ID_NONE, "it is used");
	put_pod("a", "p", "\"c/c\":\"1\"", "", "");
	flush();
	cr_assert_str_eq(pod_of("a", "p").refusal,
	                 "the limit --max-resources is reached: there is no column for c/c");
	cr_assert_eq(put_node("n1", ",\"b/b\":\"1\",\"c/c\":\"1\""), -ENOSPC);
	flush();
	cr_assert_eq(put_node("n1", ",\"b/b\":\"1\",\"c/c\":\"1\""), 0, "%s", s.error.text);
	flush();
	cr_assert_str_eq(pod_of("a", "p").refusal, "");
}

static void fill_shapes(const char *namespace, int n)
{
	char request[64];

	for (int i = 0; i < n; i++) {
		snprintf(request, sizeof(request), "\"cpu\":\"%dm\"", i + 1);
		put_pod(namespace, nth("p", i), request, "", "");
		flush();
	}
}

/* F7: a namespace that fills the shapes gives way to another one. */
Test(shares, f7_shapes_give_way)
{
	fill_shapes("evil", 20);
	put_pod("good", "a", "\"cpu\":\"1\"", "", "");
	for (int i = 0; i < 4; i++)
		flush();
	if (*pod_of("good", "a").refusal)
		cr_assert_eq(put_pod("good", "a", "\"cpu\":\"1\"", "", ""), 0, "%s", s.error.text);
	flush();
	cr_assert_str_eq(pod_of("good", "a").refusal, "");
	cr_assert(strstr(pod_of("evil", "p19").refusal,
	                 "the limit --max-shapes is reached: namespace evil has "),
	          "%s", pod_of("evil", "p19").refusal);
	cr_assert(strstr(pod_of("evil", "p19").refusal, "its share is "));
	for (int i = 0; i < 8; i++) {
		const char *name = nth("b", i);
		char request[32];

		snprintf(request, sizeof(request), "\"cpu\":\"%d\"", i + 2);
		put_pod("good", name, request, "", "");
		for (int k = 0; k < 3; k++)
			flush();
		if (i < 6)
			cr_assert_str_eq(pod_of("good", name).refusal, "", "%d", i);
	}
	cr_assert(model_lacks(s.m, POD));
}

/* F7: bound pods give nothing up and are always counted. */
Test(shares, f7_bound_pods_keep_their_shapes)
{
	char request[64];

	put_node("n1", "");
	for (int i = 0; i < 14; i++) {
		snprintf(request, sizeof(request), "\"cpu\":\"%dm\"", i + 1);
		cr_assert_eq(put_pod("evil", nth("b", i), request, "", ",\"nodeName\":\"n1\""), 0);
		flush();
	}
	put_pod("good", "a", "\"cpu\":\"1\"", "", "");
	flush();
	flush();
	cr_assert_str_eq(pod_of("good", "a").refusal, "", "below its share, and one is free");
}

static void remove_pod(const char *namespace, const char *name)
{
	char json[200];
	const int n =
		snprintf(json, sizeof(json),
	             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s-%s\","
	             "\"resourceVersion\":\"%d\"}}",
	             name, namespace, namespace, name, ++s.version);

	cr_assert_eq(model_remove(s.m, POD, json, (size_t)n, &s.error), 0, "%s", s.error.text);
	check();
}

/* Terms of anti-affinity of its own, so many. */
static int put_repelled(const char *namespace, const char *name, int terms, const char *spec)
{
	char rules[4096];
	size_t n = (size_t)snprintf(rules, sizeof(rules),
	                            "%s,\"affinity\":{\"podAntiAffinity\":{"
	                            "\"requiredDuringSchedulingIgnoredDuringExecution\":[",
	                            spec);

	for (int i = 0; i < terms; i++)
		n += (size_t)snprintf(rules + n, sizeof(rules) - n,
		                      "%s{\"topologyKey\":\"kubernetes.io/hostname\","
		                      "\"namespaceSelector\":{},\"labelSelector\":{\"matchExpressions\":["
		                      "{\"key\":\"x\",\"operator\":\"NotIn\",\"values\":[\"%s-%d\"]}]}}",
		                      i > 0 ? "," : "", name, i);
	snprintf(rules + n, sizeof(rules) - n, "]}}");
	return put_pod(namespace, name, "\"cpu\":\"1\"", "", rules);
}

static uint32_t terms_of(const char *namespace, const char *name)
{
	const struct event_pod *pod = (const void *)s.replay.pods[pod_of(namespace, name).id].body;

	return ((const struct event_shape *)(const void *)s.replay.shapes[pod->shape].body)
	    ->pod_terms_n;
}

/* Each may cost the core a count by node: a pod has hundreds, so shapes alone bound too little. */
Test(shares, terms_between_pods_give_way)
{
	char name[32];

	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p%02d", i);
		put_repelled("evil", name, 4, "");
		flush();
	}
	cr_assert_str_eq(pod_of("evil", "p07").refusal, "", "32 terms, of 16 shapes");
	cr_assert_str_eq(pod_of("evil", "p09").refusal,
	                 "the limit of pod affinity terms and spread constraints by --max-shapes is "
	                 "reached: namespace evil has 32 of 32, its share is 32");
	put_pod("evil", "plain", "\"cpu\":\"2\"", "", "");
	cr_assert_str_eq(pod_of("evil", "plain").refusal, "");
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "g%02d", i);
		cr_assert_eq(put_repelled("good", name, 4, ""), 0, "%s", s.error.text);
		for (int k = 0; k < 3; k++)
			flush();
		cr_assert_str_eq(pod_of("good", name).refusal, "");
	}
	cr_assert_str_eq(pod_of("evil", "p02").refusal, "", "its share is its own");
	cr_assert_str_eq(pod_of("evil", "plain").refusal, "", "it has no terms");
	cr_assert(strstr(pod_of("evil", "p07").refusal, "namespace evil has "), "it gave way");
	cr_assert(model_lacks(s.m, POD));
}

/* Anybody may create pods with a node. */
Test(shares, terms_of_bound_pods_have_a_bound)
{
	char name[32];

	put_node("n1", "");
	put_repelled("evil", "waited", 4, "");
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "b%02d", i);
		cr_assert_eq(put_repelled("evil", name, 4, ",\"nodeName\":\"n1\""), i < 7 ? 0 : -ENOSPC);
		flush();
		cr_assert_eq(terms_of("evil", name), i < 7 ? 4 : 0, "%d", i);
	}
	cr_assert(strstr(s.error.text, "counts without its rules of pod affinity: the limit of pod "),
	          "%s", s.error.text);
	cr_assert_eq(put_repelled("evil", "b09", 4, ",\"nodeName\":\"n1\""), -ENOSPC, "again");
	cr_assert_eq(put_repelled("evil", "waited", 4, ",\"nodeName\":\"n1\""), 0, "%s", s.error.text);
	flush();
	cr_assert_eq(terms_of("evil", "waited"), 4, "it keeps those that it waited with");
	cr_assert_eq(put_repelled("good", "a", 4, ",\"nodeName\":\"n1\""), 0, "%s", s.error.text);
	flush();
	cr_assert_eq(terms_of("good", "a"), 4);
	remove_pod("evil", "b00");
	flush();
	remove_pod("evil", "b01");
	flush();
	remove_pod("evil", "b02");
	remove_pod("evil", "b03");
	flush();
	cr_assert_eq(put_repelled("evil", "b09", 4, ",\"nodeName\":\"n1\""), 0, "%s", s.error.text);
	flush();
	cr_assert_eq(terms_of("evil", "b09"), 4, "read again, with its terms");
}

#define MEMBER(g) ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"" g "\"}"

static int put_group(const char *namespace, const char *name)
{
	return put_object(GROUP,
	                  "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"uid\":\"u-%s-%s\","
	                  "\"resourceVersion\":\"%d\"},\"spec\":{\"minMember\":1}}",
	                  name, namespace, namespace, name, ++s.version);
}

/* F7: gangs, with objects and without, that have nothing bound. */
Test(shares, f7_gangs_give_way)
{
	const char *name;
	char meta[96];

	for (int i = 0; i < 20; i++) {
		name = nth("g", i);
		snprintf(meta, sizeof(meta), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g%02d\"}",
		         i);
		if (i % 2)
			put_group("evil", name);
		put_pod("evil", name, "\"cpu\":\"1\"", meta, "");
		flush();
	}
	for (int i = 0; i < 4; i++) {
		name = nth("h", i);
		snprintf(meta, sizeof(meta), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"h%02d\"}",
		         i);
		put_group("good", name);
		put_pod("good", name, "\"cpu\":\"1\"", meta, "");
		for (int k = 0; k < 4; k++)
			flush();
		if (i == 0) { /* the table was full: it is listed again */
			put_group("good", name);
			put_pod("good", name, "\"cpu\":\"1\"", meta, "");
		}
		cr_assert_str_eq(pod_of("good", name).refusal, "", "%d", i);
		cr_assert_str_eq(pod_of("good", name).gang, name);
	}
	cr_assert(strstr(pod_of("evil", "g19").refusal,
	                 "the limit --max-gangs is reached: namespace evil has "));
	cr_assert(model_lacks(s.m, POD) && model_lacks(s.m, GROUP));
}

/* F7: pods themselves. */
Test(shares, f7_pods_give_way)
{
	struct pod_view v;
	const char *name;

	for (int i = 0; i < 70; i++)
		put_pod("evil", nth("p", i), "\"cpu\":\"1\"", "", "");
	flush();
	for (int i = 0; i < 30; i++) {
		name = nth("q", i);
		if (put_pod("good", name, "\"cpu\":\"1\"", "", "") < 0)
			cr_assert_eq(i, 0);
		for (int k = 0; k < 3; k++)
			flush();
		cr_assert(i == 0 || model_pod_by_name(s.m, "good", name, &v), "%d", i);
	}
	cr_assert(model_lacks(s.m, POD));
}

#define DEVICES "resource.k8s.io/v1"

/* The core has them beside the names of nodes and gangs, in the same room, and refused a node. */
Test(shares, names_of_devices_leave_room_for_nodes)
{
	const struct model_config config = { .limits = LIMITS, .devices_live = true };
	char class[201], name[41], spec[100];

	start_model(config, 1);
	replay_add_core(&s.replay);
	snprintf(class, sizeof(class), "%0200d", 0);
	put_object(
		resource_of(DEVICES, "DeviceClass"),
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"u\",\"resourceVersion\":\"%d\"},\"spec\":{}}",
		class, ++s.version);
	for (int i = 10; i < 30; i++) {
		put_object(
			resource_of(DEVICES, "ResourceClaim"),
			"{\"metadata\":{\"name\":\"c%d\",\"namespace\":\"ns\",\"uid\":\"u-c%d\","
			"\"resourceVersion\":\"%d\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
			"\"exactly\":{\"deviceClassName\":\"%s\",\"count\":%d}}]}}}",
			i, i, ++s.version, class, i);
		snprintf(spec, sizeof(spec),
		         ",\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"c%d\"}]", i);
		put_pod("ns", nth("p", i), "\"cpu\":\"1\"", "", spec);
	}
	flush();
	for (int i = 0; i < (int)LIMITS.nodes; i++) {
		snprintf(name, sizeof(name), "%040d", i);
		cr_assert_eq(put_node(name, ""), 0, "%s", s.error.text);
		flush();
	}
}

#define MEMORY (UINT64_C(256) << 10)

#define OVER 1u /* what the texts of one pod take beyond the bytes of its object */

static void start_memory(void)
{
	start_model((struct model_config){ .limits = LIMITS, .memory_bytes = MEMORY }, 1);
	replay_add_core(&s.replay);
}

/* Labels that no other pod has, some 16 KiB of them. */
static int put_large(const char *namespace, const char *name, const char *spec)
{
	static char meta[16384];
	size_t n = (size_t)snprintf(meta, sizeof(meta), ",\"labels\":{\"all\":\"same\"");

	for (int i = 0; i < 60; i++)
		n += (size_t)snprintf(meta + n, sizeof(meta) - n, ",\"%s-%s-%d.%080d\":\"%s%d\"", namespace,
		                      name, i, 0, name, i);
	snprintf(meta + n, sizeof(meta) - n, "}");
	return put_pod(namespace, name, "\"cpu\":\"1\"", meta, spec);
}

static void good_is_served(int from, int end)
{
	for (int i = from; i < end; i++) {
		const char *name = nth("g", i);

		put_large("good", name, "");
		for (int k = 0; k < 3; k++)
			flush();
		if (*pod_of("good", name).refusal)
			cr_assert_eq(put_large("good", name, ""), 0, "%s", s.error.text);
		cr_assert_str_eq(pod_of("good", name).refusal, "");
	}
}

static uint64_t parts(void)
{
	struct model_counts counts;

	model_counts(s.m, &counts);
	return counts.memory_parts;
}

static uint32_t labels_of(const char *namespace, const char *name)
{
	return s.replay.pods[pod_of(namespace, name).id].body
	           ? ((const struct event_pod *)(const void *)s.replay.pods[pod_of(namespace, name).id]
	                  .body)
	                 ->labels_n
	           : 0;
}

/* One that fills the memory gives way to another one, which gets its share. */
Test(shares, memory_of_waiting_pods_gives_way)
{
	start_memory();
	for (int i = 0; i < 40; i++) {
		put_large("evil", nth("p", i), "");
		flush();
		cr_assert_leq(parts(), MEMORY_PARTS + OVER);
	}
	cr_assert(strstr(pod_of("evil", "p39").refusal,
	                 "the limit --max-memory is reached: objects of namespace evil take "),
	          "%s", pod_of("evil", "p39").refusal);
	for (int i = 0; i < 6; i++) {
		good_is_served(i, i + 1);
		cr_assert_leq(parts(), MEMORY_PARTS + OVER);
	}
	cr_assert(model_lacks(s.m, POD));
	cr_assert_str_eq(pod_of("evil", "p00").refusal, "", "its share is its own");
}

/* Bound pods are counted, those of a namespace above its share without labels. */
Test(shares, memory_of_bound_pods_gives_way)
{
	start_memory();
	put_node("n1", "");
	for (int i = 0; i < 40; i++) {
		put_large("evil", nth("b", i), ",\"nodeName\":\"n1\"");
		flush();
	}
	cr_assert_eq(labels_of("evil", "b00"), 61);
	cr_assert_eq(labels_of("evil", "b39"), 0);
	good_is_served(0, 6);
	for (int i = 0; i < 40; i++)
		cr_assert_str_eq(pod_of("evil", nth("b", i)).node, "n1");
	cr_assert_eq(labels_of("evil", "b00"), 61, "its share is its own");
}

/* Shapes without pods go before anything of a pod does. */
Test(shares, memory_of_idle_shapes_goes_first)
{
	struct model_counts counts;
	uint64_t before;

	start_memory();
	put_pod("evil", "idle", "\"cpu\":\"3\"", "", "");
	flush();
	remove_pod("evil", "idle");
	flush();
	model_counts(s.m, &counts);
	before = counts.shapes;
	for (int i = 0; parts() < 13; i++) {
		cr_assert_eq(put_large("evil", nth("p", i), ""), 0, "%s", s.error.text);
		flush();
	}
	model_counts(s.m, &counts);
	cr_assert_eq(counts.shapes, before + 1, "it is idle");
	for (int i = 50; i < 56; i++) {
		put_large("evil", nth("p", i), "");
		flush();
	}
	flush();
	model_counts(s.m, &counts);
	cr_assert_eq(counts.shapes, before, "it is gone");
	cr_assert_str_eq(pod_of("evil", "p00").refusal, "");
}

/* A selector is kept as long as there is memory for it. */
Test(shares, memory_of_services)
{
	static char selector[16384];
	size_t n = 0;
	int refused = 0, service;

	start_memory();
	service = resource_of("v1", "Service");
	for (int i = 0; i < 40; i++) {
		n = 0;
		for (int k = 0; k < 60; k++)
			n += (size_t)snprintf(selector + n, sizeof(selector) - n, "%s\"%d-%d.%080d\":\"v%d\"",
			                      k > 0 ? "," : "", i, k, 0, i);
		refused +=
			put_object(service,
		               "{\"metadata\":{\"name\":\"s%d\",\"namespace\":\"evil\",\"uid\":\"u%d\","
		               "\"resourceVersion\":\"%d\"},\"spec\":{\"selector\":{%s}}}",
		               i, i, ++s.version, selector) == -ENOSPC;
		flush();
		cr_assert_leq(parts(), MEMORY_PARTS + OVER);
	}
	cr_assert_gt(refused, 10);
	cr_assert(strstr(s.error.text, "--max-memory"), "%s", s.error.text);
	good_is_served(0, 4);
	cr_assert(model_lacks(s.m, service));
}

/* A text lives as long as one pod has it, and the namespace that brought it pays until then. */
Test(shares, memory_of_shared_texts)
{
	start_memory();
	put_large("evil", "a", "");
	flush();
	put_object(
		POD,
		"{\"metadata\":{\"name\":\"b\",\"namespace\":\"good\",\"uid\":\"u\",\"resourceVersion\":\"%d\","
		"\"labels\":{\"all\":\"same\"}},\"spec\":{\"schedulerName\":\"muster\"}}",
		++s.version);
	flush();
	remove_pod("evil", "a");
	flush();
	cr_assert_eq(labels_of("good", "b"), 1);
}

/* A text of some 16 KiB that no other object has. */
static const char *long_text(const char *namespace, int i)
{
	static char text[16384];

	snprintf(text, sizeof(text), "%s-%d-%016000d", namespace, i, 0);
	return text;
}

/* Fields that the API server takes at any length. */
Test(shares, memory_of_names_of_schedulers)
{
	start_memory();
	put_node("n1", "");
	for (int i = 0; i < 40; i++) {
		put_object(POD,
		           "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"evil\",\"uid\":\"u%d\","
		           "\"resourceVersion\":\"%d\"},\"spec\":{\"schedulerName\":\"%s\",\"nodeName\":"
		           "\"n1\",\"containers\":[{\"name\":\"c\"}]}}",
		           nth("b", i), i, ++s.version, long_text("evil", i));
		flush();
	}
	cr_assert_leq(s.m->schedulers.text_bytes, MEMORY, "%llu",
	              (unsigned long long)s.m->schedulers.text_bytes);
	good_is_served(0, 4);
}

Test(shares, memory_of_names_of_owners)
{
	static char meta[20000];

	start_memory();
	for (int i = 0; i < 40; i++) {
		snprintf(meta, sizeof(meta),
		         ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
		         "\"name\":\"%s\",\"uid\":\"u\",\"controller\":true}]",
		         long_text("evil", i));
		put_pod("evil", nth("p", i), "\"cpu\":\"1\"", meta, "");
		flush();
	}
	good_is_served(0, 4);
}

Test(shares, memory_of_volumes)
{
	static char spec[20000];
	int refused = 0;

	start_memory();
	for (int i = 0; i < 40; i++) {
		snprintf(spec, sizeof(spec),
		         ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"%s\"}}]",
		         long_text("evil", i));
		refused += put_pod("evil", nth("p", i), "\"cpu\":\"1\"", "", spec) == -ENOSPC;
		flush();
	}
	cr_assert_gt(refused, 10);
	good_is_served(0, 4);
}

Test(shares, memory_of_budgets)
{
	static char selector[16384];
	int budget;

	start_model(
		(struct model_config){ .limits = LIMITS, .memory_bytes = MEMORY, .preemption = true }, 1);
	replay_add_core(&s.replay);
	budget = resource_of("policy/v1", "PodDisruptionBudget");
	for (int i = 0; i < 40; i++) {
		size_t n = 0;

		for (int k = 0; k < 40; k++)
			n += (size_t)snprintf(selector + n, sizeof(selector) - n,
			                      "%s\"%d-%d.%0200d/x\":\"v%d\"", k > 0 ? "," : "", i, k, 0, i);
		put_object(
			budget,
			"{\"metadata\":{\"name\":\"s%d\",\"namespace\":\"evil\",\"uid\":\"u%d\","
			"\"resourceVersion\":\"%d\"},\"spec\":{\"selector\":{\"matchLabels\":{%s}}},\"status\":{\"disruptionsAllowed\":1}}",
			i, i, ++s.version, selector);
		flush();
	}
	good_is_served(0, 4);
}

/* It is on its node for the core, whatever is put of it meanwhile. */
Test(shares, memory_of_a_pod_whose_binding_is_in_flight)
{
	struct pod_view v;

	start_memory();
	put_node("n1", "");
	put_large("good", "g", "");
	put_large("evil", "a", "");
	flush();
	v = pod_of("evil", "a");
	model_bind_begin(s.m, v.id, v.generation, 0);
	for (int i = 0; i < 40; i++) {
		put_large("evil", nth("p", i), "");
		flush();
	}
	put_large("evil", "a", "");
	flush();
	v = pod_of("evil", "a");
	cr_assert_str_eq(v.refusal, "");
	cr_assert_neq(pod_at(s.m, v.id)->shape, s.m->shape_empty);
	model_bind_end(s.m, v.id, v.generation);
}

/* One member with a node makes the others wait with all that they bring. */
Test(shares, memory_of_members_of_a_bound_gang)
{
	start_memory();
	put_node("n1", "");
	put_object(GROUP,
	           "{\"metadata\":{\"name\":\"g\",\"namespace\":\"evil\",\"uid\":\"u\","
	           "\"resourceVersion\":\"%d\"},\"spec\":{\"minMember\":30}}",
	           ++s.version);
	for (int i = 0; i < 40; i++) {
		static char meta[16384];
		size_t n = (size_t)snprintf(meta, sizeof(meta),
		                            ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"");

		for (int k = 0; k < 60; k++)
			n += (size_t)snprintf(meta + n, sizeof(meta) - n, ",\"e%d-%d.%080d\":\"%d\"", i, k, 0,
			                      i);
		snprintf(meta + n, sizeof(meta) - n, "}");
		put_pod("evil", nth("p", i), "\"cpu\":\"1\"", meta, i == 0 ? ",\"nodeName\":\"n1\"" : "");
		flush();
	}
	good_is_served(0, 4);
}

/* Each refused pod would be a pass over all of them. */
Test(shares, memory_that_cannot_give_way_is_not_tried_in_each_flush)
{
	uint32_t rest = 0;

	start_model((struct model_config){ .limits = LIMITS, .memory_bytes = 16384 }, 1);
	replay_add_core(&s.replay);
	put_pod("good", "g", "\"cpu\":\"1\"", "", "");
	for (int i = 0; i < 40; i++) {
		put_pod("many", nth("p", i), "\"cpu\":\"1\"", "", "");
		flush();
		cr_assert(rest == 0 || s.m->memory_rest < rest);
		rest = s.m->memory_rest;
	}
	cr_assert_gt(rest, 0);
	for (int i = 0; i < 200 && s.m->shares_due; i++)
		flush();
	cr_assert_gt(s.m->memory_rest, 0, "it was tried again");
	cr_assert_not(s.m->shares_due);
}
