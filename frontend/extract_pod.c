#include "frontend/extract.h"

#include "frontend/json.h"

/* ---- containers ----------------------------------------------------------- */

/* resources of a container or of the pod. */
static void extract_resources(struct json *j, struct resource_names *names, struct quantities *requests,
			      struct quantities *limits)
{
	struct text name;

	requests->n = 0;
	limits->n = 0;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requests"))
			extract_quantities(j, names, requests);
		else if (text_is(name, "limits"))
			extract_quantities(j, names, limits);
		else
			json_skip(j);
	}
}

/* A limit without a request is the request too: the API server's default. */
static void fill_from_limits(struct json *j, struct quantities *requests, const struct quantities *limits)
{
	for (size_t i = 0; i < limits->n; i++) {
		struct quantity_of *q;

		if (quantities_find(requests, limits->at[i].resource))
			continue;
		q = extract_more(j, requests->at, requests->n, &requests->room, sizeof(*q));
		if (!q)
			return;
		requests->at = q;
		q[requests->n++] = limits->at[i];
	}
}

struct ports {
	bool any;
	bool any_on_host;
};

static void extract_ports(struct json *j, struct ports *out)
{
	struct text name;
	int64_t port;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		out->any = true;
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			if (text_is(name, "hostPort")) {
				if (json_int64(j, &port) && port != 0)
					out->any_on_host = true;
			} else {
				json_skip(j);
			}
		}
	}
}

/* Rules that restart all containers need a node that declares the feature. */
static bool extract_restart_rules(struct json *j)
{
	struct text name, action;
	bool found = false;

	if (!json_array(j))
		return false;
	while (json_item(j)) {
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			if (text_is(name, "action")) {
				if (json_string(j, &action) && text_is(action, "RestartAllContainers"))
					found = true;
			} else {
				json_skip(j);
			}
		}
	}
	return found;
}

/* Returns whether it has ports in a network that may be the node's. */
static bool extract_container(struct json *j, struct pod_object *out, bool is_init)
{
	struct container *c = extract_more(j, out->containers, out->containers_n, &out->containers_room,
					   sizeof(*c));
	struct quantities limits = { 0 };
	struct ports ports = { 0 };
	struct text name, restart;

	if (!c)
		return false;
	out->containers = c;
	c += out->containers_n++;
	c->is_init = is_init;
	if (!json_object(j))
		return false;
	while (json_member(j, &name)) {
		if (text_is(name, "name"))
			json_string(j, &c->name);
		else if (text_is(name, "resources"))
			extract_resources(j, &out->resources, &c->requests, &limits);
		else if (text_is(name, "ports"))
			extract_ports(j, &ports);
		else if (text_is(name, "restartPolicy"))
			c->is_sidecar = json_string(j, &restart) && is_init && text_is(restart, "Always");
		else if (text_is(name, "restartPolicyRules")) {
			if (extract_restart_rules(j))
				out->asks |= ASKS_DECLARED_FEATURE;
		} else
			json_skip(j);
	}
	fill_from_limits(j, &c->requests, &limits);
	if (is_init && !c->is_sidecar)
		return false;
	if (ports.any_on_host)
		out->asks |= ASKS_HOST_PORT;
	return ports.any;
}

static bool extract_containers(struct json *j, struct pod_object *out, bool is_init)
{
	bool any_ports = false;
	size_t kept = 0;

	/* A later list of the same name replaces the former one. */
	for (size_t i = 0; i < out->containers_n; i++)
		if (out->containers[i].is_init != is_init)
			out->containers[kept++] = out->containers[i];
	out->containers_n = kept;
	if (!json_array(j))
		return false;
	while (json_item(j))
		any_ports |= extract_container(j, out, is_init);
	return any_ports;
}

/* ---- volumes, constraints, tolerations -------------------------------------- */

/* Volumes of these kinds may exclude each other, or count against a limit. */
static bool is_disk(struct text name)
{
	return text_is(name, "gcePersistentDisk") || text_is(name, "awsElasticBlockStore") ||
	       text_is(name, "azureDisk") || text_is(name, "cinder") || text_is(name, "rbd") ||
	       text_is(name, "iscsi");
}

static void extract_volumes(struct json *j, struct pod_object *out)
{
	struct text name;
	uint32_t asks;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			asks = text_is(name, "persistentVolumeClaim") ? ASKS_CLAIM
				: text_is(name, "ephemeral") ? ASKS_EPHEMERAL_VOLUME
				: is_disk(name) ? ASKS_DISK : 0;
			if (json_null(j))
				continue;
			json_skip(j);
			out->asks |= asks;
		}
	}
}

