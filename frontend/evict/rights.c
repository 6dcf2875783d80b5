/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/evict/rights.h"

#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"

#include <stdlib.h>

#define TIMEOUT_MS 5000
#define AGAIN_NS (60 * NS_PER_S) /* while one is missing */
#define FAILURES_MAX 3u          /* then nominations wait no longer for the answer */

#define RIGHTS_MAX 3u

/* What is granted together, by one part of the manifests. */
struct rights_kind {
	struct right {
		const char *verb, *subresource;
	} all[RIGHTS_MAX];
	unsigned n;
	const char *group, *resource;
	const char *flag, *without, *with; /* texts of the log */
};

#define EVICTIONS                                                                                  \
	.n = 2, .group = "", .resource = "pods", .flag = "--preemption on",                            \
	.without = "falls back to explain, nobody is evicted until it may (deploy/preemption has "     \
			   "the rights)",                                                                      \
	.with = "the rights are there, gangs may evict"

static const struct rights_kind kinds[] = {
	[RIGHTS_EVICT] = { .all = { { "create", "eviction" }, { "patch", "status" } }, EVICTIONS },
	[RIGHTS_DELETE] = { .all = { { "delete", "" }, { "patch", "status" } }, EVICTIONS },
	/* A write of status.allocation is one of the status, and since Kubernetes 1.36 also one of a
	 * subresource "binding" that exists for this right alone. */
	[RIGHTS_CLAIMS] = { .all = { { "patch", "" }, { "patch", "status" }, { "patch", "binding" } },
	                    .n = 3,
	                    .group = "resource.k8s.io",
	                    .resource = "resourceclaims",
	                    .flag = "--devices auto",
	                    .without = "no pod with claims can be bound until it may (deploy/devices "
	                               "has the rights; before Kubernetes 1.36 resourceclaims/binding "
	                               "is not needed)",
	                    .with = "the rights are there" },
};

struct rights {
	const struct env *env;
	const struct rights_kind *kind;
	unsigned at; /* the next to be asked for */
	bool known, granted;
	bool said; /* that one is missing */
	unsigned failures;
	uint64_t due_ns;
	struct http_call *call;
	struct backoff backoff;
	struct jsonout body;
};

struct rights *rights_new(const struct env *env, enum rights_of of)
{
	struct rights *r = must_alloc(sizeof(*r));

	r->env = env;
	r->kind = &kinds[of];
	r->backoff = (struct backoff){ .first_ns = 200 * NS_PER_MS,
		                           .cap_ns = 30 * NS_PER_S,
		                           .reset_ns = 120 * NS_PER_S };
	return r;
}

void rights_free(struct rights *r)
{
	if (!r)
		return;
	if (r->call)
		r->env->transport->ops->cancel(r->env->transport, r->call);
	jsonout_free(&r->body);
	free(r);
}

bool rights_known(const struct rights *r)
{
	return r->known;
}

bool rights_granted(const struct rights *r)
{
	return r->known && r->granted;
}

void rights_doubt(struct rights *r)
{
	if (r->call)
		return;
	r->at = 0;
	r->due_ns = 0;
}

struct review {
	bool has_status, allowed;
};

static const struct json_field status_fields[] = {
	JSON_FIELD("allowed", json_field_bool, struct review, allowed),
};

static void read_status(struct json *j, void *review)
{
	((struct review *)review)->has_status = true;
	json_fields(j, status_fields, review);
}

static const struct json_field review_fields[] = { JSON_WHOLE("status", read_status) };

/* False if the body is no review. */
static bool review_read(const char *body, size_t bytes, bool *allowed)
{
	struct review review = { 0 };
	struct arena arena = { 0 };
	struct json j;
	bool whole;

	json_begin(&j, body, bytes, &arena);
	json_fields(&j, review_fields, &review);
	whole = json_end(&j);
	arena_free(&arena);
	*allowed = review.allowed;
	return whole && review.has_status;
}

static void missing(struct rights *r)
{
	const struct right *a = &r->kind->all[r->at];

	r->known = true;
	r->granted = false;
	r->at = 0;
	r->due_ns = env_now(r->env) + AGAIN_NS;
	if (!r->said)
		env_log(r->env, "warn", "%s: may not %s %s%s%s; %s", r->kind->flag, a->verb,
		        r->kind->resource, *a->subresource ? "/" : "", a->subresource, r->kind->without);
	r->said = true;
}

static void failed(struct rights *r, const struct http_answer *answer)
{
	if (answer->end == HTTP_ANSWERED && answer->status == 401)
		env_renew_credentials(r->env);
	if (++r->failures >= FAILURES_MAX)
		r->known = true;
	r->due_ns = env_now(r->env) + backoff_answer(&r->backoff, r->env, answer);
}

static void done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct rights *r = context;
	bool allowed;

	r->call = NULL;
	if (answer->end != HTTP_ANSWERED || answer->status < 200 || answer->status >= 300 ||
	    !review_read(body, bytes, &allowed)) {
		failed(r, answer);
		return;
	}
	r->failures = 0;
	if (!allowed) {
		missing(r);
		return;
	}
	if (++r->at < r->kind->n)
		return;
	if (r->said)
		env_log(r->env, "info", "%s: %s", r->kind->flag, r->kind->with);
	r->said = false;
	r->known = r->granted = true;
	r->due_ns = NEVER_NS;
}

uint64_t rights_poll(struct rights *r)
{
	const struct right *a = &r->kind->all[r->at < r->kind->n ? r->at : 0];
	struct http_request request = { .method = "POST",
		                            .path =
		                                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		                            .content_type = "application/json",
		                            .lane = HTTP_CALL,
		                            .timeout_ms = TIMEOUT_MS };
	const struct http_handler handler = { .done = done, .context = r };

	if (r->call)
		return NEVER_NS;
	if (env_now(r->env) < r->due_ns)
		return r->due_ns;
	if (r->at >= r->kind->n)
		r->at = 0;
	jsonout_clear(&r->body);
	jsonout_add(&r->body,
	            "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
	            "\"spec\":{\"resourceAttributes\":{\"verb\":@s,\"group\":@s,\"resource\":@s",
	            a->verb, r->kind->group, r->kind->resource);
	if (*a->subresource)
		jsonout_add(&r->body, ",\"subresource\":@s", a->subresource);
	jsonout_add(&r->body, "}}}");
	request.body = r->body.at;
	request.body_bytes = r->body.bytes;
	r->call = r->env->transport->ops->start(r->env->transport, &request, &handler);
	if (!r->call)
		fatal_memory();
	return NEVER_NS;
}
