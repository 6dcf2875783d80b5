/* SPDX-License-Identifier: Apache-2.0 */
/* Volcano's PodGroup, of its own jobs and of Kubeflow, MPI and LeaderWorkerSet where they are
 * configured for Volcano.  Its queues are quotas, which muster does not have: they are ignored.
 *
 * In a cluster without such PodGroups a pod with OLD_NAME alone is an ordinary one: the batch fork
 * of kube-scheduler uses the same key. */
#include "frontend/dialect/dialect_read.h"
#include "frontend/dialect/reason.h"

#define NAME "scheduling.volcano.sh/group-name"
#define OLD_NAME "scheduling.k8s.io/group-name"
#define NUMBER "scheduling.k8s.io/group-pod-num"
#define ROLE "volcano.sh/task-spec"

static enum mark volcano_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	const char *value = read_annotation(&pod->meta.annotations, NAME, arena);

	if (!value && !pairs_find(&pod->meta.annotations, NUMBER))
		value = read_annotation(&pod->meta.annotations, OLD_NAME, arena);
	return read_mark(value, name);
}

static const char *volcano_role(const struct pod_object *pod, struct arena *arena)
{
	const char *role = read_annotation(&pod->meta.annotations, ROLE, arena);

	return role ? role : read_label(pod, ROLE, arena);
}

static const struct json_field topology_fields[] = { JSON_WHOLE("mode", json_field_text) };

/* Volcano's modes: hard is a requirement, soft a preference. */
static void read_topology(struct json *j, void *spec)
{
	struct group_spec *out = spec;
	struct text mode = text_of("hard");

	if (!json_fields(j, topology_fields, &mode))
		return;
	if (text_is(mode, "soft"))
		out->remark = "spec.networkTopology: soft: passed over, muster does not know HyperNodes";
	else
		read_refuse(out, j->arena,
		            "spec.networkTopology: %.*s: muster does not know HyperNodes; "
		            "muster.dev/required-topology names labels of nodes",
		            TEXT_SHOWN(mode));
}

static void refuse_sub_groups(struct json *j, void *spec)
{
	if (extract_any(j))
		read_refuse(spec, j->arena,
		            "spec.subGroupPolicy: muster does not support groups within a group");
}

static const struct json_field spec_fields[] = {
	READ_MIN_MEMBER,
	JSON_WHOLE("minTaskMember", read_roles),
	JSON_WHOLE("minResources", read_min_resources),
	JSON_WHOLE("networkTopology", read_topology),
	JSON_WHOLE("subGroupPolicy", refuse_sub_groups),
};

static void read_spec(struct json *j, void *spec)
{
	read_pod_group_spec(j, spec_fields, spec);
}

/* As in Volcano (JobInfo.CheckTaskValid): a job whose minMember is below the sum of its roles is
 * elastic, and its roles are ignored. */
static void roles_if_they_fit(struct group_spec *out)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < out->roles_n; i++)
		sum += out->roles[i].quorum;
	if (sum > out->quorum)
		out->roles_n = 0;
}

static int volcano_read(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
                        struct decode_error *error)
{
	int rc;

	*out = (struct group_spec){ 0 };
	rc = read_group(json, bytes, arena, "PodGroup", "spec", read_spec, out, error);
	roles_if_they_fit(out);
	return rc;
}

static const struct resource volcano_resource = {
	.group = "scheduling.volcano.sh",
	.version = "v1beta1",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

extern const struct dialect dialect_volcano;
const struct dialect dialect_volcano = {
	.name = "volcano",
	.status = &status_volcano,
	.texts = &texts_plain,
	.mark = "annotation scheduling.k8s.io/group-name",
	.if_served = true,
	.ended_count = true, /* pkg/scheduler/api: JobInfo.ReadyTaskNum */
	.resource = &volcano_resource,
	.pod_mark = volcano_mark,
	.group_read = volcano_read,
	.pod_role = volcano_role,
};
