/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in, records out: the cases of the model. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_model.h"

static const struct limits LIMITS =
	LIMITS_WITH(.pods = 12, .shapes = 8, .name_bytes = 2048, .command_ring_bytes = 8192);

static void start_with(const struct limits *limits)
{
	start_model((struct model_config){ .limits = *limits }, 2);
}

static void start(void)
{
	start_with(&LIMITS);
}

TestSuite(model, .init = start, .fini = end);

#define NODE RESOURCE_INDEX_NODES
#define POD RESOURCE_INDEX_PODS
#define GROUP RESOURCE_INDEX_DIALECTS

static int put_node(const char *name, int version, const char *rest)
{
	return put_object(
		NODE, "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"},%s}",
		name, name, version, rest);
}

#define ALLOCATABLE                                                                                \
	"\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}"
#define REQUESTS                                                                                   \
	"\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}}]"
#define OURS "\"schedulerName\":\"muster\","

static int put_pod(const char *name, int version, const char *labels, const char *spec)
{
	return put_object(
		POD,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\","
		"\"labels\":{%s}},\"spec\":{%s}}",
		name, name, version, labels, spec);
}

static int put_group(const char *name, int version, const char *spec)
{
	return put_object(
		GROUP,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":"
		"\"%d\",\"creationTimestamp\":\"2026-03-05T12:15:08Z\"},\"spec\":{%s}}",
		name, name, version, spec);
}

static int delete (int resource, const char *name)
{
	char json[256];
	int n = snprintf(json, sizeof(json),
	                 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\"}}", name,
	                 name);
	int rc = model_remove(s.m, resource, json, (size_t)n, &s.error);

	check();
	return rc;
}

Test(model, a_node_and_a_pod_come_out_whole)
{
	const struct event_node *n;
	const struct event_pod *p;
	const struct event_shape *shape;

	cr_assert_eq(
		put_object(
			NODE,
			"{\"metadata\":{\"name\":\"n1\",\"resourceVersion\":\"7\",\"labels\":{\"zone\":\"a\",\"num\":\"007\"}},"
			"\"spec\":{\"unschedulable\":true,\"taints\":[{\"key\":\"k\",\"value\":\"v\",\"effect\":\"NoSchedule\"},"
			"{\"key\":\"x\",\"effect\":\"Unheard\"}]},\"status\":{\"capacity\":{\"cpu\":\"99\"},\"allocatable\":"
			"{\"cpu\":\"3900m\",\"memory\":\"8Gi\",\"pods\":\"110\",\"nvidia.com/gpu\":\"4\",\"storage\":\"1\","
			"\"hugepages-2Mi\":\"0\"}}}"),
		0);
	cr_assert_eq(
		put_object(
			POD,
			"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"00010203-0405-0607-0809-0a0b0c0d0e0f\","
			"\"creationTimestamp\":\"1970-01-01T00:00:02Z\",\"resourceVersion\":\"8\"},\"spec\":{" OURS
				REQUESTS
			",\"priority\":-5,\"schedulingGates\":[{\"name\":\"g\"}],\"nodeSelector\":{\"zone\":\"a\"},"
			"\"tolerations\":[{\"operator\":\"Exists\"}]}}"),
		0);
	model_set_synced(s.m);
	flush();
	cr_assert_eq(s.replay.begins, 1);
	cr_assert_eq(s.replay.synceds, 1);

	n = replay_node(&s.replay, "n1");
	cr_assert(n);
	cr_assert_eq(n->flags, NODE_PRESENT | NODE_CORDONED);
	cr_assert_eq(n->amounts_n, 4, "0 and what scheduling does not count are left out");
	cr_assert_eq(replay_amount(&s.replay, replay_node_amounts(n), n->amounts_n, "cpu"), 3900);
	cr_assert_eq(replay_amount(&s.replay, replay_node_amounts(n), n->amounts_n, "memory"),
	             INT64_C(8) << 30);
	cr_assert_eq(replay_amount(&s.replay, replay_node_amounts(n), n->amounts_n, "nvidia.com/gpu"),
	             4);
	cr_assert_eq(n->labels_n, 3);
	cr_assert_eq(replay_labels(n)[0].key, LABEL_KEY_NODE_NAME);
	cr_assert(replay_labels(n)[1].number == 7 || replay_labels(n)[2].number == 7);
	cr_assert_eq(n->taints_n, 1);
	cr_assert_str_eq(model_name(s.m, replay_taints(n)[0].name), "k: v");
	cr_assert_geq(replay_taints(n)[0].name, LIMITS.resources);
	cr_assert_str_eq(model_name(s.m, RESOURCE_EPHEMERAL), "ephemeral-storage");
	cr_assert_str_eq(model_node(s.m, n->node, n->generation), "n1");
	cr_assert_null(model_node(s.m, n->node, n->generation + 1));

	p = replay_pod(&s.replay, "ns/p");
	cr_assert(p);
	cr_assert_eq(p->flags, POD_OURS | POD_GATED | POD_LASTS);
	cr_assert_eq(p->priority, -5);
	cr_assert_eq(p->created_ns, UINT64_C(2000000000));
	cr_assert_eq(p->uid[0], UINT64_C(0x0001020304050607));
	cr_assert_eq(p->uid[1], UINT64_C(0x08090a0b0c0d0e0f));
	cr_assert_eq(p->gang, ID_NONE);
	cr_assert_eq(p->node, ID_NONE);
	shape = replay_shape(&s.replay, p);
	cr_assert_eq(shape->flags, SHAPE_TOLERATES_CORDON);
	cr_assert_eq(replay_amount(&s.replay, replay_shape_amounts(shape), shape->amounts_n, "cpu"),
	             1500);
	cr_assert_eq(shape->scored_cpu_milli, 1500);
	cr_assert_eq(shape->scored_memory_bytes, INT64_C(1) << 30);
	cr_assert(replay_allows(shape, n));
}

