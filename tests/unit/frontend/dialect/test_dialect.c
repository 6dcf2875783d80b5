/* SPDX-License-Identifier: Apache-2.0 */
/* Which group a pod's marks name. */
#include "frontend/dialect/dialects.h"
#include "frontend/decode/extract.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

struct marked {
	struct arena arena;
	struct pod_object pod;
	struct group_mark mark;
	char json[4096];
};

static void mark_of(struct marked *m, const char *labels, const char *annotations, const char *spec)
{
	struct decode_error error;
	int n = snprintf(
		m->json, sizeof(m->json),
		"{\"metadata\":{\"name\":\"p\",\"labels\":{%s},\"annotations\":{%s}},\"spec\":{%s}}",
		labels, annotations, spec);

	memset(&m->arena, 0, sizeof(m->arena));
	cr_assert_eq(extract_pod(m->json, (size_t)n, &m->arena, &m->pod, &error), 0, "%s %s",
	             error.field, error.text);
	cr_assert_eq(dialect_mark(&m->pod, 0, UINT64_MAX, &m->arena, &m->mark), 0);
}

#define LWS                                                                                        \
	"\"leaderworkerset.sigs.k8s.io/name\":\"serve\",\"leaderworkerset.sigs.k8s.io/group-index\":\"1\""

/* Behind members of the spec: the pod's controller, and one more owner. */
#define OWNED(kind, name, more_kind, more)                                                         \
	"},\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"" kind                 \
	"\",\"name\":\"" name "\",\"uid\":\"u\",\"controller\":true},"                                 \
	"{\"apiVersion\":\"v1\",\"kind\":\"" more_kind "\",\"name\":\"" more "\",\"uid\":\"w\"}]"

#define NO_MARK MARK_NONE, NULL, NULL
#define MEMBER(group, dialect) MARK_MEMBER, group, dialect
#define REFUSED(text) MARK_REFUSED, text, NULL

