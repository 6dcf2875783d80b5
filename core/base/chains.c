/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_LEAST 16u

static uint32_t heads_for(uint32_t room)
{
	uint32_t heads = ROOM_LEAST;

	while (heads < room && heads < UINT32_C(1) << 31)
		heads *= 2;
	return heads;
}

int chains_init(struct chains *c, uint32_t room)
{
	const uint32_t least = room > ROOM_LEAST ? room : ROOM_LEAST;

	*c = (struct chains){ .room = least, .mask = heads_for(least) - 1 };
	c->heads = calloc((size_t)c->mask + 1, sizeof(*c->heads));
	c->links = calloc(least, sizeof(*c->links));
	if (c->heads && c->links)
		return 0;
	chains_free(c);
	return -ENOMEM;
}

static void link_in(struct chains *c, uint32_t number)
{
	struct chain_link *link = &c->links[number];
	uint32_t *head = &c->heads[link->hash & c->mask];

	link->next = *head;
	*head = number + 1;
}

/* Numbers in use are linked from the heads, those given back from `free`. */
static void heads_move(struct chains *c, uint32_t *heads, uint32_t mask)
{
	uint32_t *old = c->heads;
	const uint32_t old_mask = c->mask;

	c->heads = heads;
	c->mask = mask;
	for (uint32_t i = 0; i <= old_mask; i++) {
		uint32_t next;

		for (uint32_t link = old[i]; link != 0; link = next) {
			next = c->links[link - 1].next;
			link_in(c, link - 1);
		}
	}
	free(old);
}

int chains_reserve(struct chains *c, uint32_t more)
{
	uint64_t room = (uint64_t)c->room + c->room / 2;
	struct chain_link *links;
	uint32_t heads_n, *heads = NULL;

	if (more <= c->room - c->count)
		return 0;
	if (room < (uint64_t)c->count + more)
		room = (uint64_t)c->count + more;
	if (room >= CHAIN_NONE)
		return -ENOMEM;
	heads_n = heads_for((uint32_t)room);
	if (heads_n - 1 != c->mask) {
		heads = calloc(heads_n, sizeof(*heads));
		if (!heads)
			return -ENOMEM;
	}
	links = realloc(c->links, (size_t)room * sizeof(*links));
	if (!links) {
		free(heads);
		return -ENOMEM;
	}
	c->links = links;
	c->room = (uint32_t)room;
	if (heads)
		heads_move(c, heads, heads_n - 1);
	return 0;
}

void chains_clear(struct chains *c)
{
	if (c->used > 0)
		memset(c->heads, 0, ((size_t)c->mask + 1) * sizeof(*c->heads));
	c->used = c->count = c->free = 0;
}

void chains_free(struct chains *c)
{
	free(c->heads);
	free(c->links);
	*c = (struct chains){ 0 };
}

uint32_t chains_new(struct chains *c, uint32_t hash)
{
	uint32_t number;

	assert(c->count < c->room);
	if (c->free != 0) {
		number = c->free - 1;
		c->free = c->links[number].next;
	} else {
		number = c->used++;
	}
	c->count++;
	c->links[number].hash = hash;
	link_in(c, number);
	return number;
}

void chains_drop(struct chains *c, uint32_t number)
{
	uint32_t *at = &c->heads[c->links[number].hash & c->mask];

	while (*at != number + 1)
		at = &c->links[*at - 1].next;
	*at = c->links[number].next;
	c->links[number].next = c->free;
	c->free = number + 1;
	c->count--;
}

int chains_fit(const struct chains *c, void *items, uint32_t *room, uint32_t bytes)
{
	void *old, *grown;

	if (*room >= c->room)
		return 0;
	memcpy(&old, items, sizeof(old));
	grown = realloc(old, (size_t)c->room * bytes);
	if (!grown)
		return -ENOMEM;
	memset((unsigned char *)grown + (size_t)*room * bytes, 0, (size_t)(c->room - *room) * bytes);
	memcpy(items, &grown, sizeof(grown));
	*room = c->room;
	return 0;
}
