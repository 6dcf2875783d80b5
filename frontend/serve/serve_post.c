/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/serve_impl.h"

#include "frontend/serve/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODIES_BYTES_MAX (2 * EXTENDER_BYTES_MAX) /* of all requests at once */
#define POD_BYTES_MAX ((size_t)2 << 20)           /* an API server takes 1.5 MiB */
#define PODS_BYTES_MAX (8 * POD_BYTES_MAX)        /* of all pods: anybody may send one */
#define NODE_BYTES 192u /* of a node: its entry in the question and in the answer */
#define NO_MEMORY "other requests have all memory for bodies, 128 MiB"
#define NO_MEMORY_FOR_PODS "other pods have all memory for bodies of pods, 16 MiB"
#define REVIEWS_BURST 20u
#define REVIEW_NS (100 * NS_PER_MS)
/* Of a refused request's body, which is read to the end so that its client reads why. */
#define DISCARD_BYTES_MAX (1u << 20)

/* The latter two: suspended, until the loop has done its job. */
enum post_step {
	POST_BODY,
	POST_REVIEW,
	POST_ASKED,
};

/* A POST, from its headers to its answer. */
struct post {
	struct extender_job job;
	struct serve *serve;
	struct MHD_Connection *connection;
	bool of_pod; /* else of the extender, and of that: */
	enum extender_verb verb;
	struct arena arena;
	char *body;
	size_t bytes, length; /* received, and as announced */
	bool has_length;
	size_t charged;   /* its part of serve->body_bytes */
	unsigned refusal; /* the status, once it is turned away; 0: it is not */
	char why[200];
	struct review_job review;
	enum post_step step;
};

static bool post_charge(struct post *p, size_t bytes)
{
	struct serve *s = p->serve;

	assert(s->body_bytes >= p->charged && s->body_bytes <= BODIES_BYTES_MAX);
	if (bytes > BODIES_BYTES_MAX - s->body_bytes ||
	    (p->of_pod && bytes > PODS_BYTES_MAX - s->pod_bytes))
		return false;
	s->body_bytes += bytes;
	s->pod_bytes += p->of_pod ? bytes : 0;
	p->charged += bytes;
	return true;
}

void serve_post_end(struct serve *s, void *state)
{
	struct post *p = state;

	s->body_bytes -= p->charged;
	s->pod_bytes -= p->of_pod ? p->charged : 0;
	arena_free(&p->arena);
	if (p->review.token)
		explicit_bzero(p->review.token, strlen(p->review.token));
	free(p->review.token);
	free(p->body);
	free(p);
}

static void post_refuse(struct post *p, enum port_refusal reason, unsigned status, const char *why)
{
	p->refusal = status;
	snprintf(p->why, sizeof(p->why), "%s", why);
	serve_refused(p->serve, reason, why, NULL);
}

static const char *header(const struct post *p, const char *name)
{
	return MHD_lookup_connection_value(p->connection, MHD_HEADER_KIND, name);
}

/* False without a Content-Length; libmicrohttpd has refused malformed ones. */
static bool length_read(struct post *p)
{
	const char *text = header(p, MHD_HTTP_HEADER_CONTENT_LENGTH);
	char *end;

	if (!text)
		return false;
	errno = 0;
	p->length = strtoull(text, &end, 10);
	return !errno && end != text && !*end;
}

static enum MHD_Result post_answer_refusal(struct post *p)
{
	return serve_answer_line(p->connection, p->refusal, p->why);
}

/* The length and kind of the body, and memory for it. */
static void post_admit(struct post *p)
{
	const char *type = header(p, MHD_HTTP_HEADER_CONTENT_TYPE);

	if (!request_type_is_json(type)) {
		post_refuse(p, PORT_TYPE, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
		            "Content-Type is not application/json");
	} else if (!p->has_length) {
		post_refuse(p, PORT_LENGTH, MHD_HTTP_LENGTH_REQUIRED, "no Content-Length");
	} else if (p->length > (p->of_pod ? POD_BYTES_MAX : EXTENDER_BYTES_MAX)) {
		post_refuse(p, PORT_LENGTH, MHD_HTTP_CONTENT_TOO_LARGE,
		            p->of_pod ? "the pods are longer than 2 MiB"
		                      : "the request is longer than 64 MiB");
	} else if (!post_charge(p, p->length)) {
		post_refuse(p, PORT_BYTES, MHD_HTTP_SERVICE_UNAVAILABLE,
		            p->of_pod ? NO_MEMORY_FOR_PODS : NO_MEMORY);
	} else {
		/* Not zeroed: what a client only announces costs no memory. */
		p->body = must_grow(NULL, p->length + 1);
	}
}