static const struct {
	const char *labels, *annotations, *spec;
	enum mark mark;
	const char *name; /* of the group, or the refusal */
	const char *dialect;
} mark_rows[] = {
	{ "", "", "", NO_MARK },
	{ "\"app\":\"x\"", "\"note\":\"y\"", "", NO_MARK },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "", "", MEMBER("g", "scheduler-plugins") },
	{ "\"scheduling.x-k8s.io/pod-group\":\"\"", "", "", NO_MARK },
	{ "\"scheduling.x-k8s.io/Pod-Group\":\"g\"", "", "", NO_MARK },
	{ "\"pod-group.scheduling.sigs.k8s.io\":\"g\"", "", "", MEMBER("g", "scheduler-plugins-old") },
	{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\"", "", "", NO_MARK },
	{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"3\"",
	  "", "", MEMBER("g", "scheduler-plugins-labels") },
	{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"0\"",
	  "", "", NO_MARK },
	{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"3x\"",
	  "", "", NO_MARK },
	{ "\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"g\"", "", "",
	  MEMBER("g", "configmap") },
	/* The pair of the batch fork; either alone, or a number that is none, makes an ordinary
	   pod. */
	{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"3\"", "",
	  MEMBER("g", "annotations") },
	{ "", "\"scheduling.k8s.io/group-pod-num\":\"3\"", "", NO_MARK },
	{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"0\"", "",
	  NO_MARK },
	{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"x\"", "",
	  NO_MARK },
	{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"-3\"", "",
	  NO_MARK },
	{ "",
	  "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"99999999999999999999\"",
	  "", NO_MARK },
	/* F13: a mark that can't be read is not an absent one. */
	{ "",
	  "\"scheduling.k8s.io/group-name\":\"i\\u0000j\",\"scheduling.k8s.io/group-pod-num\":\"3\"",
	  "",
	  REFUSED("pod /p: annotation scheduling.k8s.io/group-name is \"i\\u0000j\": "
	          "not a text that can be read") },
	{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"3\\u0000\"",
	  "",
	  REFUSED("pod /p: annotation scheduling.k8s.io/group-pod-num is \"3\\u0000\": "
	          "not a text that can be read") },
	{ "",
	  "\"scheduling.k8s.io/group-name\":\"i\\u009b2Jj\",\"scheduling.k8s.io/group-pod-num\":\"3\"",
	  "",
	  REFUSED("pod /p: annotation scheduling.k8s.io/group-name is \"i?2Jj\": "
	          "a group's name has no control characters") },
	{ "", "\"scheduling.k8s.io/group-name\":\"g\"", "", MEMBER("g", "volcano") },
	{ "", "\"scheduling.volcano.sh/group-name\":\"g\"", "", MEMBER("g", "volcano") },
	{ "", "\"scheduling.volcano.sh/group-name\":\"\"", "", NO_MARK },
	{ "", "\"gang.scheduling.koordinator.sh/name\":\"g\"", "", MEMBER("g", "koordinator") },
	{ "", "\"yunikorn.apache.org/task-group-name\":\"t\",\"yunikorn.apache.org/app-id\":\"a\"", "",
	  MEMBER("a", "yunikorn") },
	{ "\"applicationId\":\"a\"", "\"yunikorn.apache.org/task-group-name\":\"t\"", "",
	  MEMBER("a", "yunikorn") },
	{ "", "\"yunikorn.apache.org/task-group-name\":\"t\"", "",
	  REFUSED(
		  "its YuniKorn task group has no application: neither yunikorn.apache.org/app-id nor applicationId is there "
		  "(annotation yunikorn.apache.org/task-group-name)") },
	{ "\"spark-app-selector\":\"s\"", "\"yunikorn.apache.org/task-group-name\":\"t\"", "",
	  REFUSED(
		  "muster does not support YuniKorn groups of Spark: the executors come when the driver runs "
		  "(annotation yunikorn.apache.org/task-group-name)") },
	{ "\"kueue.x-k8s.io/pod-group-name\":\"g\"", "", "", MEMBER("g", "kueue") },
	{ "\"kueue.x-k8s.io/pod-group-name\":\"g\"",
	  "\"kueue.x-k8s.io/pod-group-fast-admission\":\"true\"", "", NO_MARK },
	{ "\"kueue.x-k8s.io/pod-group-name\":\"g\"", "\"kueue.x-k8s.io/pod-group-serving\":\"true\"",
	  "", NO_MARK },
	{ "", "\"pod-group-name\":\"g\"", "", MEMBER("g", "kai") },
	{ "\"godel.bytedance.com/pod-group-name\":\"g\"", "", "",
	  REFUSED(
		  "muster does not support Goedel groups yet (label godel.bytedance.com/pod-group-name)") },
	{ "", "", "\"schedulingGroup\":{\"podGroupName\":\"g\"}", MEMBER("g", "native") },
	{ "", "", "\"schedulingGroup\":{}", NO_MARK },
	{ "", "", "\"schedulingGroup\":null,\"workloadRef\":null", NO_MARK },
	{ "", "", "\"workloadRef\":{\"name\":\"w\",\"podGroup\":\"g\"}",
	  REFUSED(
		  "muster does not support spec.workloadRef, which Kubernetes 1.35 alone has; spec.schedulingGroup takes its place") },
	/* What a LeaderWorkerSet writes on its pods; a gang provider's mark goes before it. */
	{ LWS, "\"leaderworkerset.sigs.k8s.io/size\":\"4\"", "", MEMBER("serve-1", "leaderworkerset") },
	/* A rolling update creates a leader while the old workers run: another gang. */
	{ LWS ",\"leaderworkerset.sigs.k8s.io/template-revision-hash\":\"5f\"",
	  "\"leaderworkerset.sigs.k8s.io/size\":\"4\"", "", MEMBER("serve-1-5f", "leaderworkerset") },
	{ LWS, "", "", NO_MARK },
	{ LWS,
	  "\"leaderworkerset.sigs.k8s.io/size\":\"4\",\"leaderworkerset.sigs.k8s.io/exclusive-topology\":\"rack\"",
	  "", NO_MARK },
	{ LWS,
	  "\"leaderworkerset.sigs.k8s.io/size\":\"4\",\"scheduling.k8s.io/group-name\":\"serve-1-5f\"",
	  "", MEMBER("serve-1-5f", "volcano") },
	/* Two marks of one group: the one that is known. */
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "\"scheduling.k8s.io/group-name\":\"g\"", "",
	  MARK_MEMBER, "g", NULL },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\",\"pod-group.scheduling.sigs.k8s.io\":\"\\u0067\"",
	  "", "", MARK_MEMBER, "g", NULL },
	/* Of two: neither. */
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "\"scheduling.k8s.io/group-name\":\"h\"", "",
	  REFUSED(
		  "label scheduling.x-k8s.io/pod-group names group g, annotation scheduling.k8s.io/group-name names group h") },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "", "\"schedulingGroup\":{\"podGroupName\":\"h\"}",
	  REFUSED(
		  "label scheduling.x-k8s.io/pod-group names group g, spec.schedulingGroup names group h") },
	/* kube-controller-manager with WorkloadWithJob writes the second mark of a Job's pods; a user's
	 * has no owner. */
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "",
	  "\"schedulingGroup\":{\"podGroupName\":\"h\"}" OWNED("Job", "j", "PodGroup", "h"),
	  MEMBER("g", "scheduler-plugins") },
	{ "", "", "\"schedulingGroup\":{\"podGroupName\":\"h\"}" OWNED("Job", "j", "PodGroup", "h"),
	  MEMBER("h", "native") },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "",
	  "\"schedulingGroup\":{\"podGroupName\":\"h\"}" OWNED("Job", "h", "PodGroup", "i"),
	  REFUSED(
		  "label scheduling.x-k8s.io/pod-group names group g, spec.schedulingGroup names group h") },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "",
	  "\"schedulingGroup\":{\"podGroupName\":\"h\"}" OWNED("Job", "j", "PodGroup", "i"),
	  REFUSED(
		  "label scheduling.x-k8s.io/pod-group names group g, spec.schedulingGroup names group h") },
	{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "",
	  "\"schedulingGroup\":{\"podGroupName\":\"h\"}" OWNED("ReplicaSet", "j", "PodGroup", "h"),
	  REFUSED(
		  "label scheduling.x-k8s.io/pod-group names group g, spec.schedulingGroup names group h") },
	{ "", "\"pod-group-name\":\"g\",\"gang.scheduling.koordinator.sh/name\":\"h\"", "",
	  REFUSED(
		  "annotation gang.scheduling.koordinator.sh/name names group h, annotation pod-group-name names group g") },
};

