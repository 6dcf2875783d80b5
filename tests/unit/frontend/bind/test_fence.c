/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server's answer to a fence tells. */
#include "frontend/bind/fence.h"

#include "tests/unit/support_world.h"

static enum fence_end end_of(int status, const char *body)
{
	const struct http_answer answer = {
		.end = HTTP_ANSWERED, .status = status, .retry_after_ms = -1, .error = ""
	};

	return fence_read(&answer, body, strlen(body));
}

/* world_status() has one buffer: each is read before the next is made. */
Test(fence, answers)
{
	cr_expect_eq(end_of(200, "{}"), FENCE_TAKEN);
	cr_expect_eq(end_of(404, world_status(404, "NotFound", "pods \\\"a\\\" not found")),
	             FENCE_GONE);
	cr_expect_eq(
		end_of(422, world_status(422, "Invalid",
	                             "metadata.uid: Invalid value: \\\"u\\\": field is immutable")),
		FENCE_GONE);
	cr_expect_eq(
		end_of(409,
	           world_status(409, "Conflict",
	                        "Precondition failed: UID in precondition: u, UID in object meta: v")),
		FENCE_GONE);
	cr_expect_eq(end_of(409, world_status(409, "Conflict", "the object has been modified")),
	             FENCE_MOVED);
	cr_expect_eq(end_of(401, ""), FENCE_RENEW);
	cr_expect_eq(end_of(403, world_status(403, "Forbidden", "no")), FENCE_REFUSED);
	cr_expect_eq(end_of(422, world_status(422, "Invalid", "status.conditions: no")), FENCE_REFUSED);
	cr_expect_eq(end_of(500, world_status(500, "InternalError", "a webhook")), FENCE_REFUSED);
	cr_expect_eq(end_of(429, ""), FENCE_UNKNOWN);
	cr_expect_eq(end_of(503, ""), FENCE_UNKNOWN);
}

Test(fence, proxies_and_silence_tell_nothing)
{
	const struct http_answer silence = {
		.end = HTTP_BROKEN, .status = 200, .retry_after_ms = -1, .error = ""
	};

	cr_expect_eq(end_of(404, "<html>not here</html>"), FENCE_UNKNOWN);
	cr_expect_eq(end_of(404, world_status(403, "Forbidden", "no")), FENCE_UNKNOWN);
	cr_expect_eq(fence_read(&silence, "", 0), FENCE_UNKNOWN);
}
