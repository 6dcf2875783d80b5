/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs, found by the name of their group and its dialect.
 *
 * A gang exists while it has members or an object that describes it. */
#ifndef MUSTER_FRONTEND_MODEL_GANGS_H
#define MUSTER_FRONTEND_MODEL_GANGS_H

#include "frontend/model/groups/group_spec.h"

struct gang_entry {
	struct entry entry;
	uint32_t dialect;               /* its family: dialect_family() */
	uint32_t members;               /* pods that name it */
	uint32_t members_first;         /* a chain over pod_entry.gang_link */
	uint32_t named[2];              /* ... by a mark of dialects[dialect + i] */
	uint32_t specs_n;               /* different specs that members declare */
	uint32_t declared_spec;         /* one of them, or ID_NONE */
	uint32_t namespace;             /* a slot: it is charged for the gang (shares.h) */
	char *conflict;                 /* between members; NULL: none */
	char *name;                     /* "namespace/name" NUL "namespace" NUL */
	struct group_object objects[2]; /* of dialects[dialect + i] */

	/* For the status of its object: group_pods.h. */
	uint32_t bound;              /* of its members */
	uint32_t phases[POD_PHASES]; /* likewise */
	uint32_t non_members;        /* slot of `non_member_sums`, SLOT_NONE: none */
	uint32_t status_next, status_prev;
	bool status_dirty;
	char *owners; /* "ns/name,ns/name" of its first member; NULL */

	uint32_t quorum; /* as it was sent last; 0: not yet */
	bool whole;      /* members as many as that had a node at one time; group_pods.h */
};

static inline struct gang_entry *gang_at(const struct model *m, uint32_t s)
{
	return store_at(&m->gangs, s);
}

/* The pods of one group that are no members: group_pods.h. */
struct non_member_sum {
	struct entry entry;
	uint64_t key[2]; /* of dialect and name */
	uint32_t gang;   /* SLOT_NONE: the gang has no entry */
	struct gang_counts counts;
	uint32_t succeeded, failed; /* of ours */
	uint32_t had;               /* of those: they had a node */
	uint32_t foreign;           /* other schedulers', not ended */
	uint32_t scheduler;         /* of the last of them, referenced while there are any */
};

static inline struct non_member_sum *non_member_sum_at(const struct model *m, uint32_t s)
{
	return store_at(&m->non_member_sums, s);
}

struct gang_key {
	uint32_t dialect;
	const char *name;
};

bool gang_equal(const void *item, const void *key); /* const struct gang_key * */
void gang_free(struct gang_entry *e);

/* True if nothing is lost when the pod waits without its entries: no Binding of it is in flight,
 * and its gang has no member with a node. */
struct pod_entry;
bool pod_gives_way(const struct model *m, const struct pod_entry *p);

uint32_t gang_find(const struct model *m, uint32_t dialect, const char *name); /* or SLOT_NONE */
/* A gang without members and objects: the caller adds one, or calls gang_release_if_unused().
 * `bound`: for a pod that has a node, whatever the namespace's share.
 *   -ENOSPC  with *flag */
int gang_make(struct model *m, uint32_t dialect, const char *name, bool bound, uint32_t *gang,
              const char **flag);
/* The gang of that name, for a pod that names it; made if need be.  As gang_make(). */
int gang_find_or_make(struct model *m, uint32_t dialect, const struct pod_object *pod,
                      const char *name, uint32_t *gang, const char **flag);
void gang_release_if_unused(struct model *m, uint32_t gang);
void gang_bury(struct model *m, uint32_t gang); /* the core does not have it */

/* The status of its object has to be computed again, or not any more: model_next_status_dirty(). */
void gang_mark_status_dirty(struct model *m, uint32_t gang);
void gang_clear_status_dirty(struct model *m, uint32_t gang);

bool non_member_sum_equal(const void *item, const void *key); /* const uint64_t [2] */
/* The entry for the non-members of the group of that name, made without any if need be, and linked
 * with its gang. */
uint32_t non_member_sum_enter(struct model *m, uint32_t dialect, const char *name);
void non_member_sum_release_if_unused(struct model *m, uint32_t sum);

/* A gang as the core gets it. */
struct gang_form {
	uint32_t dialect;
	const struct group_object *object; /* NULL: missing */
	const struct gang_level *levels;   /* declared by members, after the object's */
	uint32_t levels_n;
	const char *refusal; /* NULL: none */
};
void gang_form(const struct model *m, uint32_t gang, struct gang_form *out);
uint32_t gang_spec_id(const struct model *m, const struct gang_form *form);
/* True if the marks of its members are ignored, because the cluster has no such groups. */
bool gang_is_void(const struct model *m, uint32_t gang);
void gangs_served(struct model *m, uint32_t dialect, bool served);

#endif