Test(dialect, marks)
{
	static struct marked m;

	for (size_t i = 0; i < sizeof(mark_rows) / sizeof(mark_rows[0]); i++) {
		mark_of(&m, mark_rows[i].labels, mark_rows[i].annotations, mark_rows[i].spec);
		cr_assert_eq(m.mark.mark, mark_rows[i].mark, "row %zu", i);
		if (mark_rows[i].name)
			cr_assert_str_eq(m.mark.name, mark_rows[i].name);
		if (mark_rows[i].dialect)
			cr_assert_str_eq(dialects[m.mark.dialect]->name, mark_rows[i].dialect, "row %zu", i);
		arena_free(&m.arena);
	}
}

/* What the controllers of other projects write on their pods when gang scheduling is on. */
Test(dialect, pods_of_job_controllers)
{
	static const struct {
		const char *controller, *labels, *annotations, *group, *dialect, *role;
	} rows[] = {
		{ "Kubeflow Trainer, coscheduling",
		  "\"jobset.sigs.k8s.io/jobset-name\":\"t\",\"scheduling.x-k8s.io/pod-group\":\"t\"", "",
		  "t", "scheduler-plugins", NULL },
		{ "Kubeflow training operator, scheduler-plugins",
		  "\"training.kubeflow.org/job-name\":\"t\",\"scheduling.x-k8s.io/pod-group\":\"t\"", "",
		  "t", "scheduler-plugins", NULL },
		{ "Kubeflow training operator, Volcano", "\"training.kubeflow.org/job-name\":\"t\"",
		  "\"scheduling.k8s.io/group-name\":\"t\",\"volcano.sh/task-spec\":\"worker\",\"scheduling.volcano.sh/queue-name\":\"q\"",
		  "t", "volcano", "worker" },
		{ "MPI operator, Volcano", "\"training.kubeflow.org/job-name\":\"t\"",
		  "\"scheduling.k8s.io/group-name\":\"t\"", "t", "volcano", NULL },
		{ "MPI operator, scheduler-plugins", "\"scheduling.x-k8s.io/pod-group\":\"t\"", "", "t",
		  "scheduler-plugins", NULL },
		{ "Volcano's own job", "\"volcano.sh/job-name\":\"t\",\"volcano.sh/task-spec\":\"ps\"",
		  "\"scheduling.k8s.io/group-name\":\"t-5f\"", "t-5f", "volcano", "ps" },
		{ "LeaderWorkerSet, Volcano", LWS,
		  "\"leaderworkerset.sigs.k8s.io/size\":\"4\",\"scheduling.k8s.io/group-name\":\"serve-1-5f\"",
		  "serve-1-5f", "volcano", NULL },
		{ "JobSet alone",
		  "\"jobset.sigs.k8s.io/jobset-name\":\"t\",\"jobset.sigs.k8s.io/replicatedjob-name\":\"w\"",
		  "", NULL, NULL, NULL },
		{ "JobSet admitted by Kueue",
		  "\"jobset.sigs.k8s.io/jobset-name\":\"t\",\"kueue.x-k8s.io/podset\":\"w\"",
		  "\"kueue.x-k8s.io/workload\":\"jobset-t\"", NULL, NULL, NULL },
	};
	static struct marked m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct dialect *d;
		const char *role;

		mark_of(&m, rows[i].labels, rows[i].annotations, "");
		cr_assert_eq(m.mark.mark, rows[i].group ? MARK_MEMBER : MARK_NONE, "%s",
		             rows[i].controller);
		if (rows[i].group) {
			d = dialects[m.mark.dialect];
			cr_assert_str_eq(m.mark.name, rows[i].group);
			cr_assert_str_eq(d->name, rows[i].dialect, "%s", rows[i].controller);
			role = d->pod_role ? d->pod_role(&m.pod, &m.arena) : NULL;
			cr_assert(rows[i].role ? role && strcmp(role, rows[i].role) == 0 : !role, "%s",
			          rows[i].controller);
		}
		arena_free(&m.arena);
	}
}

