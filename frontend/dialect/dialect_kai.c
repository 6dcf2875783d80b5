/* SPDX-License-Identifier: Apache-2.0 */
/* KAI's PodGroup, which its podgrouper creates for owners of many kinds.  The key of the annotation
 * has no prefix of KAI, so it counts only in a cluster that has such PodGroups. */
#include "frontend/dialect/dialect_read.h"
#include "frontend/dialect/reason.h"

#define NAME "pod-group-name"

static enum mark kai_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	return read_mark(read_annotation(&pod->meta.annotations, NAME, arena), name);
}

struct topology {
	struct text required, preferred;
};

static const struct json_field topology_fields[] = {
	JSON_FIELD("requiredTopologyLevel", json_field_text, struct topology, required),
	JSON_FIELD("preferredTopologyLevel", json_field_text, struct topology, preferred),
};

/* The names of KAI's levels are labels of nodes. */
static void read_topology(struct json *j, void *spec)
{
	struct topology t = { TEXT_NONE, TEXT_NONE };

	if (!json_fields(j, topology_fields, &t))
		return;
	read_level(spec, j->arena, t.required, true);
	read_level(spec, j->arena, t.preferred, false);
}

static void refuse_sub_groups(struct json *j, void *spec)
{
	if (extract_any(j))
		read_refuse(spec, j->arena,
		            "spec.subGroups: muster does not support groups within a group");
}

static const struct json_field spec_fields[] = {
	READ_MIN_MEMBER,
	JSON_WHOLE("topologyConstraint", read_topology),
	JSON_WHOLE("subGroups", refuse_sub_groups),
};

static void read_spec(struct json *j, void *spec)
{
	read_pod_group_spec(j, spec_fields, spec);
}

static int kai_read(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
                    struct decode_error *error)
{
	*out = (struct group_spec){ 0 };
	return read_group(json, bytes, arena, "PodGroup", "spec", read_spec, out, error);
}

static const struct resource kai_resource = {
	.group = "scheduling.run.ai",
	.version = "v2alpha2",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

extern const struct dialect dialect_kai;
const struct dialect dialect_kai = {
	.name = "kai",
	.texts = &texts_plain,
	.mark = "annotation " NAME,
	.if_served = true,
	.resource = &kai_resource,
	.pod_mark = kai_mark,
	.group_read = kai_read,
};
