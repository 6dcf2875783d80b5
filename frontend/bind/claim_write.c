/* SPDX-License-Identifier: Apache-2.0 */
/* The requests for one claim: what is written, and what each answer means. */
#include "frontend/bind/claim_bind_impl.h"

#include "frontend/api/apistatus.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <time.h>

#define FENCE_KEY "muster.dev/fence"

static const char *path_of(const struct claim_item *c, bool status)
{
	struct jsonout *path = &c->work->cb->path;

	jsonout_clear(path);
	jsonout_add(path, "/apis/resource.k8s.io/v1/namespaces/@p/resourceclaims/@p@r",
	            c->work->namespace, c->name, status ? "/status" : "");
	return path->at;
}

void claim_item_put(const struct claim_item *c, const char *body, size_t bytes)
{
	struct decode_error error = { 0 };

	model_put(c->work->cb->model, c->work->cb->resource, body, bytes, &error);
}

void claim_item_gone(const struct claim_item *c)
{
	struct claim_bind *cb = c->work->cb;
	struct decode_error error = { 0 };

	jsonout_clear(&cb->body);
	jsonout_add(&cb->body, "{\"metadata\":{\"namespace\":@s,\"name\":@s}}", c->work->namespace,
	            c->name);
	model_remove(cb->model, cb->resource, cb->body.at, cb->body.bytes, &error);
}

static void again(struct claim_item *c, const struct http_answer *answer)
{
	const struct env *env = c->work->cb->env;

	c->due_ns = env_now(env) + backoff_answer(&c->backoff, env, answer);
}

static void refused(struct claim_item *c, const struct http_answer *answer, const char *body,
                    size_t bytes)
{
	struct claim_bind *cb = c->work->cb;
	struct apistatus s;

	apistatus_read(body, bytes, &s);
	if (log_allowed(&cb->limit, cb->env, "claims"))
		env_log(cb->env, "error",
		        "the API server refuses to %s resourceclaim %s/%s: HTTP %d: %.200s",
		        c->work->undoing ? "deallocate" : "allocate", c->work->namespace, c->name,
		        answer->status, s.message);
	/* What was made before is still to be deleted, and what may be late to find another version. */
	c->refused = c->work->undoing || (!c->extended && !c->unsure);
	if (!c->work->undoing)
		pod_claims_fail(c->work, "%s", s.message);
}

void claim_item_landed(struct claim_item *c)
{
	c->call = NULL;
	c->work->cb->flying--;
}

void claim_item_failed(struct claim_item *c, const struct http_answer *answer, const char *body,
                       size_t bytes)
{
	if (apistatus_is_final(answer)) {
		refused(c, answer, body, bytes);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 401)
		env_renew_credentials(c->work->cb->env);
	else if (answer->end != HTTP_NOT_SENT && answer->status != 429)
		c->to_read = true;
	/* A 409 was not applied; after anything else one that is late would be. */
	c->unsure = c->unsure || (c->to_read && c->gives &&
	                          !(answer->end == HTTP_ANSWERED && answer->status == 409));
	again(c, answer);
}

static void write_done(void *context, const struct http_answer *answer, const char *body,
                       size_t bytes)
{
	struct claim_item *c = context;

	claim_item_landed(c);
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		claim_item_put(c, body, bytes);
		c->unsure = false;
		backoff_reset(&c->backoff);
		return;
	}
	claim_item_failed(c, answer, body, bytes);
}

static void fence_done(void *context, const struct http_answer *answer, const char *body,
                       size_t bytes)
{
	struct claim_item *c = context;

	c->fenced = answer->end == HTTP_ANSWERED && answer->status == 200;
	write_done(context, answer, body, bytes);
}

static void read_done(void *context, const struct http_answer *answer, const char *body,
                      size_t bytes)
{
	struct claim_item *c = context;

	claim_item_landed(c);
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		c->to_read = false;
		claim_item_put(c, body, bytes);
	} else if (apistatus_says(answer, 404, body, bytes)) {
		c->to_read = false;
		claim_item_gone(c);
	} else if (apistatus_is_final(answer)) {
		c->to_read = false;
		refused(c, answer, body, bytes);
	} else {
		if (answer->status == 401)
			env_renew_credentials(c->work->cb->env);
		again(c, answer);
	}
}

