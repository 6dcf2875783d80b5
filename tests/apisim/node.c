/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: canonical quantities, allocatable from capacity. */
#include "tests/apisim/kinds.h"
#include "tests/apisim/meta.h"
#include "tests/apisim/requests.h"

#include <string.h>

static int normalise(struct as_call *c, struct as_json *object)
{
	struct as_json *status = as_json_get(object, "status"), *capacity;

	if (as_check_status(c, object) < 0)
		return -1;
	if (status == NULL)
		return 0;
	capacity = as_json_get(status, "capacity");
	if (as_amounts_normalise(c, capacity) < 0)
		return -1;
	if (capacity != NULL && as_json_get(status, "allocatable") == NULL)
		as_json_set(c->arena, status, "allocatable", as_json_copy(c->arena, capacity));
	return as_amounts_normalise(c, as_json_get(status, "allocatable"));
}

/* What the Go types can't leave out. */
static void fill_status(struct as_arena *a, struct as_json *status)
{
	static const char *const info[] = { "machineID",       "systemUUID",
		                                "bootID",          "kernelVersion",
		                                "osImage",         "architecture",
		                                "operatingSystem", "containerRuntimeVersion",
		                                "kubeletVersion",  "kubeProxyVersion" };
	struct as_json *endpoints = as_json_member(a, status, "daemonEndpoints", AS_OBJECT);
	struct as_json *node_info = as_json_member(a, status, "nodeInfo", AS_OBJECT), *kubelet;

	kubelet = endpoints != NULL ? as_json_member(a, endpoints, "kubeletEndpoint", AS_OBJECT) : NULL;
	if (kubelet != NULL && as_json_get(kubelet, "Port") == NULL)
		as_json_set_integer(a, kubelet, "Port", 0);
	for (size_t i = 0; node_info != NULL && i < sizeof(info) / sizeof(info[0]); i++)
		if (as_json_get(node_info, info[i]) == NULL)
			as_json_set_string(a, node_info, info[i], "");
}

/* The real server calls the path of a taint so. */
static void validate(struct as_call *c, const struct as_json *object)
{
	static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute" };
	const struct as_json *taints = as_json_array(as_json_get(object, "spec"), "taints");
	size_t i = 0;

	for (const struct as_json *t = taints != NULL ? taints->first : NULL; t != NULL;
	     t = t->next, i++) {
		const char *key = as_json_string(t, "key"), *effect = as_json_string(t, "effect");
		bool known = false;

		for (size_t e = 0; effect != NULL && e < 3; e++)
			known = known || strcmp(effect, effects[e]) == 0;
		if (key == NULL || key[0] == '\0')
			as_invalid(c, "FieldValueInvalid",
			           as_arena_printf(c->arena, "metadata.taints[%zu].key", i),
			           "Invalid value: \"\": name part must be non-empty");
		if (!known)
			as_invalid(c, "FieldValueNotSupported",
			           as_arena_printf(c->arena, "metadata.taints[%zu].effect", i),
			           "Unsupported value: \"%s\"", effect != NULL ? effect : "");
	}
}

static int node_create(struct as_call *c, struct as_json *object)
{
	if (as_json_member(c->arena, object, "spec", AS_OBJECT) == NULL)
		return as_refuse_undecodable(c, "spec is not an object");
	if (normalise(c, object) < 0)
		return -1;
	fill_status(c->arena, as_json_member(c->arena, object, "status", AS_OBJECT));
	validate(c, object);
	return 0;
}

static int node_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                       bool status)
{
	if (normalise(c, object) < 0)
		return -1;
	validate(c, object);
	return 0;
}

const struct as_strategy as_node_strategy = { .create = node_create, .update = node_update };
