/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/evict/request.h"

#include "frontend/api/apistatus.h"
#include "frontend/json/json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define WRITE_TIMEOUT_MS 30000
#define READ_TIMEOUT_MS 15000
#define TIME_BYTES 32

static void path_of(struct jsonout *path, const struct evict_target *t, const char *after)
{
	jsonout_clear(path);
	jsonout_add(path, "/api/v1/namespaces/@p/pods/@p@r", t->namespace, t->name, after);
}

static void deadline_add(struct jsonout *path, uint32_t deadline_ms)
{
	if (deadline_ms)
		jsonout_add(path, "?timeout=@ums", (unsigned long long)deadline_ms);
}

static struct http_request write_of(const char *method, const char *type,
                                    const struct jsonout *path, const struct jsonout *body)
{
	return (struct http_request){
		.method = method,
		.path = path->at,
		.content_type = type,
		.body = body->at,
		.body_bytes = body->bytes,
		.lane = HTTP_CALL,
		.timeout_ms = WRITE_TIMEOUT_MS,
	};
}

/* kube-scheduler's condition (defaultpreemption), in its words. */
struct http_request evict_request_mark(const struct evict_target *t, const char *scheduler,
                                       bool for_group, uint64_t wall_ns, struct jsonout *path,
                                       struct jsonout *body)
{
	const time_t seconds = (time_t)(wall_ns / UINT64_C(1000000000));
	char when[TIME_BYTES], message[400];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(message, sizeof(message), "%.300s: preempting to accommodate a higher priority %s",
	         scheduler, for_group ? "podgroup" : "pod");
	path_of(path, t, "/status");
	jsonout_clear(body);
	jsonout_add(body,
	            "{\"metadata\":{\"uid\":@s},\"status\":{\"conditions\":[{\"type\":"
	            "\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"PreemptionByScheduler\","
	            "\"message\":@s,\"lastTransitionTime\":@s}]}}",
	            t->uid, message, when);
	return write_of("PATCH", "application/strategic-merge-patch+json", path, body);
}

struct http_request evict_request_delete(const struct evict_target *t, uint32_t deadline_ms,
                                         struct jsonout *path, struct jsonout *body)
{
	path_of(path, t, "");
	deadline_add(path, deadline_ms);
	jsonout_clear(body);
	jsonout_add(body,
	            "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":@s}}",
	            t->uid);
	return write_of("DELETE", "application/json", path, body);
}

struct http_request evict_request_evict(const struct evict_target *t, uint32_t deadline_ms,
                                        struct jsonout *path, struct jsonout *body)
{
	path_of(path, t, "/eviction");
	deadline_add(path, deadline_ms);
	jsonout_clear(body);
	jsonout_add(body,
	            "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":@s,"
	            "\"namespace\":@s},\"deleteOptions\":{\"preconditions\":{\"uid\":@s}}}",
	            t->name, t->namespace, t->uid);
	return write_of("POST", "application/json", path, body);
}

struct http_request evict_request_read(const struct evict_target *t, struct jsonout *path)
{
	path_of(path, t, "");
	return (struct http_request){
		.method = "GET", .path = path->at, .lane = HTTP_CALL, .timeout_ms = READ_TIMEOUT_MS
	};
}

static void read_reason(struct json *j, void *found)
{
	struct text reason;

	if (json_string(j, &reason) && text_is(reason, "DisruptionBudget"))
		*(bool *)found = true;
}

static const struct json_field cause_fields[] = { JSON_WHOLE("reason", read_reason) };

static void read_cause(struct json *j, void *found)
{
	json_fields(j, cause_fields, found);
}

static void read_causes(struct json *j, void *found)
{
	json_items(j, read_cause, found);
}

static const struct json_field details_fields[] = { JSON_WHOLE("causes", read_causes) };
static const struct json_field status_fields[] = { JSON_NESTED("details", details_fields) };

/* A budget, and not the server's own throttling. */
static bool has_budget_cause(const char *body, size_t bytes)
{
	struct arena arena = { 0 };
	bool found = false;
	struct json j;

	json_begin(&j, body, bytes, &arena);
	json_fields(&j, status_fields, &found);
	found = json_end(&j) && found;
	arena_free(&arena);
	return found;
}

enum evict_answer evict_answer_read(const struct http_answer *answer, const char *body,
                                    size_t body_bytes)
{
	struct apistatus s;

	if (answer->end == HTTP_NOT_SENT)
		return EVICT_AGAIN;
	if (answer->end == HTTP_BROKEN)
		return EVICT_UNKNOWN;
	if (answer->status >= 200 && answer->status < 300)
		return EVICT_TAKEN;
	apistatus_read(body ? body : "", body_bytes, &s);
	switch (answer->status) {
	case 401:
		return EVICT_RENEW;
	case 403:
		return EVICT_FORBIDDEN;
	case 404:
	case 409:
	case 422: /* of a PATCH: another uid */
		return EVICT_READ;
	case 429:
		return has_budget_cause(body, body_bytes) ? EVICT_BUDGET : EVICT_AGAIN;
	case 500:
		return strstr(s.message, "more than one PodDisruptionBudget") ? EVICT_BUDGET
		                                                              : EVICT_UNKNOWN;
	default:
		return answer->status >= 400 && answer->status < 500 ? EVICT_INVALID : EVICT_UNKNOWN;
	}
}
