/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/review.h"

#include "frontend/api/apistatus.h"
#include "frontend/base/log.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/apis/authentication.k8s.io/v1/tokenreviews"
#define TIMEOUT_MS 3000 /* kube-scheduler waits 5 s by default */
#define SENT_MAX 2u     /* reads before bindings share the lane */

struct reviewer {
	const struct env *env;
	TAILQ_HEAD(, review_job) jobs;
	unsigned sent;
	struct log_limit limit;
};

struct review {
	bool authenticated;
	struct text user;
};

static const struct json_field user_fields[] = {
	JSON_FIELD("username", json_field_text, struct review, user),
};
static const struct json_field status_fields[] = {
	JSON_FIELD("authenticated", json_field_bool, struct review, authenticated),
	JSON_NESTED("user", user_fields),
};
static const struct json_field review_fields[] = { JSON_NESTED("status", status_fields) };

struct reviewer *reviewer_new(const struct env *env)
{
	struct reviewer *r = must_alloc(sizeof(*r));

	r->env = env;
	TAILQ_INIT(&r->jobs);
	return r;
}

static void finish(struct reviewer *r, struct review_job *job, enum review_verdict verdict)
{
	TAILQ_REMOVE(&r->jobs, job, link);
	r->sent -= job->call != NULL;
	job->call = NULL;
	job->verdict = verdict;
	job->done(job->context);
}

void reviewer_free(struct reviewer *r)
{
	struct review_job *job;

	if (!r)
		return;
	while ((job = TAILQ_FIRST(&r->jobs)) != NULL) {
		if (job->call)
			r->env->transport->ops->cancel(r->env->transport, job->call);
		finish(r, job, REVIEW_FAILED);
	}
	free(r);
}

/* False if the body is no TokenReview. */
static bool review_read(const char *body, size_t bytes, struct review_job *job,
                        enum review_verdict *out)
{
	struct arena arena = { 0 };
	struct review found = { 0 };
	struct json j;
	bool whole;

	json_begin(&j, body, bytes, &arena);
	json_fields(&j, review_fields, &found);
	whole = json_end(&j);
	/* A name that is cut off would be another user's. */
	if (whole && found.authenticated && found.user.bytes > 0 &&
	    found.user.bytes < sizeof(job->user) && !memchr(found.user.at, '\0', found.user.bytes)) {
		memcpy(job->user, found.user.at, found.user.bytes);
		job->user[found.user.bytes] = '\0';
		*out = REVIEW_GOOD;
	} else {
		*out = REVIEW_BAD;
	}
	arena_free(&arena);
	return whole;
}

static void send_some(struct reviewer *r);

static void on_answer(void *context, const struct http_answer *answer, const char *body,
                      size_t bytes)
{
	struct review_job *job = context;
	struct reviewer *r = job->reviewer;
	enum review_verdict verdict = REVIEW_FAILED;
	struct apistatus status = { 0 };

	if (answer->end != HTTP_ANSWERED || answer->status != 201 ||
	    !review_read(body, bytes, job, &verdict)) {
		verdict = REVIEW_FAILED;
		if (answer->end == HTTP_ANSWERED)
			apistatus_read(body, bytes, &status);
		if (log_allowed(&r->limit, r->env, "can't review tokens"))
			env_log(r->env, "error", "can't review tokens of the extender's clients: %d %s%s",
			        answer->status, answer->error, status.message);
	}
	finish(r, job, verdict);
	send_some(r);
}

static void job_send(struct reviewer *r, struct review_job *job)
{
	const struct http_handler handler = { .done = on_answer, .context = job };
	struct http_request request = { .method = "POST",
		                            .path = PATH,
		                            .content_type = "application/json",
		                            .lane = HTTP_CALL,
		                            .timeout_ms = TIMEOUT_MS,
		                            .before_lease = true /* it changes nothing */ };
	struct jsonout body = { 0 };

	jsonout_add(&body,
	            "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
	            "\"spec\":{\"token\":@s}}",
	            job->token);
	request.body = body.at;
	request.body_bytes = body.bytes;
	job->call = r->env->transport->ops->start(r->env->transport, &request, &handler);
	explicit_bzero(body.at, body.bytes);
	jsonout_free(&body);
	if (job->call)
		r->sent++;
	else
		finish(r, job, REVIEW_FAILED);
}

static void send_some(struct reviewer *r)
{
	struct review_job *job, *after;

	for (job = TAILQ_FIRST(&r->jobs); job && r->sent < SENT_MAX; job = after) {
		after = TAILQ_NEXT(job, link);
		if (!job->call)
			job_send(r, job);
	}
}

void reviewer_ask(struct reviewer *r, struct review_job *job)
{
	job->reviewer = r;
	job->call = NULL;
	TAILQ_INSERT_TAIL(&r->jobs, job, link);
	send_some(r);
}
