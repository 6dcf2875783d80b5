/* SPDX-License-Identifier: Apache-2.0 */
/* How groups of every dialect become gangs: objects that come before or after their pods, groups
 * that only their pods describe, members that disagree. */
#include "frontend/model/model_impl.h"

#include "tests/unit/support_replay.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct limits LIMITS = { .nodes = 4,
	                                  .pods = 12,
	                                  .gangs = 6,
	                                  .shapes = 8,
	                                  .names = 24,
	                                  .resources = 8,
	                                  .name_bytes = 2048,
	                                  .command_ring_bytes = 8192 };

#define POD RESOURCE_INDEX_PODS

struct story {
	struct model *m;
	struct replay replay;
	struct decode_error error;
	int version;
};

static void start_without(struct story *s, uint64_t off)
{
	static const char *const names[] = { "muster", "second" };
	struct model_config config = {
		.scheduler_names = names,
		.scheduler_names_n = 2,
		.limits = LIMITS,
		.hash_key = { 1, 2 },
		.dialects_off = off,
		.timeouts_ns = { [GROUP_TIMEOUT_CONFIGMAP] = 10, [GROUP_TIMEOUT_ANNOTATIONS] = 60 }
	};

	memset(s, 0, sizeof(*s));
	s->m = model_new(&config);
	cr_assert(s->m);
	replay_start(&s->replay, &LIMITS);
}

static void start(struct story *s)
{
	start_without(s, 0);
}

static void check(const struct story *s)
{
	char why[200] = "";

	cr_assert(model_valid(s->m, why, sizeof(why)), "%s", why);
}

static void end(struct story *s)
{
	check(s);
	model_free(s->m);
	replay_free(&s->replay);
}

static void flush(struct story *s)
{
	cr_assert(replay_flush(&s->replay, s->m, 1000));
	check(s);
}

static int put_json(struct story *s, int resource, const char *json)
{
	int rc = model_put(s->m, resource, json, strlen(json), &s->error);

	check(s);
	return rc;
}

/* `marks`: labels and annotations, such as "labels":{} */
static void put_pod_as(struct story *s, const char *scheduler, const char *name, const char *marks,
                       const char *spec)
{
	char json[4096];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\"%s%s},"
		"\"spec\":{\"schedulerName\":\"%s\"%s}}",
		name, name, ++s->version, *marks ? "," : "", marks, scheduler, spec);
	cr_assert_eq(put_json(s, POD, json), 0, "%s: %s", s->error.field, s->error.text);
}

static void put_pod(struct story *s, const char *name, const char *marks)
{
	put_pod_as(s, "muster", name, marks, "");
}

static int resource_of(const struct story *s, const char *api, const char *kind)
{
	int resource = model_resource_index(s->m, api, kind);

	cr_assert_geq(resource, 0, "%s %s", api, kind);
	return resource;
}

static int put_as(struct story *s, const char *api, const char *kind, const char *name,
                  const char *uid, const char *rest)
{
	char json[4096];

	s->version++;
	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\",\"resourceVersion\":\"%d\","
		"\"creationTimestamp\":\"2026-03-05T12:15:0%dZ\"%s",
		name, uid, s->version, s->version % 10, rest);
	return put_json(s, resource_of(s, api, kind), json);
}

static void put_group(struct story *s, const char *api, const char *name, const char *spec)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "},\"spec\":{%s}}", spec);
	cr_assert_eq(put_as(s, api, "PodGroup", name, "u", rest), 0, "%s: %s", s->error.field,
	             s->error.text);
}

static void put_map(struct story *s, const char *name, const char *data)
{
	char rest[2048];

	snprintf(rest, sizeof(rest), "},\"data\":{%s}}", data);
	cr_assert_eq(put_as(s, "v1", "ConfigMap", name, "u", rest), 0);
}

static void delete (struct story *s, int resource, const char *name, const char *uid)
{
	char json[256];
	int n =
		snprintf(json, sizeof(json),
	             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\"}}", name, uid);

	cr_assert_eq(model_remove(s->m, resource, json, (size_t)n, &s->error), 0);
	check(s);
}

