/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of an object into what muster looks at: one pass, what is not asked for
 * is skipped without being stored.
 *
 *   -EINVAL   *error says what is wrong and where
 *   -ENOMEM
 *
 * Of a member that is there twice the last one wins; metadata, spec, status and affinity
 * are united, as the API server does when it does not refuse them.
 *
 * On an error *out holds what was read before it. */
#ifndef MUSTER_FRONTEND_EXTRACT_H
#define MUSTER_FRONTEND_EXTRACT_H

#include "frontend/decode/object.h"
#include "frontend/model/model.h"

struct json;

#define TEXT_NONE ((struct text){ "", 0 })
/* For %.*s in an error. */
#define TEXT_SHOWN(t) (int)((t).bytes < 80 ? (t).bytes : 80), (t).at

int extract_pod(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                struct decode_error *error);

/* The same without whatever can be wrong in its requests and rules: who it is,
 * whose, where, and whether it has ended. */
int extract_pod_basics(const char *json, size_t bytes, struct arena *arena, struct pod_object *out,
                       struct decode_error *error);

int extract_node(const char *json, size_t bytes, struct arena *arena, struct node_object *out,
                 struct decode_error *error);

/* Its name and labels. */
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

/* An annotation's value, or NULL when it is no good string. */
const char *extract_annotation(struct text raw, struct arena *arena);

/* What the core takes as a name, and more than Kubernetes does. */
#define RESOURCE_NAME_BYTES_MAX 400

/* Is the resource one that scheduling counts?  Others are passed over, as
 * kube-scheduler does. */
bool extract_is_counted(struct text resource);

/* ---- parts, shared by the files extract*.c and the dialects --------------- */

void extract_meta_start(struct meta *out); /* nothing is known */
void extract_metadata(struct json *j, struct meta *out);
void extract_metadata_and_owner(struct json *j, struct meta *out, struct owner_object *owner);
/* In the order of Kubernetes' maps: by bytes, the shorter one first. */
int text_order(struct text a, struct text b);
/* A map of texts, sorted by key; of a key that is there twice the last one wins.  Of raw
 * JSON it is as it was written. */
void extract_pairs(struct json *j, struct pairs *out, bool raw_values);
/* Is there any item in the array?  Reads it. */
bool extract_any(struct json *j);
void extract_int32(struct json *j, int32_t *out);
/* A ResourceList, or one quantity of it: >= 0. */
void extract_quantity(struct json *j, nano_t *out);
void extract_quantities(struct json *j, struct resource_names *names, struct quantities *out);
void extract_pod_spec(struct json *j, struct pod_object *out);
void extract_resources(struct json *j, struct resource_names *names, struct quantities *requests,
                       struct quantities *limits);
void extract_containers(struct json *j, struct pod_object *out, bool is_init);
void extract_affinity(struct json *j, struct pod_object *out);
void extract_spreads(struct json *j, struct pod_object *out);
void extract_pod_status(struct json *j, struct pod_object *out);
/* What takes the whole object to know, once it is read. */
void extract_pod_finish(struct json *j, struct pod_object *out);
void extract_containers_finish(struct json *j, struct pod_object *out);
void extract_match_keys(struct json *j, struct pod_object *out);

/* A LabelSelector, or a map of labels as a selector. */
void extract_selector(struct json *j, struct selector_object *out);
void extract_selector_map(struct json *j, struct selector_object *out);
/* A NodeSelectorTerm. */
void extract_node_term(struct json *j, struct node_term *out);
/* A NodeSelector with nodeSelectorTerms: false when it is null. */
bool extract_node_terms(struct json *j, struct node_term **terms, size_t *n, size_t *room);
/* *asks gets bits of enum pod_asks. */
void extract_tolerations(struct json *j, struct toleration_object **list, size_t *n, size_t *room,
                         uint32_t *asks);
/* Strings of an array, in place of what was there. */
void extract_texts(struct json *j, struct texts *out);
/* One more image of the pod, from a string; "" is none. */
void extract_image(struct json *j, struct pod_object *out);

/* The object is over and has a name; `kind` when it names none (items of lists). */
int extract_end(struct json *j, struct meta *meta, const char *kind, struct decode_error *error);
void extract_object_start(struct json *j);
/* "Pod ns/name"; "object" when it has no name. */
void extract_object_name(const struct meta *meta, char *out, size_t out_bytes);

/* Room for one more, all zero; NULL: the scanner has failed. */
void *extract_more(struct json *j, void *items, size_t n, size_t *room, size_t item_bytes);

/* ---- the effective request ------------------------------------------------ */

/* What a pod takes of a node, as kube-scheduler counts it. */
struct effective {
	int64_t amount[RESOURCES_MAX]; /* by index of the pod's resource_names */
	int64_t scored_cpu_milli;
	int64_t scored_memory_bytes;
	int64_t placed_cpu_milli; /* the same of the pod once it is bound */
	int64_t placed_memory_bytes;
};

/* `bound`: the pod runs or is about to; then its status counts too, and scores
 * see pod-level resources. */
void extract_effective(const struct pod_object *pod, bool bound, struct effective *out);

#endif