Test(model, equal_pods_share_a_shape)
{
	put_pod("a", 1, "", OURS REQUESTS);
	put_pod("b", 2, "\"x\":\"y\"", OURS REQUESTS);
	put_pod("c", 3, "", OURS REQUESTS ",\"nodeSelector\":{\"x\":\"y\"}");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->shape, replay_pod(&s.replay, "ns/b")->shape);
	cr_assert_neq(replay_pod(&s.replay, "ns/a")->shape, replay_pod(&s.replay, "ns/c")->shape);
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 3, "and the empty one");
	delete (POD, "a");
	delete (POD, "c");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2);
	delete (POD, "b");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2, "it is idle");
}

/* Here one is kept next to the empty one: a quarter of 8. */
Test(model, a_shape_without_pods_is_kept_for_the_next_one_of_few_and_plain_ones)
{
	uint32_t shape;

	put_pod("a", 1, "", OURS REQUESTS);
	flush();
	shape = replay_pod(&s.replay, "ns/a")->shape;
	delete (POD, "a");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2);
	put_pod("b", 2, "", OURS REQUESTS);
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/b")->shape, shape);
	delete (POD, "b");
	put_pod("c", 3, "",
	        OURS REQUESTS
	        ",\"affinity\":{\"podAntiAffinity\":{"
	        "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"z\","
	        "\"labelSelector\":{\"matchLabels\":{\"x\":\"y\"}}}]}}");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2, "it gave way");
	delete (POD, "c");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 1);
}

/* A quota of pods does not bound what pods made one after the other leave behind. */
Test(model, a_shape_of_many_rules_or_long_texts_is_not_kept)
{
	char spec[10000], image[5000];
	size_t n;

	memset(image, 'i', sizeof(image) - 1);
	image[sizeof(image) - 1] = '\0';
	snprintf(spec, sizeof(spec), OURS "\"containers\":[{\"name\":\"c\",\"image\":\"%s\"}]", image);
	put_pod("a", 1, "", spec);
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2);
	delete (POD, "a");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 1, "a long text");
	n = (size_t)snprintf(spec, sizeof(spec), OURS REQUESTS ",\"tolerations\":[{\"key\":\"k\"}");
	for (int i = 0; i < 300; i++)
		n += (size_t)snprintf(spec + n, sizeof(spec) - n, ",{\"key\":\"k%d\"}", i % 10);
	snprintf(spec + n, sizeof(spec) - n, "]");
	put_pod("b", 2, "", spec);
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 2);
	delete (POD, "b");
	flush();
	cr_assert_eq(replay_count(s.replay.shapes, LIMITS.shapes), 1, "many rules");
}

