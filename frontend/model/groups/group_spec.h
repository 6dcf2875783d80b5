/* SPDX-License-Identifier: Apache-2.0 */
/* The spec of a group as the body of its record: from its object, or declared by its members. */
#ifndef MUSTER_FRONTEND_MODEL_GROUP_SPEC_H
#define MUSTER_FRONTEND_MODEL_GROUP_SPEC_H

#include "frontend/model/base/state.h"

/* Numbers in the body are referenced. */
struct group_object {
	uint32_t seen;  /* list round in which it was put last */
	uint32_t bytes; /* of body */
	bool there;
	bool retry;          /* past a limit: read the same version again */
	bool unchanged;      /* GANG_UNCHANGED */
	uint32_t disruption; /* enum gang_disruption */
	uint32_t expected_s; /* group_expected_s() */
	bool candidate; /* it has no group data: a group only because pods name it (candidates.h) */
	char *stamp;    /* "uid NUL resourceVersion NUL"; NULL: not known */
	char *body;     /* of EVENT_GANG, without a name */
	char *refusal;  /* NULL: none */
	struct group_status *status; /* NULL: none, or it cannot be read */
};

/* Frees what it owns. */
void group_object_free(struct group_object *o);
/* ... and returns the references of its body; it is empty afterwards. */
void group_object_clear(struct model *m, struct group_object *o);

struct group_parts {
	const struct amount *amounts;
	const struct gang_role *roles;
	const struct gang_level *levels; /* at the end */
};
struct group_parts group_parts_of(const char *body);
static inline const struct event_gang *group_head(const struct group_object *o)
{
	return (const void *)o->body;
}

/* The record of a group in m->body, without a name; from a spec that is refused if the group cannot
 * be placed by it.
 *   -EINVAL  too long for a record
 *   -ENOSPC  with *flag */
int group_build(struct model *m, uint32_t dialect, uint64_t created_ns,
                const struct group_spec *spec, const char **flag);
/* Return the references of a body. */
void group_release(struct model *m, const char *body);
/* What refuses the group, or NULL; the arena's. */
const char *group_spec_refusal(struct model *m, const struct group_spec *spec);

#endif
