/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the HTTP server.  serve.c: listeners, routes, what the loop publishes; serve_get.c:
 * answers to GET; serve_question.c: questions; serve_post.c: the extender's requests, and pods. */
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

#define KEPT_ANSWERS 8u

/* One daemon of libmicrohttpd with a thread of its own. */
struct listener {
	struct MHD_Daemon *daemon; /* NULL: off */
	struct connections *connections;
};

/* An answer of the loop, shared by all who ask the same shortly afterwards, so that readers that
 * are slow cost no memory each. */
struct kept_answer {
	struct question question;
	struct MHD_Response *response; /* NULL: none */
	uint64_t made_ns;
};

/* The question that the loop has to answer, one at a time. */
struct asked {
	struct question question;
	char *body; /* of a QUESTION_OUTSIDER until the loop takes it; to be freed */
	size_t body_bytes;
	_Atomic bool wanted;
	uint64_t number;   /* of the question; a late answer to an earlier one is dropped */
	uint64_t taken;    /* number of the one that the loop has taken */
	uint64_t answered; /* changes with each answer that is taken */
	char *text;        /* of the answer, NULL: nothing has that name; to be freed */
	size_t bytes;
	uint64_t taken_ns; /* by the loop */
	uint64_t due_ns;   /* when the loop answers the next one */
};

struct serve {
	struct serve_config config;
	struct listener port, health;

	/* Of the port's thread alone. */
	uint64_t refused[PORT_REFUSALS];
	struct log_limit refused_limit[PORT_REFUSALS];
	size_t body_bytes; /* reserved for bodies and their answers */
	size_t pod_bytes;  /* of these, for bodies of pods */
	struct tls *tls;   /* NULL: plain */
	struct tokens tokens;
	uint64_t reviews_due_ns; /* a token bucket: when it is full */
	struct kept_answer kept[KEPT_ANSWERS];
	size_t answer_bytes; /* of answers to questions that are kept or being sent */

	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t fresh;
	uint64_t updates, whole_updates;
	struct metrics metrics;
	_Atomic bool wanted, whole_wanted; /* serve_is_wanted() */
	uint64_t hasty_until_ns;           /* health does not wait for a snapshot: the loop was late */
	struct asked asked;
	TAILQ_HEAD(, extender_job) jobs; /* not taken by the loop yet */
	TAILQ_HEAD(, review_job) reviews;
	bool stopping;
};

/* `text` is passed on and freed once it is sent. */
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

/* The kind of question that this path is, or QUESTIONS. */
enum question_kind serve_question_kind(const char *url);
enum MHD_Result serve_question(struct serve *s, struct MHD_Connection *connection,
                               enum question_kind kind);
/* The question of a POST, whose body is passed on. */
enum MHD_Result serve_question_outsider(struct serve *s, struct MHD_Connection *connection,
                                        char *body, size_t bytes);
void serve_questions_free(struct serve *s);

/* With the lock held: requests what the loop publishes and waits until *published has changed;
 * false if the loop is late. */
bool serve_wait_fresh(struct serve *s, _Atomic bool *wanted, const uint64_t *published);
/* The time of the condition variable's clock in so many nanoseconds. */
struct timespec serve_after_ns(uint64_t ns);

/* Counts a request that is turned away, and logs the first of a minute. */
void serve_refused(struct serve *s, enum port_refusal why, const char *what, const char *text);

/* A call of libmicrohttpd for a POST, of the extender or of a pod: headers, pieces of the body, its
 * end. */
enum MHD_Result serve_post(struct serve *s, struct MHD_Connection *connection, const char *url,
                           const char *upload, size_t *upload_bytes, void **state);
/* The request ended in whatever way. */
void serve_post_end(struct serve *s, void *state);
/* Ends jobs that the loop will not take any more. */
void serve_posts_stop(struct serve *s);

#endif