Test(model, only_what_the_core_has_to_know_is_sent)
{
	struct pod_view v;

	put_pod("foreign", 1, "", REQUESTS);
	put_pod("second", 2, "", "\"schedulerName\":\"second\"," REQUESTS);
	put_pod(
		"bound", 3, "",
		REQUESTS
		",\"nodeName\":\"n1\",\"nodeSelector\":{\"a\":\"b\"},\"tolerations\":[{\"operator\":\"Exists\"}]");
	put_object(POD,
	           "{\"metadata\":{\"name\":\"ended\",\"namespace\":\"ns\"},\"spec\":{" OURS REQUESTS
	           ",\"nodeName\":\"n1\"},"
	           "\"status\":{\"phase\":\"Succeeded\"}}");
	flush();
	cr_assert_null(replay_pod(&s.replay, "ns/foreign"));
	cr_assert_not(model_pod_by_name(s.m, "ns", "foreign", &v));
	cr_assert_eq(replay_pod(&s.replay, "ns/second")->flags, POD_OURS | POD_LASTS);
	cr_assert_null(replay_pod(&s.replay, "ns/ended"));
	cr_assert_eq(replay_pod(&s.replay, "ns/bound")->flags, POD_LASTS);
	cr_assert_eq(replay_shape(&s.replay, replay_pod(&s.replay, "ns/bound"))->requirements_n, 0);
	cr_assert_eq(replay_shape(&s.replay, replay_pod(&s.replay, "ns/bound"))->tolerations_n, 0);
	/* When it ends, its node is free again. */
	put_object(
		POD,
		"{\"metadata\":{\"name\":\"bound\",\"namespace\":\"ns\",\"uid\":\"u-bound\",\"resourceVersion\":\"9\"},\"spec\":"
		"{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Failed\"}}");
	flush();
	cr_assert_null(replay_pod(&s.replay, "ns/bound"));
	cr_assert_null(replay_node(&s.replay, "n1"), "nobody names it any more");
}

Test(model, without_scheduler_names_every_pod_is_ours)
{
	struct model_config config = { .limits = LIMITS };

	model_free(s.m);
	s.m = model_new(&config);
	put_pod("p", 1, "", REQUESTS);
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags, POD_OURS | POD_LASTS);
	cr_assert_str_eq(view_of("p").scheduler_name, "default-scheduler");
}

Test(model, older_versions_are_passed_over)
{
	struct model_counts counts;

	put_pod("p", 10, "", OURS REQUESTS);
	put_pod("p", 9, "", OURS REQUESTS ",\"nodeName\":\"n1\"");
	put_node("n1", 10, ALLOCATABLE);
	put_node("n1", 9, "\"spec\":{\"unschedulable\":true}");
	put_group("g", 10, "\"minMember\":2");
	put_group("g", 9, "\"minMember\":3");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->node, ID_NONE);
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, NODE_PRESENT);
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->quorum, 2);
	model_counts(s.m, &counts);
	cr_assert_eq(counts.objects_stale, 3);
	/* 10 is newer than 9, and 11 than both; a version with the same content is not sent. */
	put_pod("p", 11, "", OURS REQUESTS ",\"new\":\"field\"");
	put_node("n1", 11, ALLOCATABLE ",\"x\":1");
	put_group("g", 11, "\"minMember\":2");
	cr_assert_eq(flush(), 0);
	cr_assert_str_eq(view_of("p").resource_version, "11");
}

Test(model, another_uid_is_another_pod)
{
	uint32_t generation;

	put_pod("p", 10, "", OURS REQUESTS);
	flush();
	generation = replay_pod(&s.replay, "ns/p")->generation;
	put_object(
		POD,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"other\",\"resourceVersion\":\"5\"},\"spec\":{" OURS
			REQUESTS "}}");
	cr_assert_eq(flush(), 2, "a drop and the new one; its slot is used again");
	cr_assert_neq(replay_pod(&s.replay, "ns/p")->generation, generation);
	cr_assert_str_eq(view_of("p").uid, "other");
	cr_assert_not(model_pod(s.m, view_of("p").id, generation, &(struct pod_view){ 0 }));
}

/* A pod that is put and removed before anything is sent causes no record. */
Test(model, what_came_and_went_is_not_sent)
{
	flush();
	put_pod("p", 1, "\"scheduling.x-k8s.io/pod-group\":\"g\"",
	        OURS REQUESTS ",\"nodeSelector\":{\"a\":\"b\"}");
	delete (POD, "p");
	cr_assert_eq(flush(), 0);
}

#define MEMBER "\"scheduling.x-k8s.io/pod-group\":\"g\""

Test(model, a_group_comes_late_goes_and_comes_back)
{
	struct gang_view v;
	const struct event_gang *g;
	uint32_t id;

	put_pod("p", 1, MEMBER, OURS REQUESTS);
	flush();
	g = replay_gang(&s.replay, "ns/g");
	cr_assert(g);
	id = g->gang;
	cr_assert_eq(g->flags, GANG_OBJECT_MISSING);
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->gang, id);
	cr_assert(model_gang(s.m, id, g->generation, &v) && v.missing);
	cr_assert_str_eq(v.namespace, "ns");
	cr_assert_str_eq(v.name, "g");
	cr_assert_str_eq(v.dialect, "scheduler-plugins");

	put_group(
		"g", 2,
		"\"minMember\":3,\"scheduleTimeoutSeconds\":10,\"minResources\":{\"cpu\":\"10\",\"pods\":\"7\","
		"\"nvidia.com/gpu\":\"12\"}");
	cr_assert_eq(flush(), 2, "the group and its resource's name, but not its pod");
	g = replay_gang(&s.replay, "ns/g");
	cr_assert_eq(g->gang, id);
	cr_assert_eq(g->flags, 0);
	cr_assert_eq(g->quorum, 3);
	cr_assert_eq(g->timeout_ns, UINT64_C(10000000000));
	cr_assert_eq(g->created_ns, UINT64_C(1772712908) * 1000000000);
	cr_assert_eq(g->amounts_n, 2);
	cr_assert_eq(replay_amount(&s.replay, replay_gang_amounts(g), g->amounts_n, "cpu"), 10000);

	delete (GROUP, "g");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->flags, GANG_OBJECT_MISSING);
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->quorum, 0);
	put_object(
		GROUP,
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"other\",\"resourceVersion\":\"1\"},\"spec\":{\"minMember\":1}}");
	delete (POD, "p");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->quorum, 1);
	put_object(
		GROUP,
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"third\",\"resourceVersion\":\"1\"},\"spec\":{\"minMember\":4}}");
	flush();
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->quorum, 4,
	             "another uid is a new state of the same gang");
	delete (GROUP, "g");
	flush();
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
}

