/* SPDX-License-Identifier: Apache-2.0 */
/* TokenReview: the API server tells whose a bearer token is.  Everything runs in the loop's thread,
 * but a job is the serving thread's before it is submitted and after it is done. */
#ifndef MUSTER_FRONTEND_REVIEW_H
#define MUSTER_FRONTEND_REVIEW_H

#include "frontend/base/env.h"

#include <sys/queue.h>

struct reviewer;

enum review_verdict {
	REVIEW_GOOD,   /* `user` is set */
	REVIEW_BAD,    /* no token of this cluster */
	REVIEW_FAILED, /* no verdict */
};

struct review_job {
	char *token;                 /* the caller's, until it is done */
	void (*done)(void *context); /* called once; may free the job */
	void *context;
	enum review_verdict verdict;
	char user[256];
	/* Owned by the reviewer: */
	TAILQ_ENTRY(review_job) link;
	struct http_call *call; /* NULL: not sent */
	struct reviewer *reviewer;
};

struct reviewer *reviewer_new(const struct env *env);
/* Jobs end with REVIEW_FAILED. */
void reviewer_free(struct reviewer *r);

void reviewer_ask(struct reviewer *r, struct review_job *job);

#endif
