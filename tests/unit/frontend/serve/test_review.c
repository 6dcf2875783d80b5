/* SPDX-License-Identifier: Apache-2.0 */
/* TokenReviews: what is sent, and what becomes of each answer. */
#include "frontend/serve/review.h"

#include "tests/unit/support_world.h"
#include "tests/unit/test.h"

#define REVIEWS "/apis/authentication.k8s.io/v1/tokenreviews"

static struct world w;
static struct reviewer *r;
static unsigned done;

static void begin(void)
{
	world_init(&w);
	r = reviewer_new(&w.env);
	done = 0;
}

static void end(void)
{
	reviewer_free(r);
	world_free(&w);
}

TestSuite(review, .init = begin, .fini = end);

static void on_done(void *context)
{
	done++;
}

static struct review_job ask(const char *token)
{
	return (struct review_job){ .token = (char *)(uintptr_t)token, .done = on_done };
}

static enum review_verdict answered(struct review_job *job, int status, const char *body)
{
	*job = ask("t");
	reviewer_ask(r, job);
	world_answer(world_take(&w, "POST", REVIEWS), status, body);
	cr_assert_eq(done, 1);
	done = 0;
	return job->verdict;
}

#define USER(name)                                                                                 \
	"{\"status\":{\"authenticated\":true,\"user\":{\"username\":" name ",\"uid\":\"1\"}}}"

Test(review, answers)
{
	struct review_job job;
	char longer[600];

	cr_assert_eq(answered(&job, 201, USER("\"system:kube-scheduler\"")), REVIEW_GOOD);
	cr_assert_str_eq(job.user, "system:kube-scheduler");
	cr_assert_eq(answered(&job, 201, "{\"status\":{\"user\":{}}}"), REVIEW_BAD);
	cr_assert_eq(
		answered(&job, 201, "{\"status\":{\"authenticated\":false,\"user\":{\"username\":\"a\"}}}"),
		REVIEW_BAD);
	cr_assert_eq(answered(&job, 201, USER("\"\"")), REVIEW_BAD);
	snprintf(longer, sizeof(longer), USER("\"%0400d\""), 0);
	cr_assert_eq(answered(&job, 201, longer), REVIEW_BAD, "a name is not cut off");
	/* The status that we sent ourselves, or none, is no verdict. */
	cr_assert_eq(answered(&job, 201, "{"), REVIEW_FAILED);
	cr_assert_eq(answered(&job, 200, USER("\"system:kube-scheduler\"")), REVIEW_FAILED);
	cr_assert_eq(answered(&job, 403, world_status(403, "Forbidden", "cannot create tokenreviews")),
	             REVIEW_FAILED);
	cr_assert(world_said(&w, "cannot create tokenreviews"));
}

Test(review, the_request)
{
	struct review_job job = ask("a\"b");
	struct http_call *c;

	reviewer_ask(r, &job);
	c = world_take(&w, "POST", REVIEWS);
	cr_assert_str_eq(c->body,
	                 "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
	                 "\"spec\":{\"token\":\"a\\\"b\"}}");
	cr_assert_eq(c->timeout_ms, 3000);
	world_fail(c, HTTP_BROKEN);
	cr_assert(done == 1 && job.verdict == REVIEW_FAILED);
}

Test(review, two_at_once_and_the_end)
{
	struct review_job jobs[4];

	for (int i = 0; i < 4; i++) {
		jobs[i] = ask("t");
		reviewer_ask(r, &jobs[i]);
	}
	cr_assert_eq(world_open(&w), 2);
	world_answer(world_take(&w, "POST", REVIEWS), 201, USER("\"a\""));
	cr_assert(world_open(&w) == 2 && done == 1 && jobs[0].verdict == REVIEW_GOOD);
	reviewer_free(r);
	cr_assert(done == 4 && world_open(&w) == 0);
	for (int i = 1; i < 4; i++)
		cr_assert_eq(jobs[i].verdict, REVIEW_FAILED);
	r = reviewer_new(&w.env);
}
