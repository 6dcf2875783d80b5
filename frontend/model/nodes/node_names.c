/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing (Knuth, TAOCP 3, 6.4), at most half full; an entry that is
 * removed is filled by those behind it (algorithm R). */
#include "frontend/model/nodes/node_names.h"

#include "ipc/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 64u
#define AT_ONCE 64u /* names whose lines are fetched together: more than a CPU has misses open */

struct name_entry {
	uint64_t hash;
	uint32_t id; /* ID_NONE: empty */
	uint32_t reserved;
};

struct node_names {
	pthread_mutex_t lock; /* of all below but the key */
	uint64_t key[2];
	struct name_entry *at;
	uint32_t size; /* a power of two */
	uint32_t used;
	uint64_t version;
};

static struct name_entry *table_new(uint32_t size)
{
	struct name_entry *at = must_array(size, sizeof(*at));

	for (uint32_t i = 0; i < size; i++)
		at[i].id = ID_NONE;
	return at;
}

struct node_names *node_names_new(const uint64_t key[2])
{
	struct node_names *s = must_alloc(sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	memcpy(s->key, key, sizeof(s->key));
	s->size = SIZE_FIRST;
	s->at = table_new(s->size);
	s->version = 1;
	return s;
}

void node_names_free(struct node_names *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->at);
	free(s);
}

/* Both halves of the product of 64 bits each. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t read8(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* A multiplication for each 16 bytes.  Its key is secret and its values are never shown; siphash()
 * is for tables whose collisions a client could pile up. */
static uint64_t hash_of(const struct node_names *s, struct text t)
{
	uint64_t a = 0, b = 0, h = s->key[0] ^ t.bytes;
	size_t left = t.bytes;
	const char *at = t.at;

	for (; left > 16; left -= 16, at += 16)
		h = fold(read8(at) ^ s->key[1], read8(at + 8) ^ h);
	if (left >= 8) { /* the two may overlap */
		a = read8(at);
		b = read8(at + left - 8);
	} else {
		memcpy(&a, at, left);
	}
	return fold(fold(a ^ s->key[1], b ^ h), s->key[0] | 1);
}

static uint32_t home(const struct node_names *s, uint64_t hash)
{
	return (uint32_t)hash & (s->size - 1);
}

/* The entry, or the empty one where it belongs.  id ID_NONE: of any. */
static uint32_t place(const struct node_names *s, uint64_t hash, node_id id)
{
	uint32_t i = home(s, hash);

	while (s->at[i].id != ID_NONE &&
	       (s->at[i].hash != hash || (id != ID_NONE && s->at[i].id != id)))
		i = (i + 1) & (s->size - 1);
	return i;
}

static void grow(struct node_names *s)
{
	struct name_entry *was = s->at;
	const uint32_t n = s->size;

	s->size *= 2;
	s->at = table_new(s->size);
	for (uint32_t i = 0; i < n; i++)
		if (was[i].id != ID_NONE)
			s->at[place(s, was[i].hash, was[i].id)] = was[i];
	free(was);
}

void node_names_put(struct node_names *s, struct text name, node_id id)
{
	const uint64_t hash = hash_of(s, name);
	struct name_entry *e;

	assert(id != ID_NONE);
	pthread_mutex_lock(&s->lock);
	if (s->used >= s->size / 2)
		grow(s);
	e = &s->at[place(s, hash, id)];
	if (e->id == ID_NONE) {
		*e = (struct name_entry){ .hash = hash, .id = id };
		s->used++;
		s->version++;
	}
	pthread_mutex_unlock(&s->lock);
}

/* The entry at `gap` is over: entries that were put behind it move up. */
static void fill(struct node_names *s, uint32_t gap)
{
	const uint32_t mask = s->size - 1;
	uint32_t i = gap;

	for (;;) {
		i = (i + 1) & mask;
		if (s->at[i].id == ID_NONE)
			break;
		/* One whose home is behind the gap stays. */
		if (((i - home(s, s->at[i].hash)) & mask) < ((i - gap) & mask))
			continue;
		s->at[gap] = s->at[i];
		gap = i;
	}
	s->at[gap].id = ID_NONE;
}

void node_names_remove(struct node_names *s, struct text name, node_id id)
{
	const uint64_t hash = hash_of(s, name);
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	i = place(s, hash, id);
	if (s->at[i].id != ID_NONE) {
		fill(s, i);
		assert(s->used > 0);
		s->used--;
		s->version++;
	}
	pthread_mutex_unlock(&s->lock);
}

/* With the lock held. */
static void find_some(const struct node_names *s, const uint64_t *hashes, size_t n, node_id *ids)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&s->at[home(s, hashes[i])]);
	for (size_t i = 0; i < n; i++)
		ids[i] = s->at[place(s, hashes[i], ID_NONE)].id;
}

uint64_t node_names_find(struct node_names *s, const struct text *names, size_t n, node_id *ids)
{
	const uint64_t version = node_names_version(s);
	uint64_t hashes[AT_ONCE];

	for (size_t i = 0; i < n; i += AT_ONCE) {
		const size_t some = n - i < AT_ONCE ? n - i : AT_ONCE;

		for (size_t k = 0; k < some; k++)
			hashes[k] = hash_of(s, names[i + k]);
		pthread_mutex_lock(&s->lock);
		find_some(s, hashes, some, ids + i);
		pthread_mutex_unlock(&s->lock);
	}
	return version;
}

uint64_t node_names_version(struct node_names *s)
{
	uint64_t version;

	pthread_mutex_lock(&s->lock);
	version = s->version;
	pthread_mutex_unlock(&s->lock);
	return version;
}
