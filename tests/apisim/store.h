/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, their versions and what happened lately.
 *
 *   versions  ... 17 18 19 20 21 22      one counter for everything, one event
 *                 ^oldest          ^version     for each version
 *
 * History is a ring of events.  A watcher is no more than the version it has
 * seen; who has seen less than the oldest one kept must list again.
 *
 * Pure: no socket, no clock, no randomness.  One thread. */
#ifndef MUSTER_APISIM_STORE_H
#define MUSTER_APISIM_STORE_H

#include "tests/apisim/resource.h"

enum as_event_kind { AS_ADDED, AS_MODIFIED, AS_DELETED };

struct as_event {
	enum as_event_kind kind;
	uint64_t version;
	struct as_object *object;   /* after it; of a deletion the last state, with the new version */
	struct as_object *previous; /* before it, or NULL */
};

struct as_store;

/* `history` events are kept (at least 1). */
struct as_store *as_store_new(size_t history);
void as_store_free(struct as_store *s); /* the resources' indexes are not its own */

uint64_t as_store_version(const struct as_store *s);
/* Events from the one after this version on are there. */
uint64_t as_store_oldest(const struct as_store *s);
/* The event of a version: oldest < version <= as_store_version(). */
const struct as_event *as_store_event(const struct as_store *s, uint64_t version);
/* Drops all history, as etcd's compaction does; one version passes without an event, so that a
 * client that has seen the last one must list again too. */
void as_store_compact(struct as_store *s);

/* Make `tree` the object's next version: sets metadata.resourceVersion in it.
 * Good until the next change of the store. */
struct as_object *as_store_write(struct as_store *s, struct as_resource *resource,
                                 struct as_arena *a, struct as_json *tree);
/* Remove the object; its last state is `tree`. */
struct as_object *as_store_remove(struct as_store *s, struct as_resource *resource,
                                  struct as_arena *a, struct as_json *tree);

/* The objects of a resource as they were at a version.
 *
 *   -ERANGE   that version is not in history any more */
struct as_cursor {
	const char *namespace; /* NULL: all */
	struct as_index_entry *entry;
	const struct as_past *past; /* what changed since: sorted by key */
	size_t past_n, past_i;
};

int as_cursor_open(const struct as_store *s, const struct as_resource *resource, struct as_arena *a,
                   const char *namespace, const char *after_key, uint64_t version,
                   struct as_cursor *out);
/* The next object in order of keys, or NULL. */
struct as_object *as_cursor_next(struct as_cursor *c);

#endif