static void delete_pod(struct story *s, const char *name)
{
	char uid[64];

	snprintf(uid, sizeof(uid), "u-%s", name);
	delete (s, POD, name, uid);
}

/* The gang as the core knows it. */
static const struct event_gang *gang(struct story *s, const char *name)
{
	const struct event_gang *e;

	flush(s);
	e = replay_gang(&s->replay, name);
	cr_assert(e, "%s is there", name);
	return e;
}

static struct gang_view view(struct story *s, const char *name)
{
	const struct event_gang *e = gang(s, name);
	struct gang_view v;

	cr_assert(model_gang(s->m, e->gang, e->generation, &v));
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

/* ---- objects of two API groups ------------------------------------------------------------ */

Test(gangs, labels_of_both_generations_name_one_group)
{
	struct story s;

	start(&s);
	put_pod(&s, "a", OLD_MARK);
	put_pod(&s, "b", NEW_MARK);
	put_group(&s, OLD_API, "g", "\"minMember\":2");
	cr_assert_eq(gang(&s, "ns/g")->quorum, 2, "the other object serves when there is one alone");
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, replay_pod(&s.replay, "ns/b")->gang);
	cr_assert_str_eq(view(&s, "ns/g").dialect, "scheduler-plugins-old");
	cr_assert_str_eq(view(&s, "ns/g").resource->group, "scheduling.sigs.k8s.io");
	cr_assert_str_eq(s.error.text, "");

	put_group(&s, NEW_API, "g", "\"minMember\":3");
	cr_assert(strstr(s.error.text, "scheduling.x-k8s.io and in scheduling.sigs.k8s.io"), "%s",
	          s.error.text);
	cr_assert_eq(gang(&s, "ns/g")->quorum, 3);
	cr_assert_str_eq(view(&s, "ns/g").dialect, "scheduler-plugins");
	put_group(&s, NEW_API, "g", "\"minMember\":4");
	cr_assert_str_eq(s.error.text, "", "said once");

	delete_pod(&s, "b"); /* the old label alone: its own object */
	cr_assert_eq(gang(&s, "ns/g")->quorum, 2);
	delete (&s, resource_of(&s, OLD_API, "PodGroup"), "g", "u");
	cr_assert_eq(gang(&s, "ns/g")->quorum, 4);
	delete (&s, resource_of(&s, NEW_API, "PodGroup"), "g", "u");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_OBJECT_MISSING);
	end(&s);
}

Test(gangs, a_group_of_the_same_name_and_another_uid_is_a_new_one)
{
	static const char late[] =
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\",\"uid\":\"one\",\"resourceVersion\":\"7\"}}";
	struct story s;
	uint64_t created;

	start(&s);
	put_pod(&s, "a", NEW_MARK);
	cr_assert_eq(put_as(&s, NEW_API, "PodGroup", "g", "one", "},\"spec\":{\"minMember\":1}}"), 0);
	created = gang(&s, "ns/g")->created_ns;
	s.version = 8;
	cr_assert_eq(put_as(&s, NEW_API, "PodGroup", "g", "two", "},\"spec\":{\"minMember\":2}}"), 0);
	cr_assert_eq(model_remove(s.m, resource_of(&s, NEW_API, "PodGroup"), late, strlen(late), NULL),
	             0);
	cr_assert_eq(gang(&s, "ns/g")->quorum, 2);
	cr_assert_neq(gang(&s, "ns/g")->created_ns, created);
	cr_assert_str_eq(view(&s, "ns/g").uid, "two");
	end(&s);
}

/* ---- groups that only their pods describe ------------------------------------------------------
 */

