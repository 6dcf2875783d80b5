/* Which group a pod's marks name. */
#include "frontend/dialect.h"
#include "frontend/extract.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct marked {
	struct arena arena;
	struct pod_object pod;
	struct group_mark mark;
	char json[4096];
};

static void mark_of(struct marked *m, const char *labels, const char *annotations, const char *spec)
{
	struct decode_error error;
	int n = snprintf(m->json, sizeof(m->json),
			 "{\"metadata\":{\"name\":\"p\",\"labels\":{%s},\"annotations\":{%s}},\"spec\":{%s}}", labels, annotations, spec);

	memset(&m->arena, 0, sizeof(m->arena));
	cr_assert_eq(extract_pod(m->json, (size_t)n, &m->arena, &m->pod, &error), 0, "%s %s", error.field, error.text);
	cr_assert_eq(dialect_mark(&m->pod, 0, &m->arena, &m->mark), 0);
}

Test(dialect, marks)
{
	static const struct {
		const char *labels, *annotations, *spec;
		enum mark mark;
		const char *name; /* of the group, or the refusal */
	} rows[] = {
		{ "", "", "", MARK_NONE, NULL },
		{ "\"app\":\"x\"", "\"note\":\"y\"", "", MARK_NONE, NULL },
		{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "", "", MARK_MEMBER, "g" },
		{ "\"scheduling.x-k8s.io/pod-group\":\"\"", "", "", MARK_NONE, NULL },
		{ "\"scheduling.x-k8s.io/Pod-Group\":\"g\"", "", "", MARK_NONE, NULL },
		{ "\"pod-group.scheduling.sigs.k8s.io\":\"g\"", "", "", MARK_REFUSED,
		  "muster does not support older scheduler-plugins groups yet (label pod-group.scheduling.sigs.k8s.io)" },
		{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\"", "", "", MARK_NONE, NULL },
		{ "\"pod-group.scheduling.sigs.k8s.io/name\":\"g\",\"pod-group.scheduling.sigs.k8s.io/min-available\":\"3\"", "", "", MARK_REFUSED,
		  "muster does not support lightweight coscheduling groups yet (label pod-group.scheduling.sigs.k8s.io/name)" },
		{ "\"pod-group.scheduling.bdap.com/podgroup-configmap\":\"g\"", "", "", MARK_REFUSED,
		  "muster does not support ConfigMap groups yet (label pod-group.scheduling.bdap.com/podgroup-configmap)" },
		{ "", "\"scheduling.k8s.io/group-name\":\"g\"", "", MARK_REFUSED,
		  "muster does not support Volcano groups yet (annotation scheduling.k8s.io/group-name)" },
		{ "", "\"scheduling.k8s.io/group-name\":\"g\",\"scheduling.k8s.io/group-pod-num\":\"3\"", "", MARK_REFUSED,
		  "muster does not support annotated groups yet (annotation scheduling.k8s.io/group-name)" },
		{ "", "\"scheduling.volcano.sh/group-name\":\"\"", "", MARK_NONE, NULL },
		{ "", "\"gang.scheduling.koordinator.sh/name\":\"g\"", "", MARK_REFUSED,
		  "muster does not support Koordinator groups yet (annotation gang.scheduling.koordinator.sh/name)" },
		{ "", "\"yunikorn.apache.org/task-group-name\":\"g\"", "", MARK_REFUSED,
		  "muster does not support YuniKorn groups yet (annotation yunikorn.apache.org/task-group-name)" },
		{ "\"kueue.x-k8s.io/pod-group-name\":\"g\"", "", "", MARK_REFUSED,
		  "muster does not support Kueue groups yet (label kueue.x-k8s.io/pod-group-name)" },
		{ "", "\"pod-group-name\":\"g\"", "", MARK_REFUSED, "muster does not support KAI groups yet (annotation pod-group-name)" },
		{ "\"godel.bytedance.com/pod-group-name\":\"g\"", "", "", MARK_REFUSED,
		  "muster does not support Goedel groups yet (label godel.bytedance.com/pod-group-name)" },
		{ "", "", "\"schedulingGroup\":{\"podGroupName\":\"g\"}", MARK_REFUSED,
		  "muster does not support native groups yet (spec.schedulingGroup)" },
		/* Two marks of one group: the one that is known. */
		{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "\"scheduling.k8s.io/group-name\":\"g\"", "", MARK_MEMBER, "g" },
		{ "\"scheduling.x-k8s.io/pod-group\":\"g\",\"pod-group.scheduling.sigs.k8s.io\":\"\\u0067\"", "", "", MARK_MEMBER, "g" },
		/* Of two: neither. */
		{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "\"scheduling.k8s.io/group-name\":\"h\"", "", MARK_REFUSED,
		  "label scheduling.x-k8s.io/pod-group names group g, annotation scheduling.k8s.io/group-name names group h" },
		{ "\"scheduling.x-k8s.io/pod-group\":\"g\"", "", "\"schedulingGroup\":{\"podGroupName\":\"h\"}", MARK_REFUSED,
		  "label scheduling.x-k8s.io/pod-group names group g, spec.schedulingGroup names group h" },
		{ "", "\"pod-group-name\":\"g\",\"gang.scheduling.koordinator.sh/name\":\"h\"", "", MARK_REFUSED,
		  "annotation gang.scheduling.koordinator.sh/name names group h, annotation pod-group-name names group g" },
	};
	static struct marked m;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mark_of(&m, rows[i].labels, rows[i].annotations, rows[i].spec);
		cr_assert_eq(m.mark.mark, rows[i].mark, "row %zu", i);
		if (rows[i].name)
			cr_assert_str_eq(m.mark.name, rows[i].name);
		arena_free(&m.arena);
	}
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
	int n = snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"g\",\"namespace\":\"ns\"},\"spec\":{\"minResources\":{");

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
	static const char json[] = "{\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\"},\"spec\":{\"minMember\":3,\"other\":[{}],"
				   "\"minResources\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\",\"pods\":\"9\",\"cpu\":\"2500m\"},"
				   "\"scheduleTimeoutSeconds\":-5},\"status\":{\"phase\":\"Pending\"}}";
	struct arena arena = { 0 };
	struct group_spec spec;

	cr_assert_eq(dialects[0]->group_read(json, sizeof(json) - 1, &arena, &spec, NULL), 0);
	cr_assert_eq(spec.quorum, 3);
	cr_assert_eq(spec.timeout_ns, 0);
	cr_assert_null(spec.refusal);
	cr_assert_eq(spec.min_resources_n, 2);
	cr_assert_str_eq(spec.min_resources[0].resource, "cpu");
	cr_assert_eq(spec.min_resources[0].value, 2500, "the last of two wins");
	cr_assert_eq(spec.min_resources[1].value, INT64_C(1) << 30);
	arena_free(&arena);
}
