/* SPDX-License-Identifier: Apache-2.0 */
/* The native PodGroup, of scheduling.k8s.io: v1alpha2 in Kubernetes 1.36, v1alpha3 and v1beta1 in
 * 1.37, then v1.  The members that muster reads are the same in all of them. */
#include "frontend/dialect/dialect_read.h"
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

/* kube-controller-manager 1.36 with WorkloadWithJob makes a PodGroup for each Indexed Job, also for
 * those of a JobSet: it writes the group into the pods, and the PodGroup as one more owner.  A
 * group that the template names has no such owner. */
static bool native_yields(const struct pod_object *pod)
{
	if (pod->native_group.bytes == 0 || !text_is(pod->owner.kind, "Job") ||
	    text_equal(pod->native_group, pod->owner.name))
		return false;
	for (size_t i = 0; i < pod->owner.all.n; i++)
		if (text_equal(pod->owner.all.at[i], pod->native_group))
			return true;
	return false;
}

struct policy_read {
	bool gang, basic;
	int32_t minimum;
};

static const struct json_field gang_fields[] = {
	JSON_FIELD("minCount", extract_int32, struct policy_read, minimum),
};

static void read_gang(struct json *j, void *policy)
{
	((struct policy_read *)policy)->gang |= json_fields(j, gang_fields, policy);
}

static void read_basic(struct json *j, void *policy)
{
	((struct policy_read *)policy)->basic |= json_fields_n(j, NULL, 0, NULL);
}

static const struct json_field policy_fields[] = {
	JSON_WHOLE("basic", read_basic),
	JSON_WHOLE("gang", read_gang),
};

static void read_policy(struct json *j, void *spec)
{
	struct policy_read p = { .gang = false };

	if (!json_fields(j, policy_fields, &p))
		return;
	if (p.gang)
		read_quorum(spec, j->arena, "spec.schedulingPolicy.gang.minCount", p.minimum);
	else if (!p.basic)
		read_refuse(spec, j->arena,
		            "spec.schedulingPolicy: muster knows gang and basic, it has neither");
}

static void read_key(struct json *j, void *spec)
{
	struct text key;

	if (json_string(j, &key))
		read_level(spec, j->arena, key, true);
}

static const struct json_field topology_fields[] = { JSON_WHOLE("key", read_key) };

static void read_topology(struct json *j, void *spec)
{
	json_fields(j, topology_fields, spec);
}

/* Members other than topology refuse the group, so this is not a table. */
static void read_constraints(struct json *j, void *spec)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "topology")) {
			json_items(j, read_topology, spec);
		} else if (!json_null(j)) {
			json_skip(j);
			read_refuse(spec, j->arena,
			            "spec.schedulingConstraints.%.*s: muster knows topology alone",
			            TEXT_SHOWN(name));
		}
	}
}

static void read_priority(struct json *j, void *spec)
{
	struct group_spec *out = spec;

	out->has_priority = !json_null(j);
	if (out->has_priority)
		extract_int32(j, &out->priority);
}

static void refuse_claims(struct json *j, void *spec)
{
	if (extract_any(j))
		read_refuse(spec, j->arena,
		            "spec.resourceClaims: muster does not support claims of a group yet");
}

static void refuse_parent(struct json *j, void *spec)
{
	struct text parent;

	if (json_string(j, &parent) && parent.bytes > 0)
		read_refuse(spec, j->arena,
		            "spec.parentCompositePodGroupName: %.*s: muster does not support "
		            "groups of groups yet",
		            TEXT_SHOWN(parent));
}

/* disruptionMode and preemptionPolicy are about preemption, which muster does not do. */
static const struct json_field spec_fields[] = {
	JSON_WHOLE("schedulingPolicy", read_policy),
	JSON_WHOLE("schedulingConstraints", read_constraints),
	JSON_WHOLE("priority", read_priority),
	JSON_WHOLE("resourceClaims", refuse_claims),
	JSON_WHOLE("parentCompositePodGroupName", refuse_parent),
};

static void read_spec(struct json *j, void *spec)
{
	json_fields(j, spec_fields, spec);
}

static int native_read(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
                       struct decode_error *error)
{
	*out = (struct group_spec){ 0 };
	return read_group(json, bytes, arena, "PodGroup", "spec", read_spec, out, error);
}

/* The API requires one scheduler for all members. */
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
	.pod_yields = native_yields,
	.group_read = native_read,
	.pod_group = native_group,
	.agree_mark = "spec.schedulerName",
};
