/* SPDX-License-Identifier: Apache-2.0 */
/* PodDisruptionBudgets, for searches for victims: which pods they match is found by the core's
 * world (core/world/keeper.h), of the numbers of labels that pods have. */
#ifndef MUSTER_FRONTEND_MODEL_BUDGETS_H
#define MUSTER_FRONTEND_MODEL_BUDGETS_H

#include "frontend/model/base/labels.h"
#include "frontend/model/base/state.h"
#include "frontend/model/pods/named.h"

struct budget_entry {
	struct entry entry; /* refs: none */
	struct named_key key;
	struct label_rules *rules; /* NULL: every pod with labels */
	bool matches_none;         /* it has no selector */
	int32_t allowed;
	char *names; /* of status.disruptedPods, with a slash between them; NULL: none */
};

static inline struct budget_entry *budget_at(const struct model *m, uint32_t s)
{
	return store_at(&m->budgets, s);
}

void budget_free(struct budget_entry *e);

int budget_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error);
void budget_remove(struct model *m, const struct meta *meta);
void budget_forget_object(struct model *m, uint32_t budget); /* nothing without one */
/* It allows nothing in its namespace until it is put again. */
void budget_withdraw(struct model *m, uint32_t budget);
void budget_release_if_unused(struct model *m, uint32_t budget);

/* Of its selector and names; model.budget_bytes is the sum. */
size_t budget_held_bytes(const struct budget_entry *e);

/* The body of its record. */
size_t budget_bytes(const struct budget_entry *e);
void budget_write(const struct model *m, uint32_t budget, char *at);

#endif
