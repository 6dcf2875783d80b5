/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of every dialect as gangs: objects put before or after their pods, groups that only their
 * pods declare, members with conflicting specs. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_model.h"

static const struct limits LIMITS = LIMITS_WITH(.nodes = 4, .pods = 12, .gangs = 6, .shapes = 8,
                                                .name_bytes = 2048, .command_ring_bytes = 8192);

#define POD RESOURCE_INDEX_PODS

static void start_without(uint64_t off)
{
	struct model_config config = {
		.limits = LIMITS,
		.dialects_off = off,
		.timeouts_ns = { [GROUP_TIMEOUT_CONFIGMAP] = 10, [GROUP_TIMEOUT_ANNOTATIONS] = 60 }
	};

	start_model(config, 2);
}

static void start(void)
{
	start_without(0);
}

TestSuite(gangs, .init = start, .fini = end);

/* `marks`: labels and annotations, such as "labels":{} */
static void put_pod_as(const char *scheduler, const char *name, const char *marks, const char *spec)
{
	char json[4096];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"%s%s},"
		"\"spec\":{\"schedulerName\":\"%s\"%s}}",
		name, name, ++s.version, *marks ? "," : "", marks, scheduler, spec);
	cr_assert_eq(put_object(POD, "%s", json), 0, "%s: %s", s.error.field, s.error.text);
}

static void put_pod(const char *name, const char *marks)
{
	put_pod_as("muster", name, marks, "");
}

static int put_as(const char *api, const char *kind, const char *name, const char *uid,
                  const char *rest)
{
	char json[4096];

	s.version++;
	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":\"%d\","
		"\"creationTimestamp\":\"2026-03-05T12:15:0%dZ\"%s",
		name, uid, s.version, s.version % 10, rest);
	return put_object(resource_of(api, kind), "%s", json);
}

static void put_group(const char *api, const char *name, const char *spec)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "},\"spec\":{%s}}", spec);
	cr_assert_eq(put_as(api, "PodGroup", name, "u", rest), 0, "%s: %s", s.error.field,
	             s.error.text);
}

static void put_map(const char *name, const char *data)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "},\"data\":{%s}}", data);
	cr_assert_eq(put_as("v1", "ConfigMap", name, "u", rest), 0);
}

static void delete (int resource, const char *name, const char *uid)
{
	remove_object(resource, name, uid, 0);
}

static void delete_pod(const char *name)
{
	char uid[64];

	snprintf(uid, sizeof(uid), "u-%s", name);
	delete (POD, name, uid);
}

/* The gang in the last record. */
static const struct event_gang *gang(const char *name)
{
	const struct event_gang *e;

	flush();
	e = replay_gang(&s.replay, name);
	cr_assert(e, "%s is there", name);
	return e;
}

static struct gang_view view(const char *name)
{
	const struct event_gang *e = gang(name);
	struct gang_view v;

	cr_assert(model_gang(s.m, e->gang, e->generation, &v));
	return v;
}

static const char *text(uint32_t number, const struct intern *in)
{
	const char *t = intern_text(in, number);

	return t ? t : "";
}

#define NEW_API "scheduling.x-k8s.io/v1alpha1"
#define OLD_API "scheduling.sigs.k8s.io/v1alpha1"
#define VOLCANO_API "scheduling.volcano.sh/v1beta1"
#define NATIVE_API "scheduling.k8s.io/v1beta1"
#define NEW_MARK "\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\"}"
#define OLD_MARK "\"labels\":{\"pod-group.scheduling.sigs.k8s.io\":\"g\"}"
#define MAP_MARK "\"labels\":{\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"g\"}"
#define PAIR(n)                                                                                        \
	"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"" n \
	"\"}"
#define VOLCANO_MARK(role)                                                                         \
	"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"volcano.sh/task-spec\":\"" role "\"}"