Test(model, groups_that_can_not_be_honoured_are_refused)
{
	static const struct {
		const char *spec;
		int rc;
		const char *refusal;
	} rows[] = {
		{ "\"minMember\":-1", 0, "spec.minMember: -1 is negative" },
		{ "\"minMember\":13", 0, "the quorum of 13 is more than --max-pods, 12" },
		{ "\"minMember\":2147483647", 0, "the quorum of 2147483647 is more than --max-pods, 12" },
		{ "\"minMember\":2147483648", -EINVAL,
		  "spec.minMember: 2147483648 is not a 32-bit integer" },
		{ "\"minMember\":\"3\"", -EINVAL, "spec.minMember: \"3\" is a string, not an integer" },
		{ "\"minResources\":{\"cpu\":\"1x\"}", -EINVAL,
		  "spec.minResources[\"cpu\"]: \"1x\" is not a quantity" },
		{ "\"minResources\":{\"\":\"1\"}", -EINVAL,
		  "spec.minResources[\"\"]: is not the name of a resource" },
		{ "", 0, "" },
		{ "\"minMember\":0", 0, "" },
	};
	struct gang_view v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(put_group("g", (int)i + 1, rows[i].spec), rows[i].rc);
		if (rows[i].rc < 0)
			cr_assert_str_eq(s.error.object, "PodGroup ns/g");
		flush();
		cr_assert_eq(replay_gang(&s.replay, "ns/g")->flags, *rows[i].refusal ? GANG_REFUSED : 0);
		cr_assert(model_gang(s.m, replay_gang(&s.replay, "ns/g")->gang, 1, &v));
		cr_assert_str_eq(v.refusal, rows[i].refusal);
		cr_assert_not(v.missing);
	}
}

static void count_pod(void *context, const struct pod_view *pod)
{
	cr_assert_str_eq(pod->gang, "g");
	++*(int *)context;
}

Test(model, pending_members_are_found)
{
	int n = 0;

	put_pod("a", 1, MEMBER, OURS REQUESTS);
	put_pod("b", 2, MEMBER, OURS REQUESTS);
	put_pod("c", 3, MEMBER, OURS REQUESTS ",\"nodeName\":\"n1\"");
	put_pod("d", 4, MEMBER, REQUESTS ",\"nodeName\":\"n1\"");
	put_pod("e", 5, "\"scheduling.x-k8s.io/pod-group\":\"\"", OURS REQUESTS);
	model_gang_pending(s.m, view_of("a").gang_id, count_pod, &n);
	cr_assert_eq(n, 2);
	cr_assert_eq(view_of("c").gang_id, view_of("a").gang_id);
	cr_assert_eq(view_of("d").gang_id, ID_NONE, "a pod of another scheduler counts for no gang");
	cr_assert_eq(view_of("e").gang_id, ID_NONE, "an empty mark is none");
	put_pod("a", 6, "", OURS REQUESTS);
	delete (POD, "b");
	n = 0;
	model_gang_pending(s.m, view_of("c").gang_id, count_pod, &n);
	cr_assert_eq(n, 0);
}

