/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' own PodGroup, of scheduling.k8s.io: v1alpha2 in 1.36, v1alpha3 and v1beta1 in
 * 1.37, then v1.  What muster looks at is written alike in all of them. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/decode/extract.h"
#include "frontend/dialect/reason.h"

static enum mark native_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	if (pod->has_workload_ref) {
		*name =
			"muster does not support spec.workloadRef, which Kubernetes 1.35 alone has; spec.schedulingGroup "
			"takes its place";
		return MARK_REFUSED;
	}
	return read_mark(pod->native_group.bytes > 0 ? arena_copy(arena, pod->native_group) : NULL,
	                 name);
}

static void read_policy(struct json *j, struct group_spec *out)
{
	bool gang = false, basic = false;
	int32_t minimum = 0;
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "gang") && json_object(j)) {
			gang = true;
			while (json_member(j, &name)) {
				if (text_is(name, "minCount"))
					extract_int32(j, &minimum);
				else
					json_skip(j);
			}
		} else if (text_is(name, "basic") && json_object(j)) {
			basic = true;
			while (json_member(j, &name))
				json_skip(j);
		} else if (!text_is(name, "gang") && !text_is(name, "basic")) {
			json_skip(j);
		}
	}
	if (gang)
		read_quorum(out, j->arena, "spec.schedulingPolicy.gang.minCount", minimum);
	else if (!basic)
		read_refuse(out, j->arena,
		            "spec.schedulingPolicy: muster knows gang and basic, it has neither");
}

static void read_topology(struct json *j, struct group_spec *out)
{
	struct text name, key;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "key") && json_string(j, &key))
			read_level(out, j->arena, key, true);
		else if (!text_is(name, "key"))
			json_skip(j);
	}
}

static void read_constraints(struct json *j, struct group_spec *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "topology") && json_array(j)) {
			while (json_item(j))
				read_topology(j, out);
		} else if (!text_is(name, "topology") && !json_null(j)) {
			json_skip(j);
			read_refuse(out, j->arena,
			            "spec.schedulingConstraints.%.*s: muster knows topology alone",
			            TEXT_SHOWN(name));
		}
	}
}

/* disruptionMode and preemptionPolicy say who may be evicted for others: muster evicts nobody. */
static void read_spec(struct json *j, struct group_spec *out)
{
	struct text name, parent;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "schedulingPolicy"))
			read_policy(j, out);
		else if (text_is(name, "schedulingConstraints"))
			read_constraints(j, out);
		else if (text_is(name, "priority")) {
			out->has_priority = !json_null(j);
			if (out->has_priority)
				extract_int32(j, &out->priority);
		} else if (text_is(name, "resourceClaims")) {
			if (extract_any(j))
				read_refuse(out, j->arena,
				            "spec.resourceClaims: muster does not support claims of a group yet");
		} else if (text_is(name, "parentCompositePodGroupName")) {
			if (json_string(j, &parent) && parent.bytes > 0)
				read_refuse(out, j->arena,
				            "spec.parentCompositePodGroupName: %.*s: muster does not support "
				            "groups of groups yet",
				            TEXT_SHOWN(parent));
		} else
			json_skip(j);
	}
}

static int native_read(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
                       struct decode_error *error)
{
	*out = (struct group_spec){ 0 };
	return read_group(json, bytes, arena, "PodGroup", "spec", read_spec, out, error);
}

/* One scheduler for all members, as the API asks. */
static bool native_group(const struct pod_object *pod, struct arena *arena, struct group_spec *out)
{
	out->agree = arena_copy(arena, pod->scheduler_name);
	return true;
}

static const struct resource native_resource = {
	.group = "scheduling.k8s.io",
	.version = "v1",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

static const char *const native_versions[] = { "v1", "v1beta1", "v1alpha3", "v1alpha2", NULL };

extern const struct dialect dialect_native;
const struct dialect dialect_native = {
	.name = "native",
	.status = &status_native,
	.texts = &texts_plain,
	.mark = "spec.schedulingGroup",
	.one_scheduler = true,
	.resource = &native_resource,
	.versions = native_versions,
	.pod_mark = native_mark,
	.group_read = native_read,
	.pod_group = native_group,
	.agree_mark = "spec.schedulerName",
};
