/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: the defaults of the API server, those of the admission plugins that are
 * on by default (Priority, DefaultTolerationSeconds), and validation of what a
 * test of a scheduler can get wrong. */
#include "tests/apisim/kinds.h"
#include "tests/apisim/meta.h"
#include "tests/apisim/pod.h"
#include "tests/apisim/quantity.h"
#include "tests/apisim/requests.h"

#include <string.h>

static void default_integer(struct as_arena *a, struct as_json *object, const char *name,
                            int64_t value)
{
	if (as_json_get(object, name) == NULL)
		as_json_set_integer(a, object, name, value);
}

static void default_object(struct as_arena *a, struct as_json *object, const char *name)
{
	if (as_json_get(object, name) == NULL)
		as_json_set(a, object, name, as_json_new(a, AS_OBJECT));
}

/* ":latest" or no tag at all is pulled always. */
static bool is_latest(const char *image)
{
	const char *slash = strrchr(image, '/'), *base = slash != NULL ? slash : image;
	const char *tag = strrchr(base, ':');

	if (strchr(base, '@') != NULL)
		return false;
	return tag == NULL || strcmp(tag, ":latest") == 0;
}

static void default_container(struct as_arena *a, struct as_json *container)
{
	const char *image = as_json_string(container, "image");
	const struct as_json *ports = as_json_array(container, "ports");

	as_json_default_string(a, container, "terminationMessagePath", "/dev/termination-log");
	as_json_default_string(a, container, "terminationMessagePolicy", "File");
	as_json_default_string(a, container, "imagePullPolicy",
	                       image == NULL || is_latest(image) ? "Always" : "IfNotPresent");
	default_object(a, container, "resources");
	for (struct as_json *p = ports != NULL ? ports->first : NULL; p != NULL; p = p->next)
		if (p->kind == AS_OBJECT)
			as_json_default_string(a, p, "protocol", "TCP");
}

/* Limits without requests are requests too. */
static void default_requests(struct as_arena *a, struct as_json *resources)
{
	const struct as_json *limits = as_json_get(resources, "limits");
	struct as_json *requests;

	if (limits == NULL || limits->kind != AS_OBJECT || limits->first == NULL)
		return;
	requests = as_json_member(a, resources, "requests", AS_OBJECT);
	for (const struct as_json *m = limits->first; requests != NULL && m != NULL; m = m->next)
		if (as_json_get(requests, m->name) == NULL)
			as_json_set(a, requests, m->name, as_json_copy(a, m));
}

static void default_spec(struct as_arena *a, struct as_json *spec)
{
	static const char *const lists[] = { "initContainers", "containers" };

	as_json_default_string(a, spec, "restartPolicy", "Always");
	default_integer(a, spec, "terminationGracePeriodSeconds", 30);
	as_json_default_string(a, spec, "dnsPolicy", "ClusterFirst");
	default_object(a, spec, "securityContext");
	as_json_default_string(a, spec, "schedulerName", "default-scheduler");
	if (as_json_get(spec, "enableServiceLinks") == NULL)
		as_json_set(a, spec, "enableServiceLinks", as_json_new(a, AS_TRUE));
	for (size_t i = 0; i < 2; i++) {
		const struct as_json *list = as_json_array(spec, lists[i]);

		for (struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
			if (e->kind != AS_OBJECT)
				continue;
			default_container(a, e);
			default_requests(a, as_json_get(e, "resources"));
		}
	}
}

/* DefaultTolerationSeconds: five minutes for a node that is not ready or unreachable, unless the
 * pod has a toleration for it. */
static bool tolerates(const struct as_json *list, const char *key)
{
	for (const struct as_json *e = list->first; e != NULL; e = e->next) {
		const char *own = as_json_string(e, "key"), *effect = as_json_string(e, "effect");

		if ((own == NULL || own[0] == '\0' || strcmp(own, key) == 0) &&
		    (effect == NULL || effect[0] == '\0' || strcmp(effect, "NoExecute") == 0))
			return true;
	}
	return false;
}

static void add_tolerations(struct as_arena *a, struct as_json *spec)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
		                                "node.kubernetes.io/unreachable" };
	struct as_json *list = as_json_member(a, spec, "tolerations", AS_ARRAY);

	for (size_t i = 0; list != NULL && i < 2; i++) {
		struct as_json *e;

		if (tolerates(list, keys[i]))
			continue;
		e = as_json_new(a, AS_OBJECT);
		as_json_set_string(a, e, "key", keys[i]);
		as_json_set_string(a, e, "operator", "Exists");
		as_json_set_string(a, e, "effect", "NoExecute");
		as_json_set_integer(a, e, "tolerationSeconds", 300);
		as_json_append(list, e);
	}
}

