/* SPDX-License-Identifier: Apache-2.0 */
/* Strings to pointers: a chained hash table. */
#ifndef MUSTER_APISIM_MAP_H
#define MUSTER_APISIM_MAP_H

#include <stddef.h>

struct as_map {
	struct as_map_entry **slots;
	size_t slots_n;
	size_t n;
};

void *as_map_get(const struct as_map *m, const char *key);
/* The key is copied.  It must not be there yet. */
void as_map_put(struct as_map *m, const char *key, void *value);
void *as_map_take(struct as_map *m, const char *key); /* remove; NULL if missing */
/* The callback must not change the map. */
void as_map_each(const struct as_map *m, void (*visit)(void *context, const char *key, void *value),
                 void *context);
/* Empty it; release (or NULL) gets each value. */
void as_map_clear(struct as_map *m, void (*release)(void *value));

#endif
