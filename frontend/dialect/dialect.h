/* SPDX-License-Identifier: Apache-2.0 */
/* What a gang is in a cluster: the dialects, and the one internal form that all
 * become.  A new dialect is one file and one line in the table of dialect.c.
 *
 * A dialect says how a pod is marked, which objects describe the group, and how
 * such an object is read; frontend/dialect/dialect_read.h has what several need. */
#ifndef MUSTER_FRONTEND_DIALECT_H
#define MUSTER_FRONTEND_DIALECT_H

#include "frontend/dialect/group_status.h"
#include "frontend/model/model.h"

#include <stddef.h>
#include <stdint.h>

struct pod_object; /* frontend/decode/object.h */
struct arena;

/* The internal form of a group.  Texts are the arena's. */
struct group_spec {
	uint32_t quorum;     /* 0 counts as 1: each member starts alone */
	int32_t quorum_text; /* as written, for messages */
	struct amount_text {
		const char *resource;
		int64_t value; /* in the unit of the column */
	} * min_resources;
	size_t min_resources_n;
	uint64_t timeout_ns; /* it holds room no longer than this at a time; 0: the core's default */
	const char *refusal; /* it can't be honoured: why; NULL */
	const char *remark;  /* something of it is passed over: what, for the log; NULL */
	bool has_priority;   /* `priority` goes before its members' */
	int32_t priority;
	bool after_others; /* GANG_AFTER_OTHERS */
	bool hollow;       /* the object says nothing of a group: it is one only when pods name it */
	struct role_text {
		const char *role;
		uint32_t quorum;
	} * roles;
	size_t roles_n; /* up to GANG_ROLES_MAX */
	struct level_text {
		const char *key; /* a label of nodes */
		bool required;
	} levels[GANG_LEVELS_MAX]; /* the widest first */
	size_t levels_n;
	const char *agree; /* of a pod: what all members must have alike beside the above; NULL */
};

enum mark {
	MARK_NONE,    /* the pod does not carry this dialect's mark */
	MARK_MEMBER,  /* of the group whose name is in *name */
	MARK_REFUSED, /* marked, but it can't be honoured: *name is the reason */
};

struct dialect {
	const char *name;                    /* as in the JSON of simulate: "scheduler-plugins" */
	const struct dialect_status *status; /* what is written to the group's object; NULL: nothing */
	const struct dialect_texts
		*texts;       /* its users' words (frontend/dialect/reason.h); NULL: scheduler-plugins' */
	const char *mark; /* how it is written, for messages: "label KEY" */
	enum group_timeout timeout; /* of groups that name none */

	/* Names of groups are also those of this one, which stands right before it in the
	 * table: one group, which either object describes.  NULL: its own. */
	const struct dialect *shares;
	bool one_scheduler; /* members of several schedulers refuse the group */
	bool if_served;     /* marks make members only when the cluster has its resource */
	bool yields;        /* ... only when the pod carries no mark of another dialect */

	/* Objects that describe a group; NULL when the pods say it all. */
	const struct resource *resource;
	/* Versions of it that are read alike, the newest first, up to a NULL; NULL: resource->version
	 * alone. */
	const char *const *versions;
	const char *hollow; /* why an object that says nothing refuses its group */

	/* The pod's mark, read from its labels, annotations or spec. */
	enum mark (*pod_mark)(const struct pod_object *pod, struct arena *arena, const char **name);

	/* Read the group's object.  0 or -EINVAL with *error. */
	int (*group_read)(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
	                  struct decode_error *error);

	/* The pod's role in its group, for those that count by role: NULL without one.  May be NULL. */
	const char *(*pod_role)(const struct pod_object *pod, struct arena *arena);

	/* What this pod says of its group, or false.  Members that say something else than others
	 * refuse the group.  Without objects this is all there is of it.  May be NULL. */
	bool (*pod_group)(const struct pod_object *pod, struct arena *arena, struct group_spec *out);

	/* For messages on members that differ: how the quorum is written ("annotation KEY"), and
	 * `agree`; and what goes before it, if anything. */
	const char *quorum_mark, *quorum_differs;
	const char *agree_mark, *agree_differs;
};

/* Of all marks that a pod carries: the group it belongs to, and the dialect.  The
 * earlier in the table goes before the later; marks that name different groups,
 * and marks of dialects that muster knows but does not support, make it
 * MARK_REFUSED with the reason in `name`.  Dialects of the bits in `off` are as if they
 * were not there; those with if_served that are not in `served` come behind all others and
 * contradict nobody.  Texts are the arena's.  -ENOMEM. */
struct group_mark {
	enum mark mark;
	uint32_t dialect;
	const char *name;
};
int dialect_mark(const struct pod_object *pod, uint64_t off, uint64_t served, struct arena *arena,
                 struct group_mark *out);

/* What the pod says of its group in that dialect: pod_group() and the levels of its annotations.
 * False: nothing.  -ENOMEM shows in the arena. */
bool dialect_pod_says(const struct pod_object *pod, uint32_t dialect, struct arena *arena,
                      struct group_spec *out);

/* The index is the `dialect` of struct event_gang. */
extern const struct dialect *const dialects[];
extern const size_t dialects_n;

/* The index of the dialect with that name, or -1. */
int dialect_find(const char *name);

/* The dialect whose names of groups this one shares, or itself. */
uint32_t dialect_family(uint32_t dialect);

#endif