static const struct as_json *default_class(struct as_call *c)
{
	struct as_cursor cursor;
	struct as_object *o;

	as_cursor_open(c->api->store, c->api->priority_classes, c->arena, NULL, NULL,
	               as_store_version(c->api->store), &cursor);
	while ((o = as_cursor_next(&cursor)) != NULL) {
		const struct as_json *tree;

		if (strncmp(o->name, "system-", 7) == 0)
			continue;
		tree = as_object_tree(c->arena, o);
		if (as_json_true(tree, "globalDefault"))
			return tree;
	}
	return NULL;
}

/* Priority: the number is always that of the class. */
static int set_priority(struct as_call *c, struct as_json *spec)
{
	const char *name = as_json_string(spec, "priorityClassName"), *policy = NULL;
	const struct as_json *class;
	int64_t priority = 0, asked;

	if (name != NULL && name[0] != '\0') {
		struct as_object *o = as_index_find(&c->api->priority_classes->index, name);

		if (o == NULL)
			return as_refuse_forbidden(c, "no PriorityClass with name %s was found", name);
		class = as_object_tree(c->arena, o);
	} else {
		class = default_class(c);
		if (class != NULL)
			as_json_set_string(c->arena, spec, "priorityClassName",
			                   as_json_string(as_json_get(class, "metadata"), "name"));
	}
	as_json_integer(class, "value", &priority);
	policy = as_json_string(class, "preemptionPolicy");
	if (as_json_integer(spec, "priority", &asked) && asked != priority)
		return as_refuse_forbidden(
			c,
			"the integer value of priority (%lld) must not be provided in pod spec; "
			"priority admission controller computed %lld from the given PriorityClass "
			"name",
			(long long)asked, (long long)priority);
	as_json_set_integer(c->arena, spec, "priority", priority);
	as_json_default_string(c->arena, spec, "preemptionPolicy",
	                       policy != NULL ? policy : "PreemptLowerPriority");
	return 0;
}

void as_copy_topology(struct as_call *c, struct as_json *metadata, const char *name)
{
	static const char *const names[] = { "topology.kubernetes.io/zone",
		                                 "topology.kubernetes.io/region" };
	const struct as_object *node =
		name != NULL && name[0] != '\0' ? as_index_find(&c->api->nodes->index, name) : NULL;

	for (size_t i = 0; node != NULL && i < 2; i++) {
		const char *value = as_object_label(node, names[i]);
		struct as_json *labels;

		if (value == NULL)
			continue;
		labels = as_json_member(c->arena, metadata, "labels", AS_OBJECT);
		if (labels != NULL)
			as_json_set_string(c->arena, labels, names[i], value);
	}
}

static bool is_positive(const struct as_json *amount)
{
	struct as_quantity q;

	return amount != NULL && amount->kind == AS_STRING && as_quantity_parse(amount->text, &q) &&
	       q.nano > 0;
}

/* Guaranteed: every container has limits of cpu and memory that equal its requests.  A request of 0
 * counts as none. */
static void look_at(const struct as_json *container, bool *any, bool *guaranteed)
{
	static const char *const names[] = { "cpu", "memory" };
	const struct as_json *resources = as_json_get(container, "resources");

	for (size_t i = 0; i < 2; i++) {
		const struct as_json *limit = as_json_find(resources, "limits", names[i], NULL);
		const struct as_json *request = as_json_find(resources, "requests", names[i], NULL);

		if (is_positive(limit) || is_positive(request))
			*any = true;
		if (!is_positive(limit) || !as_json_equal(limit, request))
			*guaranteed = false;
	}
}

static const char *qos_class(const struct as_json *spec)
{
	static const char *const lists[] = { "initContainers", "containers" };
	bool any = false, guaranteed = true;

	if (as_json_get(spec, "resources") != NULL) {
		look_at(spec, &any, &guaranteed);
		if (any)
			return guaranteed ? "Guaranteed" : "Burstable";
		guaranteed = true;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct as_json *list = as_json_array(spec, lists[i]);

		for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next)
			look_at(e, &any, &guaranteed);
	}
	return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

static void set_status(struct as_call *c, struct as_json *object, const struct as_json *spec)
{
	struct as_arena *a = c->arena;
	const struct as_json *gates = as_json_array(spec, "schedulingGates");
	struct as_json *status = as_json_get(object, "status");

	if (c->request->loading && status != NULL) {
		as_json_default_string(a, status, "phase", "Pending");
		return;
	}
	status = as_json_new(a, AS_OBJECT);
	as_json_set_string(a, status, "phase", "Pending");
	if (gates != NULL && gates->first != NULL) {
		struct as_json *conditions = as_json_member(a, status, "conditions", AS_ARRAY);
		struct as_json *gated = as_json_new(a, AS_OBJECT);

		as_json_set_string(a, gated, "type", "PodScheduled");
		as_json_set_string(a, gated, "status", "False");
		as_json_set(a, gated, "lastProbeTime", as_json_new(a, AS_NULL));
		as_json_set_string(a, gated, "lastTransitionTime", as_time(a, c->now_ns));
		as_json_set_string(a, gated, "reason", "SchedulingGated");
		as_json_set_string(a, gated, "message",
		                   "Scheduling is blocked due to non-empty scheduling gates");
		as_json_append(conditions, gated);
	}
	as_json_set_string(a, status, "qosClass", qos_class(spec));
	as_json_set(a, object, "status", status);
}