Test(gangs, labels_of_both_generations_name_one_group)
{
	put_pod("a", OLD_MARK);
	put_pod("b", NEW_MARK);
	put_group(OLD_API, "g", "\"minMember\":2");
	cr_assert_eq(gang("ns/g")->quorum, 2, "the other object serves when there is one alone");
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, replay_pod(&s.replay, "ns/b")->gang);
	cr_assert_str_eq(view("ns/g").dialect, "scheduler-plugins-old");
	cr_assert_str_eq(view("ns/g").resource->group, "scheduling.sigs.k8s.io");
	cr_assert_str_eq(s.error.text, "");

	put_group(NEW_API, "g", "\"minMember\":3");
	cr_assert(strstr(s.error.text, "scheduling.x-k8s.io and in scheduling.sigs.k8s.io"), "%s",
	          s.error.text);
	cr_assert_eq(gang("ns/g")->quorum, 3);
	cr_assert_str_eq(view("ns/g").dialect, "scheduler-plugins");
	put_group(NEW_API, "g", "\"minMember\":4");
	cr_assert_str_eq(s.error.text, "", "said once");

	delete_pod("b"); /* the old label alone: its own object */
	cr_assert_eq(gang("ns/g")->quorum, 2);
	delete (resource_of(OLD_API, "PodGroup"), "g", "u");
	cr_assert_eq(gang("ns/g")->quorum, 4);
	delete (resource_of(NEW_API, "PodGroup"), "g", "u");
	cr_assert_eq(gang("ns/g")->flags, GANG_OBJECT_MISSING);
}

Test(gangs, a_group_of_the_same_name_and_another_uid_is_a_new_one)
{
	static const char late[] =
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"one\",\"resourceVersion\":\"7\"}}";
	uint64_t created;

	put_pod("a", NEW_MARK);
	cr_assert_eq(put_as(NEW_API, "PodGroup", "g", "one", "},\"spec\":{\"minMember\":1}}"), 0);
	created = gang("ns/g")->created_ns;
	s.version = 8;
	cr_assert_eq(put_as(NEW_API, "PodGroup", "g", "two", "},\"spec\":{\"minMember\":2}}"), 0);
	cr_assert_eq(model_remove(s.m, resource_of(NEW_API, "PodGroup"), late, strlen(late), NULL), 0);
	cr_assert_eq(gang("ns/g")->quorum, 2);
	cr_assert_neq(gang("ns/g")->created_ns, created);
	cr_assert_str_eq(view("ns/g").uid, "two");
}

Test(gangs, pods_declare_the_quorum)
{
	put_pod("a", PAIR("3"));
	put_pod("b", PAIR("3"));
	cr_assert_eq(gang("ns/g")->quorum, 3);
	cr_assert_eq(gang("ns/g")->flags, 0);
	cr_assert_eq(gang("ns/g")->timeout_ns, 60);
	cr_assert_eq(gang("ns/g")->created_ns, 0, "as old as its oldest member");
	cr_assert_null(view("ns/g").resource);
	put_pod("a", PAIR("4"));
	put_pod("b", PAIR("4"));
	cr_assert_eq(gang("ns/g")->quorum, 4);
	delete_pod("a");
	delete_pod("b");
	flush();
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
}

Test(gangs, members_that_disagree_refuse_it_and_are_named)
{
	put_pod("a", PAIR("3"));
	put_pod("b", PAIR("3"));
	put_pod("c", PAIR("4"));
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
	cr_assert_str_eq(
		view("ns/g").refusal,
		"members disagree: annotation scheduling.k8s.io/group-pod-num is 4 on pod c and 3 on pod b");
	delete_pod("b");
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
	put_pod("c", PAIR("3"));
	cr_assert_eq(gang("ns/g")->flags, 0);
	cr_assert_str_eq(view("ns/g").refusal, "");
	put_pod("d", PAIR("99"));
	delete_pod("a");
	delete_pod("c");
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED, "99 are more than --max-pods");
	cr_assert_str_eq(view("ns/g").refusal, "the quorum of 99 is more than --max-pods, 12");
}

Test(gangs, labels_alone_must_agree_on_priority_too)
{
#define LIGHT(n)                                                                                                          \
	"\"labels\":{\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"" n \
	"\"}"

	put_pod("a", LIGHT("2"));
	put_pod("b", LIGHT("3"));
	cr_assert_eq(strncmp(view("ns/g").refusal, "PodGroupMinAvailables do not match: ", 36), 0);
	put_pod_as("muster", "b", LIGHT("2"), ",\"priority\":7");
	cr_assert_str_eq(view("ns/g").refusal,
	                 "Priorities do not match: spec.priority is 7 on pod b and 0 on pod a");
	put_pod_as("muster", "a", LIGHT("2"), ",\"priority\":7");
	cr_assert_eq(gang("ns/g")->flags, 0);
}

