/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects -> values: functions and macros for the tables of members, with which
 * extract.h and other readers describe their objects. */
#ifndef MUSTER_FRONTEND_FIELDS_H
#define MUSTER_FRONTEND_FIELDS_H

#include "frontend/base/resource.h"
#include "frontend/decode/object.h"
#include "frontend/json/json.h"

#define TEXT_NONE ((struct text){ "", 0 })
#define EXTRACT_OWNER_NONE                                                                         \
	{                                                                                              \
		.api_version = TEXT_NONE, .kind = TEXT_NONE, .name = TEXT_NONE, .uid = TEXT_NONE           \
	}
/* Arguments of %.*s in an error. */
#define TEXT_SHOWN(t) (int)((t).bytes < 80 ? (t).bytes : 80), (t).at

/* The value of an annotation, from its raw JSON; NULL if it is not a valid string. */
const char *extract_annotation(struct text raw, struct arena *arena);
/* The same of the annotation with that key; NULL as well if there is none. */
const char *annotation_find(const struct pairs *annotations, const char *key, struct arena *arena);

/* The core's limit, which is above that of Kubernetes. */
#define RESOURCE_NAME_BYTES_MAX 400

/* The names of the resources with a fixed index. */
void resource_names_seed(struct resource_names *names);

/* True if scheduling counts the resource; kube-scheduler ignores others too. */
bool extract_is_counted(struct text resource);

void extract_meta_start(struct meta *out); /* all texts "" */

/* Members of metadata, for a structure that has a struct meta. */
#define EXTRACT_METADATA_FIELDS(type, meta)                                                        \
	JSON_FIELD("name", json_field_text, type, meta.name),                                          \
		JSON_FIELD("namespace", json_field_text, type, meta.namespace),                            \
		JSON_FIELD("uid", json_field_text, type, meta.uid),                                        \
		JSON_FIELD("resourceVersion", json_field_text, type, meta.version),                        \
		JSON_FIELD("creationTimestamp", extract_time, type, meta.created_ns),                      \
		JSON_FIELD("deletionTimestamp", extract_deletion, type, meta),                             \
		JSON_FIELD("deletionGracePeriodSeconds", extract_deletion_grace, type, meta.grace_s),      \
		JSON_FIELD("labels", extract_text_map, type, meta.labels),                                 \
		JSON_FIELD("annotations", extract_raw_map, type, meta.annotations)

/* Members of an object, for a structure that has a struct meta `meta`. */
#define EXTRACT_KIND_FIELDS(type)                                                                  \
	JSON_FIELD("kind", json_field_text, type, meta.kind),                                          \
		JSON_FIELD("apiVersion", json_field_text, type, meta.api_version)
#define EXTRACT_OBJECT_FIELDS(type)                                                                \
	JSON_FIELD("metadata", extract_metadata, type, meta), EXTRACT_KIND_FIELDS(type)

/* Functions for tables, with the type of *out. */
void extract_metadata(struct json *j, void *out);       /* struct meta */
void extract_owners(struct json *j, void *out);         /* struct owner_object: ownerReferences */
void extract_time(struct json *j, void *out);           /* uint64_t: nanoseconds since 1970 */
bool extract_time_text(struct text t, uint64_t *out);   /* the same; false: not a time */
void extract_deletion(struct json *j, void *out);       /* struct meta: deleting and ends_ns */
void extract_deletion_grace(struct json *j, void *out); /* uint32_t: the nearest one */
void extract_text_map(struct json *j, void *out);       /* struct pairs: sorted, of equal keys the
                                                         * last */
void extract_raw_map(struct json *j, void *out); /* struct pairs: values as JSON, as written */
void extract_texts(struct json *j, void *out);   /* struct texts: replaced */
void extract_int32(struct json *j, void *out);   /* int32_t */
void extract_optional_int32(struct json *j, void *out); /* int32_t: 0 if null */
void extract_not_empty(struct json *j, void *out);      /* bool: an array with an item */
void extract_quantity(struct json *j, void *out);       /* nano_t, >= 0 */
/* struct quantities: a ResourceList; j->context is the struct resource_names. */
void extract_quantities(struct json *j, void *out);
void extract_selector(struct json *j, void *out);     /* struct selector_object: a LabelSelector */
void extract_selector_map(struct json *j, void *out); /* struct selector_object: a map of labels */
void extract_node_term(struct json *j, void *out);    /* struct node_term: a NodeSelectorTerm */
void extract_pod_volumes(struct json *j, void *out);  /* struct pod_object: volumes and their
                                                       * images */
void extract_containers(struct json *j, void *out);   /* struct pod_object */
void extract_init_containers(struct json *j, void *out);
void extract_affinity(struct json *j, void *out);   /* struct pod_object */
void extract_spreads(struct json *j, void *out);    /* struct pod_object */
void extract_pod_spec(struct json *j, void *out);   /* struct pod_object */
void extract_usage_spec(struct json *j, void *out); /* the same without rules */
void extract_pod_status(struct json *j, void *out); /* struct pod_object */

/* Reads an array; true if it has an item. */
bool extract_any(struct json *j);
/* A NodeSelector with nodeSelectorTerms: false if it is null. */
bool extract_node_terms(struct json *j, struct node_term **terms, size_t *n, size_t *cap);
/* What depends on the whole object, after it was read. */
void extract_containers_finish(struct pod_object *out, struct arena *arena);
void extract_match_keys(struct pod_object *out, struct arena *arena);
/* One more image of the pod; "" is none. */
void extract_image(struct arena *arena, struct pod_object *out, struct text image);
/* "Pod ns/name"; "object" if it has no name. */
void extract_object_name(const struct meta *meta, char *out, size_t out_bytes);

/* Fills *error (may be NULL) for a field of that object, "" for none. */
void decode_error_set(struct decode_error *error, const struct meta *meta, const char *field,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Appends an item, all zero, to an array in the arena; its value is the item's address. */
#define EXTRACT_ADD(arena, at, n, cap)                                                             \
	((at) = extract_more(arena, at, n, &(cap), sizeof(*(at))), &(at)[(n)++])
void *extract_more(struct arena *arena, void *items, size_t n, size_t *cap, size_t item_bytes);

#endif
