/* SPDX-License-Identifier: Apache-2.0 */
/* The requests for one claim: what is written, and what each answer means. */
#include "frontend/bind/volume_bind_impl.h"

#include "frontend/api/apistatus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 15000
#define CONFLICTS_MAX 8u
#define BOUND_BY "pv.kubernetes.io/bound-by-controller"
#define SELECTED "volume.kubernetes.io/selected-node"

static int resource_of(const struct claim_work *c)
{
	return model_volume_resource(c->vb->model,
	                             c->volume[0] ? VOLUME_KIND_VOLUME : VOLUME_KIND_CLAIM);
}

static const char *path_of(const struct claim_work *c)
{
	struct jsonout *path = &c->vb->path;

	jsonout_clear(path);
	if (c->volume[0])
		jsonout_add(path, "/api/v1/persistentvolumes/@p", c->volume);
	else
		jsonout_add(path, "/api/v1/namespaces/@p/persistentvolumeclaims/@p", c->namespace, c->name);
	return path->at;
}

static void object_put(const struct claim_work *c, const char *body, size_t bytes)
{
	struct decode_error error = { 0 };

	model_put(c->vb->model, resource_of(c), body, bytes, &error);
}

static void object_gone(const struct claim_work *c, const char *uid)
{
	struct jsonout *out = &c->vb->body;
	struct decode_error error = { 0 };

	jsonout_clear(out);
	jsonout_add(out, "{\"metadata\":{\"namespace\":@s,\"name\":@s,\"uid\":@s}}",
	            c->volume[0] ? "" : c->namespace, c->volume[0] ? c->volume : c->name, uid);
	model_remove(c->vb->model, resource_of(c), out->at, out->bytes, &error);
}

static void again(struct claim_work *c, const struct http_answer *answer)
{
	c->due_ns = env_now(c->vb->env) + backoff_answer(&c->backoff, c->vb->env, answer);
}

static void refused(struct claim_work *c, const struct http_answer *answer, const char *body,
                    size_t bytes)
{
	const struct volume_bind *vb = c->vb;
	struct apistatus s;

	apistatus_read(body, bytes, &s);
	if (log_allowed(&c->vb->limit, vb->env, "volumes"))
		env_log(vb->env, "error",
		        "the API server refuses to %s persistentvolumeclaim %s/%s: HTTP %d: %.200s",
		        claim_undoes(c) ? "take back what was written for" : "bind", c->namespace, c->name,
		        answer->status, s.message);
	if (claim_undoes(c))
		c->undone = true;
	else
		claim_fail(c, "%s", s.message);
}

static void landed(struct claim_work *c)
{
	c->call = NULL;
	c->vb->flying--;
}

static void write_done(void *context, const struct http_answer *answer, const char *body,
                       size_t bytes)
{
	struct claim_work *c = context;

	landed(c);
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		object_put(c, body, bytes);
		c->vb->counts.undone += claim_undoes(c);
		c->written = c->written || !claim_undoes(c);
		backoff_reset(&c->backoff);
		return;
	}
	if (apistatus_is_final(answer)) {
		refused(c, answer, body, bytes);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 401)
		env_renew_credentials(c->vb->env);
	else if (answer->end != HTTP_NOT_SENT && answer->status != 429)
		c->to_read = true;
	if (answer->status != 409 || c->conflicts++ >= CONFLICTS_MAX)
		again(c, answer);
}

static void read_done(void *context, const struct http_answer *answer, const char *body,
                      size_t bytes)
{
	struct claim_work *c = context;

	landed(c);
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		c->to_read = false;
		object_put(c, body, bytes);
	} else if (apistatus_says(answer, 404, body, bytes)) {
		c->to_read = false;
		object_gone(c, "");
	} else if (apistatus_is_final(answer)) {
		c->to_read = false;
		refused(c, answer, body, bytes);
	} else {
		if (answer->status == 401)
			env_renew_credentials(c->vb->env);
		again(c, answer);
	}
}

static void call(struct claim_work *c, const struct http_request *request,
                 const struct http_handler *handler)
{
	struct transport *t = c->vb->env->transport;

	c->call = t->ops->start(t, request, handler);
	if (!c->call)
		fatal_memory();
	c->vb->flying++;
}

void claim_read(struct claim_work *c)
{
	const struct http_request request = {
		.method = "GET", .lane = HTTP_CALL, .timeout_ms = TIMEOUT_MS, .path = path_of(c)
	};
	const struct http_handler handler = { .done = read_done, .context = c };

	call(c, &request, &handler);
}

/* The versions are those that were judged by. */
static void volume_body(const struct claim_work *c, bool undo, struct jsonout *out)
{
	struct volume_claim_view claim = { .version = { "", 0 } };
	struct volume_view v;
	char uid[128], version[64], claim_version[64];

	volumes_volume(c->vb->volumes, text_of(c->volume), &v);
	volumes_claim(c->vb->volumes, text_of(c->namespace), text_of(c->name), &claim);
	snprintf(uid, sizeof(uid), "%.*s", (int)v.uid.bytes, v.uid.at);
	snprintf(version, sizeof(version), "%.*s", (int)v.version.bytes, v.version.at);
	snprintf(claim_version, sizeof(claim_version), "%.*s", (int)claim.version.bytes,
	         claim.version.at);
	jsonout_add(out,
	            "{\"metadata\":{\"uid\":@s,\"resourceVersion\":@s,\"annotations\":{\"" BOUND_BY
	            "\":@r}},\"spec\":{\"claimRef\":",
	            uid, version, undo ? "null" : "\"yes\"");
	if (undo)
		jsonout_add(out, "null}}");
	else
		jsonout_add(out,
		            "{\"kind\":\"PersistentVolumeClaim\",\"namespace\":@s,\"name\":@s,\"uid\":@s,"
		            "\"apiVersion\":\"v1\",\"resourceVersion\":@s}}}",
		            c->namespace, c->name, c->uid, claim_version);
}

static void claim_body(const struct claim_work *c, bool undo, struct jsonout *out)
{
	struct volume_claim_view v;
	char version[64];

	volumes_claim(c->vb->volumes, text_of(c->namespace), text_of(c->name), &v);
	snprintf(version, sizeof(version), "%.*s", (int)v.version.bytes, v.version.at);
	jsonout_add(
		out, "{\"metadata\":{\"uid\":@s,\"resourceVersion\":@s,\"annotations\":{\"" SELECTED "\":",
		c->uid, version);
	if (undo)
		jsonout_add(out, "null}}}");
	else
		jsonout_add(out, "@s}}}", c->node_name);
}

void claim_write(struct claim_work *c, enum claim_want want)
{
	struct volume_bind *vb = c->vb;
	struct http_request request = { .method = "PATCH",
		                            .content_type = "application/merge-patch+json",
		                            .lane = HTTP_BIND,
		                            .timeout_ms = TIMEOUT_MS };
	const struct http_handler handler = { .done = write_done, .context = c };

	jsonout_clear(&vb->body);
	if (c->volume[0])
		volume_body(c, want == WANT_UNDO, &vb->body);
	else
		claim_body(c, want == WANT_UNDO, &vb->body);
	request.path = path_of(c);
	request.body = vb->body.at;
	request.body_bytes = vb->body.bytes;
	call(c, &request, &handler);
}
