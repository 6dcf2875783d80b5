/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of slots, lists over them, and hash tables that find them.
 *
 * A pool is an array of items of one size; each begins with a struct slot.  A
 * slot number is the id of a record that the core gets.  Items move when the
 * pool grows: keep numbers, not pointers.  Allocation does not fail: see
 * ipc/memory.h. */
#ifndef MUSTER_FRONTEND_TABLE_H
#define MUSTER_FRONTEND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_NONE UINT32_MAX

struct slot {
	uint32_t generation; /* of its user, from 1; kept when the slot is free */
	uint32_t sent;       /* the generation that was sent to the core, 0: none */
	uint32_t next, prev; /* in `list` */
	uint32_t free_next;
	uint8_t list; /* number of the list it is in, 0: none */
	bool live;    /* in use */
};

struct pool {
	char *items;
	size_t item_bytes;
	uint32_t n;    /* slots ever used */
	uint32_t used; /* in use now */
	uint32_t cap;
	uint32_t limit;
	uint32_t free_first;
};

void pool_init(struct pool *p, size_t item_bytes, uint32_t limit);
void pool_free(struct pool *p);

/* A slot that was free, its item zeroed except for the struct slot.
 *   -ENOSPC  p->limit are in use */
int pool_take(struct pool *p, uint32_t *slot);
void pool_give(struct pool *p, uint32_t slot);

static inline void *pool_at(const struct pool *p, uint32_t slot)
{
	return p->items + (size_t)slot * p->item_bytes;
}

/* A list of slots of one pool, first in first out; a slot is in at most one. */
struct list {
	uint32_t first, last;
	uint8_t number; /* from 1 */
};

void list_init(struct list *l, uint8_t number);
void list_push(struct list *l, struct pool *p, uint32_t slot);
void list_remove(struct list *l, struct pool *p, uint32_t slot);

/* A hash table of slots. */
struct table {
	uint32_t *slots;
	uint32_t *hashes;
	uint32_t size; /* 0 or a power of two */
	uint32_t used;
};

typedef bool (*table_equal_fn)(const void *context, uint32_t slot);

void table_free(struct table *t);
void table_put(struct table *t, uint32_t hash, uint32_t slot);
void table_remove(struct table *t, uint32_t hash, uint32_t slot);
uint32_t table_find(const struct table *t, uint32_t hash, table_equal_fn equal,
                    const void *context);

/* SipHash-1-3. */
uint64_t siphash(const uint64_t key[2], const void *bytes, size_t n);

#endif
