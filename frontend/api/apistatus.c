/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/apistatus.h"

#include "frontend/json/json.h"
#include "ipc/clean.h"

#include <string.h>

static void text_copy(char *out, size_t out_bytes, const char *from, size_t n)
{
	if (n >= out_bytes)
		n = out_bytes - 1;
	memcpy(out, from, n);
	out[n] = '\0';
	clean_text(out);
}

void apistatus_read(const char *body, size_t bytes, struct apistatus *out)
{
	struct arena arena = { 0 };
	struct text name, text, reason = { 0 }, message = { 0 };
	struct json j;
	int64_t code = 0;
	bool is_status = false;

	memset(out, 0, sizeof(*out));
	if (!body || bytes == 0)
		return;
	json_begin(&j, body, bytes, &arena);
	if (json_object(&j)) {
		while (json_member(&j, &name)) {
			if (text_is(name, "kind"))
				is_status = json_string(&j, &text) && text_is(text, "Status");
			else if (text_is(name, "code"))
				json_int64(&j, &code);
			else if (text_is(name, "reason"))
				json_string(&j, &reason);
			else if (text_is(name, "message"))
				json_string(&j, &message);
			else
				json_skip(&j);
		}
	}
	if (json_end(&j) && is_status && code > 0 && code < 1000) {
		out->code = (int)code;
		text_copy(out->reason, sizeof(out->reason), reason.at ? reason.at : "", reason.bytes);
		text_copy(out->message, sizeof(out->message), message.at ? message.at : "", message.bytes);
	} else {
		text_copy(out->message, sizeof(out->message), body, bytes);
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