Test(dialect, what_the_cluster_does_not_have_contradicts_nobody)
{
	static struct marked m;

	mark_of(&m, "\"scheduling.x-k8s.io/pod-group\":\"g\"",
	        "\"pod-group-name\":\"h\",\"scheduling.k8s.io/group-name\":\"i\"", "");
	cr_assert_eq(m.mark.mark, MARK_REFUSED);
	cr_assert_eq(dialect_mark(&m.pod, 0, 0, &m.arena, &m.mark), 0);
	cr_assert_eq(m.mark.mark, MARK_MEMBER);
	cr_assert_str_eq(m.mark.name, "g");
	arena_free(&m.arena);
	mark_of(
		&m, LWS,
		"\"leaderworkerset.sigs.k8s.io/size\":\"4\",\"pod-group-name\":\"h\",\"scheduling.k8s.io/group-name\":\"i\"",
		"");
	cr_assert_eq(dialect_mark(&m.pod, 0, 0, &m.arena, &m.mark), 0);
	cr_assert_str_eq(m.mark.name, "serve-1");
	cr_assert_eq(
		dialect_mark(&m.pod, UINT64_C(1) << dialect_find("leaderworkerset"), 0, &m.arena, &m.mark),
		0);
	cr_assert_str_eq(m.mark.name, "i", "the first; it is a member when there are such groups");
	arena_free(&m.arena);
}

Test(dialect, names_are_found)
{
	for (size_t i = 0; i < dialects_n; i++) {
		cr_assert_eq(dialect_find(dialects[i]->name), (int)i);
		if (dialects[i]->shares)
			cr_assert_eq(dialects[dialect_family((uint32_t)i)], dialects[i]->shares,
			             "stands right before it");
	}
	cr_assert_eq(dialect_find("scheduler"), -1);
}

Test(dialect, a_name_that_is_too_long_is_refused)
{
	static struct marked m;
	char labels[400];

	snprintf(labels, sizeof(labels), "\"scheduling.x-k8s.io/pod-group\":\"%0254d\"", 0);
	mark_of(&m, labels, "", "");
	cr_assert_eq(m.mark.mark, MARK_REFUSED);
	cr_assert_str_eq(m.mark.name, "label scheduling.x-k8s.io/pod-group is longer than 253 bytes");
	arena_free(&m.arena);
}

