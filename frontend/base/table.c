/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/table.h"

#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pool_init(struct pool *p, size_t item_bytes, uint32_t limit)
{
	*p = (struct pool){ .item_bytes = item_bytes, .limit = limit, .free_first = SLOT_NONE };
}

void pool_free(struct pool *p)
{
	free(p->items);
	p->items = NULL;
}

static void pool_grow(struct pool *p)
{
	uint64_t wanted = p->cap > 0 ? (uint64_t)p->cap * 2 : 64;

	if (wanted > p->limit)
		wanted = p->limit;
	p->items = must_grow(p->items, (size_t)wanted * p->item_bytes);
	p->cap = (uint32_t)wanted;
}

int pool_take(struct pool *p, uint32_t *slot)
{
	struct slot *s;

	if (p->free_first != SLOT_NONE && p->used < p->limit) {
		*slot = p->free_first;
		s = pool_at(p, *slot);
		p->free_first = s->free_next;
	} else {
		if (p->n >= p->limit)
			return -ENOSPC;
		if (p->n == p->cap)
			pool_grow(p);
		*slot = p->n++;
		s = pool_at(p, *slot);
		memset(s, 0, sizeof(*s));
	}
	memset(s + 1, 0, p->item_bytes - sizeof(*s));
	s->live = true;
	if (++s->generation == 0)
		s->generation = 1;
	p->used++;
	return 0;
}

void pool_give(struct pool *p, uint32_t slot)
{
	struct slot *s = pool_at(p, slot);

	assert(s->live);
	s->live = false;
	s->free_next = p->free_first;
	p->free_first = slot;
	p->used--;
}

static struct slot *slot_at(struct pool *p, uint32_t slot)
{
	return pool_at(p, slot);
}

void list_init(struct list *l, uint8_t number)
{
	*l = (struct list){ SLOT_NONE, SLOT_NONE, number };
}

void list_push(struct list *l, struct pool *p, uint32_t slot)
{
	struct slot *s = slot_at(p, slot);

	if (s->list == l->number)
		return;
	assert(s->list == 0);
	s->list = l->number;
	s->next = SLOT_NONE;
	s->prev = l->last;
	if (l->last == SLOT_NONE)
		l->first = slot;
	else
		slot_at(p, l->last)->next = slot;
	l->last = slot;
}

void list_remove(struct list *l, struct pool *p, uint32_t slot)
{
	struct slot *s = slot_at(p, slot);

	if (s->list != l->number)
		return;
	if (s->prev == SLOT_NONE)
		l->first = s->next;
	else
		slot_at(p, s->prev)->next = s->next;
	if (s->next == SLOT_NONE)
		l->last = s->prev;
	else
		slot_at(p, s->next)->prev = s->prev;
	s->list = 0;
}

void table_free(struct table *t)
{
	free(t->slots);
	free(t->hashes);
	*t = (struct table){ 0 };
}

static void table_insert(struct table *t, uint32_t hash, uint32_t slot)
{
	uint32_t i = hash & (t->size - 1);

	while (t->slots[i] != SLOT_NONE)
		i = (i + 1) & (t->size - 1);
	t->slots[i] = slot;
	t->hashes[i] = hash;
}

static void table_grow(struct table *t)
{
	struct table grown = { .used = t->used, .size = t->size > 0 ? t->size * 2 : 64 };

	assert(t->size <= UINT32_MAX / 4);
	grown.slots = must_alloc((size_t)grown.size * sizeof(*grown.slots));
	grown.hashes = must_alloc((size_t)grown.size * sizeof(*grown.hashes));
	memset(grown.slots, 0xff, (size_t)grown.size * sizeof(*grown.slots));
	for (uint32_t i = 0; i < t->size; i++)
		if (t->slots[i] != SLOT_NONE)
			table_insert(&grown, t->hashes[i], t->slots[i]);
	table_free(t);
	*t = grown;
}

void table_put(struct table *t, uint32_t hash, uint32_t slot)
{
	/* At most three quarters full. */
	if (t->size == 0 || (uint64_t)(t->used + 1) * 4 > (uint64_t)t->size * 3)
		table_grow(t);
	table_insert(t, hash, slot);
	t->used++;
}

void table_remove(struct table *t, uint32_t hash, uint32_t slot)
{
	uint32_t mask = t->size - 1, i = hash & mask, j;

	while (t->slots[i] != slot) {
		assert(t->slots[i] != SLOT_NONE);
		i = (i + 1) & mask;
	}
	/* Close the gap.  A slot must not move to a place before its home: it stays. */
	for (j = (i + 1) & mask; t->slots[j] != SLOT_NONE; j = (j + 1) & mask) {
		uint32_t home = t->hashes[j] & mask;

		if (((j - home) & mask) < ((j - i) & mask))
			continue;
		t->slots[i] = t->slots[j];
		t->hashes[i] = t->hashes[j];
		i = j;
	}
	t->slots[i] = SLOT_NONE;
	t->used--;
}

uint32_t table_find(const struct table *t, uint32_t hash, table_equal_fn equal, const void *context)
{
	if (t->size == 0)
		return SLOT_NONE;
	for (uint32_t i = hash & (t->size - 1); t->slots[i] != SLOT_NONE; i = (i + 1) & (t->size - 1))
		if (t->hashes[i] == hash && equal(context, t->slots[i]))
			return t->slots[i];
	return SLOT_NONE;
}

static inline uint64_t rotate(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t v[4] = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
		              key[0] ^ UINT64_C(0x6c7967656e657261),
		              key[1] ^ UINT64_C(0x7465646279746573) };
	uint64_t word, last = (uint64_t)n << 56;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&word, p, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < n; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
