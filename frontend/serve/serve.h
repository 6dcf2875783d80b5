/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP server: /metrics, /latency, /healthz, /livez, /readyz, the page at / with its questions,
 * a pod's records for musterctl verdict at /pod, and the extender's /filter and /prioritize; health
 * also on a listener of its own.  Each listener has a thread, which sees only copies that the loop
 * made and submits jobs to it.
 *
 * Any client of the network may be hostile: connections, their time and the bytes of bodies are
 * bounded (docs/decisions/042-port.md). */
#ifndef MUSTER_FRONTEND_SERVE_H
#define MUSTER_FRONTEND_SERVE_H

#include "frontend/serve/metrics.h"
#include "frontend/serve/question.h"

#include <stddef.h>
#include <stdint.h>

struct serve;

/* The page at /, for browsers. */
struct page {
	const char *html;
	size_t bytes;
	/* Content-Security-Policy: the page's script and style by their hashes, requests to its origin,
	 * and nothing else. */
	char policy[512];
};

/* How a client of the extender proves who it is. */
enum extender_auth {
	EXTENDER_AUTH_NONE,
	EXTENDER_AUTH_MTLS,  /* the common name of its certificate */
	EXTENDER_AUTH_TOKEN, /* its bearer token, by a TokenReview: serve_take_review() */
};

/* Texts outlive the server. */
struct serve_config {
	const char *listen, *health_listen; /* "off" or "": nowhere */
	const char *const *allowed_hosts;   /* names that a Host field may have */
	size_t allowed_hosts_n;
	const struct env *env; /* its log and its clock, from all threads */
	/* Called from a serving thread when a snapshot is wanted; the loop then calls serve_update()
	 * soon. */
	void (*wanted)(void *context);
	void *context;
	const struct page *page;
	const char *tls_cert, *tls_key; /* files; NULL: no TLS */
	const char *client_ca;          /* file; NULL: none */
	bool extends;                   /* accept the extender's requests: serve_take_job() */
	struct node_names *node_names;  /* of the model: its questions' */
	enum extender_auth auth;
	const char *const *users; /* who may send them, unless auth is none */
	size_t users_n;
};

struct review_job;   /* frontend/serve/review.h */
struct extender_job; /* frontend/serve/extender.h */

/* Starts on the addresses of frontend/serve/address.h.
 *
 *   -EINVAL      no such address; `error` has the reason
 *   -EADDRINUSE  and others: cannot listen there */
int serve_start(const struct serve_config *config, struct serve **out, char *error,
                size_t error_bytes);
void serve_stop(struct serve *s);

/* The port of `listen`, also if `listen` asked for any (0). */
unsigned serve_port(const struct serve *s);

/* The next job, or NULL. The loop must finish each one before serve_stop(). */
struct extender_job *serve_take_job(struct serve *s);

/* The next token to review, or NULL.  The same. */
struct review_job *serve_take_review(struct serve *s);

/* True if a client waits for a snapshot.  *whole: also for what is summed over all nodes and queues
 * (the usage, and the waits of queues), which probes of health do not need. */
bool serve_is_wanted(struct serve *s, bool *whole);

/* Replaces the snapshot; *m is copied.  `whole`: those sums are of now. */
void serve_update(struct serve *s, const struct metrics *m, bool whole);

/* The page's question that waits for an answer; false: there is none.  serve_give_answer() has to
 * follow. */
bool serve_take_question(struct serve *s, struct question *out);

/* The object of a QUESTION_OUTSIDER that was taken, the caller's to free. */
char *serve_take_body(struct serve *s, size_t *bytes);

/* Answers it; copied.  NULL: nothing has that name. */
void serve_give_answer(struct serve *s, const char *json, size_t bytes);

#endif
