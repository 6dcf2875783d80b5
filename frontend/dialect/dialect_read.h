/* SPDX-License-Identifier: Apache-2.0 */
/* What several dialects read alike. */
#ifndef MUSTER_FRONTEND_DIALECT_READ_H
#define MUSTER_FRONTEND_DIALECT_READ_H

#include "frontend/decode/object.h"
#include "frontend/dialect/dialect.h"
#include "frontend/json/json.h"

#define GROUP_TIMEOUT_MAX_S 900

/* A label's or an annotation's value, the arena's; NULL without one, or when it is empty. */
const char *read_label(const struct pod_object *pod, const char *key, struct arena *arena);
const char *read_annotation(const struct pairs *annotations, const char *key, struct arena *arena);

/* Member of the group that the value names; NULL: of none. */
enum mark read_mark(const char *value, const char **name);

/* The whole text as a decimal integer, as Go's strconv.Atoi takes it. */
bool read_number(const char *text, int64_t *out);

/* The timeout of a group that gives that many seconds: beyond 900 is 900, and 0 or less holds
 * nothing. */
uint64_t read_timeout(int64_t seconds);

/* A refusal: formatted, or its format when memory is short.  The first one stays. */
void read_refuse(struct group_spec *out, struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The quorum as it is written in `field`; negative refuses the group. */
void read_quorum(struct group_spec *out, struct arena *arena, const char *field, int32_t value);

/* minResources: a ResourceList without pods. */
void read_min_resources(struct json *j, struct group_spec *out);

/* A member of a PodGroup's spec. */
struct spec_member {
	const char *name;
	void (*read)(struct json *j, struct group_spec *out);
};

/* The spec of a PodGroup: minMember, which all of them have, and these; others are passed over. */
void read_pod_group_spec(struct json *j, const struct spec_member *members, size_t n,
                         struct group_spec *out);

/* A map from roles to their quorums. */
void read_roles(struct json *j, struct group_spec *out);
/* One more role; those beyond GANG_ROLES_MAX refuse the group. */
void read_role(struct group_spec *out, struct arena *arena, const char *role, int64_t quorum);

/* One more level; keys beyond GANG_LEVELS_MAX refuse the group. */
void read_level(struct group_spec *out, struct arena *arena, struct text key, bool required);

/* Levels written in annotations of a group's object or of a pod, required ones first. */
void read_levels(const struct pairs *annotations, struct group_spec *out, struct arena *arena);

/* Koordinator's gangs that start together, which its PodGroups may say as well as its pods: more
 * than the group itself refuses it. */
void read_gang_groups(const struct pairs *annotations, struct text namespace, const char *name,
                      struct group_spec *out, struct arena *arena);

/* An object of that kind into *out, which has what goes without saying: `spec` reads the value of
 * the member with that name.  0 or -EINVAL. */
typedef void (*read_spec_fn)(struct json *j, struct group_spec *out);
int read_group(const char *json, size_t bytes, struct arena *arena, const char *kind,
               const char *member, read_spec_fn spec, struct group_spec *out,
               struct decode_error *error);

#endif