Test(gangs, pods_say_how_many_start_together)
{
	struct story s;

	start(&s);
	put_pod(&s, "a", PAIR("3"));
	put_pod(&s, "b", PAIR("3"));
	cr_assert_eq(gang(&s, "ns/g")->quorum, 3);
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	cr_assert_eq(gang(&s, "ns/g")->timeout_ns, 60);
	cr_assert_eq(gang(&s, "ns/g")->created_ns, 0, "as old as its oldest member");
	cr_assert_null(view(&s, "ns/g").resource);
	put_pod(&s, "a", PAIR("4"));
	put_pod(&s, "b", PAIR("4"));
	cr_assert_eq(gang(&s, "ns/g")->quorum, 4);
	delete_pod(&s, "a");
	delete_pod(&s, "b");
	flush(&s);
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
	end(&s);
}

Test(gangs, members_that_disagree_refuse_it_and_are_named)
{
	struct story s;

	start(&s);
	put_pod(&s, "a", PAIR("3"));
	put_pod(&s, "b", PAIR("3"));
	put_pod(&s, "c", PAIR("4"));
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	cr_assert_str_eq(
		view(&s, "ns/g").refusal,
		"members disagree: annotation scheduling.k8s.io/group-pod-num is 4 on pod c and 3 on pod b");
	delete_pod(&s, "b");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	put_pod(&s, "c", PAIR("3"));
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	cr_assert_str_eq(view(&s, "ns/g").refusal, "");
	put_pod(&s, "d", PAIR("99"));
	delete_pod(&s, "a");
	delete_pod(&s, "c");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED, "99 are more than --max-pods");
	cr_assert_str_eq(view(&s, "ns/g").refusal, "the quorum of 99 is more than --max-pods, 12");
	end(&s);
}

Test(gangs, labels_alone_must_agree_on_priority_too)
{
#define LIGHT(n)                                                                                                          \
	"\"labels\":{\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"" n \
	"\"}"
	struct story s;

	start(&s);
	put_pod(&s, "a", LIGHT("2"));
	put_pod(&s, "b", LIGHT("3"));
	cr_assert_eq(strncmp(view(&s, "ns/g").refusal, "PodGroupMinAvailables do not match: ", 36), 0);
	put_pod_as(&s, "muster", "b", LIGHT("2"), ",\"priority\":7");
	cr_assert_str_eq(view(&s, "ns/g").refusal,
	                 "Priorities do not match: spec.priority is 7 on pod b and 0 on pod a");
	put_pod_as(&s, "muster", "a", LIGHT("2"), ",\"priority\":7");
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	end(&s);
}

Test(gangs, of_several_task_groups_one_application_is_made)
{
#define TASKS                                                                                      \
	"\\\"name\\\":\\\"driver\\\",\\\"minMember\\\":1},{\\\"name\\\":\\\"worker\\\",\\\"minMember\\\":2,\\\"minResource\\\":{}"
	struct story s;
	const struct event_gang *e;

	start(&s);
	put_pod(
		&s, "w",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"worker\",\"yunikorn.apache.org/app-id\":\"g\"}");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_OBJECT_MISSING, "nobody has said yet what it is");
	put_pod(
		&s, "d",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"driver\",\"yunikorn.apache.org/app-id\":\"g\","
		"\"yunikorn.apache.org/task-groups\":\"[{" TASKS "}]\"}");
	e = gang(&s, "ns/g");
	cr_assert_eq(e->quorum, 3);
	cr_assert_eq(e->roles_n, 2);
	cr_assert_eq(
		replay_pod(&s.replay, "ns/w")->role,
		replay_gang_roles(e)[text(replay_gang_roles(e)[1].role, &s.m->values)[0] == 'w'].role);
	cr_assert_neq(replay_pod(&s.replay, "ns/d")->role, replay_pod(&s.replay, "ns/w")->role);
	put_pod(
		&s, "d",
		"\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"driver\",\"yunikorn.apache.org/app-id\":\"g\","
		"\"yunikorn.apache.org/task-groups\":\"[{\"}");
	cr_assert(strstr(view(&s, "ns/g").refusal, "annotation yunikorn.apache.org/task-groups: "),
	          "%s", view(&s, "ns/g").refusal);
	end(&s);
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
	struct story s;

	start(&s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_pod(&s, "a", rows[i].marks);
		cr_assert_eq(gang(&s, "ns/g")->flags, *rows[i].part ? GANG_REFUSED : 0u, "row %zu: %s", i,
		             view(&s, "ns/g").refusal);
		cr_assert(strstr(view(&s, "ns/g").refusal, rows[i].part), "row %zu: %s", i,
		          view(&s, "ns/g").refusal);
		cr_assert(*rows[i].part || gang(&s, "ns/g")->quorum == 2);
		put_pod(&s, "a", "");
	}
	end(&s);
}

