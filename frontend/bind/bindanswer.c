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

struct pod_texts {
	struct text uid, version, deletion, node, phase;
	bool gated;
};

static void read_gate(struct json *j, void *gated)
{
	*(bool *)gated = true;
	json_skip(j);
}

static void read_gates(struct json *j, void *gated)
{
	json_items(j, read_gate, gated);
}

static const struct json_field metadata_fields[] = {
	JSON_FIELD("uid", json_field_text, struct pod_texts, uid),
	JSON_FIELD("resourceVersion", json_field_text, struct pod_texts, version),
	JSON_FIELD("deletionTimestamp", json_field_text, struct pod_texts, deletion),
};

static const struct json_field spec_fields[] = {
	JSON_FIELD("nodeName", json_field_text, struct pod_texts, node),
	JSON_FIELD("schedulingGates", read_gates, struct pod_texts, gated),
};

static const struct json_field status_fields[] = {
	JSON_FIELD("phase", json_field_text, struct pod_texts, phase),
};

static const struct json_field pod_fields[] = {
	JSON_NESTED("metadata", metadata_fields),
	JSON_NESTED("spec", spec_fields),
	JSON_NESTED("status", status_fields),
};

int bind_pod_read(const char *body, size_t body_bytes, struct bind_pod *out)
{
	struct pod_texts t = { 0 };
	struct arena arena = { 0 };
	struct bind_pod pod;
	struct json j;
	bool whole;

	json_begin(&j, body, body_bytes, &arena);
	json_fields(&j, pod_fields, &t);
	whole = json_end(&j) && text_fit(pod.uid, sizeof(pod.uid), t.uid) &&
	        text_fit(pod.version, sizeof(pod.version), t.version) &&
	        text_fit(pod.node, sizeof(pod.node), t.node);
	pod.deleting = t.deletion.bytes > 0;
	pod.gated = t.gated;
	pod.ended = text_is(t.phase, "Succeeded") || text_is(t.phase, "Failed");
	arena_free(&arena);
	if (!whole || !pod.uid[0] || !pod.version[0])
		return -EINVAL;
	*out = pod;
	return 0;
}
