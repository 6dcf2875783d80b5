/* SPDX-License-Identifier: Apache-2.0 */
/* labelSelector and fieldSelector. */
#ifndef MUSTER_APISIM_SELECTOR_H
#define MUSTER_APISIM_SELECTOR_H

#include "tests/apisim/object.h"

struct as_requirement {
	enum { AS_IN, AS_NOT_IN, AS_EXISTS, AS_ABSENT, AS_GREATER, AS_LESS } op;
	const char *name;
	const char *const *values;
	size_t n;
	struct as_requirement *next;
};

struct as_selector {
	struct as_requirement *labels;
	struct as_requirement *fields; /* AS_IN or AS_NOT_IN with one value */
};

/* Parse both texts (NULL or empty: everything) into the arena.  False and
 * *error, a text in the arena, if one is malformed or names a field that this
 * resource does not select by. */
bool as_selector_parse(struct as_arena *a, const struct as_resource *resource, const char *labels,
                       const char *fields, struct as_selector *out, const char **error);
bool as_selector_matches(const struct as_selector *s, const struct as_object *o);
/* A deep copy, so that a watch can outlive the call. */
struct as_selector as_selector_copy(struct as_arena *a, const struct as_selector *s);

#endif