Test(model, what_muster_does_not_support_is_refused_with_the_reason)
{
	static const struct {
		const char *spec, *part;
	} rows[] = {
		{ ",\"resourceClaims\":[{\"name\":\"c\"}]", "resource claims" },
		{ ",\"tolerations\":[{\"key\":\"k\",\"operator\":\"Gt\",\"value\":\"1\"}]",
		  "operators other than Exists" },
		{ ",\"affinity\":{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1,\"preference\":"
		  "{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"Lt\",\"values\":[\"1.5\"]}]}}]}}",
		  "must be an integer" },
		{ ",\"affinity\":{\"nodeAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1,\"preference\":"
		  "{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"a\",\"b\"]}]}}]}}",
		  "metadata.name" },
		{ ",\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]",
		  "persistentvolumeclaim \"c\" not found" },
		{ ",\"workloadRef\":{\"name\":\"w\",\"podGroup\":\"g\"}", "spec.workloadRef" },
	};
	char spec[2048];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(spec, sizeof(spec), OURS REQUESTS "%s", rows[i].spec);
		cr_assert_eq(put_pod("p", (int)i + 1, "", spec), 0);
		cr_assert(strstr(view_of("p").refusal, rows[i].part), "%s: %s", rows[i].spec,
		          view_of("p").refusal);
		flush();
		cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags, POD_OURS | POD_REFUSED | POD_LASTS);
	}
}

Test(model, harmless_things_are_no_reason_to_refuse)
{
	put_pod(
		"p", 1, "\"app\":\"x\"",
		OURS
		"\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80}]}],"
		"\"initContainers\":[{\"name\":\"i\",\"ports\":[{\"containerPort\":1,\"hostPort\":1}]}],\"volumes\":[{\"name\":\"v\","
		"\"emptyDir\":{}},{\"name\":\"w\",\"persistentVolumeClaim\":null},{\"name\":\"x\",\"projected\":{}}],\"resourceClaims\":[],"
		"\"schedulingGroup\":null,\"affinity\":{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":"
		"[{\"weight\":1,\"podAffinityTerm\":{\"topologyKey\":\"z\"}}]},"
		"\"nodeAffinity\":null},\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"z\",\"whenUnsatisfiable\":\"ScheduleAnyway\"}],\"schedulingGates\":[]");
	cr_assert_str_eq(view_of("p").refusal, "");
}

Test(model, a_bad_node_is_as_absent_until_a_good_version)
{
	put_node("n1", 1, ALLOCATABLE);
	flush();
	cr_assert_eq(put_node("n1", 2, "\"status\":{\"allocatable\":{\"cpu\":\"12x\"}}"), -EINVAL);
	cr_assert_str_eq(s.error.object, "Node n1");
	cr_assert_str_eq(s.error.field, "status.allocatable[\"cpu\"]");
	cr_assert_str_eq(s.error.text, "\"12x\" is not a quantity");
	flush();
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, 0);
	cr_assert_null(model_node(s.m, replay_node(&s.replay, "n1")->node, 1));
	put_node("n1", 3, ALLOCATABLE);
	flush();
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, NODE_PRESENT);
	cr_assert_eq(put_node("new", 4, "\"status\":{\"allocatable\":{\"cpu\":\"-1\"}}"), -EINVAL);
	cr_assert_str_eq(s.error.text, "\"-1\" is negative");
	cr_assert_eq(put_object(NODE, "{\"metadata\":{\"name\":\"a/b\"}}"), -EINVAL);
	cr_assert_eq(put_object(NODE, "{\"metadata\":{}}"), -EINVAL);
	cr_assert_str_eq(s.error.field, "metadata.name");
	cr_assert_eq(put_object(NODE, "{\"metadata\":"), -EINVAL);
	cr_assert_str_eq(s.error.object, "object");
	delete (NODE, "n1");
	flush();
	cr_assert_null(replay_node(&s.replay, "n1"));
}

Test(model, a_bad_pod_of_ours_gets_a_reason)
{
#define NEGATIVE "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"-1\"}}}]"

	cr_assert_eq(put_pod("p", 1, MEMBER, OURS NEGATIVE), -EINVAL);
	cr_assert_str_eq(s.error.object, "Pod ns/p");
	cr_assert_str_eq(s.error.field, "spec.containers[0].resources.requests[\"cpu\"]");
	cr_assert_str_eq(view_of("p").refusal,
	                 "spec.containers[0].resources.requests[\"cpu\"]: \"-1\" is negative");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags, POD_OURS | POD_REFUSED | POD_LASTS);
	cr_assert_neq(replay_pod(&s.replay, "ns/p")->gang, ID_NONE,
	              "it counts as a member all the same");
	cr_assert_eq(put_pod("q", 1, "", NEGATIVE), -EINVAL);
	cr_assert_not(model_pod_by_name(s.m, "ns", "q", &(struct pod_view){ 0 }));
	put_pod("p", 2, MEMBER, OURS REQUESTS);
	cr_assert_str_eq(view_of("p").refusal, "");
	/* A bound pod keeps the usage that was counted. */
	put_pod("p", 3, MEMBER, OURS REQUESTS ",\"nodeName\":\"n1\"");
	cr_assert_eq(put_pod("p", 4, MEMBER, OURS NEGATIVE ",\"nodeName\":\"n1\""), -EINVAL);
	flush();
	cr_assert_eq(
		replay_amount(&s.replay,
	                  replay_shape_amounts(replay_shape(&s.replay, replay_pod(&s.replay, "ns/p"))),
	                  2, "cpu"),
		1500);
}

