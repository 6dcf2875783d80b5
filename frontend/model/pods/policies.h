/* SPDX-License-Identifier: Apache-2.0 */
/* WorkloadPolicies of Kosmos, and the pending pods that name them.  A policy that is created,
 * changed or deleted changes the shapes of those pods. */
#ifndef MUSTER_FRONTEND_MODEL_POLICIES_H
#define MUSTER_FRONTEND_MODEL_POLICIES_H

#include "frontend/model/base/labels.h"
#include "frontend/model/base/state.h"
#include "frontend/model/pods/named.h"

struct namespace_entry;

/* The content of a policy; each number is referenced. */
struct policy_rules {
	uint32_t topology;
	uint32_t flags;               /* enum policy_flags, but POLICY_UNSELECTED */
	struct label_rules *selector; /* NULL: all pods of the namespace */
	uint32_t shares_n;
	struct policy_share shares[]; /* sorted, each value once */
};

/* A policy as it applies to one pod. */
struct policy_use {
	const struct policy_rules *rules;
	bool unselected; /* the pod itself does not match the selector */
};

struct policy_entry {
	struct entry entry; /* refs: pods in the chain */
	struct named_key key;
	char *refusal;              /* why it cannot be applied; NULL: it can, or there is no object */
	struct policy_rules *rules; /* NULL: none that can be applied */
	uint32_t pods_first;        /* a chain over pod_entry.policy_link */
	bool waits;                 /* its latest change: its pods are refused until it applies */
};

static inline struct policy_entry *policy_at(const struct model *m, uint32_t s)
{
	return store_at(&m->policies, s);
}

void policy_free(struct policy_entry *e);

/* The entry of that name, made without references if need be. */
uint32_t policy_enter(struct model *m, struct text namespace, struct text name);
/* The policy that the pod's labels name, ID_NONE without one.  The caller joins it with a pod, or
 * calls policy_release_if_unused().
 *   -EINVAL  its labels name two, with *fault */
int policy_of_pod(struct model *m, const struct pod_object *pod, uint32_t *policy,
                  const char **fault);
void policy_join(struct model *m, uint32_t policy, uint32_t pod);
void policy_leave(struct model *m, uint32_t pod);
void policy_release_if_unused(struct model *m, uint32_t policy);
/* The policy's rules for a pod with those labels, in *use; NULL: no policy (ID_NONE), or it has no
 * usable rules. */
const struct policy_use *policy_use_of(const struct model *m, uint32_t policy,
                                       const struct pod_label *labels, uint32_t n,
                                       struct policy_use *use);

/* policy_objects.c */

int policy_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error);
void policy_remove(struct model *m, const struct meta *meta);
/* What its content takes, as rules_part_bytes(). */
uint64_t policy_part_bytes(const struct model *m, uint32_t policy);
/* It refuses its pods with that text until it is put again. */
void policy_withdraw(struct model *m, uint32_t policy, const char *text);
/* Apply what waits in the namespace; returns to how many pods. */
uint64_t policies_apply(struct model *m, struct namespace_entry *n);
void policy_forget_object(struct model *m, uint32_t policy); /* nothing without one */

#endif
