/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/trace/keys.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

/* A run is a function of its file: the hash has no random key. */
static const uint64_t hash_key[2];

struct wanted {
	const struct keys *keys;
	const void *bytes;
	size_t n;
};

static bool is_wanted(const void *context, uint32_t number)
{
	const struct wanted *w = context;
	const struct key *key = &w->keys->at[number];

	return key->n == w->n && memcmp(key->bytes, w->bytes, w->n) == 0;
}

uint32_t keys_find(const struct keys *k, const void *bytes, size_t n)
{
	const struct wanted wanted = { k, bytes, n };

	return table_find(&k->table, (uint32_t)siphash(hash_key, bytes, n), is_wanted, &wanted);
}

uint32_t keys_take(struct keys *k, const void *bytes, size_t n)
{
	const uint32_t number = keys_find(k, bytes, n);
	char *copy;

	if (number != KEYS_NONE)
		return number;
	copy = must_array(n + 1, 1);
	memcpy(copy, bytes, n);
	k->at = must_reach(k->at, &k->room, k->n, 64, sizeof(*k->at));
	k->at[k->n] = (struct key){ .bytes = copy, .n = n };
	table_put(&k->table, (uint32_t)siphash(hash_key, bytes, n), k->n);
	return k->n++;
}

const char *keys_text(const struct keys *k, uint32_t number)
{
	return k->at[number].bytes;
}

void keys_free(struct keys *k)
{
	for (uint32_t i = 0; i < k->n; i++)
		free(k->at[i].bytes);
	free(k->at);
	table_free(&k->table);
	*k = (struct keys){ 0 };
}