Test(dialect, a_group_with_more_resources_than_columns)
{
	char json[8192];
	struct arena arena = { 0 };
	struct decode_error error;
	struct group_spec spec;
	int n = snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\"},\"spec\":{\"minResources\":{");

	for (int i = 0; i < 65; i++)
		n += snprintf(json + n, sizeof(json) - (size_t)n, "%s\"a/%d\":\"1\"", i ? "," : "", i);
	n += snprintf(json + n, sizeof(json) - (size_t)n, "}}}");
	cr_assert_eq(dialects[0]->group_read(json, (size_t)n, &arena, &spec, &error), -EINVAL);
	cr_assert_str_eq(error.object, "PodGroup ns/g");
	cr_assert_str_eq(error.field, "spec.minResources[\"a/64\"]");
	arena_free(&arena);
}

Test(dialect, a_group_is_read)
{
	static const char json[] =
		"{\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\"},\"spec\":{\"minMember\":3,\"other\":[{}],"
		"\"minResources\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\",\"pods\":\"9\",\"cpu\":\"2500m\"},"
		"\"scheduleTimeoutSeconds\":-5},\"status\":{\"phase\":\"Pending\"}}";
	struct arena arena = { 0 };
	struct group_spec spec;

	cr_assert_eq(dialects[0]->group_read(json, sizeof(json) - 1, &arena, &spec, NULL), 0);
	cr_assert_eq(spec.quorum, 3);
	cr_assert_eq(spec.timeout_ns, 1, "a negative one holds nothing");
	cr_assert_null(spec.refusal);
	cr_assert_eq(spec.min_resources_n, 2);
	cr_assert_str_eq(spec.min_resources[0].resource, "cpu");
	cr_assert_eq(spec.min_resources[0].value, 2500, "the last of two wins");
	cr_assert_eq(spec.min_resources[1].value, INT64_C(1) << 30);
	arena_free(&arena);
}

/* A copy that ends where it ends, with some bytes changed or its end cut off. */
static char *broken(struct random *r, const char *json, size_t *bytes)
{
	static const char odd[] = "\"\\{}[],:0-9x \x00\xff";
	size_t n = strlen(json);
	char *copy;

	if (random_below(r, 4) == 0)
		n = random_below(r, (uint32_t)n);
	copy = malloc(n > 0 ? n : 1);
	cr_assert(copy);
	memcpy(copy, json, n);
	for (uint32_t i = random_below(r, 4); n > 0 && i > 0; i--)
		copy[random_below(r, (uint32_t)n)] = odd[random_below(r, sizeof(odd))];
	*bytes = n;
	return copy;
}

static const char *const group_samples[] = {
	"{\"metadata\":{\"name\":\"g\",\"annotations\":{\"muster.dev/required-topology\":\"a,b , c\",\"muster.dev/preferred-topology\":\"d\"}},"
	"\"spec\":{\"minMember\":3,\"minResources\":{\"cpu\":\"2\",\"x/y\":\"1\"},\"scheduleTimeoutSeconds\":5}}",
	"{\"metadata\":{\"name\":\"g\"},\"data\":{\"minAvailable\":\"3\",\"scheduleTimeoutSeconds\":\"-5\",\"other\":\"\\u0041\"}}",
	"{\"metadata\":{\"name\":\"g\"},\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":2}},\"priority\":7,\"schedulingConstraints\":"
	"{\"topology\":[{\"key\":\"zone\"}]},\"resourceClaims\":[],\"parentCompositePodGroupName\":\"p\"}}",
	"{\"metadata\":{\"name\":\"g\"},\"spec\":{\"minMember\":3,\"minTaskMember\":{\"a\":1,\"b\":2},\"networkTopology\":{\"mode\":\"soft\"},"
	"\"subGroupPolicy\":[{}],\"topologyConstraint\":{\"requiredTopologyLevel\":\"z\",\"preferredTopologyLevel\":\"r\"},\"subGroups\":[]}}",
};

