/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/fence.h"

#include "frontend/api/apistatus.h"

#include <string.h>

#define FENCE_TIMEOUT_MS 15000

/* A write without a change does not advance the version: the number makes each one differ. */
struct http_request fence_request(const struct fence *f, const struct env *env,
                                  struct jsonout *path, struct jsonout *body)
{
	jsonout_clear(path);
	jsonout_add(path, "/api/v1/namespaces/@p/pods/@p/status", f->namespace, f->name);
	jsonout_clear(body);
	jsonout_add(body, "{\"metadata\":{\"uid\":@s", f->uid);
	if (f->version)
		jsonout_add(body, ",\"resourceVersion\":@s", f->version);
	jsonout_add(
		body,
		"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
		"\"reason\":\"SchedulerError\",\"message\":\"taking back the binding to @r@r (@u)\"}]}}",
		f->node ? "node " : "", f->node ? f->node : "some node",
		(unsigned long long)env->random(env->context));
	return (struct http_request){
		.method = "PATCH",
		.content_type = "application/strategic-merge-patch+json",
		.lane = HTTP_CALL,
		.timeout_ms = FENCE_TIMEOUT_MS,
		.path = path->at,
		.body = body->at,
		.body_bytes = body->bytes,
	};
}

/* By the API server itself: a proxy's 404 is not about the pod. */
static bool is_gone(const struct apistatus *s, int status)
{
	return s->code == status &&
	       (status == 404 || (status == 422 && strstr(s->message, "metadata.uid: Invalid value")) ||
	        (status == 409 && strstr(s->message, "UID in precondition")));
}

enum fence_end fence_read(const struct http_answer *answer, const char *body, size_t body_bytes)
{
	const int status = answer->status;
	struct apistatus s;

	if (answer->end != HTTP_ANSWERED)
		return FENCE_UNKNOWN;
	if (status == 200)
		return FENCE_TAKEN;
	apistatus_read(body, body_bytes, &s);
	if (is_gone(&s, status))
		return FENCE_GONE;
	if (status == 409)
		return FENCE_MOVED;
	if (status == 401)
		return FENCE_RENEW;
	if (status == 404 || status == 429)
		return FENCE_UNKNOWN;
	return status == 500 || (status >= 400 && status < 500) ? FENCE_REFUSED : FENCE_UNKNOWN;
}
