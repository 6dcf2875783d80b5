/* SPDX-License-Identifier: Apache-2.0 */
/* One collection kept equal to the API server's: list it, then watch it, for
 * ever.
 *
 *             list of pages                 event ERROR 410, HTTP 410
 *   LISTING ────────────────► WATCHING ───────────────────────────────► LISTING
 *      ▲  │ failure              │ ▲ end of the watch: again from the last version
 *      │  ▼                      ▼ │
 *      WAITING (backoff)      WAITING (backoff)
 *
 *   A resource that may be missing and that the server says it does not have (404; not a proxy's,
 * and once more 5 s later if it had it before) is looked for in its older versions, then it is
 * empty; it is looked for again every 30 s, and with each list that a watch makes necessary, from
 * the newest version on.
 *
 * A page that fails in passing (429, 5xx, no answer) is asked for again, ten times; then, or when
 * the server says something else, the list begins anew.
 *
 * The first list is consistent (no resourceVersion), so that a start never goes
 * back in time.  A list replaces what is known at its end, in one step. */
#ifndef MUSTER_FRONTEND_WATCH_H
#define MUSTER_FRONTEND_WATCH_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

enum watch_state {
	WATCH_LIST,    /* the next page is to be asked for once wait_until is over */
	WATCH_LISTING, /* ... is on its way */
	WATCH_WATCH,   /* the watch is to be started */
	WATCH_WATCHING,
	WATCH_PROBING, /* the connection broke: is the server's state older than ours? */
};

enum relist_reason {
	RELIST_EXPIRED, /* 410: the version is too old */
	RELIST_FAILED,  /* what came made no sense, or the watch was refused */
	RELIST_ROOM,    /* objects were left out that may have room now */
	RELIST_LEADING, /* this instance leads now, and a watch may be behind what the last leader wrote
	                 */
	RELIST_REASONS
};

struct watch_counts {
	uint64_t lists;   /* finished */
	uint64_t relists; /* started because the watch could not go on: */
	uint64_t relists_for[RELIST_REASONS];
	uint64_t watches;  /* started */
	uint64_t failures; /* of requests */
	uint64_t events;   /* ADDED, MODIFIED, DELETED */
	uint64_t bookmarks;
	uint64_t bad_objects;
	uint64_t too_large; /* objects over the cap */
	uint64_t silences;  /* watches ended for want of any byte */
};

struct watch;

/* All outlive the watch.  `index` is the resource's in the model. */
struct watch *watch_new(const struct env *env, struct model *model, int index);
void watch_free(struct watch *w);

/* Before the first poll: only objects with labels that match; copied.  One that ceases to
 * match is gone. */
void watch_select(struct watch *w, const char *label_selector);

/* Call this after each object that was put into the model; `heard_ns` is when its bytes came. */
void watch_follow(struct watch *w, void (*put)(void *context, uint64_t heard_ns), void *context);

/* Do what is due.  Returns when it wants to be called next (NEVER_NS: after an
 * answer only). */
uint64_t watch_poll(struct watch *w);

/* Has a whole list been in the model once? */
bool watch_synced(const struct watch *w);

/* The server does not have this resource. */
bool watch_absent(const struct watch *w);

/* The server's state is older than what was seen: it was restored from a backup,
 * or is another one.  Then this watch stands still: everything known is worth
 * nothing, and whoever runs it starts anew. */
bool watch_went_back(const struct watch *w);

/* Did the very first answer say 401? */
bool watch_refused_at_start(const struct watch *w);

/* Was an object left out because the model had no room? */
bool watch_lacks_room(const struct watch *w);

/* List again as soon as possible; a list that is begun from now on will do. */
void watch_relist(struct watch *w, enum relist_reason reason);

/* When the last list that the model has as a whole was begun; 0: none was. */
uint64_t watch_listed_ns(const struct watch *w);

const struct resource *watch_resource(const struct watch *w);
/* How long nothing came on the watch; 0 while none runs. */
uint64_t watch_silence_ns(const struct watch *w);
const struct watch_counts *watch_counts(const struct watch *w);
const char *watch_error(const struct watch *w); /* the last failure, "" while all is well */

#endif
