/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/id_table.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define CAP_LEAST 16u

static uint32_t heads_for(uint32_t cap)
{
	uint32_t heads = CAP_LEAST;

	while (heads < cap && heads < UINT32_C(1) << 31)
		heads *= 2;
	return heads;
}

void id_table_init(struct id_table *t, uint32_t cap)
{
	cap = cap > CAP_LEAST ? cap : CAP_LEAST;
	*t = (struct id_table){ .cap = cap, .mask = heads_for(cap) - 1 };
	t->heads = must_array((size_t)t->mask + 1, sizeof(*t->heads));
	t->links = must_array(cap, sizeof(*t->links));
}

static void link_in(struct id_table *t, uint32_t id)
{
	struct id_link *link = &t->links[id];
	uint32_t *head = &t->heads[link->hash & t->mask];

	link->next = *head;
	*head = id + 1;
}

/* Ids in use are linked from the heads and move; the free list does not depend on them. */
static void rehash(struct id_table *t, uint32_t heads_n)
{
	uint32_t *old = t->heads;
	const uint32_t old_mask = t->mask;

	t->heads = must_array(heads_n, sizeof(*t->heads));
	t->mask = heads_n - 1;
	for (uint32_t i = 0; i <= old_mask; i++) {
		uint32_t next;

		for (uint32_t link = old[i]; link != 0; link = next) {
			next = t->links[link - 1].next;
			link_in(t, link - 1);
		}
	}
	free(old);
}

void id_table_reserve(struct id_table *t, uint32_t more)
{
	uint64_t cap = (uint64_t)t->cap + t->cap / 2;

	assert(t->count <= t->used && t->used <= t->cap);
	if (more <= t->cap - t->count)
		return;
	if (cap < (uint64_t)t->count + more)
		cap = (uint64_t)t->count + more;
	if (cap >= ID_TABLE_NONE)
		fatal_memory();
	t->links = must_grow(t->links, (size_t)cap * sizeof(*t->links));
	t->cap = (uint32_t)cap;
	if (heads_for(t->cap) - 1 != t->mask)
		rehash(t, heads_for(t->cap));
}

void id_table_clear(struct id_table *t)
{
	if (t->used > 0)
		memset(t->heads, 0, ((size_t)t->mask + 1) * sizeof(*t->heads));
	t->used = t->count = t->free = 0;
}

void id_table_free(struct id_table *t)
{
	free(t->heads);
	free(t->links);
	*t = (struct id_table){ 0 };
}

uint32_t id_table_add(struct id_table *t, uint32_t hash)
{
	uint32_t id;

	assert(t->count < t->cap);
	if (t->free != 0) {
		id = t->free - 1;
		t->free = t->links[id].next;
	} else {
		id = t->used++;
	}
	t->count++;
	t->links[id].hash = hash;
	link_in(t, id);
	return id;
}

void id_table_remove(struct id_table *t, uint32_t id)
{
	uint32_t *at = &t->heads[t->links[id].hash & t->mask];

	assert(id < t->used && t->count > 0);
	while (*at != id + 1)
		at = &t->links[*at - 1].next;
	*at = t->links[id].next;
	t->links[id].next = t->free;
	t->free = id + 1;
	t->count--;
}

void id_table_fit(const struct id_table *t, void *items, uint32_t *cap, uint32_t bytes)
{
	void *old, *grown;

	if (*cap >= t->cap)
		return;
	memcpy(&old, items, sizeof(old));
	grown = must_grow(old, (size_t)t->cap * bytes);
	memset((unsigned char *)grown + (size_t)*cap * bytes, 0, (size_t)(t->cap - *cap) * bytes);
	memcpy(items, &grown, sizeof(grown));
	*cap = t->cap;
}
