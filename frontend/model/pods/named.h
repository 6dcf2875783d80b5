/* SPDX-License-Identifier: Apache-2.0 */
/* Entries found by the namespace and name of their object: owners, policies and budgets.  An entry
 * references both while it exists. */
#ifndef MUSTER_FRONTEND_MODEL_NAMED_H
#define MUSTER_FRONTEND_MODEL_NAMED_H

#include "frontend/model/base/state.h"

struct named_key {
	uint32_t kind; /* enum owner_kind; 0 in a store of one kind */
	uint32_t namespace;
	uint32_t name; /* a value number */
};

/* Begins each of them. */
struct named {
	struct entry entry;
	struct named_key key;
};

bool named_equal(const void *item, const void *key); /* const struct named_key * */

/* SLOT_NONE: there is none. */
uint32_t named_find(const struct model *m, const struct store *s, const struct named_key *key);

/* The entry of that name, made without references to it if need be: *is_new, and the caller sets
 * what follows the key. */
uint32_t named_enter(struct model *m, struct store *s, uint32_t kind, struct text namespace,
                     struct text name, bool *is_new);

/* Frees the slot, which nothing references, and its references. */
void named_remove(struct model *m, struct store *s, uint32_t slot);

#endif
