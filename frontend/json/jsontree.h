/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON document as a tree, for objects that are read in several places.  Everything is the
 * arena's or points into the text. */
#ifndef MUSTER_FRONTEND_JSONTREE_H
#define MUSTER_FRONTEND_JSONTREE_H

#include "frontend/base/arena.h"
#include "frontend/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tree_kind { TREE_NULL, TREE_BOOL, TREE_NUMBER, TREE_TEXT, TREE_LIST, TREE_MAP };

struct tree {
	enum tree_kind kind;
	bool truth;       /* TREE_BOOL */
	struct text key;  /* of a map's value */
	struct text text; /* TREE_TEXT: without quotes and escapes; TREE_NUMBER: as written */
	struct text raw;  /* as written */
	const struct tree *first, *next;
	uint32_t n; /* items */
};

/* NULL and `error`. */
const struct tree *jsontree_read(const char *json, size_t bytes, struct arena *arena, char *error,
                                 size_t error_bytes);

/* The member of a map; of one that occurs twice the last.  A tree of TREE_NULL for one that is
 * missing, and for anything that is no map: chains need no checks. */
const struct tree *jsontree_get(const struct tree *t, const char *key);
const struct tree *jsontree_find(const struct tree *t, struct text key);

/* The text of a TREE_TEXT; "" otherwise. */
struct text jsontree_text(const struct tree *t);
bool jsontree_true(const struct tree *t);
/* False when it is no int64. */
bool jsontree_int64(const struct tree *t, int64_t *out);

#define TREE_EACH(item, list)                                                                      \
	for (const struct tree *item = (list)->first; (item) != NULL; (item) = (item)->next)

#endif
