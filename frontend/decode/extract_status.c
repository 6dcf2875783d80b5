/* SPDX-License-Identifier: Apache-2.0 */
/* status of a pod. */
#include "frontend/decode/fields.h"

struct condition {
	struct text type, status, reason, message, turned;
};

static const struct json_field condition_fields[] = {
	JSON_FIELD("type", json_field_text, struct condition, type),
	JSON_FIELD("status", json_field_text, struct condition, status),
	JSON_FIELD("reason", json_field_text, struct condition, reason),
	JSON_FIELD("message", json_field_text, struct condition, message),
	JSON_FIELD("lastTransitionTime", json_field_text, struct condition, turned),
};

static void extract_condition(struct json *j, void *pod)
{
	struct pod_object *out = pod;
	struct condition c = { TEXT_NONE, TEXT_NONE, TEXT_NONE, TEXT_NONE, TEXT_NONE };
	uint64_t turned_ns = 0;

	json_fields(j, condition_fields, &c);
	if (text_is(c.type, "PodScheduled")) {
		out->condition_status = c.status;
		out->condition_reason = c.reason;
		out->condition_message = c.message;
		out->scheduled_s = text_is(c.status, "True") && extract_time_text(c.turned, &turned_ns)
		                       ? (uint32_t)(turned_ns / 1000000000)
		                       : 0;
	} else if (text_is(c.type, "PodResizePending")) {
		out->resize_infeasible = text_is(c.reason, "Infeasible");
	}
}

static void extract_conditions(struct json *j, void *pod)
{
	json_items(j, extract_condition, pod);
}

static const struct json_field actual_fields[] = {
	JSON_FIELD("requests", extract_quantities, struct container_status, requests),
};

static void extract_actual(struct json *j, void *status)
{
	if (json_fields(j, actual_fields, status))
		((struct container_status *)status)->has_resources = true;
}

static const struct json_field container_status_fields[] = {
	JSON_FIELD("name", json_field_text, struct container_status, name),
	JSON_WHOLE("resources", extract_actual),
	JSON_FIELD("allocatedResources", extract_quantities, struct container_status, allocated),
};

static void extract_container_status(struct json *j, void *pod)
{
	struct pod_object *out = pod;

	json_fields(j, container_status_fields,
	            EXTRACT_ADD(j->arena, out->statuses, out->statuses_n, out->statuses_cap));
}

static void extract_pod_actual(struct json *j, void *pod)
{
	extract_actual(j, &((struct pod_object *)pod)->actual);
}

static void extract_container_statuses(struct json *j, void *pod)
{
	json_items(j, extract_container_status, pod);
}

static void extract_phase(struct json *j, void *pod)
{
	struct pod_object *out = pod;
	struct text phase;

	if (!json_string(j, &phase))
		return;
	if (text_is(phase, "Running"))
		out->phase = POD_PHASE_RUNNING;
	else if (text_is(phase, "Succeeded"))
		out->phase = POD_PHASE_SUCCEEDED;
	else if (text_is(phase, "Failed"))
		out->phase = POD_PHASE_FAILED;
	else if (text_is(phase, "Unknown"))
		out->phase = POD_PHASE_UNKNOWN;
	else
		out->phase = POD_PHASE_PENDING;
	out->ended = out->phase == POD_PHASE_SUCCEEDED || out->phase == POD_PHASE_FAILED;
}

static const struct json_field status_fields[] = {
	JSON_WHOLE("phase", extract_phase),
	JSON_WHOLE("conditions", extract_conditions),
	JSON_FIELD("startTime", extract_time, struct pod_object, start_ns),
	JSON_FIELD("nominatedNodeName", json_field_text, struct pod_object, nominated),
	JSON_WHOLE("containerStatuses", extract_container_statuses),
	JSON_WHOLE("initContainerStatuses", extract_container_statuses),
	JSON_WHOLE("resources", extract_pod_actual),
	JSON_FIELD("allocatedResources", extract_quantities, struct pod_object, actual.allocated),
};

void extract_pod_status(struct json *j, void *out)
{
	json_fields(j, status_fields, out);
}