void claim_item_call(struct claim_item *c, const struct http_request *request,
                     const struct http_handler *handler)
{
	struct transport *t = c->work->cb->env->transport;

	c->call = t->ops->start(t, request, handler);
	if (!c->call)
		fatal_memory();
	c->work->cb->flying++;
}

void claim_item_read(struct claim_item *c)
{
	const struct http_request request = { .method = "GET",
		                                  .lane = HTTP_CALL,
		                                  .timeout_ms = CLAIM_TIMEOUT_MS,
		                                  .path = path_of(c, false) };
	const struct http_handler handler = { .done = read_done, .context = c };

	claim_item_call(c, &request, &handler);
}

static void put_consumers(const struct claim_item *c, const struct live_claim_view *v, bool with,
                          struct jsonout *out)
{
	const char *others = v->consumers;

	jsonout_add(out, "\"reservedFor\":[@r", others);
	if (with)
		jsonout_add(out, "@r{\"resource\":\"pods\",\"name\":@s,\"uid\":@s}", others[0] ? "," : "",
		            c->work->pod_name, c->work->pod_uid);
	jsonout_add(out, "]");
}

/* The allocation is an object that ends with its last brace. */
static void put_allocation(const struct claim_item *c, struct jsonout *out)
{
	const struct env *env = c->work->cb->env;
	const time_t now = (time_t)(env->wall_ns(env->context) / NS_PER_S);
	char stamp[64];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &tm);
	jsonout_add(out, "\"allocation\":{\"allocationTimestamp\":@s,@r,", stamp, c->allocation + 1);
}

static void status_body(const struct claim_item *c, const struct live_claim_view *v,
                        enum claim_want want, struct jsonout *out)
{
	jsonout_add(out, "},\"status\":{");
	if (want == WANT_ALLOCATE)
		put_allocation(c, out);
	if (want == WANT_CLEAR)
		jsonout_add(out, "\"allocation\":null,\"devices\":null,\"reservedFor\":null");
	else
		put_consumers(c, v, want != WANT_UNRESERVE, out);
	jsonout_add(out, "}}");
}

/* The version is the one that was judged by. */
void claim_item_write(struct claim_item *c, enum claim_want want)
{
	struct claim_bind *cb = c->work->cb;
	const bool status = want != WANT_FINALIZER && want != WANT_FENCE && want != WANT_UNFINALIZE;
	struct http_request request = { .method = "PATCH",
		                            .content_type = "application/merge-patch+json",
		                            .lane = HTTP_BIND,
		                            .timeout_ms = CLAIM_TIMEOUT_MS };
	const struct http_handler handler = { .done = want == WANT_FENCE ? fence_done : write_done,
		                                  .context = c };
	struct live_claim_view v;

	/* Its answer may come when the work is being undone. */
	c->gives = !c->work->undoing;
	if (want == WANT_CREATE || want == WANT_TELL || want == WANT_DELETE) {
		claim_extended_write(c, want);
		return;
	}
	if (!claim_item_view(c, &v))
		claim_item_left(c, &v);
	jsonout_clear(&cb->body);
	jsonout_add(&cb->body, "{\"metadata\":{\"uid\":@s,\"resourceVersion\":@s", v.uid, v.version);
	if (want == WANT_FINALIZER)
		jsonout_add(&cb->body, ",\"finalizers\":[@r@r\"" LIVE_FINALIZER "\"]}}", v.finalizers,
		            v.finalizers[0] ? "," : "");
	else if (want == WANT_UNFINALIZE)
		jsonout_add(&cb->body, ",\"finalizers\":[@r]}}", v.finalizers);
	else if (want == WANT_FENCE)
		jsonout_add(&cb->body, ",\"annotations\":{\"" FENCE_KEY "\":\"@u\"}}}",
		            (unsigned long long)cb->env->random(cb->env->context));
	else
		status_body(c, &v, want, &cb->body);
	cb->counts.allocated += want == WANT_ALLOCATE;
	cb->counts.undone += want == WANT_CLEAR || want == WANT_UNRESERVE;
	request.path = path_of(c, status);
	request.body = cb->body.at;
	request.body_bytes = cb->body.bytes;
	claim_item_call(c, &request, &handler);
}
