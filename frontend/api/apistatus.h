/* SPDX-License-Identifier: Apache-2.0 */
/* What the API server says in a body of kind Status. */
#ifndef MUSTER_FRONTEND_APISTATUS_H
#define MUSTER_FRONTEND_APISTATUS_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stddef.h>

struct apistatus {
	int code;          /* 0 when the body is no Status */
	char reason[64];   /* "Conflict", "Expired"; "" */
	char message[512]; /* cut when longer; control bytes as '?' */
};

/* Never fails: a body that is no Status (a proxy's page, plain text of flow
 * control) gives code 0 and its beginning as the message. */
void apistatus_read(const char *body, size_t bytes, struct apistatus *out);

/* Did the API server itself answer with that code?  A proxy's 404 says nothing about an object. */
bool apistatus_says(const struct http_answer *answer, int code, const char *body, size_t bytes);

#endif
