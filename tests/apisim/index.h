/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of one resource in order of their keys: a skip list.
 *
 * Keys order as etcd's do, by bytes of "namespace/name".  The height of an
 * entry comes from its key, so that the same calls build the same list. */
#ifndef MUSTER_APISIM_INDEX_H
#define MUSTER_APISIM_INDEX_H

#include <stddef.h>

#define AS_INDEX_LEVELS 14

struct as_object;

struct as_index_entry {
	struct as_object *object;      /* holds a reference */
	struct as_index_entry *next[]; /* [0] is the list in order */
};

struct as_index {
	struct as_index_entry *first[AS_INDEX_LEVELS];
	size_t n;
};

struct as_object *as_index_find(const struct as_index *ix, const char *key);
/* The first entry whose key is not below `key`. */
struct as_index_entry *as_index_seek(const struct as_index *ix, const char *key);
/* Inserts a version under its key; takes a reference, drops that of the version it replaces. */
void as_index_put(struct as_index *ix, struct as_object *object);
void as_index_remove(struct as_index *ix, const char *key);
void as_index_free(struct as_index *ix);

#endif
