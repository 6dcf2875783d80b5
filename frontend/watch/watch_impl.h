/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a watch. watch.c: states and timing; watch_list.c: list by pages; watch_initial.c:
 * list as a stream; watch_stream.c: events; watch_beside.c: list beside them; watch_request.c: what
 * their requests have in common. */
#ifndef MUSTER_FRONTEND_WATCH_IMPL_H
#define MUSTER_FRONTEND_WATCH_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/bytes.h"
#include "frontend/watch/frames.h"
#include "frontend/base/log.h"
#include "frontend/watch/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_CALL_TIMEOUT_MS 60000 /* of a list */
#define WATCH_PAGE_TRIES 10         /* of one page; then the list restarts */
#define ERROR_BODY_MAX 4096

/* The consequence of an ERROR event, or of the response body. */
enum watch_verdict { VERDICT_NONE, VERDICT_RELIST_NOW, VERDICT_RELIST, VERDICT_BACKOFF };

struct watch {
	const struct env *env;
	struct model *model;
	int index;
	struct resource resource; /* in the requested version, which the server may not have */
	char name[128];           /* "nodes", "podgroups.scheduling.x-k8s.io" */
	char *selector;           /* "labelSelector=...", as a query has it; NULL: all objects */
	enum watch_state state;
	uint64_t wait_until_ns;
	uint64_t relist_ns; /* time of the last relist request; 0: never */
	struct backoff backoff;
	struct http_call *call;
	void (*put)(void *context, uint64_t heard_ns); /* NULL: no callback */
	void *put_context;

	char version[64];      /* resume from here */
	struct bytes body;     /* of a list's page that is not in the model yet; else empty */
	struct list_page page; /* in it */
	char *continue_token;
	unsigned page_failures; /* of the current page */
	bool streams;           /* lists are streamed ... */
	bool pages_next;        /* ... but not the next one */
	bool initial;           /* the running watch has not sent the whole list yet */
	bool initial_over;      /* ... and this one did */
	bool full_list;         /* paging failed: everything in one response */
	bool replacing;         /* model_replace_begin() was called */
	bool synced;
	bool absent;
	bool served; /* listed since it was last missing */
	bool asked;  /* any response arrived */
	bool refused_at_start;
	bool renewed;          /* the token was read again after a 401 */
	size_t page_bytes_max; /* 0: what the transport takes */
	uint8_t page_halvings; /* of the number of objects in a page of this list */
	bool relist_wanted;    /* for this reason */
	enum relist_reason relist_reason;
	uint64_t begun_ns;     /* start of the current list */
	uint64_t took_ns;      /* the last complete one */
	uint64_t listed_ns;    /* watch_listed_ns() */
	uint64_t forbidden_ns; /* each list since was answered by a 403; 0: the last one was not */
	bool no_room;          /* objects of the last list, or since, were dropped */
	bool suspect;          /* the connection broke: verify that the same state is served */
	bool went_back;        /* it is not: the watch stops */
	struct watch_beside *beside; /* NULL: no list beside the watch */

	/* The running watch. */
	struct frames frames;
	enum watch_verdict verdict;
	uint64_t began_ns;
	uint64_t heard_ns;
	uint64_t bookmark_ns;
	uint64_t bookmark_gap_ns;
	uint64_t said; /* events and bookmarks of this watch */
	uint32_t bookmarks_seen;
	char error_body[ERROR_BODY_MAX];
	size_t error_bytes;

	struct watch_counts counts;
	struct log_limit bad_limit;
	struct log_limit failure_limit;
	struct watch_outage *outage; /* NULL: not shared */
	char error[640];
};

/* Enters `next` after wait_ns. */
void watch_wait(struct watch *w, enum watch_state next, uint64_t wait_ns);

/* The collection's path with the selector and `rest`, which may be "". The caller frees it. */
char *watch_query(const struct watch *w, const char *rest);

/* Puts an object into the model; errors are logged and counted. watch_put_item() is an item_fn and
 * returns 0. */
void watch_put(struct watch *w, const char *json, size_t bytes);
int watch_put_item(void *context, const char *json, size_t bytes, size_t *used);
void watch_remove(struct watch *w, const char *json, size_t bytes);

/* Records, counts and logs a failed request. */
void watch_failed(struct watch *w, const char *verb, const struct http_answer *answer,
                  const char *body, size_t body_bytes);

/* After a 401: reads the token again and enters `next` immediately, the first time; false if that
 * was tried, or for another status. */
bool watch_renew(struct watch *w, const struct http_answer *answer, enum watch_state next);

/* The server's state is older than ours: returns -ECANCELED. */
int watch_went_backwards(struct watch *w, const char *version);

void watch_list_start(struct watch *w);
/* Puts the objects of w->page into the model; after the last page the list is complete. */
void watch_list_put(struct watch *w);
/* The state of a list begins to replace what is known; the list is complete as of w->version; it is
 * given up. */
void watch_list_begin(struct watch *w);
void watch_list_taken(struct watch *w);
void watch_list_abort(struct watch *w);
void watch_list_again(struct watch *w, enum relist_reason reason, uint64_t wait_ns);
/* Requests a page of so many objects (0: all in one answer), which is expected to have answer_bytes
 * (0: unknown); the first one without a token. */
struct http_call *watch_page_ask(struct watch *w, uint32_t objects, const char *continue_token,
                                 size_t answer_bytes, const struct http_handler *handler);
/* The number of objects of a page that was halved so often; at least 1. */
uint32_t watch_page_objects(const struct watch *w, unsigned halvings);
/* True for a failure of this request alone, where earlier pages are kept. */
bool watch_page_again(const struct http_answer *answer);

/* watch_beside.c. The watch runs, and has no list beside it. */
void watch_beside_start(struct watch *w);
void watch_beside_end(struct watch *w); /* nothing without one */
/* The watch changes or deletes that object: it is newer than the list beside the watch. */
void watch_beside_changed(struct watch *w, const char *json, size_t bytes);
uint64_t watch_beside_poll(struct watch *w);     /* as watch_poll(); NEVER_NS without one */
uint64_t watch_beside_ns(const struct watch *w); /* since its start; 0 without one */

void watch_stream_start(struct watch *w);
/* The same with that query, for so long. */
void watch_stream_ask(struct watch *w, const char *query, unsigned seconds);

/* watch_initial.c: w->initial is set until the bookmark, or the end of the watch. */
void watch_initial_start(struct watch *w);
/* 0, or -ECANCELED. */
int watch_initial_bookmark(struct watch *w, const char *json, size_t bytes);
void watch_initial_ended(struct watch *w, const struct http_answer *answer);

/* The time at which a silent connection is closed. */
uint64_t watch_silence_deadline(const struct watch *w);
void watch_stream_silent(struct watch *w);

/* Starts the check whether the server's state is older than ours. */
void watch_probe_start(struct watch *w);

#endif
