/* SPDX-License-Identifier: Apache-2.0 */
/* A table of dense ids: allocates the lowest unused ones again and finds ids by the hash of what
 * they stand for.
 *
 * The table holds ids and hashes only.  What an id stands for is in arrays of the caller, which
 * id_table_fit() keeps `cap` items long.  Ids with the same head of the hash table form a chain. */
#ifndef MUSTER_CORE_ID_TABLE_H
#define MUSTER_CORE_ID_TABLE_H

#include <assert.h>
#include <stdint.h>

#define ID_TABLE_NONE UINT32_MAX

struct id_link {
	uint32_t next; /* id + 1: next of the chain or of the free list; 0: last */
	uint32_t hash;
};

struct id_table {
	uint32_t *heads;       /* id + 1 of the first of each chain; 0: empty */
	struct id_link *links; /* by id */
	uint32_t mask;         /* number of heads - 1 */
	uint32_t cap;          /* ids that fit */
	uint32_t used;         /* ids below were allocated at least once */
	uint32_t count;        /* ids in use */
	uint32_t free;         /* id + 1 of the first free one below `used`; 0: none */
};

/* Mixes one more word into a hash. */
static inline uint32_t id_hash(uint32_t hash, uint32_t word)
{
	uint64_t h = ((uint64_t)hash << 32 | word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h ^ h >> 32);
}

void id_table_init(struct id_table *t, uint32_t cap);
/* Makes space for `more` ids beyond those in use; grows by half at least. */
void id_table_reserve(struct id_table *t, uint32_t more);
void id_table_clear(struct id_table *t);
void id_table_free(struct id_table *t);

/* Allocates an id; the table must have space for it. */
uint32_t id_table_add(struct id_table *t, uint32_t hash);
void id_table_remove(struct id_table *t, uint32_t id);

static inline uint32_t id_table_seek(const struct id_table *t, uint32_t link, uint32_t hash)
{
	while (link != 0 && t->links[link - 1].hash != hash)
		link = t->links[link - 1].next;
	return link != 0 ? link - 1 : ID_TABLE_NONE;
}

/* The ids with that hash, one after the other, then ID_TABLE_NONE. */
static inline uint32_t id_table_first(const struct id_table *t, uint32_t hash)
{
	return id_table_seek(t, t->heads[hash & t->mask], hash);
}

static inline uint32_t id_table_next(const struct id_table *t, uint32_t id)
{
	return id_table_seek(t, t->links[id].next, t->links[id].hash);
}

/* Grows an array of the caller to t->cap items of `bytes` each.  `items` points to the array's
 * pointer, *cap is its length; new items are zero. */
void id_table_fit(const struct id_table *t, void *items, uint32_t *cap, uint32_t bytes);

#endif
