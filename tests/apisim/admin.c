/* SPDX-License-Identifier: Apache-2.0 */
/* /apisim/stats and /apisim/faults: for tests, not for clients of Kubernetes. */
#include "tests/apisim/call.h"

/* {"fault": NAME, "count": N, "ms": N, "retryAfterSeconds": N} */
static int arm(struct as_call *c)
{
	static const char *const known[] = { "fault", "count", "ms", "retryAfterSeconds" };
	struct as_json *body = as_body(c);
	int64_t count = 1, ms = 1000, retry = 1;
	enum as_fault fault;
	const char *name;

	if (body == NULL)
		return -1;
	name = as_json_string(body, "fault");
	fault = name != NULL ? as_fault_named(name) : AS_FAULT_NONE;
	if (fault == AS_FAULT_NONE)
		return as_refuse_bad(c, "unknown fault \"%s\"", name != NULL ? name : "");
	for (const struct as_json *m = body->first; m != NULL; m = m->next) {
		bool ok = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			ok = ok || strcmp(m->name, known[i]) == 0;
		if (!ok)
			return as_refuse_bad(c, "unknown member \"%s\" of a fault", m->name);
	}
	as_json_integer(body, "count", &count);
	as_json_integer(body, "ms", &ms);
	as_json_integer(body, "retryAfterSeconds", &retry);
	if (count < 0 || ms < 0 || ms > 3600000 || retry < 0 || retry > 3600)
		return as_refuse_bad(c, "a number of the fault is out of range");
	if (fault == AS_FAULT_CUT_WATCHES) {
		c->response->cut_watches = true;
	} else if (fault == AS_FAULT_COMPACT) {
		as_store_compact(c->api->store);
	} else {
		c->api->faults.armed[fault].count = (uint64_t)count;
		c->api->faults.armed[fault].ms = (uint32_t)ms;
		c->api->faults.armed[fault].retry_after_s = (uint32_t)retry;
	}
	return as_answer_json(c, 200, as_faults_json(&c->api->faults, c->arena));
}

int as_admin(struct as_call *c)
{
	const char *method = c->request->method;
	bool get = strcmp(method, "GET") == 0;

	if (strcmp(c->path, "/apisim/stats") == 0) {
		if (!get)
			return as_refuse_method(c);
		return as_answer_json(c, 200, as_stats_json(&c->api->stats, c->arena));
	}
	if (strcmp(c->path, "/apisim/faults") != 0)
		return as_refuse_no_resource(c);
	if (get)
		return as_answer_json(c, 200, as_faults_json(&c->api->faults, c->arena));
	if (strcmp(method, "POST") == 0)
		return arm(c);
	if (strcmp(method, "DELETE") != 0)
		return as_refuse_method(c);
	as_faults_clear(&c->api->faults);
	return as_answer_json(c, 200, as_faults_json(&c->api->faults, c->arena));
}

uint64_t as_api_due_ns(const struct as_api *api)
{
	return api->faults.late != NULL ? api->faults.late->due_ns : UINT64_MAX;
}

void as_api_advance(struct as_api *api, uint64_t now_ns)
{
	while (api->faults.late != NULL && api->faults.late->due_ns <= now_ns) {
		struct as_late *late = api->faults.late;
		struct as_response response;

		api->faults.late = late->next;
		as_api_handle(api,
		              &(struct as_request){ .method = "POST",
		                                    .target = late->target,
		                                    .body = late->body,
		                                    .body_bytes = late->body_bytes,
		                                    .now_ns = now_ns,
		                                    .replayed = true },
		              &response);
		as_text_free(&response.body);
		free(late->target);
		free(late->body);
		free(late);
	}
}