Test(gangs, of_several_task_groups_one_application_is_made)
{
#define TASKS                                                                                      \
	"\\\"name\\\":\\\"driver\\\",\\\"minMember\\\":1},{\\\"name\\\":\\\"worker\\\",\\\"minMember\\\":2,\\\"minResource\\\":{}"
	const struct event_gang *e;

	put_pod(
		"w",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"worker\",\"yunikorn.apache.org/app-id\":\"g\"}");
	cr_assert_eq(gang("ns/g")->flags, GANG_OBJECT_MISSING, "nobody has said yet what it is");
	put_pod(
		"d",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"driver\",\"yunikorn.apache.org/app-id\":\"g\","
		"\"yunikorn.apache.org/task-groups\":\"[{" TASKS "}]\"}");
	e = gang("ns/g");
	cr_assert_eq(e->quorum, 3);
	cr_assert_eq(e->roles_n, 2);
	cr_assert_eq(
		replay_pod(&s.replay, "ns/w")->role,
		replay_gang_roles(e)[text(replay_gang_roles(e)[1].role, &s.m->values)[0] == 'w'].role);
	cr_assert_neq(replay_pod(&s.replay, "ns/d")->role, replay_pod(&s.replay, "ns/w")->role);
	put_pod(
		"d",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"driver\",\"yunikorn.apache.org/app-id\":\"g\","
		"\"yunikorn.apache.org/task-groups\":\"[{\"}");
	cr_assert(strstr(view("ns/g").refusal, "annotation yunikorn.apache.org/task-groups: "), "%s",
	          view("ns/g").refusal);
}

Test(gangs, what_can_not_be_honoured_is_refused_with_its_field)
{
	static const struct {
		const char *marks, *part; /* "": honoured */
	} rows[] = {
#define KOORDINATOR(rest) "\"annotations\":{\"gang.scheduling.koordinator.sh/name\":\"g\"" rest "}"
#define MINIMUM ",\"gang.scheduling.koordinator.sh/min-available\":\"2\""
		{ KOORDINATOR(MINIMUM), "" },
		{ KOORDINATOR(MINIMUM ",\"gang.scheduling.koordinator.sh/mode\":\"NonStrict\""), "" },
		{ KOORDINATOR(MINIMUM ",\"gang.scheduling.koordinator.sh/groups\":\"[\\\"ns/g\\\"]\""),
		  "" },
		{ KOORDINATOR(MINIMUM
		              ",\"gang.scheduling.koordinator.sh/groups\":\"[\\\"ns/g\\\",\\\"ns/h\\\"]\""),
		  "gang.scheduling.koordinator.sh/groups: [\"ns/g\",\"ns/h\"]" },
		{ KOORDINATOR(MINIMUM ",\"gang.scheduling.koordinator.sh/match-policy\":\"only-waiting\""),
		  "match-policy" },
		{ KOORDINATOR(MINIMUM ",\"gang.scheduling.koordinator.sh/waiting-time\":\"soon\""),
		  "\"soon\" is not a duration" },
		{ KOORDINATOR(""), "min-available is missing" },
		{ "\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"}",
		  "kueue.x-k8s.io/pod-group-total-count is missing" },
		{ "\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"},\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"two\"}",
		  "\"two\" is not a number of pods" },
		{ "\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"},\"annotations\":{\"kueue.x-k8s.io/pod-group-total-count\":\"2\"}",
		  "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_pod("a", rows[i].marks);
		cr_assert_eq(gang("ns/g")->flags, *rows[i].part ? GANG_REFUSED : 0u, "row %zu: %s", i,
		             view("ns/g").refusal);
		cr_assert(strstr(view("ns/g").refusal, rows[i].part), "row %zu: %s", i,
		          view("ns/g").refusal);
		cr_assert(*rows[i].part || gang("ns/g")->quorum == 2);
		put_pod("a", "");
	}
}

