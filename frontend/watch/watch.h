/* SPDX-License-Identifier: Apache-2.0 */
/* Watch: keeps one collection equal to the API server's by list and watch.
 *
 *             list of pages                 event ERROR 410, HTTP 410
 *   LISTING ────────────────► WATCHING ───────────────────────────────► LISTING
 *      ▲  │ failure              │ ▲ end of the watch: resume from the last version
 *      │  ▼                      ▼ │
 *      WAITING (backoff)      WAITING (backoff)
 *
 * An optional resource that the server does not have (a 404 of the server, not of a proxy, repeated
 * after 5 s if it existed before) is tried in its older versions, then treated as empty; it is
 * tried again every 30 s and with each relist, from the newest version on.
 *
 * One that may be missing and is forbidden (403) counts as empty in two cases: nothing waits for
 * it, or it was never listed and has been forbidden for 30 s.  What was listed stays.
 *
 * A page that fails transiently (429, 5xx, no answer) is requested again, ten times; after that, or
 * after another error, the list restarts.
 *
 * With watch_stream_lists() the list comes as the first events of the watch instead, up to a
 * bookmark that ends them (KEP-3157), and the watch goes on from there:
 *
 *   LISTING ── the watch is accepted ──► WATCHING, initial ── bookmark ──► WATCHING
 *
 * A server that refuses that (400, 422, an ERROR as the first event), or knows no such bookmark, is
 * asked for pages from then on; after any other failure the next list is one of pages, which
 * decides.
 *
 * The first list is consistent (no resourceVersion), so that a start never goes back in time. A
 * list replaces what is known when it ends, in one step.
 *
 * A list for objects that were left out (RELIST_ROOM) runs beside the watch, replacing nothing. */
#ifndef MUSTER_FRONTEND_WATCH_H
#define MUSTER_FRONTEND_WATCH_H

#include "frontend/base/env.h"
#include "frontend/base/log.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stdint.h>

enum watch_state {
	WATCH_LIST,    /* request the next page once wait_until has passed */
	WATCH_LISTING, /* ... is in flight */
	WATCH_WATCH,   /* start the watch */
	WATCH_WATCHING,
	WATCH_PROBING, /* the connection broke: check whether the server's state is older than ours */
};

enum relist_reason {
	RELIST_EXPIRED, /* 410: the version is too old */
	RELIST_FAILED,  /* malformed data, or the watch was refused */
	RELIST_ROOM,    /* objects were dropped for a limit and may fit now */
	RELIST_LEADING, /* this instance became leader, and a watch may lag behind the last leader's
	                   writes */
	RELIST_REASONS
};

struct watch_counts {
	uint64_t lists;    /* finished */
	uint64_t streamed; /* of these, as a stream */
	uint64_t relists;  /* started after the first one */
	uint64_t relists_for[RELIST_REASONS];
	uint64_t watches;  /* started */
	uint64_t failures; /* of requests */
	uint64_t events;   /* ADDED, MODIFIED, DELETED */
	uint64_t bookmarks;
	uint64_t bad_objects;
	uint64_t too_large; /* objects above the size limit */
	uint64_t silences;  /* watches closed after silence */
};

/* Limits for failures that are the server's and hit every collection.  The watches that share it
 * log the first one, and each minute how many came after. */
struct watch_outage {
	struct log_limit refused;     /* 401 */
	struct log_limit unreachable; /* no connection */
};

struct watch;

/* All arguments outlive the watch. `index` is the resource's in the model. */
struct watch *watch_new(const struct env *env, struct model *model, int index);
void watch_free(struct watch *w);

/* Call before the first poll: restricts it to objects whose labels match; copied. An object that
 * ceases to match is removed. */
void watch_select(struct watch *w, const char *label_selector);

/* The same by their fields, in place of labels. */
void watch_select_fields(struct watch *w, const char *field_selector);

/* Call before the first poll; `outage` outlives the watch. Without it all failures are the
 * collection's own. */
void watch_share_outage(struct watch *w, struct watch_outage *outage);

/* Call before the first poll: pages of lists have so many bytes at most; 0: what the transport
 * takes. A page that is longer is asked for with half as many objects; one of a single object has
 * no such bound, and a list in one answer may have 16 times as many bytes. */
void watch_limit_pages(struct watch *w, size_t bytes);

/* Call before the first poll: lists are streamed if the server can. */
void watch_stream_lists(struct watch *w);

/* Sets a callback after each object that was put into the model; `heard_ns` is when its bytes
 * arrived. */
void watch_follow(struct watch *w, void (*put)(void *context, uint64_t heard_ns), void *context);

/* Performs due work. Returns the time of the next call (NEVER_NS: only after an answer). */
uint64_t watch_poll(struct watch *w);

/* True once a complete list has been in the model. */
bool watch_synced(const struct watch *w);

/* True if the server does not have this resource. */
bool watch_absent(const struct watch *w);

/* True if the server's state is older than what was seen: restored from a backup, or another
 * server. The watch stops; the caller discards the model and restarts. */
bool watch_went_back(const struct watch *w);

/* True if the first answer was 401. */
bool watch_refused_at_start(const struct watch *w);

/* True if an object was dropped because the model reached a limit. */
bool watch_lacks_room(const struct watch *w);

/* Lists again as soon as possible; a list that starts from now on suffices. */
void watch_relist(struct watch *w, enum relist_reason reason);

/* What a list costs: how long the last complete one took, or the running one so far if that is
 * more. */
uint64_t watch_list_ns(const struct watch *w);

/* The time at which the last complete list was started; 0: none. */
uint64_t watch_listed_ns(const struct watch *w);

const struct resource *watch_resource(const struct watch *w);
/* Time since the last byte of the watch; 0 without a running watch. */
uint64_t watch_silence_ns(const struct watch *w);
const struct watch_counts *watch_counts(const struct watch *w);
const char *watch_error(const struct watch *w); /* the last failure, "" if none */

#endif
