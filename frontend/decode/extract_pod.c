/* SPDX-License-Identifier: Apache-2.0 */
/* spec of a pod. */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"
#include "frontend/volume/volume.h"

/* ---- tolerations ------------------------------------------------------------ */

static void extract_effect(struct json *j, uint32_t *out)
{
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

static void extract_toleration(struct json *j, struct toleration_object *t, uint32_t *asks)
{
	struct text name, operator= TEXT_NONE;
	bool is_given = json_object(j);

	*t = (struct toleration_object){ .key = TEXT_NONE, .value = TEXT_NONE };
	while (is_given && json_member(j, &name)) {
		if (text_is(name, "key"))
			json_string(j, &t->key);
		else if (text_is(name, "value"))
			json_string(j, &t->value);
		else if (text_is(name, "effect"))
			extract_effect(j, &t->effect);
		else if (text_is(name, "operator"))
			json_string(j, &operator);
		else
			json_skip(j);
	}
	t->exists = text_is(operator, "Exists");
	if (text_is(operator, "Gt") || text_is(operator, "Lt"))
		*asks |= ASKS_TOLERATION_OPERATOR;
	else if (!t->exists && operator.bytes> 0 && !text_is(operator, "Equal"))
		json_fail(j, "\"%.*s\" is not an operator of a toleration", TEXT_SHOWN(operator));
	if (t->exists && t->value.bytes > 0)
		json_fail(j, "has the value \"%.*s\", which its operator takes none of",
		          TEXT_SHOWN(t->value));
	if (!t->exists && t->key.bytes == 0)
		json_fail(j, "has no key: its operator must be Exists");
}

void extract_tolerations(struct json *j, struct toleration_object **list, size_t *n, size_t *room,
                         uint32_t *asks)
{
	struct toleration_object *t;

	*n = 0;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		t = extract_more(j, *list, *n, room, sizeof(*t));
		if (!t)
			return;
		*list = t;
		extract_toleration(j, &t[(*n)++], asks);
	}
}

/* ---- spec ------------------------------------------------------------------- */

/* The group of the native API. */
static void extract_native_group(struct json *j, struct pod_object *out)
{
	struct text name, group = { "", 0 };

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "podGroupName"))
			json_string(j, &group);
		else
			json_skip(j);
	}
	out->native_group = group;
}

/* Containers and what they ask for; false when the member is none of that. */
static bool extract_spec_room(struct json *j, struct text name, struct pod_object *out)
{
	if (text_is(name, "containers"))
		extract_containers(j, out, false);
	else if (text_is(name, "initContainers"))
		extract_containers(j, out, true);
	else if (text_is(name, "overhead"))
		extract_quantities(j, &out->resources, &out->overhead);
	else if (text_is(name, "resources")) {
		extract_resources(j, &out->resources, &out->pod_requests, &out->pod_limits);
		out->has_pod_resources = out->pod_requests.n + out->pod_limits.n > 0;
	} else if (text_is(name, "hostNetwork"))
		json_bool(j, &out->has_host_network);
	else if (text_is(name, "volumes")) {
		out->images_n = 0; /* those of containers are not in it yet */
		extract_pod_volumes(j, out);
	} else if (text_is(name, "resourceClaims")) {
		if (extract_any(j))
			out->asks |= ASKS_RESOURCE_CLAIM;
	} else
		return false;
	return true;
}

static bool extract_spec_rules(struct json *j, struct text name, struct pod_object *out)
{
	if (text_is(name, "nodeSelector"))
		extract_pairs(j, &out->node_selector, false);
	else if (text_is(name, "affinity"))
		extract_affinity(j, out);
	else if (text_is(name, "topologySpreadConstraints"))
		extract_spreads(j, out);
	else if (text_is(name, "tolerations"))
		extract_tolerations(j, &out->tolerations, &out->tolerations_n, &out->tolerations_room,
		                    &out->asks);
	else
		return false;
	return true;
}

/* Of Kubernetes 1.35: that it is there is all that is asked. */
static void extract_workload_ref(struct json *j, struct pod_object *out)
{
	struct text name;

	out->has_workload_ref = json_object(j);
	while (out->has_workload_ref && json_member(j, &name))
		json_skip(j);
}

static bool extract_spec_names(struct json *j, struct text name, struct pod_object *out)
{
	if (text_is(name, "schedulerName"))
		json_string(j, &out->scheduler_name);
	else if (text_is(name, "nodeName"))
		json_string(j, &out->node_name);
	else if (text_is(name, "priority")) {
		out->priority = 0;
		if (!json_null(j))
			extract_int32(j, &out->priority);
	} else if (text_is(name, "schedulingGates"))
		out->gated = extract_any(j);
	else if (text_is(name, "schedulingGroup"))
		extract_native_group(j, out);
	else if (text_is(name, "workloadRef"))
		extract_workload_ref(j, out);
	else
		return false;
	return true;
}

void extract_pod_spec(struct json *j, struct pod_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name))
		if (!extract_spec_room(j, name, out) && !extract_spec_rules(j, name, out) &&
		    !extract_spec_names(j, name, out))
			json_skip(j);
	if (out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
}

void extract_pod_finish(struct json *j, struct pod_object *out)
{
	if (j->failed)
		return;
	extract_containers_finish(j, out);
	extract_match_keys(j, out);
}
