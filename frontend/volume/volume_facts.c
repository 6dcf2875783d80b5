/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool key_equal(const void *item, const void *key)
{
	return ((const struct volume_keyed *)item)->hash == *(const uint64_t *)key;
}

void volume_keys_init(struct store *ks)
{
	store_init(ks, sizeof(struct volume_keyed), SLOT_NONE, key_equal);
}

struct volume_keyed *volume_keys_find(const struct store *ks, uint64_t hash)
{
	uint32_t key = store_find(ks, (uint32_t)hash, &hash);

	return key == SLOT_NONE ? NULL : volume_keyed_at(ks, key);
}

uint32_t volume_keys_add(struct store *ks, uint64_t hash)
{
	bool is_new;
	uint32_t key = store_enter(ks, (uint32_t)hash, &hash, &is_new);

	if (is_new) {
		volume_keyed_at(ks, key)->hash = hash;
		volume_keyed_at(ks, key)->first = SLOT_NONE;
	}
	return key;
}

void volume_facts_init(struct volume_facts *fs)
{
	volume_keys_init(&fs->keys);
	pool_init(&fs->edges, sizeof(struct volume_edge), SLOT_NONE);
	for (int i = 0; i < 2; i++)
		fs->users[i] = (struct volume_users){ .dirty_first = SLOT_NONE, .dirty_last = SLOT_NONE };
}

void volume_facts_free(struct volume_facts *fs)
{
	store_free(&fs->keys);
	pool_free(&fs->edges);
	for (int i = 0; i < 2; i++) {
		for (uint32_t u = 0; u < fs->users[i].n; u++)
			free(fs->users[i].at[u].what);
		free(fs->users[i].at);
	}
}

static void users_reach(struct volume_users *us, uint32_t user)
{
	uint64_t wanted = us->n > 0 ? us->n : 64;

	if (user < us->n)
		return;
	while (wanted <= user)
		wanted *= 2;
	if (wanted > SLOT_NONE)
		wanted = SLOT_NONE;
	us->at = must_grow(us->at, (size_t)wanted * sizeof(*us->at));
	for (; us->n < (uint32_t)wanted; us->n++)
		us->at[us->n] = (struct volume_user){ .edges_first = SLOT_NONE };
}

static void dirty_remove(struct volume_users *us, uint32_t user)
{
	struct volume_user *u = &us->at[user];

	if (!u->dirty)
		return;
	u->dirty = false;
	if (u->dirty_prev == SLOT_NONE)
		us->dirty_first = u->dirty_next;
	else
		us->at[u->dirty_prev].dirty_next = u->dirty_next;
	if (u->dirty_next == SLOT_NONE)
		us->dirty_last = u->dirty_prev;
	else
		us->at[u->dirty_next].dirty_prev = u->dirty_prev;
}

static void dirty_push(struct volume_users *us, uint32_t user)
{
	struct volume_user *u = &us->at[user];

	assert(u->what); /* a removed user has no edges */
	if (u->dirty)
		return;
	u->dirty = true;
	u->dirty_prev = us->dirty_last;
	u->dirty_next = SLOT_NONE;
	if (us->dirty_last == SLOT_NONE)
		us->dirty_first = user;
	else
		us->at[us->dirty_last].dirty_next = user;
	us->dirty_last = user;
}

static struct volume_edge *edge_at(const struct volume_facts *fs, uint32_t edge)
{
	return pool_at(&fs->edges, edge);
}

static void edge_drop(struct volume_facts *fs, uint32_t edge)
{
	struct volume_edge *e = edge_at(fs, edge);
	struct volume_keyed *fact = volume_keyed_at(&fs->keys, e->fact);

	assert(e->slot.live && fact->first != SLOT_NONE);
	chain_remove(&fs->edges, offsetof(struct volume_edge, of_fact), &fact->first, edge);
	if (fact->first == SLOT_NONE)
		store_remove(&fs->keys, e->fact);
	pool_give(&fs->edges, edge);
}

void volume_user_clean(struct volume_facts *fs, bool of_node, uint32_t user)
{
	struct volume_users *us = &fs->users[of_node];
	uint32_t edge, next;

	if (user >= us->n)
		return;
	for (edge = us->at[user].edges_first; edge != SLOT_NONE; edge = next) {
		next = edge_at(fs, edge)->user_next;
		edge_drop(fs, edge);
	}
	us->at[user].edges_first = SLOT_NONE;
	us->at[user].shared_changed = false;
	dirty_remove(us, user);
}

void volume_user_set(struct volume_facts *fs, bool of_node, uint32_t user, void *what)
{
	struct volume_users *us = &fs->users[of_node];

	if (what)
		users_reach(us, user);
	if (user >= us->n)
		return;
	volume_user_clean(fs, of_node, user);
	free(us->at[user].what);
	us->at[user].what = what;
}

const void *volume_user(const struct volume_facts *fs, bool of_node, uint32_t user)
{
	const struct volume_users *us = &fs->users[of_node];

	return user < us->n ? us->at[user].what : NULL;
}

bool volume_user_next(struct volume_facts *fs, bool of_node, uint32_t *user)
{
	struct volume_users *us = &fs->users[of_node];

	if (us->dirty_first == SLOT_NONE)
		return false;
	*user = us->dirty_first;
	dirty_remove(us, us->dirty_first);
	return true;
}

void volume_fact_look(struct volume_facts *fs, uint64_t fact, bool of_node, uint32_t user)
{
	struct volume_users *us = &fs->users[of_node];
	uint32_t key = volume_keys_add(&fs->keys, fact), edge;
	struct volume_keyed *keyed = volume_keyed_at(&fs->keys, key);
	struct volume_edge *e;

	assert(user < us->n);
	/* A join that reads a fact twice mostly does so twice in a row. */
	if (keyed->first != SLOT_NONE && edge_at(fs, keyed->first)->user == user &&
	    edge_at(fs, keyed->first)->of_node == of_node)
		return;
	if (pool_take(&fs->edges, &edge) < 0)
		fatal_memory();
	e = edge_at(fs, edge);
	e->fact = key;
	e->user = user;
	e->of_node = of_node;
	chain_push(&fs->edges, offsetof(struct volume_edge, of_fact), &keyed->first, edge);
	e->user_next = us->at[user].edges_first;
	us->at[user].edges_first = edge;
}

void volume_user_mark(struct volume_facts *fs, bool of_node, uint32_t user)
{
	if (volume_user(fs, of_node, user))
		dirty_push(&fs->users[of_node], user);
}

void volume_fact_changed(struct volume_facts *fs, uint64_t fact, bool shared)
{
	const struct volume_keyed *keyed = volume_keys_find(&fs->keys, fact);
	uint32_t edge = keyed ? keyed->first : SLOT_NONE;

	while (edge != SLOT_NONE) {
		const struct volume_edge *e = edge_at(fs, edge);

		dirty_push(&fs->users[e->of_node], e->user);
		fs->users[e->of_node].at[e->user].shared_changed |= shared;
		edge = e->of_fact.next;
	}
}