Test(model, every_limit_has_a_name)
{
	const struct limits small = { .nodes = 2,
		                          .pods = 2,
		                          .gangs = 1,
		                          .shapes = 2,
		                          .names = 6,
		                          .resources = 5,
		                          .name_bytes = 2048 };
	struct model_counts counts;

	start_with(&small);
	put_node("n1", 1, ALLOCATABLE);
	put_node("n2", 2, ALLOCATABLE);
	cr_assert_eq(put_node("n3", 3, ALLOCATABLE), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-nodes is 2"), "%s", s.error.text);
	cr_assert_str_eq(s.error.object, "Node n3");
	cr_assert_eq(
		put_node("n2", 4,
	             "\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"NoSchedule\"},{\"key\":\"b\","
	             "\"effect\":\"NoSchedule\"}]}," ALLOCATABLE),
		-ENOSPC);
	cr_assert(strstr(s.error.text, "--max-names is 6"), "%s", s.error.text);
	cr_assert_eq(put_node("n2", 5, "\"status\":{\"allocatable\":{\"a/a\":\"1\",\"b/b\":\"1\"}}"),
	             -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-resources is 5"), "%s", s.error.text);
	put_pod("a", 1, MEMBER, OURS REQUESTS);
	cr_assert_eq(put_pod("b", 2, "\"scheduling.x-k8s.io/pod-group\":\"h\"", OURS REQUESTS),
	             -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-gangs is 1"), "%s", s.error.text);
	cr_assert_str_eq(view_of("b").refusal,
	                 "the limit --max-gangs is reached: namespace ns has 1 of 1, its share is 1");
	cr_assert_eq(put_pod("c", 3, "", OURS REQUESTS), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-pods is 2"), "%s", s.error.text);
	cr_assert_eq(put_pod("b", 4, "", OURS REQUESTS ",\"nodeSelector\":{\"a\":\"b\"}"), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-shapes is 2"), "%s", s.error.text);
	cr_assert_eq(put_group("h", 1, "\"minMember\":1"), -ENOSPC);
	cr_assert_eq(put_group("g", 1, "\"minResources\":{\"a/a\":\"1\",\"b/b\":\"1\"}"), -ENOSPC);
	model_counts(s.m, &counts);
	cr_assert_eq(counts.limits_hit, 8);
	flush();
	/* There is a slot again: the same versions, as in a list. */
	delete (POD, "a");
	delete (GROUP, "g");
	flush();
	cr_assert_eq(put_pod("c", 3, MEMBER, OURS REQUESTS), 0);
	cr_assert_eq(put_pod("b", 4, "", OURS REQUESTS), 0);
	cr_assert_str_eq(view_of("b").refusal, "");
	flush();
}

Test(model, names_have_a_bound_in_bytes)
{
	struct limits small = LIMITS;

	small.name_bytes = 112; /* the four resources take 80 */
	start_with(&small);
	cr_assert_eq(put_node("n1", 1, ALLOCATABLE), 0);
	cr_assert_eq(put_node("n2", 1, ALLOCATABLE), 0);
	cr_assert_eq(put_node("n3", 1, ALLOCATABLE), -ENOSPC);
	cr_assert(strstr(s.error.text, "--max-name-bytes is 112"), "%s", s.error.text);
	delete (NODE, "n1");
	cr_assert_eq(put_node("n3", 1, ALLOCATABLE), 0);
}

/* Names of resources share the core's arena with the names of objects. */
Test(model, names_of_resources_count_as_name_bytes)
{
	struct limits small = LIMITS;

	small.name_bytes = 112;
	start_with(&small);
	replay_add_core(&s.replay);
	cr_assert_eq(put_node("n1", 1, ALLOCATABLE), 0);
	cr_assert_eq(put_pod("p", 1, "", OURS REQUESTS), 0);
	cr_assert_eq(
		put_node("n2", 1, "\"status\":{\"allocatable\":{\"example.com/long-name\":\"1\"}}"),
		-ENOSPC);
	cr_assert(strstr(s.error.text, "--max-name-bytes is 112"), "%s", s.error.text);
	cr_assert_eq(put_pod("q", 1, "",
	                     OURS "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":"
	                          "{\"example.com/long-name\":\"1\"}}}]"),
	             -ENOSPC);
	cr_assert_str_eq(view_of("q").refusal, "the limit --max-name-bytes is reached");
	flush();
	delete (NODE, "n1");
	delete (NODE, "n2");
	flush();
	cr_assert_eq(put_node("n3", 1, "\"status\":{\"allocatable\":{\"a/b\":\"1\"}}"), 0);
	flush();
}

Test(model, another_core_has_other_limits)
{
	struct limits other = LIMITS;
	uint32_t name;

	put_node("n1", 1,
	         "\"spec\":{\"taints\":[{\"key\":\"k\",\"effect\":\"NoExecute\"}]}," ALLOCATABLE);
	put_node("n2", 2, ALLOCATABLE);
	other.nodes = 1;
	cr_assert_eq(model_set_limits(s.m, &other), -ENOSPC);
	other.nodes = 2;
	other.resources = 6;
	cr_assert_eq(model_set_limits(s.m, &other), 0);
	model_restart(s.m);
	replay_free(&s.replay);
	replay_start(&s.replay, &other);
	flush();
	name = replay_taints(replay_node(&s.replay, "n1"))[0].name;
	cr_assert_eq(name, 6, "names of taints follow those of resources");
	cr_assert_str_eq(model_name(s.m, name), "k: ");
	cr_assert_eq(put_node("n3", 3, ALLOCATABLE), -ENOSPC);
}

Test(model, a_fresh_list_replaces_what_was)
{
	for (int i = 0; i < 3; i++) {
		char name[4] = { 'p', (char)('0' + i), 0 };

		put_pod(name, 1 + i, MEMBER, OURS REQUESTS);
		name[0] = 'n';
		put_node(name, 1 + i, ALLOCATABLE);
	}
	put_group("g", 1, "\"minMember\":2");
	flush();
	model_replace_begin(s.m, POD);
	put_pod("p1", 2, MEMBER, OURS REQUESTS); /* the same version */
	model_replace_abort(s.m, POD);
	model_replace_end(s.m, POD);
	cr_assert_eq(flush(), 0, "a list that was broken off changes nothing");
	model_replace_begin(s.m, POD);
	put_pod("p1", 2, MEMBER, OURS REQUESTS);
	put_pod("p2", 1, MEMBER, OURS REQUESTS); /* older, but listed */
	model_replace_end(s.m, POD);
	model_replace_begin(s.m, NODE);
	put_node("n0", 9, "\"status\":{\"allocatable\":{\"cpu\":\"?\"}}"); /* bad, but listed */
	model_replace_end(s.m, NODE);
	model_replace_begin(s.m, GROUP);
	model_replace_end(s.m, GROUP);
	flush();
	cr_assert_null(replay_pod(&s.replay, "ns/p0"));
	cr_assert(replay_pod(&s.replay, "ns/p1") && replay_pod(&s.replay, "ns/p2"));
	cr_assert_eq(replay_count(s.replay.nodes, LIMITS.nodes), 1);
	cr_assert_eq(replay_gang(&s.replay, "ns/g")->flags, GANG_OBJECT_MISSING);
}

Test(model, pods_keep_a_node_that_is_gone)
{
	const struct event_node *n;

	put_pod("p", 1, "", REQUESTS ",\"nodeName\":\"n1\"");
	flush();
	n = replay_node(&s.replay, "n1");
	cr_assert(n && n->flags == 0 && replay_pod(&s.replay, "ns/p")->node == n->node);
	put_node("n1", 2, ALLOCATABLE);
	flush();
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, NODE_PRESENT);
	delete (NODE, "n1");
	flush();
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, 0);
	delete (POD, "p");
	put_node("n1", 3, ALLOCATABLE); /* back before its drop was sent */
	flush();
	cr_assert_eq(replay_node(&s.replay, "n1")->flags, NODE_PRESENT);
	cr_assert_eq(replay_count(s.replay.nodes, LIMITS.nodes), 1);
}

/* The core may drop such an intent without a word, and claims of the pod were kept for ever. */
Test(model, an_intent_to_retain_is_no_binding)
{
	struct pod_view v;
	node_id node;

	put_pod("p", 1, "", OURS REQUESTS);
	put_node("n1", 2, ALLOCATABLE);
	flush();
	v = view_of("p");
	node = replay_node(&s.replay, "n1")->node;
	cr_expect_not(model_pod_binds(s.m, v.id));
	model_intend(s.m, v.id, v.generation, node, POD_INTENT_RETAIN);
	cr_expect_not(model_pod_binds(s.m, v.id));
	model_intend(s.m, v.id, v.generation, node, POD_INTENT_BIND);
	cr_expect(model_pod_binds(s.m, v.id));
	model_bind_end(s.m, v.id, v.generation);
	cr_expect_not(model_pod_binds(s.m, v.id));
}

Test(model, a_new_core_hears_of_binds_in_flight)
{
	struct pod_view v;
	const struct event_node *n;

	put_pod("p", 1, "", OURS REQUESTS);
	put_node("n1", 2, ALLOCATABLE);
	flush();
	v = view_of("p");
	n = replay_node(&s.replay, "n1");
	model_bind_begin(s.m, v.id, v.generation, n->node);
	cr_assert_eq(flush(), 0);
	delete (NODE, "n1");
	model_set_synced(s.m);
	model_restart(s.m);
	flush();
	cr_assert_eq(s.replay.begins, 2);
	cr_assert_eq(s.replay.synceds, 1);
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags, POD_OURS | POD_BINDING | POD_LASTS);
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->node, replay_node(&s.replay, "n1")->node);
	model_bind_end(s.m, v.id, v.generation + 1);
	model_bind_end(s.m, v.id, v.generation);
	model_bind_end(s.m, v.id, v.generation);
	check();
	/* The watch has it as bound. */
	put_pod("p", 3, "", OURS REQUESTS ",\"nodeName\":\"n1\"");
	model_restart(s.m);
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/p")->flags, POD_OURS | POD_LASTS);
	/* A pod that is removed while its Binding is in flight releases the node. */
	put_pod("q", 4, "", OURS REQUESTS);
	v = view_of("q");
	model_bind_begin(s.m, v.id, v.generation, replay_node(&s.replay, "n1")->node);
	delete (POD, "q");
	delete (POD, "p");
	flush();
	cr_assert_null(replay_node(&s.replay, "n1"));
}

Test(model, a_full_ring_loses_nothing)
{
	unsigned calls = 0;

	put_pod("a", 1, MEMBER, OURS REQUESTS);
	put_node("n1", 2, ALLOCATABLE);
	model_set_synced(s.m);
	while (!replay_flush(&s.replay, s.m, 1))
		cr_assert(++calls < 50);
	cr_assert_eq(calls + 1, s.replay.records, "one record for each call");
	cr_assert_eq(s.replay.synceds, 1);
	delete (POD, "a");
	cr_assert_not(replay_flush(&s.replay, s.m, 0));
	put_pod("b", 3, MEMBER, OURS REQUESTS); /* takes the slot of a */
	while (!replay_flush(&s.replay, s.m, 1))
		cr_assert(!replay_pod(&s.replay, "ns/a") || !replay_pod(&s.replay, "ns/b"));
	cr_assert_null(replay_pod(&s.replay, "ns/a"));
	cr_assert(replay_pod(&s.replay, "ns/b"));
}

Test(model, watched_resources)
{
	size_t n;

	model_resources(s.m, &n);
	cr_assert_eq(n, RESOURCE_INDEX_DIALECTS + 6 + 6 + 7);
	cr_assert_eq(model_resource_index(s.m, "v1", "Namespace"), GROUP + 6);
	cr_assert_eq(model_resource_index(s.m, "apps/v1", "ReplicaSet"), GROUP + 9);
	cr_assert_eq(model_resource_index(s.m, "scheduling.sigs.k8s.io/v1alpha1", "PodGroup"),
	             GROUP + 1);
	cr_assert_eq(model_resource_index(s.m, "v1", "ConfigMap"), GROUP + 2);
	cr_assert_eq(model_resource_index(s.m, "scheduling.k8s.io/v1", "PodGroup"), GROUP + 3);
	cr_assert_eq(model_resource_index(s.m, "scheduling.k8s.io/v1alpha2", "PodGroup"), GROUP + 3);
	cr_assert_eq(model_resource_index(s.m, "scheduling.k8s.io/v1alpha1", "PodGroup"), -1);
	cr_assert_eq(model_resource_index(s.m, "v1", "Node"), NODE);
	cr_assert_eq(model_resource_index(s.m, "v1", "Pod"), POD);
	cr_assert_eq(model_resource_index(s.m, "scheduling.x-k8s.io/v1alpha1", "PodGroup"), GROUP);
	cr_assert_eq(model_resource_index(s.m, "scheduling.x-k8s.io/v1alpha2", "PodGroup"), -1);
	cr_assert_eq(model_resource_index(s.m, "v1", "PodGroup"), -1);
	cr_assert_eq(model_resource_index(s.m, "scheduling.x-k8s.io", "PodGroup"), -1);
}

Test(model, the_condition_is_seen)
{
	put_object(
		POD,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{" OURS REQUESTS
		"},\"status\":{\"conditions\":["
		"{\"type\":\"Ready\",\"status\":\"False\"},{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\","
		"\"message\":\"0/1 \\\"nodes\\\"\"}]}}");
	cr_assert_str_eq(view_of("p").condition_status, "False");
	cr_assert_str_eq(view_of("p").condition_reason, "Unschedulable");
	cr_assert_str_eq(view_of("p").condition_message, "0/1 \"nodes\"");
	put_pod("q", 1, "", OURS REQUESTS);
	cr_assert_str_eq(view_of("q").condition_status, "");
}
