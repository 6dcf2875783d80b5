/* SPDX-License-Identifier: Apache-2.0 */
/* A table of entries found by a key: a pool of slots, an index over them, reference counts,
 * version stamps, and the lists of what has to be sent to the core.
 *
 *   free ── store_add ──► in use ── store_mark_dirty ──► dirty ── sent ──► in use
 *    ▲                                                                       │
 *    ├── store_remove ◄── never sent ──────────────── store_retire ◄─────────┤
 *    └── store_remove ◄── drop sent ── dead ◄───────────────┘
 *
 * An entry that was retired but is still known to the core stays in the table, dead, until its
 * drop record has been sent.  store_mark_dirty() revives it if it is referenced before that.
 *
 * The store owns the items and their stamps; what else an item owns is freed by the caller.  Items
 * move when the pool grows: a pointer is good until the next store_add(). */
#ifndef MUSTER_FRONTEND_STORE_H
#define MUSTER_FRONTEND_STORE_H

#include "frontend/base/table.h"

/* Begins each item. */
struct entry {
	struct slot slot;
	uint32_t hash; /* of the key */
	uint32_t refs;
	uint32_t seen; /* list round in which the object was put last */
	bool retry;    /* read the same version again when it is put again */
	char *stamp;   /* "uid NUL resourceVersion NUL"; NULL: there is no object */
};

typedef bool (*store_equal_fn)(const void *item, const void *key);

struct store {
	struct pool pool;
	struct table index;
	struct list dirty, dead; /* of the slots in the pool */
	store_equal_fn equal;    /* true if the item has this key */
};

enum { STORE_DIRTY = 1, STORE_DEAD = 2 }; /* struct slot's `list` */

void store_init(struct store *s, size_t item_bytes, uint32_t limit, store_equal_fn equal);
void store_free(struct store *s);

static inline void *store_at(const struct store *s, uint32_t slot)
{
	return pool_at(&s->pool, slot);
}

/* Runs the statement behind it for each slot in use, in order. */
#define STORE_EACH(store, i)                                                                       \
	for (uint32_t i = 0; i < (store)->pool.n; i++)                                                 \
		if (!((const struct entry *)store_at(store, i))->slot.live) {                              \
		} else

/* The item in that slot, or NULL when its user has another generation. */
void *store_get(const struct store *s, uint32_t slot, uint32_t generation);

/* Slot of the item with that key, or SLOT_NONE. */
uint32_t store_find(const struct store *s, uint32_t hash, const void *key);

/* A new item, zeroed, whose key the caller sets.
 *   -ENOSPC  the limit is reached */
int store_add(struct store *s, uint32_t hash, uint32_t *slot);

/* The item with that key, in a store without a limit; *is_new: it was added, and the caller sets
 * its key. */
uint32_t store_enter(struct store *s, uint32_t hash, const void *key, bool *is_new);

/* Free the item: the core does not have it. */
void store_remove(struct store *s, uint32_t slot);

/* Free the item; if the core has it, leave the slot in the dirty list, so that its drop is sent. */
void store_remove_dirty(struct store *s, uint32_t slot);

void store_mark_dirty(struct store *s, uint32_t slot);

/* The entry is not used any more.  True: the core does not have it, remove it now. */
bool store_retire(struct store *s, uint32_t slot);

/* A new core, which has nothing: all items are dirty, in order.  No item may be dead. */
void store_restart(struct store *s);

/* Chains: doubly linked lists over items of one pool, by a struct link in each item at the offset
 * `link`.  *first is a slot, or SLOT_NONE. */
struct link {
	uint32_t next, prev;
};

void chain_push(const struct pool *p, size_t link, uint32_t *first, uint32_t slot); /* in front */
void chain_remove(const struct pool *p, size_t link, uint32_t *first, uint32_t slot);

#endif
