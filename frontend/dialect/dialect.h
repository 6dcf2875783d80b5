/* SPDX-License-Identifier: Apache-2.0 */
/* Dialects: the ways in which pods of a cluster are marked as members of a gang.
 *
 * A dialect defines the mark of a pod, the object that describes the group, if any, and how both
 * become a struct group_spec.  To add one:
 *
 *   1. a file dialect_NAME.c with a `const struct dialect`: dialect_podgroup.c has an object,
 *      in dialect_kueue.c the pods declare the group; dialect_read.h has what both need
 *   2. its line in the table of dialects.c, at the end: the index is part of recordings
 *   3. what docs/architecture.md, "Where to add", lists besides
 *
 * Functions of a dialect read one pod or one object, and keep nothing. */
#ifndef MUSTER_FRONTEND_DIALECT_H
#define MUSTER_FRONTEND_DIALECT_H

#include "frontend/dialect/group_status.h"
#include "frontend/dialect/gang_view.h"

#include <stddef.h>
#include <stdint.h>

struct pod_object; /* frontend/decode/object.h */
struct arena;

/* A group as muster schedules it.  All zero is a group without conditions; texts are the
 * arena's. */
struct group_spec {
	uint32_t quorum;     /* 0 counts as 1: each member is scheduled alone */
	int32_t quorum_text; /* as written, for messages */
	struct amount_text {
		const char *resource;
		int64_t value; /* in the unit of the resource: milli-CPU, bytes, pieces */
	} * min_resources; /* refused while less than this is free in the cluster */
	size_t min_resources_n;
	uint64_t timeout_ns; /* a reservation is held no longer; 0: the core's default */
	const char *refusal; /* the group is not scheduled: the reason, for users; NULL */
	const char *remark;  /* a part of the spec that is ignored, for the log; NULL */
	bool has_priority;   /* `priority` replaces that of the members */
	int32_t priority;
	bool after_others; /* the gang is queued after all others: GANG_AFTER_OTHERS */

	/* The object has nothing of a group.  Where objects of a common kind describe groups (a
	 * ConfigMap), it is one only if a pod names it, which is refused with struct dialect.hollow
	 * then. */
	bool hollow;

	struct role_text {
		const char *role;
		uint32_t quorum;
	} * roles;      /* each role has a quorum of its own */
	size_t roles_n; /* up to GANG_ROLES_MAX */
	struct level_text {
		const char *key;       /* a label of nodes that all members must have in common */
		bool required;         /* false: preferred */
	} levels[GANG_LEVELS_MAX]; /* the widest first */
	size_t levels_n;

	/* Only from pod_group(): any text that must be the same for all members; if it differs, the
	 * group is refused.  The native dialect puts spec.schedulerName here, since the API requires
	 * one scheduler. */
	const char *agree;
};

enum mark {
	MARK_NONE,    /* the pod does not have the mark of the dialect */
	MARK_MEMBER,  /* it is a member of the group whose name is in *name */
	MARK_REFUSED, /* it has the mark, but can't be scheduled: *name is the reason */
};

struct dialect {
	const char *name; /* in --dialects and in the output of simulate: "kueue" */
	/* "label KEY" or "annotation KEY", for messages.  An annotation named here or in `quorum_mark`
	 * that is no valid text refuses the pod before pod_mark() is called. */
	const char *mark;

	/* The pod's mark; *name is set unless it is MARK_NONE. */
	enum mark (*pod_mark)(const struct pod_object *pod, struct arena *arena, const char **name);

	/* Its object, and the function that reads it: 0, or -EINVAL with *error. */
	const struct resource *resource;
	int (*group_read)(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
	                  struct decode_error *error);

	/* What a pod states about its group; false: nothing.  Members that state different things
	 * refuse the group.  Without an object this is the whole description. */
	bool (*pod_group)(const struct pod_object *pod, struct arena *arena, struct group_spec *out);

	/* The role of a pod, if groups have quorums by role; it returns NULL for a pod without one. */
	const char *(*pod_role)(const struct pod_object *pod, struct arena *arena);

	/* API versions of `resource` that are read alike, the newest first, then NULL: the first one
	 * that the cluster serves is watched.  NULL: resource->version alone. */
	const char *const *versions;

	/* The reason for refusing a group whose object is hollow (struct group_spec). */
	const char *hollow;

	/* The mark counts only in a cluster that serves `resource`: for keys that others use too. */
	bool if_served;

	/* The mark counts only on a pod that has no mark of another dialect: for controllers that write
	 * it on every pod, also of groups that another dialect describes. */
	bool yields;

	/* ... and on this pod, although the dialect does not yield otherwise: the pod's controller
	 * wrote it beside a mark of the template.  NULL: never. */
	bool (*pod_yields)(const struct pod_object *pod);

	/* Its groups are those of this dialect, which is the line before it in the table: a group with
	 * the same name is the same group, which an object of either may describe.  NULL: its own
	 * groups. */
	const struct dialect *shares;

	/* A group with members of several schedulers is refused. */
	bool one_scheduler;

	/* Succeeded members count for the quorum from the start, as in the dialect's own scheduler;
	 * else only those of a gang that was whole once. */
	bool ended_count;

	enum group_timeout timeout;          /* of groups without timeout_ns: which setting */
	const struct dialect_status *status; /* the status written to the object; NULL: none */
	const struct dialect_texts *texts;   /* wording of reasons (reason.h); NULL: of
	                                      * scheduler-plugins */

	/* For messages if members state different quorums or `agree`: how the value is written
	 * ("annotation KEY"), and a text before the message, or NULL. */
	const char *quorum_mark, *quorum_differs;
	const char *agree_mark, *agree_differs;
};

#endif
