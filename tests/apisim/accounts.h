/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses what on each node, computed from the objects alone: the judge of
 * every scheduler that is tested here.  It shares no code with them. */
#ifndef MUSTER_APISIM_ACCOUNTS_H
#define MUSTER_APISIM_ACCOUNTS_H

#include "tests/apisim/map.h"
#include "tests/apisim/object.h"
#include "tests/apisim/requests.h"

struct as_node_account {
	bool present; /* the node object is there */
	struct as_amounts allocatable;
	struct as_amounts used;
	struct as_pod_account *pods;
};

/* How far the kubelet is with a pod. */
enum as_stage { AS_SEEN, AS_STARTING, AS_RUNNING, AS_REJECTED, AS_LEAVING };

struct as_pod_account {
	char uid[AS_UID_BYTES];
	char *key;
	enum as_stage stage;
	bool counted; /* in its node's used */
	struct as_amounts amounts;
	struct as_node_account *node;
	struct as_pod_account *next, *before; /* on the node */
};

struct as_accounts {
	struct as_map nodes; /* by name */
	struct as_map pods;  /* by key: those with a node */
};

void as_accounts_set_node(struct as_accounts *a, struct as_arena *arena,
                          const struct as_object *node);
void as_accounts_drop_node(struct as_accounts *a, const char *name);
struct as_pod_account *as_accounts_find_pod(const struct as_accounts *a,
                                            const struct as_object *pod);
/* A pod that has a node. */
struct as_pod_account *as_accounts_add_pod(struct as_accounts *a, struct as_arena *arena,
                                           const struct as_object *pod);
/* The pod has ended: its capacity is free, its record is kept. */
void as_accounts_release(struct as_pod_account *pod);
void as_accounts_drop_pod(struct as_accounts *a, const char *key);
/* The first resource that the pod requests and of which more is allocated than its node has;
 * NULL: the pod fits. */
const struct as_amount *as_accounts_over(const struct as_pod_account *pod);
void as_accounts_clear(struct as_accounts *a);

#endif
