/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/resource.h"

#include "tests/apisim/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const meta_fields[] = { "metadata.name", "metadata.namespace", NULL };
static const char *const node_fields[] = { "metadata.name", "spec.unschedulable", NULL };
/* clang-format off */
static const char *const pod_fields[] = {
	"metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy",
	"spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP",
	"status.nominatedNodeName", NULL,
};
/* clang-format on */
static const char *const namespace_fields[] = { "metadata.name", "status.phase", NULL };
/* clang-format off */
static const char *const event_fields[] = {
	"metadata.name", "metadata.namespace", "regarding.kind", "regarding.namespace",
	"regarding.name", "regarding.uid", "reportingController", "reason", "type", NULL,
};
/* clang-format on */
/* clang-format off */
static const char *const core_event_fields[] = {
	"metadata.name", "metadata.namespace", "involvedObject.kind", "involvedObject.namespace",
	"involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
	"reportingComponent", "reason", "type", NULL,
};
/* clang-format on */

#define NAMES(g, v, p, k) .group = g, .version = v, .plural = p, .kind = k

static const struct as_resource builtin[] = {
	{ NAMES("", "v1", "nodes", "Node"), .short_name = "no", .has_status = true,
	  .strategy = &as_node_strategy, .fields = node_fields },
	{ NAMES("", "v1", "pods", "Pod"), .short_name = "po", .namespaced = true, .has_status = true,
	  .counts_changes = true, .returns_object = true, .strategy = &as_pod_strategy,
	  .fields = pod_fields },
	{ NAMES("", "v1", "namespaces", "Namespace"), .short_name = "ns", .has_status = true,
	  .returns_object = true, .one_by_one = true, .strategy = &as_namespace_strategy,
	  .fields = namespace_fields },
	{ NAMES("", "v1", "configmaps", "ConfigMap"), .short_name = "cm", .namespaced = true,
	  .fields = meta_fields },
	{ NAMES("events.k8s.io", "v1", "events", "Event"), .short_name = "ev", .namespaced = true,
	  .upserts = true, .core_kind = true, .strategy = &as_event_strategy, .fields = event_fields },
	{ NAMES("", "v1", "events", "Event"), .short_name = "ev", .namespaced = true,
	  .view_of = "events.k8s.io", .view = as_event_view, .fields = core_event_fields },
	{ NAMES("coordination.k8s.io", "v1", "leases", "Lease"), .namespaced = true, .upserts = true,
	  .needs_version = true, .strategy = &as_lease_strategy, .fields = meta_fields },
	{ NAMES("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"), .short_name = "pc",
	  .singular = "priorityclass", .upserts = true, .strategy = &as_priority_class_strategy,
	  .counts_changes = true, .fields = meta_fields },
	{ NAMES("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"),
	  .short_name = "crd", .has_status = true, .counts_changes = true, .returns_object = true,
	  .strategy = &as_crd_strategy, .fields = meta_fields },
};

/* What the native gang API serves behind its feature gate, in the version of the release. */
static const struct as_resource generic_workload[] = {
	{ .group = "scheduling.k8s.io",
	  .plural = "podgroups",
	  .kind = "PodGroup",
	  .namespaced = true,
	  .has_status = true,
	  .counts_changes = true,
	  .fields = meta_fields },
	{ .group = "scheduling.k8s.io",
	  .plural = "workloads",
	  .kind = "Workload",
	  .namespaced = true,
	  .counts_changes = true,
	  .fields = meta_fields },
};

/* 1.36, 1.37, and what is planned. */
static const struct {
	const char *gate;
	const char *version;
} releases[] = {
	{ "GenericWorkload", "v1alpha2" },
	{ "GenericWorkload/v1beta1", "v1beta1" },
	{ "GenericWorkload/v1", "v1" },
};

/* Stored as they come. */
static const struct {
	const char *group;
	const char *plural;
	const char *singular; /* NULL: the kind in small letters */
	const char *kind;
	const char *short_name;
	bool namespaced;
} plain[] = {
	{ "", "services", NULL, "Service", "svc", true },
	{ "", "serviceaccounts", NULL, "ServiceAccount", "sa", true },
	{ "", "persistentvolumeclaims", NULL, "PersistentVolumeClaim", "pvc", true },
	{ "", "persistentvolumes", NULL, "PersistentVolume", "pv", false },
	{ "", "replicationcontrollers", NULL, "ReplicationController", "rc", true },
	{ "apps", "replicasets", NULL, "ReplicaSet", "rs", true },
	{ "apps", "statefulsets", NULL, "StatefulSet", "sts", true },
	{ "storage.k8s.io", "storageclasses", NULL, "StorageClass", "sc", false },
	{ "storage.k8s.io", "csinodes", NULL, "CSINode", NULL, false },
	{ "storage.k8s.io", "csidrivers", NULL, "CSIDriver", NULL, false },
	{ "storage.k8s.io", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", NULL,
	  true },
	{ "storage.k8s.io", "volumeattachments", NULL, "VolumeAttachment", NULL, false },
};