Test(dialect, broken_objects_of_groups_are_an_error_at_most)
{
	struct random r = random_start("broken groups");
	struct arena arena = { 0 };
	unsigned good = 0;

	for (int i = 0; i < 40000; i++) {
		const struct dialect *d = dialects[random_below(&r, (uint32_t)dialects_n)];
		struct decode_error error = { .text = "" };
		struct group_spec spec;
		size_t bytes;
		char *json;
		int rc;

		if (!d->group_read)
			continue;
		json = broken(&r, group_samples[random_below(&r, 4)], &bytes);
		arena_reset(&arena);
		rc = d->group_read(json, bytes, &arena, &spec, &error);
		cr_assert(rc == 0 || (rc == -EINVAL && error.text[0]), "%.*s", (int)bytes, json);
		if (rc == 0) {
			good++;
			cr_assert(spec.levels_n <= GANG_LEVELS_MAX && spec.roles_n <= GANG_ROLES_MAX);
		}
		free(json);
	}
	cr_assert_gt(good, 1000);
	arena_free(&arena);
}

static const char *const pod_samples[] = {
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{\"gang.scheduling.koordinator.sh/name\":\"g\","
	"\"gang.scheduling.koordinator.sh/min-available\":\"2\",\"gang.scheduling.koordinator.sh/waiting-time\":\"1h30m\","
	"\"gang.scheduling.koordinator.sh/groups\":\"[\\\"ns/g\\\"]\"}}}",
	"{\"metadata\":{\"name\":\"p\",\"annotations\":{\"yunikorn.apache.org/task-group-name\":\"t\",\"yunikorn.apache.org/app-id\":\"a\","
	"\"yunikorn.apache.org/task-groups\":\"[{\\\"name\\\":\\\"t\\\",\\\"minMember\\\":2,\\\"minResource\\\":{}}]\"}}}",
	"{\"metadata\":{\"name\":\"p\",\"labels\":{\"kueue.x-k8s.io/pod-group-name\":\"g\"},\"annotations\":{"
	"\"kueue.x-k8s.io/pod-group-total-count\":\"2\",\"kueue.x-k8s.io/podset-required-topology\":\"zone,rack\"}}}",
	"{\"metadata\":{\"name\":\"p\",\"annotations\":{\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"2\"}},"
	"\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"g\"}}}",
};

Test(dialect, broken_marks_are_read_without_harm)
{
	struct random r = random_start("broken marks");
	struct arena arena = { 0 };
	unsigned members = 0;

	for (int i = 0; i < 40000; i++) {
		size_t bytes;
		char *json = broken(&r, pod_samples[random_below(&r, 4)], &bytes);
		struct decode_error error;
		struct pod_object pod;
		struct group_mark mark;
		struct group_spec spec;

		arena_reset(&arena);
		if (extract_pod(json, bytes, &arena, &pod, &error) == 0) {
			cr_assert_eq(dialect_mark(&pod, 0, UINT64_MAX, &arena, &mark), 0);
			cr_assert(mark.mark == MARK_NONE || mark.name[0]);
			members += mark.mark == MARK_MEMBER;
			if (mark.mark == MARK_MEMBER)
				dialect_pod_spec(&pod, mark.dialect, &arena, &spec);
			cr_assert(!arena.failed);
		}
		free(json);
	}
	cr_assert_gt(members, 1000);
	arena_free(&arena);
}

/* The group of a pod that is refused for its marks: whose object shows it. */
Test(dialect, a_refused_mark_names_the_first_group)
{
	static struct marked m;

	mark_of(&m, "\"scheduling.x-k8s.io/pod-group\":\"g\"", "\"scheduling.k8s.io/group-name\":\"h\"",
	        "");
	cr_assert_eq(m.mark.mark, MARK_REFUSED);
	cr_assert_str_eq(m.mark.group, "g");
	cr_assert_str_eq(dialects[m.mark.dialect]->name, "scheduler-plugins");
	arena_free(&m.arena);
	mark_of(&m, "\"godel.bytedance.com/pod-group-name\":\"g\"", "", "");
	cr_assert_eq(m.mark.mark, MARK_REFUSED);
	cr_assert_null(m.mark.group);
	arena_free(&m.arena);
}
