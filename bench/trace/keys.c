/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/trace/keys.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64u

/* FNV-1a, folded once more: the low bits choose the slot. */
static uint32_t hash_of(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(hash ^ hash >> 32);
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t slot_of(const struct keys *k, const void *bytes, size_t n)
{
	uint32_t slot = hash_of(bytes, n) & (k->slots_n - 1);

	while (k->slots[slot] > 0) {
		const struct key *key = &k->at[k->slots[slot] - 1];

		if (key->n == n && memcmp(key->bytes, bytes, n) == 0)
			break;
		slot = (slot + 1) & (k->slots_n - 1);
	}
	return slot;
}

static void grow(struct keys *k)
{
	k->slots_n = k->slots_n > 0 ? 2 * k->slots_n : SLOTS_FIRST;
	free(k->slots);
	k->slots = must_array(k->slots_n, sizeof(*k->slots));
	for (uint32_t i = 0; i < k->n; i++)
		k->slots[slot_of(k, k->at[i].bytes, k->at[i].n)] = i + 1;
}

uint32_t keys_take(struct keys *k, const void *bytes, size_t n)
{
	uint32_t slot;
	char *copy;

	if (2 * (k->n + 1) > k->slots_n)
		grow(k);
	slot = slot_of(k, bytes, n);
	if (k->slots[slot] > 0)
		return k->slots[slot] - 1;
	if (k->n == k->room) {
		k->room = k->room * 2 + SLOTS_FIRST;
		k->at = must_grow(k->at, k->room * sizeof(*k->at));
	}
	copy = must_array(n + 1, 1);
	memcpy(copy, bytes, n);
	k->at[k->n] = (struct key){ .bytes = copy, .n = n };
	k->slots[slot] = ++k->n;
	return k->n - 1;
}

uint32_t keys_find(const struct keys *k, const void *bytes, size_t n)
{
	return k->n > 0 ? k->slots[slot_of(k, bytes, n)] - 1 : KEYS_NONE;
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
	free(k->slots);
	*k = (struct keys){ 0 };
}