/* Behind the gate that was on by default when there was one. */
static const struct as_resource dynamic_resources[] = {
	{ .group = "resource.k8s.io",
	  .version = "v1",
	  .plural = "resourceslices",
	  .kind = "ResourceSlice" },
	{ .group = "resource.k8s.io",
	  .version = "v1",
	  .plural = "deviceclasses",
	  .kind = "DeviceClass" },
	{ .group = "resource.k8s.io",
	  .version = "v1",
	  .plural = "resourceclaims",
	  .kind = "ResourceClaim",
	  .namespaced = true,
	  .has_status = true },
};

static char *lower(const char *text)
{
	char *copy = as_copy(text);

	for (char *c = copy; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return copy;
}

static char *join(const char *a, const char *between, const char *b)
{
	char *text;

	if (asprintf(&text, "%s%s%s", a, between, b) < 0)
		as_die("out of memory");
	return text;
}

static char *object_prefix(const struct as_resource *r)
{
	char *text;

	if (asprintf(&text, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", r->kind, r->api_version) < 0)
		as_die("out of memory");
	return text;
}

struct as_resource *as_resources_add(struct as_resources *rs, const struct as_resource *resource)
{
	bool core = resource->group[0] == '\0';
	struct as_resource *r;

	if (as_resources_find(rs, resource->group, resource->version, resource->plural) != NULL)
		return NULL;

	r = as_alloc(sizeof(*r));
	*r = *resource;
	r->group = as_copy(resource->group);
	r->version = as_copy(resource->version);
	r->plural = as_copy(resource->plural);
	r->kind = as_copy(resource->kind);
	r->singular = resource->singular != NULL ? as_copy(resource->singular) : lower(resource->kind);
	r->short_name = resource->short_name != NULL ? as_copy(resource->short_name) : NULL;
	if (r->fields == NULL)
		r->fields = meta_fields;
	r->api_version = core ? as_copy(r->version) : join(r->group, "/", r->version);
	r->qualified = core ? as_copy(r->plural) : join(r->plural, ".", r->group);
	r->prefix = object_prefix(r);
	r->stored = r->view_of != NULL ? as_resources_find(rs, r->view_of, r->version, r->plural) : r;

	rs->at = as_realloc(rs->at, (rs->n + 1) * sizeof(*rs->at));
	rs->at[rs->n++] = r;
	return r;
}

struct as_resource *as_resources_find(const struct as_resources *rs, const char *group,
                                      const char *version, const char *plural)
{
	for (size_t i = 0; i < rs->n; i++) {
		struct as_resource *r = rs->at[i];

		if (!r->gone && strcmp(r->plural, plural) == 0 && strcmp(r->group, group) == 0 &&
		    strcmp(r->version, version) == 0)
			return r;
	}
	return NULL;
}

void as_resources_add_builtin(struct as_resources *rs)
{
	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++)
		as_resources_add(rs, &builtin[i]);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		as_resources_add(rs, &(struct as_resource){ .group = plain[i].group,
		                                            .version = "v1",
		                                            .plural = plain[i].plural,
		                                            .singular = plain[i].singular,
		                                            .kind = plain[i].kind,
		                                            .short_name = plain[i].short_name,
		                                            .namespaced = plain[i].namespaced });
}

bool as_resources_add_gate(struct as_resources *rs, const char *gate)
{
	if (strcmp(gate, "DynamicResourceAllocation") == 0) {
		for (size_t i = 0; i < sizeof(dynamic_resources) / sizeof(dynamic_resources[0]); i++)
			as_resources_add(rs, &dynamic_resources[i]);
		return true;
	}
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		if (strcmp(gate, releases[i].gate) != 0)
			continue;
		for (size_t k = 0; k < sizeof(generic_workload) / sizeof(generic_workload[0]); k++) {
			struct as_resource r = generic_workload[k];

			r.version = releases[i].version;
			as_resources_add(rs, &r);
		}
		return true;
	}
	return false;
}

void as_resources_free(struct as_resources *rs)
{
	for (size_t i = 0; i < rs->n; i++) {
		struct as_resource *r = rs->at[i];
		const char *texts[] = { r->group,      r->version,     r->plural,    r->singular, r->kind,
			                    r->short_name, r->api_version, r->qualified, r->prefix };

		as_index_free(&r->index);
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
			free((void *)(uintptr_t)texts[t]);
		free(r);
	}
	free(rs->at);
	*rs = (struct as_resources){ 0 };
}
