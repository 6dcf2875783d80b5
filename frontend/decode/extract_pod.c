/* SPDX-License-Identifier: Apache-2.0 */
/* spec of a pod. */
#include "frontend/decode/fields.h"

static void extract_effect(struct json *j, void *object)
{
	uint32_t *out = object;
	struct text t;

	if (!json_string(j, &t))
		return;
	if (t.bytes == 0)
		*out = EFFECT_ANY;
	else if (text_is(t, "NoSchedule"))
		*out = EFFECT_NO_SCHEDULE;
	else if (text_is(t, "PreferNoSchedule"))
		*out = EFFECT_PREFER_NO_SCHEDULE;
	else if (text_is(t, "NoExecute"))
		*out = EFFECT_NO_EXECUTE;
	else
		json_fail(j, "\"%.*s\" is not an effect of a taint", TEXT_SHOWN(t));
}

struct toleration_read {
	struct toleration_object t;
	struct text operator;
};

static const struct json_field toleration_fields[] = {
	JSON_FIELD("key", json_field_text, struct toleration_read, t.key),
	JSON_FIELD("operator", json_field_text, struct toleration_read, operator),
	JSON_FIELD("value", json_field_text, struct toleration_read, t.value),
	JSON_FIELD("effect", extract_effect, struct toleration_read, t.effect),
};

static void extract_toleration(struct json *j, void *pod)
{
	struct pod_object *out = pod;
	struct toleration_read r = { .t = { .key = TEXT_NONE, .value = TEXT_NONE },
		                         .operator= TEXT_NONE };

	json_fields(j, toleration_fields, &r);
	r.t.exists = text_is(r.operator, "Exists");
	*EXTRACT_ADD(j->arena, out->tolerations, out->tolerations_n, out->tolerations_cap) = r.t;
	if (text_is(r.operator, "Gt") || text_is(r.operator, "Lt"))
		out->asks |= ASKS_TOLERATION_OPERATOR;
	else if (!r.t.exists && r.operator.bytes> 0 && !text_is(r.operator, "Equal"))
		json_fail(j, "\"%.*s\" is not an operator of a toleration", TEXT_SHOWN(r.operator));
	if (r.t.exists && r.t.value.bytes > 0)
		json_fail(j, "has the value \"%.*s\", which its operator takes none of",
		          TEXT_SHOWN(r.t.value));
	if (!r.t.exists && r.t.key.bytes == 0)
		json_fail(j, "has no key: its operator must be Exists");
}

static void extract_tolerations(struct json *j, void *pod)
{
	((struct pod_object *)pod)->tolerations_n = 0;
	json_items(j, extract_toleration, pod);
}

static const struct json_field native_group_fields[] = { JSON_WHOLE("podGroupName",
	                                                                json_field_text) };

static void extract_native_group(struct json *j, void *out)
{
	struct text group = TEXT_NONE;

	if (json_fields(j, native_group_fields, &group))
		*(struct text *)out = group;
}

/* Of Kubernetes 1.35: only its presence matters. */
static void extract_workload_ref(struct json *j, void *out)
{
	*(bool *)out = json_fields_n(j, NULL, 0, NULL);
}

static const struct json_field pod_resources_fields[] = {
	JSON_FIELD("requests", extract_quantities, struct pod_object, pod_requests),
	JSON_FIELD("limits", extract_quantities, struct pod_object, pod_limits),
};

static void extract_pod_resources(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	out->pod_requests.n = out->pod_limits.n = 0;
	json_fields(j, pod_resources_fields, out);
	out->has_pod_resources = out->pod_requests.n + out->pod_limits.n > 0;
}

static void extract_resource_claims(struct json *j, void *asks)
{
	if (extract_any(j))
		*(uint32_t *)asks |= ASKS_RESOURCE_CLAIM;
}

static void extract_deadline(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	out->has_deadline = !json_null(j);
	if (out->has_deadline)
		json_int64(j, &out->deadline_s);
}

static void extract_grace(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	out->has_grace = !json_null(j);
	if (out->has_grace)
		json_int64(j, &out->grace_s);
}

/* All but its rules: what counts on its node, and who it is. */
#define USAGE_FIELDS                                                                               \
	JSON_WHOLE("volumes", extract_pod_volumes),                                                    \
		JSON_WHOLE("initContainers", extract_init_containers),                                     \
		JSON_WHOLE("containers", extract_containers),                                              \
		JSON_FIELD("nodeName", json_field_text, struct pod_object, node_name),                     \
		JSON_FIELD("hostNetwork", json_field_bool, struct pod_object, has_host_network),           \
		JSON_FIELD("schedulerName", json_field_text, struct pod_object, scheduler_name),           \
		JSON_FIELD("priority", extract_optional_int32, struct pod_object, priority),               \
		JSON_FIELD("preemptionPolicy", json_field_text, struct pod_object, preemption_policy),     \
		JSON_FIELD("overhead", extract_quantities, struct pod_object, overhead),                   \
		JSON_FIELD("restartPolicy", json_field_text, struct pod_object, restart_policy),           \
		JSON_WHOLE("activeDeadlineSeconds", extract_deadline),                                     \
		JSON_WHOLE("terminationGracePeriodSeconds", extract_grace),                                \
		JSON_FIELD("schedulingGates", extract_not_empty, struct pod_object, gated),                \
		JSON_FIELD("resourceClaims", extract_resource_claims, struct pod_object, asks),            \
		JSON_WHOLE("resources", extract_pod_resources),                                            \
		JSON_FIELD("schedulingGroup", extract_native_group, struct pod_object, native_group),      \
		JSON_FIELD("workloadRef", extract_workload_ref, struct pod_object, has_workload_ref)

static const struct json_field usage_fields[] = { USAGE_FIELDS };

static const struct json_field spec_fields[] = {
	USAGE_FIELDS,
	JSON_FIELD("nodeSelector", extract_text_map, struct pod_object, node_selector),
	JSON_WHOLE("affinity", extract_affinity),
	JSON_WHOLE("tolerations", extract_tolerations),
	JSON_WHOLE("topologySpreadConstraints", extract_spreads),
};

static void spec_read(struct json *j, const struct json_field *fields, size_t n,
                      struct pod_object *out)
{
	if (json_fields_n(j, fields, n, out) && out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
}

void extract_pod_spec(struct json *j, void *pod)
{
	spec_read(j, spec_fields, JSON_COUNT(spec_fields), pod);
}

void extract_usage_spec(struct json *j, void *pod)
{
	spec_read(j, usage_fields, JSON_COUNT(usage_fields), pod);
}
