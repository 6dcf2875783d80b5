/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"

struct condition {
	struct text type, status, reason, message;
};

static void extract_condition(struct json *j, struct pod_object *out)
{
	struct condition c = { { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 } };
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "type"))
			json_string(j, &c.type);
		else if (text_is(name, "status"))
			json_string(j, &c.status);
		else if (text_is(name, "reason"))
			json_string(j, &c.reason);
		else if (text_is(name, "message"))
			json_string(j, &c.message);
		else
			json_skip(j);
	}
	if (text_is(c.type, "PodScheduled")) {
		out->condition_status = c.status;
		out->condition_reason = c.reason;
		out->condition_message = c.message;
	} else if (text_is(c.type, "PodResizePending")) {
		out->resize_infeasible = text_is(c.reason, "Infeasible");
	}
}

static void extract_status_resources(struct json *j, struct pod_object *out,
                                     struct container_status *s)
{
	struct text name;

	if (!json_object(j))
		return;
	s->has_resources = true;
	while (json_member(j, &name)) {
		if (text_is(name, "requests"))
			extract_quantities(j, &out->resources, &s->requests);
		else
			json_skip(j);
	}
}

static void extract_container_status(struct json *j, struct pod_object *out)
{
	struct container_status *s =
		extract_more(j, out->statuses, out->statuses_n, &out->statuses_room, sizeof(*s));
	struct text name;

	if (!s)
		return;
	out->statuses = s;
	s += out->statuses_n++;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "name"))
			json_string(j, &s->name);
		else if (text_is(name, "resources"))
			extract_status_resources(j, out, s);
		else if (text_is(name, "allocatedResources"))
			extract_quantities(j, &out->resources, &s->allocated);
		else
			json_skip(j);
	}
}

static void extract_phase(struct text phase, struct pod_object *out)
{
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

void extract_pod_status(struct json *j, struct pod_object *out)
{
	struct text name, phase;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "phase")) {
			if (json_string(j, &phase))
				extract_phase(phase, out);
		} else if (text_is(name, "conditions")) {
			if (json_array(j))
				while (json_item(j))
					extract_condition(j, out);
		} else if (text_is(name, "containerStatuses") || text_is(name, "initContainerStatuses")) {
			if (json_array(j))
				while (json_item(j))
					extract_container_status(j, out);
		} else {
			json_skip(j);
		}
	}
}