Test(gangs, a_pod_group_that_starts_with_others_is_refused)
{
	struct story s;

	start(&s);
	put_pod(&s, "a", OLD_MARK);
	cr_assert_eq(put_as(&s, OLD_API, "PodGroup", "g", "u",
	                    ",\"annotations\":{\"gang.scheduling.koordinator.sh/groups\":"
	                    "\"[\\\"ns/g\\\"]\"}},\"spec\":{\"minMember\":2}}"),
	             0);
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	cr_assert_eq(put_as(&s, OLD_API, "PodGroup", "g", "u",
	                    ",\"annotations\":{\"gang.scheduling.koordinator.sh/groups\":"
	                    "\"[\\\"ns/g\\\",\\\"other/h\\\"]\"}},\"spec\":{\"minMember\":2}}"),
	             0);
	cr_assert(strstr(view(&s, "ns/g").refusal, "koordinator.sh/groups: [\"ns/g\",\"other/h\"]"),
	          "%s", view(&s, "ns/g").refusal);
	end(&s);
}

/* ---- ConfigMaps
 * ---------------------------------------------------------------------------------- */

Test(gangs, of_config_maps_that_are_no_groups_nothing_is_kept_but_that_they_are_there)
{
	struct story s;
	struct model_counts counts;

	start(&s);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "m%d", i);
		put_map(&s, name, "\"ca.crt\":\"x\"");
	}
	put_map(&s, "g", "");
	model_counts(s.m, &counts);
	cr_assert_eq(counts.gangs, 0);
	cr_assert_eq(s.m->hollows.used, 101);

	put_pod(&s, "a", MAP_MARK);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED, "the pod comes after it");
	cr_assert_str_eq(view(&s, "ns/g").refusal,
	                 "minAvailable field not found in podgroup configmap");
	put_map(&s, "g", "\"minAvailable\":\"2\"");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_AFTER_OTHERS);
	cr_assert_eq(gang(&s, "ns/g")->quorum, 2);
	cr_assert_eq(gang(&s, "ns/g")->timeout_ns, 10, "the configured one");
	put_map(&s, "g", "\"other\":\"2\"");
	cr_assert_eq(gang(&s, "ns/g")->flags & GANG_REFUSED, GANG_REFUSED);
	delete_pod(&s, "a");
	flush(&s);
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
	delete (&s, resource_of(&s, "v1", "ConfigMap"), "g", "u");
	put_pod(&s, "a", MAP_MARK);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_OBJECT_MISSING);

	model_replace_begin(s.m, resource_of(&s, "v1", "ConfigMap"));
	put_map(&s, "g", "");
	model_replace_end(s.m, resource_of(&s, "v1", "ConfigMap"));
	cr_assert_eq(s.m->hollows.used, 1);
	cr_assert_eq(gang(&s, "ns/g")->flags & GANG_REFUSED, GANG_REFUSED);
	model_replace_begin(s.m, resource_of(&s, "v1", "ConfigMap"));
	model_replace_end(s.m, resource_of(&s, "v1", "ConfigMap"));
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_OBJECT_MISSING);
	cr_assert_eq(s.m->hollows.used, 0);
	end(&s);
}

