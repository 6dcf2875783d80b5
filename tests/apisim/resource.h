/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is served: built-in kinds and custom ones. */
#ifndef MUSTER_APISIM_RESOURCE_H
#define MUSTER_APISIM_RESOURCE_H

#include "tests/apisim/index.h"
#include "tests/apisim/object.h"

struct as_call;

/* What a kind does beyond being stored.  Each may be NULL.  A hook that finds
 * faults notes them with as_invalid() or answers with as_refuse(); it returns 0
 * or, after as_refuse(), -1. */
struct as_strategy {
	/* Defaults, admission and validation of a new object. */
	int (*create)(struct as_call *c, struct as_json *object);
	/* Of a changed one; `status`: the status subresource was written. */
	int (*update)(struct as_call *c, struct as_json *object, const struct as_json *old,
	              bool status);
};

struct as_resource {
	const char *group; /* "" is the core group */
	const char *version;
	const char *plural;
	const char *singular;
	const char *kind;
	const char *short_name; /* or NULL */
	bool namespaced;
	bool has_status;                    /* the status subresource */
	bool custom;                        /* declared by a CustomResourceDefinition */
	bool counts_changes;                /* metadata.generation */
	bool returns_object;                /* DELETE answers the object instead of a Status */
	bool upserts;                       /* PUT creates what is not there */
	bool needs_version;                 /* PUT without a resourceVersion is refused */
	bool core_kind;                     /* validated as the core kind of the same name */
	bool one_by_one;                    /* no DELETE of the collection */
	const struct as_strategy *strategy; /* or NULL: plain storage */
	const char *const *fields;          /* NULL-terminated: what fieldSelector may name */
	/* Objects that another group stores, to be read and deleted alone: `view` makes its tree one of
	 * this kind. */
	const char *view_of; /* that group, or NULL */
	void (*view)(struct as_arena *a, struct as_json *object);

	bool gone; /* its definition was removed; events may still refer to it */

	/* Filled when it is added to the table. */
	const char *api_version;    /* "v1", "group/version" */
	const char *prefix;         /* {"kind":"Pod","apiVersion":"v1", */
	const char *qualified;      /* "pods", "leases.coordination.k8s.io" */
	struct as_resource *stored; /* whose objects they are: itself, but for a view */
	struct as_index index;
};

struct as_resources {
	struct as_resource **at;
	size_t n;
};

/* Copy *resource into the table; strings are copied too.  NULL when group,
 * version and plural are there already. */
struct as_resource *as_resources_add(struct as_resources *rs, const struct as_resource *resource);
struct as_resource *as_resources_find(const struct as_resources *rs, const char *group,
                                      const char *version, const char *plural);
/* The kinds that every server has, and those of --gate NAME; false: no such gate. */
void as_resources_add_builtin(struct as_resources *rs);
bool as_resources_add_gate(struct as_resources *rs, const char *gate);
void as_resources_free(struct as_resources *rs);

#endif