static int pod_create(struct as_call *c, struct as_json *object)
{
	struct as_json *spec;

	spec = as_json_member(c->arena, object, "spec", AS_OBJECT);
	if (spec == NULL)
		return as_refuse_undecodable(c, "spec is not an object");
	c->name = as_json_string(as_json_get(object, "metadata"), "name");
	if (as_pod_normalise(c, spec) < 0)
		return -1;
	default_spec(c->arena, spec);
	add_tolerations(c->arena, spec);
	if (set_priority(c, spec) < 0)
		return -1;
	as_pod_validate(c, spec);
	if (as_check_status(c, object) < 0)
		return -1;
	set_status(c, object, spec);
	as_copy_topology(c, as_json_get(object, "metadata"), as_json_string(spec, "nodeName"));
	return 0;
}

/* What of a pod's spec may change, by a PUT or PATCH of the pod itself. */
static bool may_differ(const char *name)
{
	static const char *const names[] = { "activeDeadlineSeconds", "tolerations",
		                                 "terminationGracePeriodSeconds", "schedulingGates", NULL };

	for (size_t i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void without_images(struct as_json *spec, const char *list)
{
	const struct as_json *array = as_json_array(spec, list);

	for (struct as_json *e = array != NULL ? array->first : NULL; e != NULL; e = e->next)
		as_json_remove(e, "image");
}

static void find_new_gates(struct as_call *c, const struct as_json *spec, const struct as_json *old)
{
	const struct as_json *now = as_json_array(spec, "schedulingGates"),
						 *was = as_json_array(old, "schedulingGates");
	size_t i = 0;

	for (const struct as_json *e = now != NULL ? now->first : NULL; e != NULL; e = e->next, i++) {
		bool found = false;

		for (const struct as_json *o = was != NULL ? was->first : NULL; o != NULL; o = o->next)
			found = found || as_json_equal(e, o);
		if (!found)
			as_invalid(c, "FieldValueForbidden",
			           as_arena_printf(c->arena, "spec.schedulingGates[%zu].name", i),
			           "Forbidden: only deletion is allowed, but found new scheduling gate");
	}
}

static bool containers_differ(struct as_call *c, const struct as_json *spec,
                              const struct as_json *old, const char *list)
{
	const struct as_json *now = as_json_array(spec, list), *was = as_json_array(old, list);
	const struct as_json *a = now != NULL ? now->first : NULL, *b = was != NULL ? was->first : NULL;

	for (; a != NULL && b != NULL; a = a->next)
		b = b->next;
	if (a == NULL && b == NULL)
		return false;
	as_invalid(c, "FieldValueForbidden", as_arena_printf(c->arena, "spec.%s", list),
	           "Forbidden: pod updates may not add or remove containers");
	return true;
}

static struct as_json *frozen_part(struct as_arena *a, const struct as_json *spec, bool gated)
{
	struct as_json *copy = as_json_copy(a, spec);

	for (const struct as_json *m = spec->first; m != NULL; m = m->next)
		if (may_differ(m->name) ||
		    (gated && (strcmp(m->name, "nodeSelector") == 0 || strcmp(m->name, "affinity") == 0)))
			as_json_remove(copy, m->name);
	without_images(copy, "containers");
	without_images(copy, "initContainers");
	return copy;
}

static int pod_update(struct as_call *c, struct as_json *object, const struct as_json *old,
                      bool status)
{
	struct as_json *spec, *old_spec = as_json_get(old, "spec");
	bool gated = as_json_array(old_spec, "schedulingGates") != NULL;

	if (status)
		return as_check_status(c, object);
	spec = as_json_member(c->arena, object, "spec", AS_OBJECT);
	if (spec == NULL)
		return as_refuse_undecodable(c, "spec is not an object");
	if (as_pod_normalise(c, spec) < 0)
		return -1;
	default_spec(c->arena, spec);
	add_tolerations(c->arena, spec);
	as_pod_validate(c, spec);
	if (containers_differ(c, spec, old_spec, "containers") ||
	    containers_differ(c, spec, old_spec, "initContainers"))
		return 0;
	find_new_gates(c, spec, old_spec);
	if (!as_json_equal(frozen_part(c->arena, spec, gated), frozen_part(c->arena, old_spec, gated)))
		as_invalid(
			c, "FieldValueForbidden", "spec",
			"Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
			"`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
			"additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
			"set to 1 if it was previously negative)");
	return 0;
}

const struct as_strategy as_pod_strategy = { .create = pod_create, .update = pod_update };
