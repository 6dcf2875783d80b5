/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the frontend's logic and the outside: requests, time, randomness.
 *
 * In production these are libcurl and the system's clocks; the deterministic simulator implements
 * the same functions and drives the code that runs in production.
 *
 * One thread. Callbacks of a request are made by transport_ops.poll() alone, never by start() or
 * cancel(). */
#ifndef MUSTER_FRONTEND_ENV_H
#define MUSTER_FRONTEND_ENV_H

#include "ipc/logline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The connection pool of a request, so that none waits for another kind. */
enum http_lane {
	HTTP_WATCH,   /* a connection of its own */
	HTTP_BIND,    /* the pool of 8 to 16 */
	HTTP_REPORT,  /* conditions and events: never ahead of a binding */
	HTTP_CALL,    /* single reads, and fences */
	HTTP_LIST,    /* lists: a minute each, and nothing else waits for them */
	HTTP_LEASE,   /* the lease: a delay beyond the renew deadline ends the leadership */
	HTTP_JOURNAL, /* the journal: bindings wait for it */
	HTTP_LANES
};

struct http_request {
	const char *method;
	const char *path;         /* with its query, escaped */
	const char *content_type; /* NULL without a body */
	const char *body;         /* copied by start() */
	size_t body_bytes;
	enum http_lane lane;
	uint32_t timeout_ms;         /* for the whole request; 0: none (watch) */
	uint32_t silence_timeout_ms; /* time without a byte until it counts as broken; 0: none */
	bool before_lease;           /* sent without the lease: requests that acquire and keep it */
	size_t answer_bytes_max;     /* of the answer's body; 0: what the transport takes */
	size_t answer_bytes;         /* ... what it probably has; 0: not known */
	bool fresh_connection;       /* a new connection: kept ones may all be dead */
};

/* How a request ended. */
enum http_end {
	HTTP_ANSWERED, /* the body is complete; status is set */
	HTTP_NOT_SENT, /* never reached the server (no connection) */
	HTTP_BROKEN,   /* may have reached it: reset, timeout, short body */
};

struct bytes;
struct http_answer {
	enum http_end end;
	int status;             /* 0 without a status line */
	bool too_long;          /* HTTP_BROKEN as its body is longer than allowed */
	bool repeated;          /* an earlier attempt may have reached a server, which did not answer */
	int64_t retry_after_ms; /* -1: no Retry-After */
	const char *error;      /* the failure, "" with HTTP_ANSWERED */
	struct bytes *buffer;   /* the body's, which `done` may exchange for another; NULL: none */
};

/* `data` is called for each piece of the body, with the status known; returning false aborts the
 * request (HTTP_BROKEN). `done` is called once, last. `data` may be NULL: then the body is
 * collected and passed to `done`. */
struct http_handler {
	bool (*data)(void *context, int status, const char *bytes, size_t n);
	void (*done)(void *context, const struct http_answer *answer, const char *body,
	             size_t body_bytes);
	void *context;
};

struct http_call;

struct transport;
struct transport_ops {
	/* NULL and errno if it cannot be started (-ENOMEM); no callback follows. */
	struct http_call *(*start)(struct transport *t, const struct http_request *request,
	                           const struct http_handler *handler);
	/* No callback follows; the request may or may not reach the server. */
	void (*cancel)(struct transport *t, struct http_call *call);
	/* After a 401: reread the token before the next request. May be NULL if there is nothing to
	 * reread. */
	void (*renew_credentials)(struct transport *t);
};
struct transport {
	const struct transport_ops *ops;
};

struct env {
	struct transport *transport;
	uint64_t (*monotonic_ns)(void *context); /* deadlines, backoff; continues during suspend */
	uint64_t (*wall_ns)(void *context);      /* since 1970: for printing and records */
	uint64_t (*random)(void *context);       /* jitter, event names */
	void (*log)(void *context, const char *level, const char *message); /* one line, no newline */
	/* The same with separate fields; NULL: they are appended to the message. */
	void (*say)(void *context, const char *level, const char *message,
	            const struct log_field *fields, size_t n);
	void *context;
};

#endif
