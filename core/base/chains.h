/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers handed out densely, used again after they were given back, and found by the
 * hash of what they stand for.  What that is lies in arrays of the caller's own,
 * `room` long. */
#ifndef MUSTER_CORE_CHAINS_H
#define MUSTER_CORE_CHAINS_H

#include <assert.h>
#include <stdint.h>

#define CHAIN_NONE UINT32_MAX

struct chain_link {
	uint32_t next; /* with the same head, or the next free one; number + 1, 0: none */
	uint32_t hash;
};

struct chains {
	uint32_t *heads;          /* number + 1, 0: none */
	struct chain_link *links; /* by number */
	uint32_t mask;
	uint32_t room;
	uint32_t used;  /* numbers below this were handed out at least once */
	uint32_t count; /* that are out */
	uint32_t free;  /* number + 1 of the first that was given back */
};

/* Mix one more word into a hash. */
static inline uint32_t chain_hash(uint32_t hash, uint32_t word)
{
	uint64_t h = ((uint64_t)hash << 32 | word) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h ^ h >> 32);
}

/* -ENOMEM, and nothing has changed. */
int chains_init(struct chains *c, uint32_t room);
/* Room for `more` beyond those that are out; it grows by half at least. */
int chains_reserve(struct chains *c, uint32_t more);
void chains_clear(struct chains *c);
void chains_free(struct chains *c);

/* There has to be room. */
uint32_t chains_new(struct chains *c, uint32_t hash);
void chains_drop(struct chains *c, uint32_t number);

/* The next from `link` on with that hash. */
static inline uint32_t chain_seek(const struct chains *c, uint32_t link, uint32_t hash)
{
	while (link != 0 && c->links[link - 1].hash != hash)
		link = c->links[link - 1].next;
	return link != 0 ? link - 1 : CHAIN_NONE;
}

/* Those with that hash, one after the other, until CHAIN_NONE. */
static inline uint32_t chains_first(const struct chains *c, uint32_t hash)
{
	return chain_seek(c, c->heads[hash & c->mask], hash);
}

static inline uint32_t chains_next(const struct chains *c, uint32_t number)
{
	return chain_seek(c, c->links[number].next, c->links[number].hash);
}

/* Make an array of the caller's as long as c->room; `items` is a pointer to its pointer.  New
 * items are zero.  -ENOMEM */
int chains_fit(const struct chains *c, void *items, uint32_t *room, uint32_t bytes);

#endif
