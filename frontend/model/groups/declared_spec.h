/* SPDX-License-Identifier: Apache-2.0 */
/* Group specs that pods declare: a quorum, roles, levels; instead of an object that describes the
 * group, or in addition to it.
 *
 * Members of a gang that declare the same share one entry, found by its content, so that a member
 * that is added or removed costs one look-up.  Two entries of one gang are a conflict. */
#ifndef MUSTER_FRONTEND_MODEL_DECLARED_SPEC_H
#define MUSTER_FRONTEND_MODEL_DECLARED_SPEC_H

#include "frontend/model/groups/group_spec.h"

struct declared_spec {
	struct entry entry;
	uint32_t uses; /* members of the gang that declare it */
	uint32_t gang;
	struct group_object object; /* its body, and why it is refused */
	char *agree;                /* what else members have to agree on; NULL: nothing */
};

static inline struct declared_spec *declared_spec_at(const struct model *m, uint32_t s)
{
	return store_at(&m->declared_specs, s);
}

bool declared_spec_equal(const void *item, const void *key);
void declared_spec_free(struct declared_spec *d);

/* The entry for the pod's spec, referenced; ID_NONE when the pod declares none. */
void declared_spec_take(struct model *m, uint32_t gang, uint32_t dialect,
                        const struct pod_object *pod, uint32_t *spec);
void declared_spec_give(struct model *m, uint32_t spec);

#endif
