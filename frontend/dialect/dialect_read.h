/* SPDX-License-Identifier: Apache-2.0 */
/* For the files dialect_*.c: how marks, specs and annotations are read.
 *
 * A function of a table (struct json_field) that fills a struct group_spec gets it as void *.
 * Texts are allocated in the arena, or point into the JSON. */
#ifndef MUSTER_FRONTEND_DIALECT_READ_H
#define MUSTER_FRONTEND_DIALECT_READ_H

#include "frontend/decode/extract.h"
#include "frontend/dialect/dialect.h"

#define GROUP_TIMEOUT_MAX_S 900

/* The value of a label or annotation, terminated; NULL if it is absent or empty. */
const char *read_label(const struct pod_object *pod, const char *key, struct arena *arena);
const char *read_annotation(const struct pairs *annotations, const char *key, struct arena *arena);

/* MARK_MEMBER of the group with that name; MARK_NONE if `value` is NULL. */
enum mark read_mark(const char *value, const char **name);

/* MARK_REFUSED: the pod's `mark` has that value and the fault `why`. */
enum mark read_refused_mark(const struct pod_object *pod, const char *mark, const char *value,
                            const char *why, struct arena *arena, const char **refusal);

/* struct group_spec.timeout_ns from seconds: at most GROUP_TIMEOUT_MAX_S; 0 or less is 1 ns. */
uint64_t read_timeout(int64_t seconds);

/* Sets out->refusal, unless there is one. */
void read_refuse(struct group_spec *out, struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the quorum; a negative one, of which `field` is the name, refuses the group. */
void read_quorum(struct group_spec *out, struct arena *arena, const char *field, int32_t value);

/* minResources: a ResourceList; "pods" is ignored. */
void read_min_resources(struct json *j, void *spec);

/* minMember, which the spec of every PodGroup but the native one has.  It is checked by
 * read_pod_group_spec(), which reads an object by such a table. */
#define READ_MIN_MEMBER JSON_FIELD("minMember", extract_int32, struct group_spec, quorum_text)
#define read_pod_group_spec(j, table, out) read_pod_group_spec_n(j, table, JSON_COUNT(table), out)
void read_pod_group_spec_n(struct json *j, const struct json_field *fields, size_t n,
                           struct group_spec *out);

/* A map from roles to their quorums. */
void read_roles(struct json *j, void *spec);
/* Adds a role; more than GANG_ROLES_MAX refuse the group. */
void read_role(struct group_spec *out, struct arena *arena, const char *role, int64_t quorum);

/* Adds a topology level; more than GANG_LEVELS_MAX refuse the group. */
void read_level(struct group_spec *out, struct arena *arena, struct text key, bool required);

/* Adds the levels in annotations of a group's object or of a pod, required ones first. */
void read_levels(const struct pairs *annotations, struct group_spec *out, struct arena *arena);

/* Koordinator's annotation of gangs that start together, on a PodGroup or a pod: a list of others
 * than the group itself refuses it. */
void read_gang_groups(const struct pairs *annotations, struct text namespace, const char *name,
                      struct group_spec *out, struct arena *arena);

/* Reads an object of that kind into *out, which has the defaults: `spec` reads the value of its
 * member with the name `member`, then come levels and gang groups of its annotations.
 * 0, or -EINVAL with *error. */
int read_group(const char *json, size_t bytes, struct arena *arena, const char *kind,
               const char *member, json_read_fn spec, struct group_spec *out,
               struct decode_error *error);

#endif
