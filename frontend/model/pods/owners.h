/* SPDX-License-Identifier: Apache-2.0 */
/* Services and controllers ("owners"): the sources of default topology spread constraints.
 *
 * kube-scheduler (podtopologyspread: buildDefaultConstraints) gives pods without constraints of
 * their own the default ones, with the selectors of the pod's services and controller merged
 * (helper.DefaultSelector).
 *
 * owners.c stores them, owner_objects.c reads objects and updates the shapes of pods concerned. */
#ifndef MUSTER_FRONTEND_MODEL_OWNERS_H
#define MUSTER_FRONTEND_MODEL_OWNERS_H

#include "frontend/model/base/labels.h"
#include "frontend/model/base/state.h"
#include "frontend/model/pods/named.h"

struct namespace_entry;

enum owner_kind { /* struct named_key's kind */
	              OWNER_NONE,
	              OWNER_SERVICE,
	              OWNER_REPLICA_SET,
	              OWNER_REPLICATION_CONTROLLER,
	              OWNER_STATEFUL_SET,
	              OWNER_KINDS
};

struct owner_entry {
	struct entry entry;
	struct named_key key;
	struct label_rules *rules; /* NULL: none; no key in it is LABEL_KEY_NODE_NAME */
	/* Services with the same first pair are a list; its first one is in services_index. */
	uint32_t pair_hash;
	uint32_t pair_next, pair_prev;
	bool is_first;
};

/* What determines a pod's default spread constraints. */
struct spread_cause {
	uint32_t namespace; /* slot */
	const struct pod_label *labels;
	uint32_t labels_n;
	uint32_t owner_kind;
	uint32_t owner; /* value number of its name */
};

static inline struct owner_entry *owner_at(const struct model *m, uint32_t s)
{
	return store_at(&m->owners, s);
}

void owner_free(struct owner_entry *e);

/* The first service of the namespace whose selector begins with that pair, or SLOT_NONE; the others
 * follow by pair_next. */
uint32_t service_first(const struct model *m, uint32_t namespace, const struct pod_label *pair);
/* The entry of that kind and name, made without a stamp if need be. */
uint32_t owner_enter(struct model *m, uint32_t kind, const struct meta *meta);
void owner_release(struct model *m, uint32_t owner); /* its rules are gone */
/* Replace the rules; the old ones are the caller's. */
struct label_rules *owner_swap_rules(struct model *m, uint32_t owner, struct label_rules *rules);
/* True if the pod has all pairs of a service's selector. */
bool service_selects(const struct label_rules *r, const struct pod_label *labels, uint32_t n);
uint32_t owner_kind_of(const struct owner_object *owner); /* never OWNER_SERVICE */

/* owner_objects.c */

int owner_put(struct model *m, int resource, const char *json, size_t bytes,
              struct decode_error *error);
void owner_remove(struct model *m, int resource, const struct meta *meta);
void owner_forget(struct model *m, uint32_t owner);
/* True if a change of what the namespace's pods refer to has to wait for model_respread(). */
bool respread_waits(struct model *m, struct namespace_entry *n);
/* One was applied: none more for a time that depends on the pods that got another shape by it. */
void respread_rest(const struct model *m, struct namespace_entry *n, uint64_t pods);
/* It selects nothing until it is put again. */
void owner_withdraw(struct model *m, uint32_t owner);

#endif
