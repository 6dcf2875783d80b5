/* SPDX-License-Identifier: Apache-2.0 */
/* What claims.c and claims_judge.c share. */
#ifndef MUSTER_TESTS_SIM_CLAIMS_IMPL_H
#define MUSTER_TESTS_SIM_CLAIMS_IMPL_H

#include "tests/sim/claims.h"
#include "tests/sim/invariants_impl.h"

#define TREES 256u
#define CLAIMS_FABRIC SIM_NODES /* a slice more than there are nodes: script_fabric() */
#define LEFT_MAX 256u           /* claims that are allocated at a time */

struct left {
	char name[NAME_BYTES];
	uint64_t since_ns;
	bool seen;
};

/* A claim that is allocated, by the history as far as it was judged. */
struct given {
	char name[NAME_BYTES];
	uint64_t since_ns;
	bool ready;          /* all its devices are */
	uint64_t unready_ns; /* when a driver took that back last; 0: never */
};

/* Of an object of that version, which no other object ever has. */
struct claims_tree {
	uint64_t version; /* 0: none */
	const struct as_json *tree;
};

struct claims {
	struct sim *sim;
	struct as_resource *all;
	struct claims_tree trees[TREES]; /* by version */
	struct as_arena trees_arena;
	uint32_t trees_made;                  /* in that arena */
	uint64_t random, taken_back, look_ns; /* two sequences of random numbers, and a time */
	uint32_t made;
	uint64_t bound, twice, unready;
	struct given given[LEFT_MAX];
	size_t given_n;
	struct left left[LEFT_MAX]; /* allocated, and no pod that has a node uses them */
	size_t left_n;
};

/* The first item of a list; NULL: it has none. */
const struct as_json *claims_first(const struct as_json *o, const char *list);
/* By its name it is another scheduler's. */
bool claims_foreign(const char *name);
/* The object as JSON.  Claims are looked at far more often than they change. */
const struct as_json *claims_tree(struct claims *c, const struct as_object *o);
/* All trees so far may go: called first where no tree is in use. */
void claims_trees_begin(struct claims *c);
const struct as_json *claims_status(struct claims *c, const struct as_object *claim);
/* The first result of an allocation. */
const struct as_json *claims_results(const struct as_json *allocation);
bool claims_pod_over(const struct as_object *pod); /* Succeeded or Failed */
const struct as_object *claims_pod(const struct claims *c, const char *uid);
/* The name of the pod's one claim; NULL: it has none; "": it is not made yet. */
const char *claims_name(const struct as_json *pod);
/* The uid of the pod for which the controller made it; "": for none. */
const char *claims_owner(const struct as_json *claim);
/* How many devices the slice of that node has; CLAIMS_FABRIC: that of all nodes. */
uint32_t claims_devices(uint32_t node);
/* The pool of that slice; good until the next call. */
const char *claims_pool(uint32_t node);
/* A claim has that device.  `stale`: by a view that has no claims of muster's. */
bool claims_taken(struct claims *c, const char *pool, const char *device, bool stale);
/* Fails when one is left for too long. */
void claims_look_for_left(struct claims *c);

#endif
