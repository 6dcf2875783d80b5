/* SPDX-License-Identifier: Apache-2.0 */
/* POST pods/NAME/binding: the write that places a pod.
 *
 * Checks and messages follow the real server's pkg/registry/core/pod/storage, which does not check
 * that the node exists or has free capacity. */
#include "tests/apisim/call.h"
#include "tests/apisim/meta.h"
#include "tests/apisim/pod.h"

struct binding {
	const struct as_json *metadata; /* name, uid, resourceVersion, annotations */
	const char *node;
	bool is_node; /* kind: Node */
};

static int conflict(struct as_call *c, const char *name, const char *why)
{
	c->api->stats.bind_conflicts++;
	return as_refuse_conflict(c, "pods/binding", name, "pod %s %s", name, why);
}

static int precondition(struct as_call *c, const char *name, const char *what, const char *asked,
                        const char *is)
{
	c->api->stats.bind_conflicts++;
	return as_refuse_conflict(
		c, "pods", name,
		"StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, ResourceVersion: 0, "
		"AdditionalErrorMsg: Precondition failed: %s in precondition: %s, %s in object meta: %s",
		c->namespace, name, what, asked, what, is);
}

static int check_preconditions(struct as_call *c, const struct as_json *metadata,
                               const struct as_object *pod)
{
	const char *uid = as_json_string(metadata, "uid"),
			   *version = as_json_string(metadata, "resourceVersion");
	uint64_t wanted = 0;

	if (uid != NULL && uid[0] != '\0' && strcmp(uid, pod->uid) != 0)
		return precondition(c, pod->name, "UID", uid, pod->uid);
	if (version != NULL && version[0] != '\0' &&
	    (!as_parse_version(version, &wanted) || wanted != pod->version)) {
		char is[24];

		snprintf(is, sizeof(is), "%llu", (unsigned long long)pod->version);
		return precondition(c, pod->name, "ResourceVersion", version, is);
	}
	return 0;
}

static int check_pod(struct as_call *c, const struct as_object *pod, const struct as_json *tree)
{
	const struct as_json *gates = as_json_array(as_json_get(tree, "spec"), "schedulingGates");
	const char *node = as_object_field(pod, "spec.nodeName");

	if (pod->deleting)
		return conflict(c, pod->name, "is being deleted, cannot be assigned to a host");
	if (node[0] != '\0') {
		c->api->stats.double_binds++;
		return conflict(c, pod->name,
		                as_arena_printf(c->arena, "is already assigned to node \"%s\"", node));
	}
	if (gates != NULL && gates->first != NULL)
		return conflict(c, pod->name, "has non-empty .spec.schedulingGates");
	return 0;
}

static void merge_texts(struct as_arena *a, struct as_json *pod, const struct as_json *binding,
                        const char *name)
{
	const struct as_json *from = as_json_get(binding, name);
	struct as_json *to;

	if (from == NULL || from->kind != AS_OBJECT || from->first == NULL)
		return;
	to = as_json_member(a, pod, name, AS_OBJECT);
	for (const struct as_json *m = from->first; to != NULL && m != NULL; m = m->next)
		as_json_set(a, to, m->name, as_json_copy(a, m));
}

/* As UpdatePodCondition(): in the old one's place, and its time stays when its
 * status does. */
static void set_scheduled(struct as_call *c, struct as_json *tree)
{
	struct as_arena *a = c->arena;
	struct as_json *status = as_json_member(a, tree, "status", AS_OBJECT);
	struct as_json *conditions = as_json_member(a, status, "conditions", AS_ARRAY), *e;
	const char *now = as_time(a, c->now_ns);

	as_json_remove(status, "nominatedNodeName");
	for (e = conditions->first; e != NULL; e = e->next) {
		const char *type = as_json_string(e, "type");

		if (type != NULL && strcmp(type, "PodScheduled") == 0)
			break;
	}
	if (e == NULL) {
		e = as_json_new(a, AS_OBJECT);
		as_json_append(conditions, e);
	} else {
		const char *old = as_json_string(e, "status"),
				   *since = as_json_string(e, "lastTransitionTime");

		if (old != NULL && strcmp(old, "True") == 0 && since != NULL)
			now = since;
		e->first = e->last = NULL;
	}
	as_json_set_string(a, e, "type", "PodScheduled");
	as_json_set_string(a, e, "status", "True");
	as_json_set(a, e, "lastProbeTime", as_json_new(a, AS_NULL));
	as_json_set_string(a, e, "lastTransitionTime", now);
}

