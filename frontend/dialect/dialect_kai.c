/* SPDX-License-Identifier: Apache-2.0 */
/* KAI's PodGroup, which its podgrouper makes for owners of many kinds.  The annotation's key is
 * anyone's: it counts only where the cluster has such PodGroups. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"
#include "frontend/dialect/reason.h"

#define NAME "pod-group-name"

static enum mark kai_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	return read_mark(read_annotation(&pod->meta.annotations, NAME, arena), name);
}

/* The names of KAI's levels are labels of nodes. */
static void read_topology(struct json *j, struct group_spec *out)
{
	struct text name, required = TEXT_NONE, preferred = TEXT_NONE;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requiredTopologyLevel"))
			json_string(j, &required);
		else if (text_is(name, "preferredTopologyLevel"))
			json_string(j, &preferred);
		else
			json_skip(j);
	}
	read_level(out, j->arena, required, true);
	read_level(out, j->arena, preferred, false);
}

static void refuse_sub_groups(struct json *j, struct group_spec *out)
{
	if (extract_any(j))
		read_refuse(out, j->arena, "spec.subGroups: muster does not support groups within a group");
}

static void read_spec(struct json *j, struct group_spec *out)
{
	static const struct spec_member members[] = { { "topologyConstraint", read_topology },
		                                          { "subGroups", refuse_sub_groups } };

	read_pod_group_spec(j, members, sizeof(members) / sizeof(members[0]), out);
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