Test(gangs, what_is_wrong_with_a_config_map_is_told)
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
	struct story s;

	start(&s);
	put_pod(&s, "a", MAP_MARK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_map(&s, "g", rows[i].data);
		cr_assert_str_eq(view(&s, "ns/g").refusal, rows[i].refusal);
		cr_assert_eq(gang(&s, "ns/g")->flags,
		             GANG_AFTER_OTHERS | (*rows[i].refusal ? GANG_REFUSED : 0u));
		cr_assert_eq(gang(&s, "ns/g")->quorum, rows[i].quorum, "row %zu", i);
		cr_assert_eq(gang(&s, "ns/g")->timeout_ns, rows[i].timeout_ns, "row %zu", i);
	}
	end(&s);
}

/* ---- Volcano
 * ---------------------------------------------------------------------------------------- */

Test(gangs, roles_have_quorums_of_their_own)
{
	struct story s;
	const struct event_gang *e;

	start(&s);
	put_group(&s, VOLCANO_API, "g",
	          "\"minMember\":3,\"minTaskMember\":{\"worker\":2,\"ps\":1},\"queue\":\"q\"");
	put_pod(&s, "a", VOLCANO_MARK("ps"));
	put_pod(&s, "b", VOLCANO_MARK("worker"));
	e = gang(&s, "ns/g");
	cr_assert_eq(e->roles_n, 2);
	cr_assert_lt(replay_gang_roles(e)[0].role, replay_gang_roles(e)[1].role);
	for (int i = 0; i < 2; i++) {
		bool is_worker = strcmp(text(replay_gang_roles(e)[i].role, &s.m->values), "worker") == 0;

		cr_assert_eq(replay_gang_roles(e)[i].quorum, is_worker ? 2u : 1u);
		cr_assert_eq(replay_pod(&s.replay, is_worker ? "ns/b" : "ns/a")->role,
		             replay_gang_roles(e)[i].role);
	}
	put_group(&s, VOLCANO_API, "g", "\"minMember\":2,\"minTaskMember\":{\"worker\":2,\"ps\":1}");
	cr_assert_eq(gang(&s, "ns/g")->roles_n, 0, "an elastic job's are not looked at");
	put_group(&s, VOLCANO_API, "g",
	          "\"minMember\":2,\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":1}");
	cr_assert(strstr(view(&s, "ns/g").refusal, "spec.networkTopology: hard"), "%s",
	          view(&s, "ns/g").refusal);
	put_group(&s, VOLCANO_API, "g", "\"minMember\":2,\"networkTopology\":{\"mode\":\"soft\"}");
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	put_group(&s, VOLCANO_API, "g", "\"minMember\":2,\"subGroupPolicy\":[{\"name\":\"x\"}]");
	cr_assert(strstr(view(&s, "ns/g").refusal, "spec.subGroupPolicy"), "%s",
	          view(&s, "ns/g").refusal);
	end(&s);
}

Test(gangs, without_such_groups_in_the_cluster_a_common_mark_makes_no_gang)
{
	struct story s;
	int resource;

	start(&s);
	resource = resource_of(&s, VOLCANO_API, "PodGroup");
	put_pod(&s, "a", VOLCANO_MARK("x"));
	flush(&s);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->role, ID_NONE);
	cr_assert_null(replay_gang(&s.replay, "ns/g"));
	model_resource_served(s.m, resource, true);
	flush(&s);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_OBJECT_MISSING, "the group may come yet");
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, gang(&s, "ns/g")->gang);
	model_resource_served(s.m, resource, false);
	flush(&s);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	put_group(&s, VOLCANO_API, "g", "\"minMember\":1");
	flush(&s);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, gang(&s, "ns/g")->gang,
	             "an object says the same");
	model_restart(s.m);
	replay_forget(&s.replay);
	cr_assert_eq(gang(&s, "ns/g")->quorum, 1);
	end(&s);
}

/* ---- levels
 * -------------------------------------------------------------------------------------------- */