static bool is_user(const struct serve *s, const char *name)
{
	for (size_t i = 0; i < s->config.users_n; i++)
		if (strcmp(s->config.users[i], name) == 0)
			return true;
	return false;
}

static void post_forbid(struct post *p)
{
	post_refuse(p, PORT_FORBIDDEN, MHD_HTTP_FORBIDDEN, "not a user of --extender-user");
}

static void post_check_certificate(struct post *p)
{
	char name[256];
	const char *fault = tls_client_fault(p->serve->tls, p->connection, name, sizeof(name));

	if (fault)
		post_refuse(p, PORT_IDENTITY, MHD_HTTP_UNAUTHORIZED, fault);
	else if (!is_user(p->serve, name))
		post_forbid(p);
}

static void post_apply(struct post *p, enum token_verdict verdict)
{
	if (verdict == TOKEN_BAD)
		post_refuse(p, PORT_IDENTITY, MHD_HTTP_UNAUTHORIZED, "not a token of this cluster");
	else if (verdict == TOKEN_FORBIDDEN)
		post_forbid(p);
}

/* True while fewer than REVIEWS_BURST tokens that were never good are to be reviewed: a bucket that
 * fills with one each REVIEW_NS. */
static bool review_is_allowed(struct serve *s, uint64_t now)
{
	uint64_t due = s->reviews_due_ns > now ? s->reviews_due_ns : now;

	if (due - now > (REVIEWS_BURST - 1) * REVIEW_NS)
		return false;
	s->reviews_due_ns = due + REVIEW_NS;
	return true;
}

/* The `done` of both jobs. */
static void post_resume(void *context)
{
	struct post *p = context;

	connections_set_suspended(p->serve->port.connections, p->connection, false);
	MHD_resume_connection(p->connection);
}

/* Ends what the loop has not taken. */
static void jobs_end(struct serve *s)
{
	struct extender_job *job;
	struct review_job *review;

	while ((job = serve_take_job(s)) != NULL) {
		job->answer =
			(struct extender_answer){ .chosen = EXTENDER_NOWHERE, .error = "muster is stopping" };
		job->done(job->context);
	}
	while ((review = serve_take_review(s)) != NULL) {
		review->verdict = REVIEW_FAILED;
		review->done(review->context);
	}
}

/* Suspends the connection and passes the job of this step to the loop. */
static void post_suspend(struct post *p, enum post_step step)
{
	struct serve *s = p->serve;
	bool stopping;

	p->step = step;
	MHD_suspend_connection(p->connection);
	connections_set_suspended(s->port.connections, p->connection, true);
	pthread_mutex_lock(&s->lock);
	stopping = s->stopping;
	if (step == POST_REVIEW)
		TAILQ_INSERT_TAIL(&s->reviews, &p->review, link);
	else
		TAILQ_INSERT_TAIL(&s->jobs, &p->job, link);
	pthread_mutex_unlock(&s->lock);
	if (stopping)
		jobs_end(s);
	else
		s->config.wanted(s->config.context);
}

/* Before any of its body is kept. */
static void post_review(struct post *p, const char *token)
{
	p->review = (struct review_job){ .token = must_copy(token), .done = post_resume, .context = p };
	post_suspend(p, POST_REVIEW);
}

