/* SPDX-License-Identifier: Apache-2.0 */
/* Private to unroll.c, unroll_kinds.c and unroll_groups.c. */
#ifndef MUSTER_CTL_UNROLL_PARTS_H
#define MUSTER_CTL_UNROLL_PARTS_H

#include "ctl/objects/members.h"
#include "ctl/objects/unroll.h"

#define UNROLL_NUMBER_MAX 2147483647 /* the fields are int32 */
#define LWS "leaderworkerset.sigs.k8s.io/"

/* The objects of the files, before pods are made of them. */
struct existing {
	const char *kind;
	const char *namespace;
	const char *name;
	struct text owner_kind, owner_name; /* of the controller; "" without one */
	bool runs;                          /* a pod that has not ended and is not being deleted */
	bool succeeded;
	long long index; /* of an indexed Job's pod; -1 */
};

struct unrolling {
	struct files *files;
	struct arena arena;   /* to the end */
	struct arena scratch; /* of one object that is being made: unroll_add() empties it */
	struct existing *by_owner;
	size_t existing_n, pods_in_files;
	const struct existing **by_name;
	size_t pods; /* made */
	struct bytes notes;
	char *error;
	size_t error_bytes;
};

/* A workload that is being unrolled.  Texts are pieces of it. */
struct workload {
	struct unrolling *u;
	struct object object;     /* a copy: files grow */
	struct text uid, created; /* raw; `at` is NULL where an API server has not seen it */
};

/* Those of the controller `kind` NAME, in this workload's namespace. */
const struct existing *unroll_owned(const struct workload *w, const char *kind, const char *name,
                                    size_t *n);
bool unroll_exists(const struct workload *w, const char *kind, const char *name);

/* A whole number of the workload from 0 to `max`; absent or null is `otherwise`. */
bool unroll_number(const struct workload *w, const char *path, long long otherwise, long long max,
                   long long *out);
/* A template of pods, which has to be there with its spec. */
bool unroll_template(const struct workload *w, const char *path, struct text *out);
bool unroll_is_true(const struct workload *w, const char *path);
struct text unroll_raw(const struct workload *w, const char *path);
/* Terminated, in the arena; "" without one. */
const char *unroll_text(const struct workload *w, const char *path);

/* Errors return false, notes true. */
bool unroll_fail(const struct workload *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool unroll_note(const struct workload *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "web-" and five characters as the API server's generator makes them, of `seed` (below
 * UNROLL_PODS_MAX) instead of chance; no pod of the files has the name. In the scratch arena. */
const char *unroll_name(const struct workload *w, const char *prefix, unsigned long long seed);
/* At most ten characters of a hash, as in the name of a Deployment's ReplicaSet. */
const char *unroll_hash(struct arena *arena, struct text of);

/* Adds an object with the workload as its controller; metadata and spec are its own. What was in
 * the scratch arena is gone then. */
void unroll_add(const struct workload *w, const char *api_version, const char *kind,
                const char *name, struct members *metadata, struct text spec);

/* Whether so many more pods may be made; else there is a note. */
bool unroll_has_room(const struct workload *w, long long pods);

/* A pod of a template (metadata and spec): labels and annotations are joined to its own, `spec` is
 * the whole spec. */
void unroll_add_pod(const struct workload *w, struct text template, const char *name,
                    const struct members *labels, const struct members *annotations,
                    struct text spec);

/* `raw` as an object with the members of `more` in it. */
struct text unroll_joined(struct arena *arena, struct text raw, const struct members *more);

bool unroll_deployment(const struct workload *w);
bool unroll_replicaset(const struct workload *w);
bool unroll_statefulset(const struct workload *w);
bool unroll_job(const struct workload *w);
bool unroll_jobset(const struct workload *w);
bool unroll_leaderworkerset(const struct workload *w);

#endif