Test(gangs, a_pod_group_that_starts_with_others_is_refused)
{
	put_pod("a", OLD_MARK);
	cr_assert_eq(put_as(OLD_API, "PodGroup", "g", "u",
	                    ",\"annotations\":{\"gang.scheduling.koordinator.sh/groups\":"
	                    "\"[\\\"ns/g\\\"]\"}},\"spec\":{\"minMember\":2}}"),
	             0);
	cr_assert_eq(gang("ns/g")->flags, 0);
	cr_assert_eq(put_as(OLD_API, "PodGroup", "g", "u",
	                    ",\"annotations\":{\"gang.scheduling.koordinator.sh/groups\":"
	                    "\"[\\\"ns/g\\\",\\\"other/h\\\"]\"}},\"spec\":{\"minMember\":2}}"),
	             0);
	cr_assert(strstr(view("ns/g").refusal, "koordinator.sh/groups: [\"ns/g\",\"other/h\"]"), "%s",
	          view("ns/g").refusal);
}

Test(gangs, of_config_maps_that_are_no_groups_nothing_is_kept_but_that_they_are_there)
{
	struct model_counts counts;

	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		put_map(name, "\"ca.crt\":\"x\"");
	}
	put_map("g", "");
	model_counts(s.m, &counts);
	cr_assert_eq(counts.gangs, 0);
	cr_assert_eq(s.m->candidates.pool.used, 101);

	put_pod("a", MAP_MARK);
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED, "the pod comes after it");
	cr_assert_str_eq(view("ns/g").refusal, "minAvailable field not found in podgroup configmap");
	put_map("g", "\"minAvailable\":\"2\"");
	cr_assert_eq(gang("ns/g")->flags, GANG_AFTER_OTHERS);
	cr_assert_eq(gang("ns/g")->quorum, 2);
	cr_assert_eq(gang("ns/g")->timeout_ns, 10, "the configured one");
	put_map("g", "\"other\":\"2\"");
	cr_assert_eq(gang("ns/g")->flags & GANG_REFUSED, GANG_REFUSED);
	delete_pod("a");
	flush();
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
	delete (resource_of("v1", "ConfigMap"), "g", "u");
	put_pod("a", MAP_MARK);
	cr_assert_eq(gang("ns/g")->flags, GANG_OBJECT_MISSING);

	model_replace_begin(s.m, resource_of("v1", "ConfigMap"));
	put_map("g", "");
	model_replace_end(s.m, resource_of("v1", "ConfigMap"));
	cr_assert_eq(s.m->candidates.pool.used, 1);
	cr_assert_eq(gang("ns/g")->flags & GANG_REFUSED, GANG_REFUSED);
	model_replace_begin(s.m, resource_of("v1", "ConfigMap"));
	model_replace_end(s.m, resource_of("v1", "ConfigMap"));
	cr_assert_eq(gang("ns/g")->flags, GANG_OBJECT_MISSING);
	cr_assert_eq(s.m->candidates.pool.used, 0);
}

Test(gangs, faults_of_a_config_map_are_reported)
{
	static const struct {
		const char *data, *refusal;
		uint32_t quorum;
		uint64_t timeout_ns;
	} rows[] = {
		{ "\"minAvailable\":\"3\"", "", 3, 10 },
		{ "\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"20\"", "", 3, 20000000000 },
		{ "\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"0\"", "", 3, 1 },
		{ "\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"-4\"", "", 3, 1 },
		{ "\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"5000\"", "", 3, 900000000000 },
		{ "\"minAvailable\":\"+3\"", "", 3, 10 },
		{ "\"minAvailable\":\"1\",\"scheduleTimeoutSeconds\":\"abc\"", "", 1, 10 },
		{ "\"minAvailable\":\"0\"", "", 0, 10 },
		{ "\"minAvailable\":\"-2\"", "", 0, 10 },
		{ "\"minAvailable\":\"abc\"",
		  "data.minAvailable of the podgroup configmap: strconv.Atoi: parsing \"abc\": invalid syntax",
		  0, 10 },
		{ "\"minAvailable\":\"\"",
		  "data.minAvailable of the podgroup configmap: strconv.Atoi: parsing \"\": invalid syntax",
		  0, 10 },
		{ "\"minAvailable\":\" 3\"",
		  "data.minAvailable of the podgroup configmap: strconv.Atoi: parsing \" 3\": invalid syntax",
		  0, 10 },
		{ "\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"abc\"",
		  "data.scheduleTimeoutSeconds of the podgroup configmap: strconv.Atoi: parsing \"abc\": invalid syntax",
		  3, 10 },
		{ "\"scheduleTimeoutSeconds\":\"20\"", "minAvailable field not found in podgroup configmap",
		  0, 20000000000 },
	};

	put_pod("a", MAP_MARK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_map("g", rows[i].data);
		cr_assert_str_eq(view("ns/g").refusal, rows[i].refusal);
		cr_assert_eq(gang("ns/g")->flags,
		             GANG_AFTER_OTHERS | (*rows[i].refusal ? GANG_REFUSED : 0u));
		cr_assert_eq(gang("ns/g")->quorum, rows[i].quorum, "row %zu", i);
		cr_assert_eq(gang("ns/g")->timeout_ns, rows[i].timeout_ns, "row %zu", i);
	}
}

