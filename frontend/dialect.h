/* What a gang is in a cluster: the dialects, and the one internal form that all
 * become.  A new dialect is one file and one line in the table of dialect.c.
 *
 * A dialect says how a pod is marked, which objects describe the group, and how
 * such an object is read. */
#ifndef MUSTER_FRONTEND_DIALECT_H
#define MUSTER_FRONTEND_DIALECT_H

#include "frontend/group_status.h"
#include "frontend/model.h"

#include <stddef.h>
#include <stdint.h>

struct pod_object; /* frontend/object.h */
struct arena;

/* The internal form of a group.  Texts are the arena's. */
struct group_spec {
	uint32_t quorum;     /* 0 counts as 1: each member starts alone */
	int32_t quorum_text; /* as written, for messages */
	struct amount_text {
		const char *resource;
		int64_t value; /* in the unit of the column */
	} *min_resources;
	size_t min_resources_n;
	uint64_t timeout_ns; /* it holds room no longer than this at a time; 0: the core's default */
	const char *refusal; /* it can't be honoured: why; NULL */
	bool has_priority;   /* `priority` goes before its members' */
	int32_t priority;
	bool after_others;   /* GANG_AFTER_OTHERS */
	struct role_text {
		const char *role;
		uint32_t quorum;
	} *roles;
	size_t roles_n;
	struct level_text {
		const char *key; /* a label of nodes */
		bool required;
	} levels[GANG_LEVELS_MAX]; /* the widest first */
	size_t levels_n;
};

enum mark {
	MARK_NONE,    /* the pod does not carry this dialect's mark */
	MARK_MEMBER,  /* of the group whose name is in *name */
	MARK_REFUSED, /* marked, but it can't be honoured: *name is the reason */
};

struct dialect {
	const char *name; /* as in the JSON of simulate: "scheduler-plugins" */
	const struct dialect_status *status; /* what is written to the group's object; NULL: nothing */
	const struct dialect_texts *texts;   /* its users' words (frontend/reason.h); NULL: scheduler-plugins' */
	const char *mark; /* how it is written, for messages: "label KEY" */
	enum group_timeout timeout; /* of groups that name none */

	/* Objects that describe a group; NULL when the pods say it all. */
	const struct resource *resource;

	/* The pod's mark, read from its labels, annotations or spec. */
	enum mark (*pod_mark)(const struct pod_object *pod, struct arena *arena, const char **name);

	/* Read the group's object (metadata apart).  0 or -EINVAL with *error. */
	int (*group_read)(const char *json, size_t bytes, struct arena *arena, struct group_spec *out,
	                  struct decode_error *error);

	/* The pod's role in its group, for those that count by role: NULL without one.  May be NULL. */
	const char *(*pod_role)(const struct pod_object *pod, struct arena *arena);

	/* For dialects without an object: the group as this pod describes it.  Members that
	 * describe it otherwise than the first refuse the group. */
	int (*pod_group)(const struct pod_object *pod, struct arena *arena, struct group_spec *out,
	                 struct decode_error *error);
};

/* Of all marks that a pod carries: the group it belongs to, and the dialect.  The
 * earlier in the table goes before the later; marks that name different groups,
 * and marks of dialects that muster knows but does not support yet, make it
 * MARK_REFUSED with the reason in `name`.  Dialects of the bits in `off` are as if they
 * were not there.  Texts are the arena's.  -ENOMEM. */
struct group_mark {
	enum mark mark;
	uint32_t dialect;
	const char *name;
};
int dialect_mark(const struct pod_object *pod, uint64_t off, struct arena *arena, struct group_mark *out);

/* The index is the `dialect` of struct event_gang. */
extern const struct dialect *const dialects[];
extern const size_t dialects_n;

/* The index of the dialect with that name, or -1. */
int dialect_find(const char *name);

#endif
