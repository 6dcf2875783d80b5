/* SPDX-License-Identifier: Apache-2.0 */
/* Succeeded and failed members, whether the gang was whole once, and what the status of a group's
 * object is computed from: its present status, its members by phase,
 * and the pods that name the group but are no members, which the core does not get: those that
 * ended, and those of other schedulers.
 *
 * Of a non-member its uid is stored, and keyed hashes of its name and its group's: it needs no slot
 * of the core's, and it may be listed before its group is. */
#ifndef MUSTER_FRONTEND_MODEL_GROUP_PODS_H
#define MUSTER_FRONTEND_MODEL_GROUP_PODS_H

#include "frontend/model/groups/gangs.h"
#include "frontend/model/pods/pods.h"

/* A pod that ended, or is another scheduler's. */
struct non_member {
	struct entry entry;
	uint64_t key[2]; /* of its name */
	uint64_t uid[2];
	uint32_t sum;
	uint32_t scheduler; /* referenced; ID_NONE: it is ours, or has ended */
	uint8_t phase;      /* enum pod_phase */
	bool ours;
	bool bound;
};

static inline struct non_member *non_member_at(const struct model *m, uint32_t s)
{
	return store_at(&m->non_members, s);
}

bool non_member_equal(const void *item, const void *key); /* const uint64_t [2] */

/* The status in its object of that dialect, as it was put. */
void gang_read_status(struct model *m, uint32_t gang, uint32_t dialect, const char *json,
                      size_t bytes);
void gang_forget_status(struct model *m, uint32_t gang, uint32_t dialect);
/* Count a member in its phase, or not any more. */
void gang_phase_count(struct model *m, const struct pod_entry *pod);
void gang_phase_uncount(struct model *m, const struct pod_entry *pod);
/* The owners of its members: those of the first member that has any. */
void gang_set_owners(struct model *m, uint32_t gang, const struct pod_object *pod);

/* Fills in the fields of its record that follow from its members that ended. */
struct gang_form;
void gang_life_to_wire(struct model *m, uint32_t gang, const struct gang_form *form,
                       struct event_gang *e);

/* A non-member was put: -ENOSPC with *error. */
int non_member_put(struct model *m, const struct pod_object *pod, struct decode_error *error);
void non_member_remove(struct model *m, const struct meta *meta);
/* A pod of that name was put: removes a non-member of that name with another uid; one with this uid
 * is still there, also if the pod is as it was and non_member_put() is not called. */
void non_member_note_put(struct model *m, const struct meta *meta);
void non_members_replaced(struct model *m, uint32_t round);

#endif
