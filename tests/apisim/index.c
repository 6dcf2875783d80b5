/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/index.h"

#include "tests/apisim/object.h"

#include <stdlib.h>
#include <string.h>

static unsigned key_levels(const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037);
	unsigned levels = 1;

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * UINT64_C(1099511628211);
	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	h ^= h >> 32;
	while ((h & 3) == 0 && levels < AS_INDEX_LEVELS) {
		levels++;
		h >>= 2;
	}
	return levels;
}

/* before[l]: the link on level l that leads to the first entry not below key. */
static struct as_index_entry *seek(struct as_index *ix, const char *key,
                                   struct as_index_entry **before[AS_INDEX_LEVELS])
{
	struct as_index_entry **links = ix->first;

	for (unsigned l = AS_INDEX_LEVELS; l-- > 0;) {
		while (links[l] != NULL && strcmp(links[l]->object->key, key) < 0)
			links = links[l]->next;
		before[l] = &links[l];
	}
	return *before[0];
}

struct as_index_entry *as_index_seek(const struct as_index *ix, const char *key)
{
	struct as_index_entry *const *links = ix->first;

	for (unsigned l = AS_INDEX_LEVELS; l-- > 0;)
		while (links[l] != NULL && strcmp(links[l]->object->key, key) < 0)
			links = links[l]->next;
	return links[0];
}

struct as_object *as_index_find(const struct as_index *ix, const char *key)
{
	struct as_index_entry *e = as_index_seek(ix, key);

	return e != NULL && strcmp(e->object->key, key) == 0 ? e->object : NULL;
}

void as_index_put(struct as_index *ix, struct as_object *object)
{
	struct as_index_entry **before[AS_INDEX_LEVELS];
	struct as_index_entry *e = seek(ix, object->key, before);
	unsigned levels = key_levels(object->key);

	as_object_ref(object);
	if (e != NULL && strcmp(e->object->key, object->key) == 0) {
		as_object_unref(e->object);
		e->object = object;
		return;
	}
	e = as_alloc(sizeof(*e) + levels * sizeof(struct as_index_entry *));
	e->object = object;
	for (unsigned l = 0; l < levels; l++) {
		e->next[l] = *before[l];
		*before[l] = e;
	}
	ix->n++;
}

void as_index_remove(struct as_index *ix, const char *key)
{
	struct as_index_entry **before[AS_INDEX_LEVELS];
	struct as_index_entry *e = seek(ix, key, before);
	unsigned levels;

	if (e == NULL || strcmp(e->object->key, key) != 0)
		return;
	levels = key_levels(key);
	for (unsigned l = 0; l < levels; l++)
		*before[l] = e->next[l];
	as_object_unref(e->object);
	free(e);
	ix->n--;
}

void as_index_free(struct as_index *ix)
{
	struct as_index_entry *e = ix->first[0];

	while (e != NULL) {
		struct as_index_entry *next = e->next[0];

		as_object_unref(e->object);
		free(e);
		e = next;
	}
	memset(ix, 0, sizeof(*ix));
}
