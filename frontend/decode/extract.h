/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of an object -> the structures of object.h, in one pass over the text.
 *
 * Each object is described by tables of its members (struct json_field); members that no table
 * names are skipped and not stored.  Texts point into the JSON or into the arena.
 *
 *   -EINVAL   *error has the object, the field and the text
 *
 * Of a member that occurs twice the last one counts; metadata, spec, status and affinity are
 * merged, as the API server does where it does not refuse them.
 *
 * On an error *out holds what was read before it. */
#ifndef MUSTER_FRONTEND_EXTRACT_H
#define MUSTER_FRONTEND_EXTRACT_H

#include "frontend/base/resource.h"
#include "frontend/decode/fields.h"

int extract_pod(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                struct decode_error *error);

/* The same of a pod with which the text begins: *used bytes of it, perhaps with white space behind
 * it; 0 on an error. */
int extract_pod_first(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                      size_t *used, struct decode_error *error);

/* The same without requests and rules, so that an error in them does not matter: identity, owner,
 * scheduler, node, and whether it has ended. */
int extract_pod_basics(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                       struct decode_error *error);

/* What of a bound pod counts on its node: the basics, requests and actual resources, host ports and
 * volumes.  Its rules are skipped, and resources that are not among `known`. */
int extract_pod_usage(const char *json, size_t bytes, struct arena *arena,
                      const struct resource_names *known, struct pod_object *out,
                      struct decode_error *error);

int extract_node(const char *json, size_t bytes, struct arena *arena, struct node_object *out,
                 struct decode_error *error);

int extract_namespace(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                      struct decode_error *error);

int extract_service(const char *json, size_t bytes, struct arena *arena, struct service_object *out,
                    struct decode_error *error);

/* `kind` is ReplicaSet, ReplicationController or StatefulSet. */
int extract_controller(const char *json, size_t bytes, struct arena *arena, const char *kind,
                       struct controller_object *out, struct decode_error *error);

int extract_policy(const char *json, size_t bytes, struct arena *arena, struct policy_object *out,
                   struct decode_error *error);

/* apiVersion, kind and metadata alone. */
int extract_meta(const char *json, size_t bytes, struct arena *arena, struct meta *out,
                 struct decode_error *error);

/* True if metadata.generation is 1: the API server counts changes of an object's spec there. */
bool extract_is_unchanged(const char *json, size_t bytes, struct arena *arena);

/* One document by a table of its members; `meta` is its metadata in *out, `kind` its kind if it
 * names none (items of lists).  An object without a name is an error. */
#define extract_document(json, bytes, arena, table, out, meta, kind, error)                        \
	extract_document_n(json, bytes, arena, table, JSON_COUNT(table), out, meta, kind, error)
int extract_document_n(const char *json, size_t bytes, struct arena *arena,
                       const struct json_field *fields, size_t n, void *out, struct meta *meta,
                       const char *kind, struct decode_error *error);

/* For a document that was read by json_fields(): checks its end and its name. */
int extract_end(struct json *j, struct meta *meta, const char *kind, struct decode_error *error);

/* The resources of a node that a pod uses, as kube-scheduler counts them. */
struct effective {
	int64_t amount[RESOURCES_MAX]; /* by index of the pod's resource_names */
	int64_t scored_cpu_milli;
	int64_t scored_memory_bytes;
	int64_t placed_cpu_milli; /* the same of the pod once it is bound */
	int64_t placed_memory_bytes;
};

/* `bound`: the pod has a node.  Then its status counts too, and scores use pod-level resources. */
void extract_effective(const struct pod_object *pod, bool bound, struct effective *out);

#endif
