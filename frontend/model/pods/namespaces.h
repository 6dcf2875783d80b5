/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces: their labels, and the pods in each that may get default spread constraints.
 *
 * References: pods, owners and policies in the namespace. */
#ifndef MUSTER_FRONTEND_MODEL_NAMESPACES_H
#define MUSTER_FRONTEND_MODEL_NAMESPACES_H

#include "frontend/model/base/state.h"

struct namespace_entry {
	struct entry entry;
	uint32_t name; /* its value number */
	struct pod_label *labels;
	uint32_t labels_n;
	uint64_t used[SHARES]; /* entries charged to it, each a reference: shares.h */
	uint64_t memory_lack;  /* bytes of the smallest that memory_lack() was of in that round */
	uint64_t lack_round;
	uint32_t pods_first;  /* a chain over pod_entry.spread_link */
	bool respread_due;    /* default spreads of its pods may be old, or policies or claims wait */
	uint64_t respread_ns; /* ... and are derived again from this time on */
	bool policies_wait;   /* a policy of it may wait: policies_apply() */
	uint64_t claims_ns;   /* a change of claims applied at that time, */
	uint64_t claims_pods; /* ... to so many pods */
	bool spared;          /* no pod in it may be evicted: muster.dev/preemption */
	bool relabelled;      /* since queues_refresh() */
	uint32_t selected;    /* groups/queues.c; 0: not known */
	bool ending;          /* it has a deletionTimestamp: no pod in it can be bound any more */
};

static inline struct namespace_entry *namespace_at(const struct model *m, uint32_t s)
{
	return store_at(&m->namespaces, s);
}

bool namespace_equal(const void *item, const void *key); /* the number of its name */
void namespace_free(struct namespace_entry *e);

int namespace_put(struct model *m, int resource, const char *json, size_t bytes,
                  struct decode_error *error);
void namespace_remove(struct model *m, const struct meta *meta);
void namespace_forget_object(struct model *m, uint32_t namespace); /* nothing without one */

/* The namespace of that name, referenced; made without an object if need be. */
uint32_t namespace_take(struct model *m, struct text name);
void namespace_give(struct model *m, uint32_t namespace);
bool namespace_is_charged(const struct namespace_entry *e); /* shares.h */
/* Free it when it has no object, no reference and no charge, and the core does not have it. */
void namespace_release_if_unused(struct model *m, uint32_t namespace);

#endif
