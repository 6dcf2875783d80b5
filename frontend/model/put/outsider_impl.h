/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by outsider.c and outsider_gang.c. */
#ifndef MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_IMPL_H
#define MUSTER_FRONTEND_MODEL_PUT_OUTSIDER_IMPL_H

#include "frontend/model/base/state.h"
#include "frontend/model/put/outsider.h"

struct pod_entry;

/* What putting an object may change besides its own entries. */
struct outsider_before {
	struct model_counts counts;
	size_t scheduler_names_n;
	uint32_t lacks;
	bool shared, shares_due, newcomer, columns_due;
};

/* What is put between the two is forgotten before the end. */
struct outsider_before outsider_begin(struct model *m);
void outsider_end(struct model *m, const struct outsider_before *b);

/* The pod, if it is a pending one that the cluster does not have; -EINVAL. */
int outsider_read(struct model *m, const char *json, size_t bytes, struct pod_object *pod,
                  struct decode_error *error);
/* One question more: -ENOSPC when there are OUTSIDERS_UNSENT. */
int outsider_count(struct model *m, const struct meta *meta, struct decode_error *error);

/* Why muster would not place the pod, or NULL; the arena's. */
const char *outsider_refusal(struct model *m, const struct pod_entry *e);

/* Adds the numbers of its texts to the list of held_begin(). */
void outsider_hold(struct model *m, const struct pod_entry *p);

/* Resources that no node has, behind the first n of `names`, which have RESOURCES_MAX.  Returns how
 * many there are then. */
uint32_t outsider_names_add(struct model *m, struct outsider_name *names, uint32_t n,
                            const struct amount *amounts, uint32_t amounts_n);

/* The body of a record at `at`, zeroes, which has so many bytes; the record has *bytes.  NULL:
 * there is no room. */
void *outsider_record(unsigned char *at, size_t room, enum record_kind kind, size_t body,
                      uint32_t *bytes);

/* Of the body of a pod's EVENT_POD. */
size_t outsider_pod_bytes(const struct pod_entry *p);

/* The body of a shape's EVENT_SHAPE, with another number. */
void outsider_shape_write(struct model *m, uint32_t shape, uint32_t number, struct event_shape *e);

#endif