Test(gangs, roles_have_quorums_of_their_own)
{
	const struct event_gang *e;

	put_group(VOLCANO_API, "g",
	          "\"minMember\":3,\"minTaskMember\":{\"worker\":2,\"ps\":1},\"queue\":\"q\"");
	put_pod("a", VOLCANO_MARK("ps"));
	put_pod("b", VOLCANO_MARK("worker"));
	e = gang("ns/g");
	cr_assert_eq(e->roles_n, 2);
	cr_assert_lt(replay_gang_roles(e)[0].role, replay_gang_roles(e)[1].role);
	for (int i = 0; i < 2; i++) {
		bool is_worker = strcmp(text(replay_gang_roles(e)[i].role, &s.m->values), "worker") == 0;

		cr_assert_eq(replay_gang_roles(e)[i].quorum, is_worker ? 2u : 1u);
		cr_assert_eq(replay_pod(&s.replay, is_worker ? "ns/b" : "ns/a")->role,
		             replay_gang_roles(e)[i].role);
	}
	put_group(VOLCANO_API, "g", "\"minMember\":2,\"minTaskMember\":{\"worker\":2,\"ps\":1}");
	cr_assert_eq(gang("ns/g")->roles_n, 0, "an elastic job's are not looked at");
	put_group(VOLCANO_API, "g",
	          "\"minMember\":2,\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":1}");
	cr_assert(strstr(view("ns/g").refusal, "spec.networkTopology: hard"), "%s",
	          view("ns/g").refusal);
	put_group(VOLCANO_API, "g", "\"minMember\":2,\"networkTopology\":{\"mode\":\"soft\"}");
	cr_assert_eq(gang("ns/g")->flags, 0);
	put_group(VOLCANO_API, "g", "\"minMember\":2,\"subGroupPolicy\":[{\"name\":\"x\"}]");
	cr_assert(strstr(view("ns/g").refusal, "spec.subGroupPolicy"), "%s", view("ns/g").refusal);
}

Test(gangs, without_such_groups_in_the_cluster_a_common_mark_makes_no_gang)
{
	int resource = resource_of(VOLCANO_API, "PodGroup");
	put_pod("a", VOLCANO_MARK("x"));
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->role, ID_NONE);
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
	model_resource_served(s.m, resource, true);
	flush();
	cr_assert_eq(gang("ns/g")->flags, GANG_OBJECT_MISSING, "the group may come yet");
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, gang("ns/g")->gang);
	model_resource_served(s.m, resource, false);
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	put_group(VOLCANO_API, "g", "\"minMember\":1");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, gang("ns/g")->gang,
	             "an object says the same");
	model_restart(s.m);
	replay_forget(&s.replay);
	cr_assert_eq(gang("ns/g")->quorum, 1);
}

static void levels_are(const char *expected)
{
	const struct event_gang *e = gang("ns/g");
	char all[200] = "";

	for (uint32_t i = 0; i < e->levels_n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s%s", i ? " " : "",
		         text(replay_gang_levels(e)[i].topology, &s.m->keys),
		         replay_gang_levels(e)[i].flags & LEVEL_REQUIRED ? "!" : "");
	cr_assert_str_eq(all, expected);
}

#define LEVELLED(rest) NEW_MARK ",\"annotations\":{" rest "}"

