/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the HTTP server.  serve.c: listeners, routes, what the loop publishes; serve_get.c:
 * answers to GET; serve_post.c: the extender's requests. */
#ifndef MUSTER_FRONTEND_SERVE_IMPL_H
#define MUSTER_FRONTEND_SERVE_IMPL_H

#include "frontend/base/log.h"
#include "frontend/serve/connections.h"
#include "frontend/serve/extender.h"
#include "frontend/serve/review.h"
#include "frontend/serve/serve.h"
#include "frontend/serve/tls.h"
#include "frontend/serve/tokens.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

/* One daemon of libmicrohttpd with a thread of its own. */
struct listener {
	struct MHD_Daemon *daemon; /* NULL: off */
	struct connections *connections;
};

struct serve {
	struct serve_config config;
	struct listener port, health;

	/* Of the port's thread alone. */
	uint64_t refused[PORT_REFUSALS];
	struct log_limit refused_limit[PORT_REFUSALS];
	size_t body_bytes; /* reserved for bodies and their answers */
	struct tls *tls;   /* NULL: plain */
	struct tokens tokens;
	uint64_t reviews_due_ns; /* a token bucket: when it is full */

	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t fresh;
	uint64_t updates;
	struct metrics metrics;
	_Atomic bool wanted;
	uint64_t hasty_until_ns;    /* health does not wait for a snapshot: the loop was late */
	struct MHD_Response *state; /* /state.json, NULL: none yet; shared by its answers */
	uint64_t state_ns;          /* when it was made */
	_Atomic bool state_wanted;
	TAILQ_HEAD(, extender_job) jobs; /* not taken by the loop yet */
	TAILQ_HEAD(, review_job) reviews;
	bool stopping;
};

enum MHD_Result serve_answer(struct MHD_Connection *connection, unsigned status, const char *type,
                             const char *text, size_t bytes);
/* The same; `text` is passed on and freed once it is sent. */
enum MHD_Result serve_answer_owned(struct MHD_Connection *connection, unsigned status,
                                   const char *type, char *text, size_t bytes);
enum MHD_Result serve_answer_line(struct MHD_Connection *connection, unsigned status,
                                  const char *text);

/* Paths of health.  Hasty: waits for a busy loop once a second at most, so that no number of such
 * requests delays the next. */
bool serve_is_health(const char *url);
enum MHD_Result serve_health(struct serve *s, struct MHD_Connection *connection, const char *url,
                             bool hasty);
enum MHD_Result serve_get(struct serve *s, struct MHD_Connection *connection, const char *url);

/* Counts a request that is turned away, and logs the first of a minute. */
void serve_refused(struct serve *s, enum port_refusal why, const char *what, const char *text);

/* A call of libmicrohttpd for a POST of the extender: headers, pieces of the body, its end. */
enum MHD_Result serve_post(struct serve *s, struct MHD_Connection *connection, const char *url,
                           const char *upload, size_t *upload_bytes, void **state);
/* The request ended in whatever way. */
void serve_post_end(struct serve *s, void *state);
/* Ends jobs that the loop will not take any more. */
void serve_posts_stop(struct serve *s);

#endif
