/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/map.h"

#include "tests/apisim/text.h"

#include <stdlib.h>
#include <string.h>

struct as_map_entry {
	struct as_map_entry *next;
	uint64_t hash;
	void *value;
	char key[];
};

static uint64_t hash_of(const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *key != '\0'; key++)
		h = (h ^ (unsigned char)*key) * UINT64_C(1099511628211);
	return h ^ h >> 31;
}

static struct as_map_entry **find(const struct as_map *m, const char *key, uint64_t hash)
{
	struct as_map_entry **link = &m->slots[hash & (m->slots_n - 1)];

	while (*link != NULL && ((*link)->hash != hash || strcmp((*link)->key, key) != 0))
		link = &(*link)->next;
	return link;
}

void *as_map_get(const struct as_map *m, const char *key)
{
	struct as_map_entry *e = m->slots_n > 0 ? *find(m, key, hash_of(key)) : NULL;

	return e != NULL ? e->value : NULL;
}

static void grow(struct as_map *m)
{
	size_t slots_n = m->slots_n > 0 ? m->slots_n * 2 : 64;
	struct as_map_entry **slots = as_alloc(slots_n * sizeof(struct as_map_entry *));

	for (size_t i = 0; i < m->slots_n; i++) {
		struct as_map_entry *e = m->slots[i];

		while (e != NULL) {
			struct as_map_entry *next = e->next;

			e->next = slots[e->hash & (slots_n - 1)];
			slots[e->hash & (slots_n - 1)] = e;
			e = next;
		}
	}
	free(m->slots);
	m->slots = slots;
	m->slots_n = slots_n;
}

void as_map_put(struct as_map *m, const char *key, void *value)
{
	size_t bytes = strlen(key) + 1;
	struct as_map_entry *e = as_alloc(sizeof(*e) + bytes), **link;

	if (m->n >= m->slots_n)
		grow(m);
	memcpy(e->key, key, bytes);
	e->hash = hash_of(key);
	e->value = value;
	link = &m->slots[e->hash & (m->slots_n - 1)];
	e->next = *link;
	*link = e;
	m->n++;
}

void *as_map_take(struct as_map *m, const char *key)
{
	struct as_map_entry **link, *e;
	void *value;

	if (m->slots_n == 0)
		return NULL;
	link = find(m, key, hash_of(key));
	e = *link;
	if (e == NULL)
		return NULL;
	*link = e->next;
	value = e->value;
	free(e);
	m->n--;
	return value;
}

void as_map_each(const struct as_map *m, void (*visit)(void *context, const char *key, void *value),
                 void *context)
{
	for (size_t i = 0; i < m->slots_n; i++)
		for (const struct as_map_entry *e = m->slots[i]; e != NULL; e = e->next)
			visit(context, e->key, e->value);
}

void as_map_clear(struct as_map *m, void (*release)(void *value))
{
	for (size_t i = 0; i < m->slots_n; i++) {
		while (m->slots[i] != NULL) {
			struct as_map_entry *e = m->slots[i];

			m->slots[i] = e->next;
			if (release != NULL)
				release(e->value);
			free(e);
		}
	}
	free(m->slots);
	*m = (struct as_map){ 0 };
}