Test(gangs, levels_are_the_objects_or_else_its_pods)
{
	put_pod(
		"a",
		LEVELLED(
			"\"muster.dev/preferred-topology\":\"rack , zone\",\"kueue.x-k8s.io/podset-required-topology\":\"zone\""));
	put_group(NEW_API, "g", "\"minMember\":2,\"minResources\":{\"cpu\":\"2\"}");
	levels_are("zone! rack");
	cr_assert_eq(
		replay_amount(&s.replay, replay_gang_amounts(gang("ns/g")), gang("ns/g")->amounts_n, "cpu"),
		2000);
	put_pod("b", NEW_MARK);
	levels_are("zone! rack");
	cr_assert_eq(gang("ns/g")->flags, 0, "who says nothing does not disagree");
	put_pod("b", LEVELLED("\"kai.scheduler/topology-preferred-placement\":\"zone\""));
	cr_assert_str_eq(
		view("ns/g").refusal,
		"members disagree: the topology is preferred zone on pod b and required zone, preferred rack on pod a");
	cr_assert_eq(
		put_as(
			NEW_API, "PodGroup", "g", "u",
			",\"annotations\":{\"muster.dev/required-topology\":\"room\"}},\"spec\":{\"minMember\":2}}"),
		0);
	levels_are("room!");
	cr_assert_eq(gang("ns/g")->flags, 0, "the object's own go before");
	cr_assert_eq(
		put_as(
			NEW_API, "PodGroup", "g", "u",
			",\"annotations\":{\"muster.dev/required-topology\":\"a,b,c,d,e\"}},\"spec\":{\"minMember\":2}}"),
		0);
	cr_assert_str_eq(view("ns/g").refusal, "topology e: muster takes up to 4 levels");
}

Test(gangs, pods_without_an_object_declare_levels)
{
	put_pod(
		"a",
		"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"2\","
		"\"muster.dev/required-topology\":\"zone\"}");
	levels_are("zone!");
	cr_assert_eq(gang("ns/g")->quorum, 2);
}

#define NATIVE ",\"schedulingGroup\":{\"podGroupName\":\"g\"}"

Test(gangs, a_native_group_is_read_in_every_version)
{
	put_pod_as("muster", "a", "", NATIVE);
	put_group(
		"scheduling.k8s.io/v1alpha2", "g",
		"\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"disruptionMode\":\"PodGroup\","
		"\"schedulingConstraints\":{\"topology\":[{\"key\":\"zone\"}]},\"priority\":7,\"priorityClassName\":\"c\"");
	cr_assert_eq(gang("ns/g")->quorum, 3);
	cr_assert_eq(gang("ns/g")->flags, GANG_PRIORITY);
	cr_assert_eq(gang("ns/g")->priority, 7);
	levels_are("zone!");
	put_group(
		"scheduling.k8s.io/v1", "g",
		"\"schedulingPolicy\":{\"basic\":{}},\"disruptionMode\":{\"single\":{}},\"priority\":null,"
		"\"resourceClaims\":[],\"parentCompositePodGroupName\":null");
	cr_assert_eq(gang("ns/g")->quorum, 0);
	cr_assert_eq(gang("ns/g")->flags, 0);
}

Test(gangs, what_a_native_group_asks_for_in_vain_is_named)
{
	static const struct {
		const char *spec, *refusal;
	} rows[] = {
		{ "\"schedulingPolicy\":{}", "spec.schedulingPolicy: " },
		{ "\"schedulingPolicy\":{\"gang\":{\"minCount\":-1}}",
		  "spec.schedulingPolicy.gang.minCount: -1 is negative" },
		{ "\"schedulingPolicy\":{\"basic\":{}},\"resourceClaims\":[{\"name\":\"c\"}]",
		  "spec.resourceClaims: " },
		{ "\"schedulingPolicy\":{\"basic\":{}},\"parentCompositePodGroupName\":\"p\"",
		  "spec.parentCompositePodGroupName: p: " },
		{ "\"schedulingPolicy\":{\"basic\":{}},\"schedulingConstraints\":{\"spread\":{}}",
		  "spec.schedulingConstraints.spread: " },
	};

	put_pod_as("muster", "a", "", NATIVE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_group(NATIVE_API, "g", rows[i].spec);
		cr_assert_eq(strncmp(view("ns/g").refusal, rows[i].refusal, strlen(rows[i].refusal)), 0,
		             "%s", view("ns/g").refusal);
	}
}