/* All that etcd's compare-and-swap would do. */
static int assign(struct as_call *c, const struct binding *binding)
{
	const struct as_json *metadata = binding->metadata;
	struct as_object *pod =
		as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, c->name));
	struct as_json *tree;

	if (pod == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	if (check_preconditions(c, metadata, pod) < 0)
		return -1;
	tree = as_object_tree(c->arena, pod);
	if (check_pod(c, pod, tree) < 0)
		return -1;
	as_json_set_string(c->arena, as_json_member(c->arena, tree, "spec", AS_OBJECT), "nodeName",
	                   binding->node);
	merge_texts(c->arena, as_json_get(tree, "metadata"), metadata, "annotations");
	merge_texts(c->arena, as_json_get(tree, "metadata"), metadata, "labels");
	if (binding->is_node)
		as_copy_topology(c, as_json_get(tree, "metadata"), binding->node);
	set_scheduled(c, tree);
	if (!c->dry_run) {
		as_commit(c->api, c->resource, c->arena, tree, c->now_ns);
		c->api->stats.binds++;
	}
	return as_answer_success(c, 201, NULL);
}

static int read_binding(struct as_call *c, struct binding *out)
{
	struct as_json *binding = as_body(c), *target;
	const char *name, *namespace, *kind;

	if (binding == NULL)
		return -1;
	out->metadata = as_metadata(c, binding);
	if (out->metadata == NULL)
		return -1;
	kind = as_json_string(binding, "kind");
	if (kind != NULL && kind[0] != '\0' && strcmp(kind, "Binding") != 0)
		return as_refuse_bad(c, "%s in version \"v1\" cannot be handled as a Binding", kind);
	name = as_json_string(out->metadata, "name");
	namespace = as_json_string(out->metadata, "namespace");
	if (namespace != NULL && namespace[0] != '\0' && strcmp(namespace, c->namespace) != 0)
		return as_refuse_bad(
			c,
			"the namespace of the provided object does not match the namespace sent on the request");
	if (c->name == NULL)
		c->name = name != NULL ? name : "";
	if (name != NULL && name[0] != '\0' && strcmp(name, c->name) != 0)
		return as_refuse_bad(c, "name in URL does not match name in Binding object");
	target = as_json_get(binding, "target");
	kind = as_json_string(target, "kind");
	out->is_node = kind != NULL && strcmp(kind, "Node") == 0;
	out->node = as_json_string(target, "name");
	/* A plain error there: 500 without a reason. */
	if (kind != NULL && kind[0] != '\0' && strcmp(kind, "Node") != 0)
		return as_refuse(
			c, 500, "",
			"target.kind: Unsupported value: \"%s\": supported values: \"Node\", \"<empty>\"",
			kind);
	if (out->node == NULL || out->node[0] == '\0')
		return as_refuse(c, 500, "", "target.name: Required value");
	return 0;
}

static int refuse_fault(struct as_call *c, enum as_fault fault)
{
	switch (fault) {
	case AS_FAULT_BIND_500_BEFORE:
	case AS_FAULT_BIND_500_AFTER:
		return as_refuse(c, 500, "InternalError", "Internal error occurred: fault %s",
		                 as_fault_name(fault));
	case AS_FAULT_BIND_409_BEFORE:
	case AS_FAULT_BIND_409_AFTER:
		c->api->stats.bind_conflicts++;
		return as_refuse_conflict(c, "pods/binding", c->name, "etcdserver: request timed out");
	case AS_FAULT_BIND_429:
		c->response->retry_after_s = c->api->faults.armed[fault].retry_after_s;
		return as_refuse(c, 429, "TooManyRequests",
		                 "Too many requests: fault %s: please try again later",
		                 as_fault_name(fault));
	default:
		return as_refuse(
			c, 504, "Timeout",
			"Timeout: request did not complete within requested timeout - context deadline exceeded");
	}
}

static void put_off(struct as_call *c)
{
	struct as_late *late = as_alloc(sizeof(*late)), **link = &c->api->faults.late;

	late->due_ns = c->now_ns + c->api->faults.armed[AS_FAULT_BIND_LATE].ms * UINT64_C(1000000);
	late->target = as_copy(c->request->target);
	late->body = as_alloc(c->request->body_bytes + 1);
	memcpy(late->body, c->request->body, c->request->body_bytes);
	late->body_bytes = c->request->body_bytes;
	while (*link != NULL && (*link)->due_ns <= late->due_ns)
		link = &(*link)->next;
	late->next = *link;
	*link = late;
}

int as_bind(struct as_call *c)
{
	enum as_fault fault = AS_FAULT_NONE;
	struct binding binding = { 0 };

	if (c->namespace == NULL)
		return as_refuse_no_resource(c);
	if (read_binding(c, &binding) < 0)
		return -1;
	if (!c->request->replayed)
		fault = as_fault_take_bind(&c->api->faults);
	switch (fault) {
	case AS_FAULT_NONE:
		return assign(c, &binding);
	case AS_FAULT_BIND_LATE:
		put_off(c);
		return refuse_fault(c, fault);
	case AS_FAULT_BIND_500_AFTER:
	case AS_FAULT_BIND_504_AFTER:
	case AS_FAULT_BIND_409_AFTER:
	case AS_FAULT_BIND_CUT_AFTER:
		if (assign(c, &binding) < 0)
			return -1;
		c->response->body.bytes = 0;
		break;
	default:
		break;
	}
	c->response->cut = fault == AS_FAULT_BIND_CUT_BEFORE || fault == AS_FAULT_BIND_CUT_AFTER;
	return refuse_fault(c, fault);
}
