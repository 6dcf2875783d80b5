/* SPDX-License-Identifier: Apache-2.0 */
/* PodGroup of scheduler-plugins: of scheduling.x-k8s.io, and of scheduling.sigs.k8s.io up to v0.24,
 * which has another label.  Both share one set of group names: either label refers to an object of
 * either API group. */
#include "frontend/dialect/dialect_read.h"

#define LABEL "scheduling.x-k8s.io/pod-group"
#define OLD_LABEL "pod-group.scheduling.sigs.k8s.io"

static enum mark podgroup_mark(const struct pod_object *pod, struct arena *arena, const char **name)
{
	return read_mark(read_label(pod, LABEL, arena), name);
}

static enum mark podgroup_old_mark(const struct pod_object *pod, struct arena *arena,
                                   const char **name)
{
	return read_mark(read_label(pod, OLD_LABEL, arena), name);
}

static void read_schedule_timeout(struct json *j, void *timeout_ns)
{
	int32_t seconds = 0;

	extract_int32(j, &seconds);
	if (seconds != 0)
		*(uint64_t *)timeout_ns = read_timeout(seconds);
}

static const struct json_field spec_fields[] = {
	READ_MIN_MEMBER,
	JSON_WHOLE("minResources", read_min_resources),
	JSON_FIELD("scheduleTimeoutSeconds", read_schedule_timeout, struct group_spec, timeout_ns),
};

static void read_spec(struct json *j, void *spec)
{
	read_pod_group_spec(j, spec_fields, spec);
}

static int podgroup_read(const char *json, size_t bytes, struct arena *arena,
                         struct group_spec *out, struct decode_error *error)
{
	*out = (struct group_spec){ 0 };
	return read_group(json, bytes, arena, "PodGroup", "spec", read_spec, out, error);
}

static const struct resource podgroup_resource = {
	.group = "scheduling.x-k8s.io",
	.version = "v1alpha1",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

static const struct resource podgroup_old_resource = {
	.group = "scheduling.sigs.k8s.io",
	.version = "v1alpha1",
	.plural = "podgroups",
	.kind = "PodGroup",
	.optional = true,
};

extern const struct dialect dialect_podgroup, dialect_podgroup_old;
const struct dialect dialect_podgroup = {
	.name = "scheduler-plugins",
	.status = &status_podgroup,
	.mark = "label " LABEL,
	.timeout = GROUP_TIMEOUT_COSCHEDULING,
	.resource = &podgroup_resource,
	.pod_mark = podgroup_mark,
	.group_read = podgroup_read,
};

const struct dialect dialect_podgroup_old = {
	.name = "scheduler-plugins-old",
	.status = &status_podgroup_older,
	.mark = "label " OLD_LABEL,
	.timeout = GROUP_TIMEOUT_COSCHEDULING,
	.shares = &dialect_podgroup,
	.resource = &podgroup_old_resource,
	.pod_mark = podgroup_old_mark,
	.group_read = podgroup_read,
};