Test(gangs, members_of_a_native_group_have_one_scheduler)
{
	put_group(NATIVE_API, "g", "\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}");
	put_pod_as("muster", "a", "", NATIVE);
	put_pod_as("second", "b", "", NATIVE);
	cr_assert_str_eq(view("ns/g").refusal,
	                 "members disagree: spec.schedulerName is second on pod b and muster on pod a");
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
	put_pod_as("muster", "b", "", NATIVE);
	cr_assert_eq(gang("ns/g")->flags, 0);
	/* Another scheduler's pod counts until it has ended. */
	put_pod_as("other", "c", "", NATIVE);
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
	cr_assert_str_eq(view("ns/g").refusal,
	                 "members disagree: spec.schedulerName is muster on pod b and other on others");
	cr_assert_null(replay_pod(&s.replay, "ns/c"));
	delete_pod("c");
	cr_assert_eq(gang("ns/g")->flags, 0);
	put_pod_as("other", "d", "", NATIVE ",\"nodeName\":\"n1\"");
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
	delete_pod("a");
	delete_pod("b");
	put_pod_as("muster", "a", "", NATIVE);
	cr_assert_eq(gang("ns/g")->flags, GANG_REFUSED);
}

Test(gangs, versions_are_tried_from_the_newest)
{
	static const char *const versions[] = { "v1", "v1beta1", "v1alpha3", "v1alpha2" };
	const char *version = NULL;
	int r;
	size_t n;

	r = resource_of("scheduling.k8s.io/v1alpha2", "PodGroup");
	cr_assert_eq(model_resource_index(s.m, "scheduling.k8s.io/v1alpha1", "PodGroup"), -1);
	for (int i = 0; i < 4; i++) {
		version = model_resource_older(s.m, r, version);
		cr_assert_str_eq(version, versions[i]);
		cr_assert_str_eq(model_resources(s.m, &n)[r].version, "v1", "asking for it says nothing");
	}
	cr_assert_null(model_resource_older(s.m, r, version));
	model_resource_found(s.m, r, version);
	cr_assert_str_eq(model_resources(s.m, &n)[r].version, "v1alpha2");
	cr_assert_str_eq(model_resource_older(s.m, r, NULL), "v1",
	                 "the newest there is, not that is served");
	r = resource_of(NEW_API, "PodGroup");
	version = model_resource_older(s.m, r, NULL);
	cr_assert_str_eq(version, model_resources(s.m, &n)[r].version);
	cr_assert_null(model_resource_older(s.m, r, version));
}

Test(gangs, a_dialect_that_is_off_is_not_there)
{
	start_without(UINT64_C(1) << dialect_find("configmap") | UINT64_C(1)
	                                                             << dialect_find("annotations"));
	cr_assert_eq(model_resource_index(s.m, "v1", "ConfigMap"), -1);
	put_pod("a", MAP_MARK);
	put_pod("b", PAIR("3"));
	put_pod(
		"c",
		"\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\",\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"h\"}");
	flush();
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/b")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/c")->gang, gang("ns/g")->gang);
	cr_assert_eq(dialect_find("no-such"), -1);
}

Test(gangs, one_name_in_two_dialects_is_two_gangs)
{
	put_pod("a", NEW_MARK);
	put_pod("b", MAP_MARK);
	put_pod("c", PAIR("2"));
	flush();
	cr_assert_eq(replay_count(s.replay.gangs, LIMITS.gangs), 3);
	cr_assert_neq(replay_pod(&s.replay, "ns/a")->gang, replay_pod(&s.replay, "ns/b")->gang);
}

static void put_phase(const char *name, const char *marks, const char *phase)
{
	char spec[200];

	snprintf(spec, sizeof(spec), ",\"nodeName\":\"n1\"},\"status\":{\"phase\":\"%s\"", phase);
	put_pod_as("muster", name, marks, spec);
}

static void life_is(uint32_t succeeded, uint32_t failed, uint32_t flags)
{
	const struct event_gang *e = gang("ns/g");
	char why[200] = "";

	cr_expect_eq(e->succeeded, succeeded);
	cr_expect_eq(e->failed, failed);
	cr_expect_eq(e->flags & (GANG_WHOLE | GANG_ENDED_COUNT), flags, "flags %u",
	             e->flags & (GANG_WHOLE | GANG_ENDED_COUNT));
	cr_expect(model_valid(s.m, why, sizeof(why)), "%s", why);
}

