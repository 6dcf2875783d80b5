/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a response body of kind Status. */
#ifndef MUSTER_FRONTEND_APISTATUS_H
#define MUSTER_FRONTEND_APISTATUS_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stddef.h>

struct apistatus {
	int code;          /* 0 if the body is not a Status */
	char reason[64];   /* "Conflict", "Expired"; "" */
	char message[512]; /* truncated, and cleaned as in ipc/clean.h */
};

/* Never fails: a body that is not a Status (a proxy's page, plain text of flow control) gives code
 * 0 and its start as the message. */
void apistatus_read(const char *body, size_t bytes, struct apistatus *out);

/* True if the API server itself answered with that code. A proxy's 404 is not about an object. */
bool apistatus_says(const struct http_answer *answer, int code, const char *body, size_t bytes);

/* Neither waiting nor reading changes that: a missing right, a webhook, an invalid object. */
bool apistatus_is_final(const struct http_answer *answer);

#endif
