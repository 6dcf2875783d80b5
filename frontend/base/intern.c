/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/intern.h"

#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct interned {
	struct slot slot;
	uint32_t refs;
	uint32_t hash;
	uint32_t bytes;
	uint32_t payer; /* with intern.payer */
	char *text;
};

#define INDEX_BYTES 16u /* of the table and of the pool, with what they have free */
#define MALLOC_BYTES 8u

static struct interned *at(const struct intern *in, uint32_t number)
{
	return pool_at(&in->pool, number);
}

void intern_init(struct intern *in, const uint64_t key[2], uint32_t limit)
{
	memset(in, 0, sizeof(*in));
	pool_init(&in->pool, sizeof(struct interned), limit);
	list_init(&in->unused, 1);
	list_init(&in->dirty, 2);
	memcpy(in->key, key, sizeof(in->key));
}

void intern_free(struct intern *in)
{
	for (uint32_t i = 0; i < in->pool.n; i++)
		if (at(in, i)->slot.live)
			free(at(in, i)->text);
	pool_free(&in->pool);
	table_free(&in->table);
}

struct wanted {
	const struct intern *in;
	struct text text;
};

uint64_t intern_bytes(const struct intern *in, uint32_t number)
{
	const struct interned *i = at(in, number);

	return sizeof(*i) + INDEX_BYTES +
	       ((i->bytes + 1 + MALLOC_BYTES + (uint64_t)15) & ~(uint64_t)15);
}

uint32_t intern_payer(const struct intern *in, uint32_t number)
{
	return at(in, number)->payer;
}

uint64_t intern_part_bytes(const struct intern *in, uint32_t number)
{
	return intern_bytes(in, number) / at(in, number)->refs;
}

static bool is_wanted(const void *context, uint32_t slot)
{
	const struct wanted *w = context;
	const struct interned *i = at(w->in, slot);

	return i->bytes == w->text.bytes && memcmp(i->text, w->text.at, i->bytes) == 0;
}

static int intern_new(struct intern *in, struct text t, uint32_t hash, uint32_t *number)
{
	int rc = pool_take(&in->pool, number);
	struct interned *i;
	char *copy;

	if (rc < 0)
		return rc;
	copy = must_alloc(t.bytes + 1);
	memcpy(copy, t.at, t.bytes);
	i = at(in, *number);
	i->refs = 1;
	i->hash = hash;
	i->bytes = (uint32_t)t.bytes;
	i->text = copy;
	i->slot.sent = 0;
	in->text_bytes += (t.bytes + 15) & ~(uint64_t)15;
	table_put(&in->table, hash, *number);
	list_push(&in->dirty, &in->pool, *number);
	if (in->payer) {
		i->payer = in->payer->now;
		in->payer->pay(in->payer->context, i->payer, intern_bytes(in, *number));
	}
	return 0;
}

uint32_t intern_find(const struct intern *in, struct text t)
{
	struct wanted w = { in, t.bytes > 0 ? t : (struct text){ "", 0 } };
	uint32_t hash = (uint32_t)siphash(in->key, w.text.at, w.text.bytes);

	return table_find(&in->table, hash, is_wanted, &w);
}

bool intern_has(const struct intern *in, struct text t)
{
	return intern_find(in, t) != SLOT_NONE;
}

int intern_take(struct intern *in, struct text t, uint32_t *number)
{
	struct wanted w = { in, t.bytes > 0 ? t : (struct text){ "", 0 } };
	uint32_t hash = (uint32_t)siphash(in->key, w.text.at, w.text.bytes);

	if (t.bytes >= UINT32_MAX)
		return -ENOSPC;
	*number = table_find(&in->table, hash, is_wanted, &w);
	if (*number == SLOT_NONE)
		return intern_new(in, w.text, hash, number);
	intern_hold(in, *number);
	return 0;
}

void intern_hold(struct intern *in, uint32_t number)
{
	struct interned *i = at(in, number);

	if (i->refs++ > 0)
		return;
	list_remove(&in->unused, &in->pool, number);
	if (i->slot.sent == 0)
		list_push(&in->dirty, &in->pool, number);
}

void intern_give(struct intern *in, uint32_t number)
{
	struct interned *i = at(in, number);

	assert(i->slot.live && i->refs > 0);
	if (--i->refs > 0)
		return;
	list_remove(&in->dirty, &in->pool, number);
	list_push(&in->unused, &in->pool, number);
}

const char *intern_text(const struct intern *in, uint32_t number)
{
	if (number >= in->pool.n || !at(in, number)->slot.live)
		return NULL;
	return at(in, number)->text;
}

uint32_t intern_refs(const struct intern *in, uint32_t number)
{
	return at(in, number)->slot.live ? at(in, number)->refs : 0;
}

void intern_recycle(struct intern *in)
{
	while (in->unused.first != SLOT_NONE) {
		uint32_t number = in->unused.first;
		struct interned *i = at(in, number);
		const uint64_t bytes = intern_bytes(in, number);
		const uint32_t payer = i->payer;

		list_remove(&in->unused, &in->pool, number);
		table_remove(&in->table, i->hash, number);
		in->text_bytes -= (i->bytes + (uint64_t)15) & ~(uint64_t)15;
		free(i->text);
		i->slot.sent = 0;
		pool_give(&in->pool, number);
		/* Last: it may give a text of this table. */
		if (in->payer)
			in->payer->pay_back(in->payer->context, payer, bytes);
	}
}

uint32_t intern_next_dirty(const struct intern *in)
{
	return in->dirty.first;
}

void intern_sent(struct intern *in, uint32_t number)
{
	at(in, number)->slot.sent = at(in, number)->slot.generation;
	list_remove(&in->dirty, &in->pool, number);
}

void intern_restart(struct intern *in)
{
	intern_recycle(in);
	for (uint32_t i = 0; i < in->pool.n; i++) {
		list_remove(&in->dirty, &in->pool, i);
		at(in, i)->slot.sent = 0;
		if (at(in, i)->slot.live)
			list_push(&in->dirty, &in->pool, i);
	}
}
