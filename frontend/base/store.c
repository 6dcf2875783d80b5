/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/store.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

void store_init(struct store *s, size_t item_bytes, uint32_t limit, store_equal_fn equal)
{
	assert(item_bytes >= sizeof(struct entry));
	*s = (struct store){ .equal = equal };
	pool_init(&s->pool, item_bytes, limit);
	list_init(&s->dirty, STORE_DIRTY);
	list_init(&s->dead, STORE_DEAD);
}

void store_free(struct store *s)
{
	STORE_EACH(s, i)
	free(((struct entry *)store_at(s, i))->stamp);
	pool_free(&s->pool);
	table_free(&s->index);
}

void *store_get(const struct store *s, uint32_t slot, uint32_t generation)
{
	struct entry *e = slot < s->pool.n ? store_at(s, slot) : NULL;

	return e && e->slot.live && e->slot.generation == generation ? e : NULL;
}

uint32_t store_find(const struct store *s, uint32_t hash, const void *key)
{
	const struct table *t = &s->index;

	if (t->size == 0)
		return SLOT_NONE;
	for (uint32_t i = hash & (t->size - 1); t->slots[i] != SLOT_NONE; i = (i + 1) & (t->size - 1))
		if (t->hashes[i] == hash && s->equal(store_at(s, t->slots[i]), key))
			return t->slots[i];
	return SLOT_NONE;
}

int store_add(struct store *s, uint32_t hash, uint32_t *slot)
{
	int rc = pool_take(&s->pool, slot);

	if (rc < 0)
		return rc;
	assert(((const struct entry *)store_at(s, *slot))->refs == 0);
	((struct entry *)store_at(s, *slot))->hash = hash;
	table_put(&s->index, hash, *slot);
	return 0;
}

uint32_t store_enter(struct store *s, uint32_t hash, const void *key, bool *is_new)
{
	uint32_t slot = store_find(s, hash, key);

	*is_new = slot == SLOT_NONE;
	if (*is_new && store_add(s, hash, &slot) < 0)
		fatal_memory(); /* 2^32 of them */
	return slot;
}

static void release(struct store *s, uint32_t slot)
{
	struct entry *e = store_at(s, slot);

	assert(e->slot.live && e->refs == 0);
	table_remove(&s->index, e->hash, slot);
	free(e->stamp);
	e->stamp = NULL;
	pool_give(&s->pool, slot);
}

void store_remove(struct store *s, uint32_t slot)
{
	list_remove(&s->dirty, &s->pool, slot);
	list_remove(&s->dead, &s->pool, slot);
	((struct entry *)store_at(s, slot))->slot.sent = 0;
	release(s, slot);
}

void store_remove_dirty(struct store *s, uint32_t slot)
{
	if (((const struct entry *)store_at(s, slot))->slot.sent == 0)
		list_remove(&s->dirty, &s->pool, slot);
	else
		list_push(&s->dirty, &s->pool, slot);
	release(s, slot);
}

void store_mark_dirty(struct store *s, uint32_t slot)
{
	assert(((const struct entry *)store_at(s, slot))->slot.live);
	list_remove(&s->dead, &s->pool, slot);
	list_push(&s->dirty, &s->pool, slot);
}

bool store_retire(struct store *s, uint32_t slot)
{
	assert(((const struct entry *)store_at(s, slot))->slot.live);
	list_remove(&s->dirty, &s->pool, slot);
	if (((const struct entry *)store_at(s, slot))->slot.sent == 0)
		return true;
	list_push(&s->dead, &s->pool, slot);
	return false;
}

void store_restart(struct store *s)
{
	assert(s->dead.first == SLOT_NONE);
	for (uint32_t i = 0; i < s->pool.n; i++) {
		struct entry *e = store_at(s, i);

		list_remove(&s->dirty, &s->pool, i);
		e->slot.sent = 0;
		if (e->slot.live)
			list_push(&s->dirty, &s->pool, i);
	}
}

static struct link *link_at(const struct pool *p, size_t link, uint32_t slot)
{
	return (void *)((char *)pool_at(p, slot) + link);
}

void chain_push(const struct pool *p, size_t link, uint32_t *first, uint32_t slot)
{
	assert(*first != slot);
	*link_at(p, link, slot) = (struct link){ .next = *first, .prev = SLOT_NONE };
	if (*first != SLOT_NONE)
		link_at(p, link, *first)->prev = slot;
	*first = slot;
}

void chain_remove(const struct pool *p, size_t link, uint32_t *first, uint32_t slot)
{
	const struct link *l = link_at(p, link, slot);

	assert(l->prev != SLOT_NONE || *first == slot);
	if (l->prev == SLOT_NONE)
		*first = l->next;
	else
		link_at(p, link, l->prev)->next = l->next;
	if (l->next != SLOT_NONE)
		link_at(p, link, l->next)->prev = l->prev;
}