static void levels_are(struct story *s, const char *expected)
{
	const struct event_gang *e = gang(s, "ns/g");
	char all[200] = "";

	for (uint32_t i = 0; i < e->levels_n; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s%s", i ? " " : "",
		         text(replay_gang_levels(e)[i].topology, &s->m->keys),
		         replay_gang_levels(e)[i].flags & LEVEL_REQUIRED ? "!" : "");
	cr_assert_str_eq(all, expected);
}

#define LEVELLED(rest) NEW_MARK ",\"annotations\":{" rest "}"

Test(gangs, levels_are_the_objects_or_else_its_pods)
{
	struct story s;

	start(&s);
	put_pod(
		&s, "a",
		LEVELLED(
			"\"muster.dev/preferred-topology\":\"rack , zone\",\"kueue.x-k8s.io/podset-required-topology\":\"zone\""));
	put_group(&s, NEW_API, "g", "\"minMember\":2,\"minResources\":{\"cpu\":\"2\"}");
	levels_are(&s, "zone! rack");
	cr_assert_eq(replay_amount(&s.replay, replay_gang_amounts(gang(&s, "ns/g")),
	                           gang(&s, "ns/g")->amounts_n, "cpu"),
	             2000);
	put_pod(&s, "b", NEW_MARK);
	levels_are(&s, "zone! rack");
	cr_assert_eq(gang(&s, "ns/g")->flags, 0, "who says nothing does not disagree");
	put_pod(&s, "b", LEVELLED("\"kai.scheduler/topology-preferred-placement\":\"zone\""));
	cr_assert_str_eq(
		view(&s, "ns/g").refusal,
		"members disagree: the topology is preferred zone on pod b and required zone, preferred rack on pod a");
	cr_assert_eq(
		put_as(
			&s, NEW_API, "PodGroup", "g", "u",
			",\"annotations\":{\"muster.dev/required-topology\":\"room\"}},\"spec\":{\"minMember\":2}}"),
		0);
	levels_are(&s, "room!");
	cr_assert_eq(gang(&s, "ns/g")->flags, 0, "the object's own go before");
	cr_assert_eq(
		put_as(
			&s, NEW_API, "PodGroup", "g", "u",
			",\"annotations\":{\"muster.dev/required-topology\":\"a,b,c,d,e\"}},\"spec\":{\"minMember\":2}}"),
		0);
	cr_assert_str_eq(view(&s, "ns/g").refusal, "topology e: muster takes up to 4 levels");
	end(&s);
}

Test(gangs, pods_that_are_all_there_is_say_levels_too)
{
	struct story s;

	start(&s);
	put_pod(
		&s, "a",
		"\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"2\","
		"\"muster.dev/required-topology\":\"zone\"}");
	levels_are(&s, "zone!");
	cr_assert_eq(gang(&s, "ns/g")->quorum, 2);
	end(&s);
}

/* ---- the native group
 * ------------------------------------------------------------------------------------- */

#define NATIVE ",\"schedulingGroup\":{\"podGroupName\":\"g\"}"

Test(gangs, a_native_group_is_read_in_every_version)
{
	struct story s;

	start(&s);
	put_pod_as(&s, "muster", "a", "", NATIVE);
	put_group(
		&s, "scheduling.k8s.io/v1alpha2", "g",
		"\"schedulingPolicy\":{\"gang\":{\"minCount\":3}},\"disruptionMode\":\"PodGroup\","
		"\"schedulingConstraints\":{\"topology\":[{\"key\":\"zone\"}]},\"priority\":7,\"priorityClassName\":\"c\"");
	cr_assert_eq(gang(&s, "ns/g")->quorum, 3);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_PRIORITY);
	cr_assert_eq(gang(&s, "ns/g")->priority, 7);
	levels_are(&s, "zone!");
	put_group(
		&s, "scheduling.k8s.io/v1", "g",
		"\"schedulingPolicy\":{\"basic\":{}},\"disruptionMode\":{\"single\":{}},\"priority\":null,"
		"\"resourceClaims\":[],\"parentCompositePodGroupName\":null");
	cr_assert_eq(gang(&s, "ns/g")->quorum, 0);
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	end(&s);
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
	struct story s;

	start(&s);
	put_pod_as(&s, "muster", "a", "", NATIVE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_group(&s, NATIVE_API, "g", rows[i].spec);
		cr_assert_eq(strncmp(view(&s, "ns/g").refusal, rows[i].refusal, strlen(rows[i].refusal)), 0,
		             "%s", view(&s, "ns/g").refusal);
	}
	end(&s);
}