#define GROUP_OF(n, status) "},\"spec\":{\"minMember\":" #n "},\"status\":{" status "}}"

static void put_group_with_status(const char *rest)
{
	cr_assert_eq(put_as(NEW_API, "PodGroup", "g", "u", rest), 0);
}

Test(gangs, succeeded_members_count_once_it_was_whole)
{
	put_group(NEW_API, "g", "\"minMember\":2");
	put_phase("a", NEW_MARK, "Running");
	put_pod("b", NEW_MARK);
	life_is(0, 0, 0);
	put_phase("b", NEW_MARK, "Running");
	put_phase("a", NEW_MARK, "Succeeded");
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
	delete_pod("b");
	put_pod("c", NEW_MARK);
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
	model_restart(s.m);
	replay_forget(&s.replay);
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
	put_phase("c", NEW_MARK, "Failed");
	life_is(1, 1, GANG_WHOLE);
	/* Another run: nothing is left of the one that was whole. */
	delete_pod("a");
	delete_pod("c");
	life_is(0, 0, GANG_WHOLE);
	put_pod("d", NEW_MARK);
	life_is(0, 0, 0);
}

/* Finished pods outlive their run: the next one starts as a whole. */
Test(gangs, succeeded_members_of_an_earlier_run)
{
	put_group(NEW_API, "g", "\"minMember\":2");
	put_phase("a", NEW_MARK, "Running");
	put_phase("b", NEW_MARK, "Running");
	put_phase("a", NEW_MARK, "Succeeded");
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
	put_phase("b", NEW_MARK, "Succeeded");
	put_pod("c", NEW_MARK);
	put_pod("d", NEW_MARK);
	life_is(2, 0, GANG_WHOLE);
	put_phase("c", NEW_MARK, "Running");
	life_is(2, 0, GANG_WHOLE | GANG_ENDED_COUNT);
}

/* COS-11: of a gang that never started they do not. */
Test(gangs, succeeded_members_of_what_never_started)
{
	put_group(NEW_API, "g", "\"minMember\":3");
	put_phase("a", NEW_MARK, "Succeeded");
	put_pod("b", NEW_MARK);
	life_is(1, 0, 0);
	/* ... unless the status says that it did. */
	put_group_with_status(GROUP_OF(3, "\"phase\":\"Running\""));
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
	put_group_with_status(GROUP_OF(3, "\"phase\":\"Scheduling\""));
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
}

/* A fresh start reads the status that it finds: what is written later counts the same. */
Test(gangs, a_status_that_comes_later_says_that_it_was_whole)
{
	put_group_with_status(GROUP_OF(3, ""));
	put_phase("a", NEW_MARK, "Running");
	put_phase("b", NEW_MARK, "Succeeded");
	put_pod("c", NEW_MARK);
	/* A member may fail before it has a node. */
	put_group_with_status(GROUP_OF(3, "\"phase\":\"Failed\""));
	life_is(1, 0, 0);
	s.version += 9; /* put_as() makes the creation time of it, and nothing else changes */
	put_group_with_status(GROUP_OF(3, "\"phase\":\"Running\""));
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
}

/* pkg/scheduler/api: JobInfo.ReadyTaskNum. */
Test(gangs, volcano_counts_succeeded_members_from_the_start)
{
	model_resource_served(s.m, resource_of(VOLCANO_API, "PodGroup"), true);
	put_group(VOLCANO_API, "g", "\"minMember\":3");
	put_phase("a", VOLCANO_MARK("w"), "Succeeded");
	put_pod("b", VOLCANO_MARK("w"));
	life_is(1, 0, GANG_ENDED_COUNT);
}

/* No status is written to the object of such a group, for it has none. */
Test(gangs, ended_members_of_groups_without_a_status)
{
	put_phase("a", PAIR("2"), "Running");
	put_phase("b", PAIR("2"), "Running");
	life_is(0, 0, GANG_WHOLE);
	put_phase("a", PAIR("2"), "Succeeded");
	put_pod("c", PAIR("2"));
	life_is(1, 0, GANG_WHOLE | GANG_ENDED_COUNT);
}
