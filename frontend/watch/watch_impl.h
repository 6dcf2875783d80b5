/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a watch: watch.c knows when, watch_list.c lists, watch_stream.c
 * follows the events. */
#ifndef MUSTER_FRONTEND_WATCH_IMPL_H
#define MUSTER_FRONTEND_WATCH_IMPL_H

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/watch/frames.h"
#include "frontend/watch/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCH_CALL_TIMEOUT_MS 60000 /* of a list */
#define ERROR_BODY_MAX 4096

/* What the watch's own ERROR event, or its body, asks for. */
enum watch_verdict { VERDICT_NONE, VERDICT_RELIST_NOW, VERDICT_RELIST, VERDICT_BACKOFF };

struct watch {
	const struct env *env;
	struct model *model;
	int index;
	struct resource resource; /* in the version that is asked for, which the server need not have */
	char name[128];           /* "nodes", "podgroups.scheduling.x-k8s.io" */
	char *selector;           /* "labelSelector=...", as a query has it; NULL: all objects */
	enum watch_state state;
	uint64_t wait_until_ns;
	uint64_t relist_ns; /* when the last relist was asked for; 0: never */
	struct backoff backoff;
	struct http_call *call;
	void (*put)(void *context, uint64_t heard_ns); /* NULL: nobody follows */
	void *put_context;

	char version[64]; /* resume from here */
	char *continue_token;
	unsigned page_failures; /* of the page that it stands for */
	bool full_list;         /* paging failed: all in one answer */
	bool replacing;         /* model_replace_begin() was called */
	bool synced;
	bool absent;
	bool served; /* listed since it was missing last */
	bool asked;  /* an answer came, whatever it said */
	bool refused_at_start;
	bool renewed;       /* the token was read again after a 401 */
	bool relist_wanted; /* for this reason */
	enum relist_reason relist_reason;
	uint64_t begun_ns;  /* the list that is being asked for */
	uint64_t listed_ns; /* watch_listed_ns() */
	bool no_room;       /* objects of the last list, or since, were left out */
	bool suspect;       /* the connection broke: is it still the same state that is served? */
	bool went_back;     /* it is not: nothing known is of use, nothing more is asked */

	/* The watch under way. */
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
	char error[640];
};

/* ---- watch.c ---- */

/* Then that, so much later. */
void watch_wait(struct watch *w, enum watch_state next, uint64_t wait_ns);

/* The collection's path with its query: what selects, and `rest`, which may be "".  To be freed. */
char *watch_query(const struct watch *w, const char *rest);

/* To the model; what it can't take is logged and counted.  watch_put() is a
 * frame_fn and returns 0. */
int watch_put(void *context, const char *json, size_t bytes);
void watch_remove(struct watch *w, const char *json, size_t bytes);

/* Note, count and log a request that failed. */
void watch_failed(struct watch *w, const char *verb, const struct http_answer *answer,
                  const char *body, size_t body_bytes);

/* After a 401: read the token again and do `next` at once, the first time; false
 * when that was tried, or it was no 401. */
bool watch_renew(struct watch *w, const struct http_answer *answer, enum watch_state next);

/* The server's state is older than ours: returns -ECANCELED. */
int watch_went_backwards(struct watch *w, const char *version);

/* ---- watch_list.c ---- */

void watch_list_start(struct watch *w);
void watch_list_again(struct watch *w, enum relist_reason reason, uint64_t wait_ns);

/* ---- watch_stream.c ---- */

void watch_stream_start(struct watch *w);

/* A connection that says nothing any more is closed at that time. */
uint64_t watch_silence_deadline(const struct watch *w);
void watch_stream_silent(struct watch *w);

/* Is the server's state older than ours? */
void watch_probe_start(struct watch *w);

#endif
