/* SPDX-License-Identifier: Apache-2.0 */
/* What the frontend's logic may touch of the world: requests, time, randomness.
 *
 * In production these are libcurl and the system's clocks; the deterministic
 * simulator puts its own behind the same functions and drives the very code
 * that runs in production.
 *
 * One thread.  Callbacks of a request come out of transport_ops.poll() alone,
 * never out of start() or cancel(). */
#ifndef MUSTER_FRONTEND_ENV_H
#define MUSTER_FRONTEND_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which connections a request uses, so that none waits behind another kind. */
enum http_lane {
	HTTP_WATCH,  /* a connection of its own */
	HTTP_BIND,   /* the pool of 8 to 16 */
	HTTP_REPORT, /* conditions and events: never in the way of a bind */
	HTTP_CALL,   /* single reads, and the writes after which an earlier Binding is over */
	HTTP_LIST,   /* lists: they may take a minute each, and nothing else waits for them */
	HTTP_LEASE,  /* who waits here for longer than the renew deadline leads no more */
	HTTP_LANES
};

struct http_request {
	const char *method;
	const char *path;         /* with its query, already escaped */
	const char *content_type; /* NULL without a body */
	const char *body;         /* copied by start() */
	size_t body_bytes;
	enum http_lane lane;
	uint32_t timeout_ms;         /* for the whole; 0: none (watch) */
	uint32_t silence_timeout_ms; /* no byte for that long: broken; 0: none */
	bool before_lease;     /* sent whether or not we may act: what takes and keeps the lease */
	bool fresh_connection; /* one for this request alone: those that were kept may all be dead */
};

/* How a request ended. */
enum http_end {
	HTTP_ANSWERED, /* the body came to its end; status is set */
	HTTP_NOT_SENT, /* certainly never reached the server (no connection) */
	HTTP_BROKEN,   /* may have reached it: reset, timeout, short body */
};

struct http_answer {
	enum http_end end;
	int status;    /* 0 unless a status line came */
	bool repeated; /* an earlier try of it may have reached a server, which has not answered */
	int64_t retry_after_ms; /* -1: no Retry-After */
	const char *error;      /* text of the failure, "" when HTTP_ANSWERED */
};

/* `data` is called for each piece of the body, with the status known; returning
 * false breaks the request off (HTTP_BROKEN).  `done` is called once, last.
 * `data` may be NULL: then the body is collected and given to `done`. */
struct http_handler {
	bool (*data)(void *context, int status, const char *bytes, size_t n);
	void (*done)(void *context, const struct http_answer *answer, const char *body,
	             size_t body_bytes);
	void *context;
};

struct http_call;

struct transport;
struct transport_ops {
	/* NULL and errno when it can't even be started (-ENOMEM); nothing is called then. */
	struct http_call *(*start)(struct transport *t, const struct http_request *request,
	                           const struct http_handler *handler);
	/* No callback follows; the request may or may not reach the server. */
	void (*cancel)(struct transport *t, struct http_call *call);
	/* An answer was 401: read the token again before the next request.  May be
	 * NULL where there is nothing to read again. */
	void (*renew_credentials)(struct transport *t);
};
struct transport {
	const struct transport_ops *ops;
};

/* A value of a line of the log; one whose text is "" is left out. */
struct log_field {
	const char *key;  /* static: letters and _ */
	const char *text; /* NULL: the number */
	int64_t number;
};

struct env {
	struct transport *transport;
	uint64_t (*monotonic_ns)(void *context); /* deadlines, backoff; goes on in suspend */
	uint64_t (*wall_ns)(void *context);      /* since 1970: for printing and records */
	uint64_t (*random)(void *context);       /* jitter, event names */
	void (*log)(void *context, const char *level, const char *message); /* one line, no newline */
	/* The same with values of their own behind it; NULL: they are put into the message. */
	void (*say)(void *context, const char *level, const char *message,
	            const struct log_field *fields, size_t n);
	void *context;
};

#endif
