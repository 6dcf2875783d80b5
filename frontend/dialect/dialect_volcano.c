/* SPDX-License-Identifier: Apache-2.0 */
/* Volcano's PodGroup, as its own jobs have it, and those of Kubeflow, MPI and LeaderWorkerSet
 * that are told to.  Queues say who may use how much: muster has no quotas.
 *
 * A pod with the first annotation alone is an ordinary one where the cluster has no such
 * PodGroups at all: the batch fork of kube-scheduler has used the same key. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"
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

/* Volcano's own modes: hard is a condition, soft a wish. */
static void read_topology(struct json *j, struct group_spec *out)
{
	struct text name, mode = text_of("hard");

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "mode"))
			json_string(j, &mode);
		else
			json_skip(j);
	}
	if (text_is(mode, "soft"))
		out->remark = "spec.networkTopology: soft: passed over, muster does not know HyperNodes";
	else
		read_refuse(out, j->arena,
		            "spec.networkTopology: %.*s: muster does not know HyperNodes; "
		            "muster.dev/required-topology names labels of nodes",
		            TEXT_SHOWN(mode));
}

static void refuse_sub_groups(struct json *j, struct group_spec *out)
{
	if (extract_any(j))
		read_refuse(out, j->arena,
		            "spec.subGroupPolicy: muster does not support groups within a group");
}

static void read_spec(struct json *j, struct group_spec *out)
{
	static const struct spec_member members[] = {
		{ "minTaskMember", read_roles },
		{ "minResources", read_min_resources },
		{ "networkTopology", read_topology },
		{ "subGroupPolicy", refuse_sub_groups },
	};

	read_pod_group_spec(j, members, sizeof(members) / sizeof(members[0]), out);
}

/* As in Volcano: a job that starts with fewer members than its roles ask for in all is an
 * elastic one, and its roles are not looked at. */
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
	.resource = &volcano_resource,
	.pod_mark = volcano_mark,
	.group_read = volcano_read,
	.pod_role = volcano_role,
};
