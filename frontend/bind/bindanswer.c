/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/bindanswer.h"

#include "frontend/api/apistatus.h"
#include "frontend/json/json.h"

#include <errno.h>
#include <string.h>

static bool says(const struct apistatus *s, const char *part)
{
	return strstr(s->message, part) != NULL;
}

static enum bind_answer conflict_read(const struct apistatus *s)
{
	if (says(s, "is being deleted, cannot be assigned to a host"))
		return BIND_REFUSED;
	if (says(s, "has non-empty .spec.schedulingGates"))
		return BIND_REFUSED;
	if (says(s, "is already assigned to node"))
		return BIND_READ;
	if (says(s, "Precondition failed: UID in precondition") ||
	    says(s, "Precondition failed: ResourceVersion in precondition"))
		return BIND_READ;
	return BIND_UNKNOWN;
}

/* A Binding that fails validation gets a 500 without a reason. */
static bool is_validation(const struct apistatus *s)
{
	return s->code == 500 && (s->reason[0] == '\0' || strcmp(s->reason, "Unknown") == 0) &&
	       (says(s, ": Invalid value") || says(s, ": Required value") ||
	        says(s, ": Unsupported value"));
}

enum bind_answer bind_answer_read(const struct http_answer *answer, const char *body,
                                  size_t body_bytes)
{
	struct apistatus status;

	if (answer->end == HTTP_NOT_SENT)
		return BIND_NOT_SENT;
	if (answer->end == HTTP_BROKEN)
		return BIND_UNKNOWN;
	apistatus_read(body, body_bytes, &status);
	switch (answer->status) {
	case 200:
	case 201:
		return BIND_TAKEN;
	case 401:
		return BIND_RENEW;
	case 403:
		return BIND_FORBIDDEN;
	case 404:
		/* A proxy's 404 is not about the pod. */
		return status.code == 404 ? BIND_REFUSED : BIND_UNKNOWN;
	case 409:
		return status.code == 409 ? conflict_read(&status) : BIND_UNKNOWN;
	case 429:
		return BIND_SLOWER;
	case 400:
	case 405:
	case 406:
	case 413:
	case 415:
	case 422:
		return BIND_INVALID;
	case 500:
		return is_validation(&status) ? BIND_INVALID : BIND_UNKNOWN;
	default:
		return BIND_UNKNOWN;
	}
}

static void copy_string(struct json *j, char *out, size_t out_bytes)
{
	struct text text;

	if (!json_string(j, &text))
		return;
	if (text.bytes >= out_bytes) {
		json_fail(j, "longer than %zu bytes", out_bytes - 1);
		return;
	}
	if (text.bytes)
		memcpy(out, text.at, text.bytes);
	out[text.bytes] = '\0';
}

static void metadata_read(struct json *j, struct bind_pod *pod)
{
	struct text name, text;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "uid"))
			copy_string(j, pod->uid, sizeof(pod->uid));
		else if (text_is(name, "resourceVersion"))
			copy_string(j, pod->version, sizeof(pod->version));
		else if (text_is(name, "deletionTimestamp"))
			pod->deleting = json_string(j, &text) && text.bytes > 0;
		else
			json_skip(j);
	}
}

static void spec_read(struct json *j, struct bind_pod *pod)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "nodeName")) {
			copy_string(j, pod->node, sizeof(pod->node));
		} else if (text_is(name, "schedulingGates") && json_array(j)) {
			while (json_item(j)) {
				pod->gated = true;
				json_skip(j);
			}
		} else if (!text_is(name, "schedulingGates")) {
			json_skip(j);
		}
	}
}

static void status_read(struct json *j, struct bind_pod *pod)
{
	struct text name, phase;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "phase"))
			pod->ended =
				json_string(j, &phase) && (text_is(phase, "Succeeded") || text_is(phase, "Failed"));
		else
			json_skip(j);
	}
}

int bind_pod_read(const char *body, size_t body_bytes, struct bind_pod *out)
{
	struct bind_pod pod = { 0 };
	struct arena arena = { 0 };
	struct text name;
	struct json j;
	bool whole;

	json_begin(&j, body, body_bytes, &arena);
	if (json_object(&j)) {
		while (json_member(&j, &name)) {
			if (text_is(name, "metadata"))
				metadata_read(&j, &pod);
			else if (text_is(name, "spec"))
				spec_read(&j, &pod);
			else if (text_is(name, "status"))
				status_read(&j, &pod);
			else
				json_skip(&j);
		}
	}
	whole = json_end(&j);
	arena_free(&arena);
	if (!whole || !pod.uid[0] || !pod.version[0])
		return -EINVAL;
	*out = pod;
	return 0;
}