static void post_check_token(struct post *p)
{
	static const char scheme[] = "Bearer ";
	const char *field = header(p, MHD_HTTP_HEADER_AUTHORIZATION), *token;
	uint64_t now = env_now(p->serve->config.env);
	enum token_verdict verdict;

	if (!field || strncasecmp(field, scheme, strlen(scheme)) != 0 || !field[strlen(scheme)]) {
		post_refuse(p, PORT_IDENTITY, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed");
		return;
	}
	token = field + strlen(scheme);
	verdict = tokens_find(&p->serve->tokens, token, now);
	if (verdict == TOKEN_STALE || (verdict == TOKEN_UNKNOWN && review_is_allowed(p->serve, now)))
		post_review(p, token);
	else if (verdict == TOKEN_UNKNOWN)
		post_refuse(p, PORT_REVIEW, MHD_HTTP_SERVICE_UNAVAILABLE, "too many unknown tokens");
	else
		post_apply(p, verdict);
}

static void post_reviewed(struct post *p)
{
	struct serve *s = p->serve;
	enum token_verdict verdict;

	p->step = POST_BODY;
	if (p->review.verdict == REVIEW_FAILED) {
		post_refuse(p, PORT_REVIEW, MHD_HTTP_SERVICE_UNAVAILABLE,
		            "the API server did not review the token");
		return;
	}
	verdict = p->review.verdict == REVIEW_BAD ? TOKEN_BAD
	          : is_user(s, p->review.user)    ? TOKEN_GOOD
	                                          : TOKEN_FORBIDDEN;
	tokens_put(&s->tokens, p->review.token, verdict, env_now(s->config.env));
	post_apply(p, verdict);
	if (!p->refusal)
		post_admit(p);
}

/* A refusal is sent at once if its body is too long to be read to the end. */
static enum MHD_Result post_begun(struct post *p)
{
	if (p->refusal && (!p->has_length || p->length > DISCARD_BYTES_MAX))
		return post_answer_refusal(p);
	return MHD_YES;
}

static enum MHD_Result post_begin(struct serve *s, struct MHD_Connection *connection,
                                  const char *url, void **state)
{
	struct post *p = must_alloc(sizeof(*p));
	enum extender_auth auth;

	p->serve = s;
	p->connection = connection;
	p->of_pod = strcmp(url, "/pod") == 0;
	p->verb = strcmp(url, "/filter") == 0 ? EXTENDER_FILTER : EXTENDER_PRIORITIZE;
	p->has_length = length_read(p);
	*state = p;
	/* Who asks about a pod learns what the page shows: as for the page, it may be anybody. */
	auth = p->of_pod ? EXTENDER_AUTH_NONE : s->config.auth;
	if (auth == EXTENDER_AUTH_MTLS)
		post_check_certificate(p);
	else if (auth == EXTENDER_AUTH_TOKEN)
		post_check_token(p);
	if (!p->refusal && p->step == POST_BODY)
		post_admit(p);
	return post_begun(p);
}

static enum MHD_Result post_collect(struct post *p, const char *upload, size_t bytes)
{
	if (p->refusal)
		return MHD_YES;
	if (bytes > p->length - p->bytes)
		return MHD_NO;
	memcpy(p->body + p->bytes, upload, bytes);
	p->bytes += bytes;
	return MHD_YES;
}

static enum MHD_Result post_answer(struct post *p)
{
	struct bytes out = { 0 };

	/* Scores have no field for an error. */
	if (p->verb == EXTENDER_PRIORITIZE && p->job.answer.error)
		return serve_answer_line(p->connection, MHD_HTTP_SERVICE_UNAVAILABLE, p->job.answer.error);
	extender_write(&p->job.question, &p->job.answer, &out);
	return serve_answer_owned(p->connection, MHD_HTTP_OK, "application/json", out.at, out.n);
}

static enum MHD_Result post_ask(struct post *p)
{
	char error[512], *body = p->body;

	if (p->of_pod) {
		p->body = NULL;
		return serve_question_outsider(p->serve, p->connection, body, p->bytes);
	}
	if (extender_read(p->verb, p->body, p->bytes, &p->arena, &p->job.question, error,
	                  sizeof(error)) < 0)
		return serve_answer_line(p->connection, MHD_HTTP_BAD_REQUEST, error);
	if (!post_charge(p, p->job.question.nodes_n * NODE_BYTES)) {
		post_refuse(p, PORT_BYTES, MHD_HTTP_SERVICE_UNAVAILABLE, NO_MEMORY);
		return post_answer_refusal(p);
	}
	extender_find(&p->job.question, p->serve->config.node_names, &p->arena);
	p->job.done = post_resume;
	p->job.context = p;
	post_suspend(p, POST_ASKED);
	return MHD_YES;
}

enum MHD_Result serve_post(struct serve *s, struct MHD_Connection *connection, const char *url,
                           const char *upload, size_t *upload_bytes, void **state)
{
	struct post *p = *state;
	size_t bytes = *upload_bytes;

	if (!p)
		return post_begin(s, connection, url, state);
	*upload_bytes = 0;
	if (p->step == POST_REVIEW) {
		post_reviewed(p);
		/* libmicrohttpd repeats the call for the headers, which is not the end of the body. */
		if (bytes == 0 && p->length > 0)
			return post_begun(p);
	}
	if (bytes > 0)
		return post_collect(p, upload, bytes);
	if (p->refusal)
		return post_answer_refusal(p);
	return p->step == POST_ASKED ? post_answer(p) : post_ask(p);
}

void serve_posts_stop(struct serve *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_mutex_unlock(&s->lock);
	jobs_end(s);
}
