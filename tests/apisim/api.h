/* SPDX-License-Identifier: Apache-2.0 */
/* The API server as a function: request in, response out, watches to pull from.
 *
 * No socket, no clock, no randomness and no thread of its own, so that a
 * simulator on virtual time drives the very server that http.c serves.  Time
 * comes with each request, randomness from the configuration.
 *
 *   as_api_handle(api, request, &response)
 *       response.watch == NULL: status and body are the answer
 *       response.watch != NULL: the answer is a stream; pull it with as_watch_read() */
#ifndef MUSTER_APISIM_API_H
#define MUSTER_APISIM_API_H

#include "tests/apisim/text.h"

#include <stdbool.h>

struct as_api;
struct as_store;
struct as_watch;

struct as_config {
	size_t history;       /* events kept; 0: 50,000 */
	uint32_t bookmark_ms; /* between two bookmarks; 0: 60,000 */
	size_t watch_lag;     /* a watcher that far behind is dropped; 0: half of history */
	uint64_t (*random)(void *context); /* uids, generated names */
	void *context;
	const char *const *gates; /* NULL-terminated, as --gate has them; or NULL */
	const char **bad_gate;    /* out, or NULL */
	uint64_t now_ns;          /* when the first objects are made */
};

struct as_request {
	const char *method;
	const char *target;       /* path and query as on the request line */
	const char *content_type; /* NULL: none */
	const char *accept;       /* NULL: anything */
	const char *body;
	size_t body_bytes;
	uint64_t now_ns; /* wall clock, since 1970; must not go back */
	bool replayed;   /* by as_api_advance() alone */
	bool loading;    /* a POST keeps uid, creationTimestamp and status */
};

struct as_response {
	int status;
	const char *content_type; /* static */
	uint32_t retry_after_s;   /* 0: no such header */
	struct as_text body;      /* the caller frees it */
	struct as_watch *watch;
	/* What an armed fault requires of the transport. */
	uint32_t delay_ms; /* hold the answer back */
	bool cut;          /* close the connection instead of answering */
	bool cut_watches;  /* close all watch connections */
};

/* NULL when a gate is unknown (*bad_gate). */
struct as_api *as_api_new(const struct as_config *config);
void as_api_free(struct as_api *api); /* after all its watches */

void as_api_handle(struct as_api *api, const struct as_request *request,
                   struct as_response *response);

/* Declare a custom resource, as by POST of a CustomResourceDefinition, `status`: with
 * a status subresource.  0, or -EINVAL and *why (a text to free). */
int as_api_add_custom(struct as_api *api, const char *group, const char *version,
                      const char *plural, const char *kind, bool namespaced, bool status,
                      uint64_t now_ns, char **why);

/* Late writes that a fault has put off.  Call it when the clock moves. */
void as_api_advance(struct as_api *api, uint64_t now_ns);
uint64_t as_api_due_ns(const struct as_api *api); /* UINT64_MAX: nothing waits */

/* A watcher was too slow and is cut. */
void as_api_count_lag(struct as_api *api);

enum as_watch_state {
	AS_WATCH_MORE,  /* there may be more to read */
	AS_WATCH_IDLE,  /* nothing more now */
	AS_WATCH_ENDED, /* nothing more ever: a clean end of the body */
};

/* Copy out up to `room` bytes of the stream. */
size_t as_watch_read(struct as_watch *w, uint64_t now_ns, char *out, size_t room,
                     enum as_watch_state *state);
/* There is something to read, or the stream has ended. */
bool as_watch_ready(struct as_watch *w, uint64_t now_ns);
/* It is behind by more than the server allows: close the connection. */
bool as_watch_lags(const struct as_watch *w);
/* When it becomes ready without a further write. */
uint64_t as_watch_due_ns(const struct as_watch *w);
void as_watch_free(struct as_watch *w);

#endif
