/* SPDX-License-Identifier: Apache-2.0 */
/* All dialects, and the group of a pod from the marks of all of them. */
#ifndef MUSTER_FRONTEND_DIALECTS_H
#define MUSTER_FRONTEND_DIALECTS_H

#include "frontend/dialect/dialect.h"

/* The group of a pod, from the marks of all dialects.  The first dialect of the table counts; marks
 * that name different groups, and marks of systems that muster does not support, make it
 * MARK_REFUSED with the reason in `name`, and with the first of these groups in `group`.  Dialects
 * with their bit in `off` are ignored.  Those with if_served whose bit is not in `served` come
 * after all others, and only if none of those has a mark.  Texts are the arena's.  Returns 0. */
struct group_mark {
	enum mark mark;
	uint32_t dialect;
	const char *name;
	const char *group; /* of MARK_REFUSED, a group of `dialect`; NULL: none */
};
int dialect_mark(const struct pod_object *pod, uint64_t off, uint64_t served, struct arena *arena,
                 struct group_mark *out);

/* The spec of its group that the pod declares: pod_group() and the topology levels of its
 * annotations; false: nothing. */
bool dialect_pod_spec(const struct pod_object *pod, uint32_t dialect, struct arena *arena,
                      struct group_spec *out);

/* The index is the `dialect` of struct event_gang. */
extern const struct dialect *const dialects[];
extern const size_t dialects_n;

/* The index of the dialect with that name, or -1. */
int dialect_find(const char *name);

/* The dialect of `shares`, or the dialect itself. */
uint32_t dialect_family(uint32_t dialect);

#endif
