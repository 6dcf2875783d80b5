#include "frontend/fence.h"

#define FENCE_TIMEOUT_MS 15000

/* A write that changes nothing does not move the version: the number makes each one different. */
struct http_request fence_request(const struct fence *f, const struct env *env, struct jsonout *path, struct jsonout *body)
{
	jsonout_clear(path);
	jsonout_add(path, "/api/v1/namespaces/@p/pods/@p/status", f->namespace, f->name);
	jsonout_clear(body);
	jsonout_add(body, "{\"metadata\":{\"uid\":@s", f->uid);
	if (f->version)
		jsonout_add(body, ",\"resourceVersion\":@s", f->version);
	jsonout_add(body, "},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
	            "\"reason\":\"SchedulerError\",\"message\":\"taking back the binding to @r@r (@u)\"}]}}", f->node ? "node " : "", f->node ? f->node : "some node",
	            (unsigned long long)env->random(env->context));
	return (struct http_request){
		.method = "PATCH", .content_type = "application/strategic-merge-patch+json", .lane = HTTP_CALL,
		.timeout_ms = FENCE_TIMEOUT_MS, .path = path->at, .body = body->at, .body_bytes = body->bytes,
	};
}