Test(gangs, members_of_a_native_group_have_one_scheduler)
{
	struct story s;

	start(&s);
	put_group(&s, NATIVE_API, "g", "\"schedulingPolicy\":{\"gang\":{\"minCount\":2}}");
	put_pod_as(&s, "muster", "a", "", NATIVE);
	put_pod_as(&s, "second", "b", "", NATIVE);
	cr_assert_str_eq(view(&s, "ns/g").refusal,
	                 "members disagree: spec.schedulerName is second on pod b and muster on pod a");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	put_pod_as(&s, "muster", "b", "", NATIVE);
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	/* One that muster does not schedule counts as well, as long as it has not ended. */
	put_pod_as(&s, "other", "c", "", NATIVE);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	cr_assert_str_eq(view(&s, "ns/g").refusal,
	                 "members disagree: spec.schedulerName is muster on pod b and other on others");
	cr_assert_null(replay_pod(&s.replay, "ns/c"));
	delete_pod(&s, "c");
	cr_assert_eq(gang(&s, "ns/g")->flags, 0);
	put_pod_as(&s, "other", "d", "", NATIVE ",\"nodeName\":\"n1\"");
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	delete_pod(&s, "a");
	delete_pod(&s, "b");
	put_pod_as(&s, "muster", "a", "", NATIVE);
	cr_assert_eq(gang(&s, "ns/g")->flags, GANG_REFUSED);
	end(&s);
}

Test(gangs, versions_are_tried_from_the_newest)
{
	static const char *const versions[] = { "v1", "v1beta1", "v1alpha3", "v1alpha2" };
	struct story s;
	const char *version = NULL;
	int r;
	size_t n;

	start(&s);
	r = resource_of(&s, "scheduling.k8s.io/v1alpha2", "PodGroup");
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
	r = resource_of(&s, NEW_API, "PodGroup");
	version = model_resource_older(s.m, r, NULL);
	cr_assert_str_eq(version, model_resources(s.m, &n)[r].version);
	cr_assert_null(model_resource_older(s.m, r, version));
	end(&s);
}

/* ---- which dialects there are
 * --------------------------------------------------------------------------------- */

Test(gangs, a_dialect_that_is_off_is_not_there)
{
	struct story s;

	start_without(&s, UINT64_C(1) << dialect_find("configmap") |
	                      UINT64_C(1) << dialect_find("annotations"));
	cr_assert_eq(model_resource_index(s.m, "v1", "ConfigMap"), -1);
	put_pod(&s, "a", MAP_MARK);
	put_pod(&s, "b", PAIR("3"));
	put_pod(
		&s, "c",
		"\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"g\",\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"h\"}");
	flush(&s);
	cr_assert_eq(replay_pod(&s.replay, "ns/a")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/b")->gang, ID_NONE);
	cr_assert_eq(replay_pod(&s.replay, "ns/c")->gang, gang(&s, "ns/g")->gang);
	cr_assert_eq(dialect_find("no-such"), -1);
	end(&s);
}

Test(gangs, one_name_in_two_dialects_is_two_gangs)
{
	struct story s;

	start(&s);
	put_pod(&s, "a", NEW_MARK);
	put_pod(&s, "b", MAP_MARK);
	put_pod(&s, "c", PAIR("2"));
	flush(&s);
	cr_assert_eq(replay_count(s.replay.gangs, LIMITS.gangs), 3);
	cr_assert_neq(replay_pod(&s.replay, "ns/a")->gang, replay_pod(&s.replay, "ns/b")->gang);
	end(&s);
}