static void extract_spread(struct json *j, struct pod_object *out)
{
	struct text name, action;

	if (!json_array(j))
		return;
	while (json_item(j)) {
		action = (struct text){ "", 0 };
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			if (text_is(name, "whenUnsatisfiable"))
				json_string(j, &action);
			else
				json_skip(j);
		}
		if (text_is(action, "ScheduleAnyway"))
			out->has_soft_rules = true;
		else
			out->asks |= ASKS_SPREAD;
	}
}

static uint32_t effect_of(struct text effect, bool *known)
{
	*known = true;
	if (effect.bytes == 0)
		return EFFECT_ANY;
	if (text_is(effect, "NoSchedule"))
		return EFFECT_NO_SCHEDULE;
	if (text_is(effect, "PreferNoSchedule"))
		return EFFECT_PREFER_NO_SCHEDULE;
	if (text_is(effect, "NoExecute"))
		return EFFECT_NO_EXECUTE;
	*known = false;
	return EFFECT_ANY;
}

static void extract_toleration(struct json *j, struct pod_object *out)
{
	struct toleration_object t = { .key = { "", 0 }, .value = { "", 0 } }, *p;
	struct text name, effect = { "", 0 }, operator = { "", 0 };
	bool known;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "key"))
			json_string(j, &t.key);
		else if (text_is(name, "value"))
			json_string(j, &t.value);
		else if (text_is(name, "effect"))
			json_string(j, &effect);
		else if (text_is(name, "operator"))
			json_string(j, &operator);
		else
			json_skip(j);
	}
	t.effect = effect_of(effect, &known);
	t.exists = text_is(operator, "Exists");
	if (!t.exists && operator.bytes > 0 && !text_is(operator, "Equal"))
		out->asks |= ASKS_TOLERATION_OPERATOR;
	if (!known) /* fits no taint there is */
		return;
	p = extract_more(j, out->tolerations, out->tolerations_n, &out->tolerations_room, sizeof(*p));
	if (!p)
		return;
	out->tolerations = p;
	p[out->tolerations_n++] = t;
}

/* The group of the native API; "" when it names none. */
static void extract_native_group(struct json *j, struct pod_object *out)
{
	struct text name, group = { "", 0 };

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "podGroupName") || text_is(name, "name"))
			json_string(j, &group);
		else
			json_skip(j);
	}
	out->native_group = group;
}

/* ---- spec ------------------------------------------------------------------- */

struct spec_state {
	bool has_ports;
	bool has_host_network;
};

/* Containers and what they ask for; false when the member is none of that. */
static bool extract_spec_room(struct json *j, struct text name, struct pod_object *out, struct spec_state *s)
{
	if (text_is(name, "containers"))
		s->has_ports |= extract_containers(j, out, false);
	else if (text_is(name, "initContainers"))
		s->has_ports |= extract_containers(j, out, true);
	else if (text_is(name, "overhead"))
		extract_quantities(j, &out->resources, &out->overhead);
	else if (text_is(name, "resources")) {
		extract_resources(j, &out->resources, &out->pod_requests, &out->pod_limits);
		out->has_pod_resources = out->pod_requests.n + out->pod_limits.n > 0;
	} else if (text_is(name, "hostNetwork"))
		json_bool(j, &s->has_host_network);
	else if (text_is(name, "volumes"))
		extract_volumes(j, out);
	else if (text_is(name, "resourceClaims")) {
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
		extract_pod_rules(j, out);
	else if (text_is(name, "topologySpreadConstraints"))
		extract_spread(j, out);
	else if (text_is(name, "tolerations")) {
		out->tolerations_n = 0;
		if (json_array(j))
			while (json_item(j))
				extract_toleration(j, out);
	} else
		return false;
	return true;
}

void extract_pod_spec(struct json *j, struct pod_object *out)
{
	struct spec_state s = { 0 };
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (extract_spec_room(j, name, out, &s) || extract_spec_rules(j, name, out))
			continue;
		if (text_is(name, "schedulerName"))
			json_string(j, &out->scheduler_name);
		else if (text_is(name, "nodeName"))
			json_string(j, &out->node_name);
		else if (text_is(name, "priority"))
			extract_int32(j, &out->priority);
		else if (text_is(name, "schedulingGates"))
			out->gated = extract_any(j);
		else if (text_is(name, "schedulingGroup") || text_is(name, "workloadRef"))
			extract_native_group(j, out);
		else
			json_skip(j);
	}
	if (out->scheduler_name.bytes == 0)
		out->scheduler_name = text_of("default-scheduler");
	/* In the node's network each port of a container is one of the node's. */
	if (s.has_host_network && s.has_ports)
		out->asks |= ASKS_HOST_PORT;
}
