/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/apistatus.h"

#include "frontend/json/json.h"
#include "ipc/clean.h"

#include <string.h>

/* As much as fits, without control characters. */
static void text_copy(char *out, size_t out_bytes, struct text from)
{
	text_fit(out, out_bytes, from);
	clean_text(out);
}

struct status {
	struct text kind, reason, message;
	int64_t code;
};

static const struct json_field fields[] = {
	JSON_FIELD("kind", json_field_text, struct status, kind),
	JSON_FIELD("code", json_field_int64, struct status, code),
	JSON_FIELD("reason", json_field_text, struct status, reason),
	JSON_FIELD("message", json_field_text, struct status, message),
};

void apistatus_read(const char *body, size_t bytes, struct apistatus *out)
{
	struct arena arena = { 0 };
	struct status s = { 0 };
	struct json j;

	memset(out, 0, sizeof(*out));
	if (!body || bytes == 0)
		return;
	json_begin(&j, body, bytes, &arena);
	json_fields(&j, fields, &s);
	if (json_end(&j) && text_is(s.kind, "Status") && s.code > 0 && s.code < 1000) {
		out->code = (int)s.code;
		text_copy(out->reason, sizeof(out->reason), s.reason);
		text_copy(out->message, sizeof(out->message), s.message);
	} else {
		text_copy(out->message, sizeof(out->message), (struct text){ body, bytes });
	}
	arena_free(&arena);
}

bool apistatus_says(const struct http_answer *answer, int code, const char *body, size_t bytes)
{
	struct apistatus status;

	if (answer->end != HTTP_ANSWERED || answer->status != code)
		return false;
	apistatus_read(body, bytes, &status);
	return status.code == code;
}

bool apistatus_is_final(const struct http_answer *answer)
{
	const int s = answer->status;

	return answer->end == HTTP_ANSWERED && s >= 400 && s < 500 && s != 401 && s != 404 &&
	       s != 408 && s != 409 && s != 429;
}
