/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists by hash ---------------------------------------------------------------- */

void volume_keys_init(struct volume_keys *ks)
{
	*ks = (struct volume_keys){ 0 };
	pool_init(&ks->pool, sizeof(struct volume_keyed), SLOT_NONE);
}

void volume_keys_free(struct volume_keys *ks)
{
	pool_free(&ks->pool);
	table_free(&ks->index);
}

struct by_hash {
	const struct volume_keys *ks;
	uint64_t hash;
};

static bool is_key(const void *context, uint32_t slot)
{
	const struct by_hash *b = context;

	return volume_keyed_at(b->ks, slot)->hash == b->hash;
}

static uint32_t keys_slot(const struct volume_keys *ks, uint64_t hash)
{
	struct by_hash b = { ks, hash };

	return table_find(&ks->index, (uint32_t)hash, is_key, &b);
}

struct volume_keyed *volume_keys_find(const struct volume_keys *ks, uint64_t hash)
{
	uint32_t key = keys_slot(ks, hash);

	return key == SLOT_NONE ? NULL : volume_keyed_at(ks, key);
}

int volume_keys_take(struct volume_keys *ks, uint64_t hash, uint32_t *key)
{
	struct volume_keyed *k;
	uint32_t found = keys_slot(ks, hash);
	int rc;

	if (found == SLOT_NONE) {
		if (table_reserve(&ks->index) < 0)
			return -ENOMEM;
		rc = pool_take(&ks->pool, &found);
		if (rc < 0)
			return -ENOMEM;
		k = volume_keyed_at(ks, found);
		k->hash = hash;
		k->first = SLOT_NONE;
		table_put(&ks->index, (uint32_t)hash, found);
	}
	*key = found;
	return 0;
}

void volume_keys_drop(struct volume_keys *ks, uint32_t key)
{
	assert(volume_keyed_at(ks, key)->first == SLOT_NONE);
	table_remove(&ks->index, (uint32_t)volume_keyed_at(ks, key)->hash, key);
	pool_give(&ks->pool, key);
}

/* ---- users -------------------------------------------------------------------------- */

void volume_facts_init(struct volume_facts *fs)
{
	volume_keys_init(&fs->keys);
	pool_init(&fs->edges, sizeof(struct volume_edge), SLOT_NONE);
	for (int i = 0; i < 2; i++)
		fs->users[i] = (struct volume_users){ .dirty_first = SLOT_NONE, .dirty_last = SLOT_NONE };
}

void volume_facts_free(struct volume_facts *fs)
{
	volume_keys_free(&fs->keys);
	pool_free(&fs->edges);
	for (int i = 0; i < 2; i++) {
		for (uint32_t u = 0; u < fs->users[i].n; u++)
			free(fs->users[i].at[u].what);
		free(fs->users[i].at);
	}
}

static int users_reach(struct volume_users *us, uint32_t user)
{
	uint64_t wanted = us->n > 0 ? us->n : 64;
	struct volume_user *grown;

	if (user < us->n)
		return 0;
	while (wanted <= user)
		wanted *= 2;
	if (wanted > SLOT_NONE)
		wanted = SLOT_NONE;
	grown = realloc(us->at, (size_t)wanted * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	us->at = grown;
	for (; us->n < (uint32_t)wanted; us->n++)
		us->at[us->n] = (struct volume_user){ .edges_first = SLOT_NONE };
	return 0;
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

	if (e->fact_prev == SLOT_NONE)
		fact->first = e->fact_next;
	else
		edge_at(fs, e->fact_prev)->fact_next = e->fact_next;
	if (e->fact_next != SLOT_NONE)
		edge_at(fs, e->fact_next)->fact_prev = e->fact_prev;
	if (fact->first == SLOT_NONE)
		volume_keys_drop(&fs->keys, e->fact);
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
	fs->failed -= us->at[user].failed;
	us->at[user].failed = false;
	dirty_remove(us, user);
}

int volume_user_set(struct volume_facts *fs, bool of_node, uint32_t user, void *what)
{
	struct volume_users *us = &fs->users[of_node];

	if (what && users_reach(us, user) < 0)
		return -ENOMEM;
	if (user >= us->n)
		return 0;
	volume_user_clean(fs, of_node, user);
	free(us->at[user].what);
	us->at[user].what = what;
	return 0;
}

const void *volume_user(const struct volume_facts *fs, bool of_node, uint32_t user)
{
	const struct volume_users *us = &fs->users[of_node];

	return user < us->n ? us->at[user].what : NULL;
}

void volume_user_failed(struct volume_facts *fs, bool of_node, uint32_t user)
{
	struct volume_user *u = &fs->users[of_node].at[user];

	fs->failed += !u->failed;
	u->failed = true;
}

/* Who could not look at all facts looks again when any of them has changed. */
static void retry_failed(struct volume_facts *fs)
{
	for (int i = 0; i < 2; i++) {
		for (uint32_t u = 0; u < fs->users[i].n; u++) {
			if (!fs->users[i].at[u].failed)
				continue;
			fs->users[i].at[u].failed = false;
			dirty_push(&fs->users[i], u);
		}
	}
	fs->failed = 0;
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

/* ---- facts --------------------------------------------------------------------------- */

int volume_fact_look(struct volume_facts *fs, uint64_t fact, bool of_node, uint32_t user)
{
	struct volume_users *us = &fs->users[of_node];
	struct volume_keyed *keyed;
	struct volume_edge *e;
	uint32_t key, edge;

	assert(user < us->n);
	if (volume_keys_take(&fs->keys, fact, &key) < 0)
		return -ENOMEM;
	keyed = volume_keyed_at(&fs->keys, key);
	/* What a join looks at twice, it most often looks at twice in a row. */
	if (keyed->first != SLOT_NONE && edge_at(fs, keyed->first)->user == user &&
	    edge_at(fs, keyed->first)->of_node == of_node)
		return 0;
	if (pool_take(&fs->edges, &edge) < 0) {
		if (keyed->first == SLOT_NONE)
			volume_keys_drop(&fs->keys, key);
		return -ENOMEM;
	}
	e = edge_at(fs, edge);
	e->fact = key;
	e->user = user;
	e->of_node = of_node;
	e->fact_prev = SLOT_NONE;
	e->fact_next = keyed->first;
	if (keyed->first != SLOT_NONE)
		edge_at(fs, keyed->first)->fact_prev = edge;
	keyed->first = edge;
	e->user_next = us->at[user].edges_first;
	us->at[user].edges_first = edge;
	return 0;
}

void volume_fact_changed(struct volume_facts *fs, uint64_t fact)
{
	const struct volume_keyed *keyed = volume_keys_find(&fs->keys, fact);
	uint32_t edge = keyed ? keyed->first : SLOT_NONE;

	if (fs->failed > 0)
		retry_failed(fs);
	while (edge != SLOT_NONE) {
		const struct volume_edge *e = edge_at(fs, edge);

		dirty_push(&fs->users[e->of_node], e->user);
		edge = e->fact_next;
	}
}
