/* SPDX-License-Identifier: Apache-2.0 */
/* A ConfigMap that one writer keeps: each write has the version that was seen last, so that a write
 * after another writer's fails (409). */
#ifndef MUSTER_FRONTEND_CONFIGMAP_H
#define MUSTER_FRONTEND_CONFIGMAP_H

#include "frontend/base/arena.h"
#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>

struct configmap {
	const char *namespace, *name;
	char *metadata; /* of the last seen object, JSON; NULL: to be read */
	bool absent;    /* the object did not exist at the last read */
};

/* What is known of the object, which does not exist if `absent`, else is to be read; also for its
 * end. */
void configmap_forget(struct configmap *c, bool absent);

/* Stores the metadata of the server's object, and finds its data: JSON in the body, 0 bytes if it
 * has none.  False if it is malformed: nothing is stored. */
bool configmap_take(struct configmap *c, const char *body, size_t bytes, struct text *data);

/* Where the object is, or where it is created. */
void configmap_path(const struct configmap *c, bool create, struct jsonout *out);

/* The object up to its data; these and a brace follow. */
void configmap_begin(const struct configmap *c, bool create, struct jsonout *out);

#endif
