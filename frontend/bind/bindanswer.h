/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the response to a Binding, and to the GET of its pod.
 *
 * The API server uses 409 both for a definite refusal and for an unknown outcome: an etcd error is
 * wrapped as a conflict. A 409 is therefore a refusal only with a message that is known to be one;
 * everything else is unknown until the pod has been read. */
#ifndef MUSTER_FRONTEND_BINDANSWER_H
#define MUSTER_FRONTEND_BINDANSWER_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stddef.h>

enum bind_answer {
	BIND_TAKEN,     /* accepted */
	BIND_REFUSED,   /* not applied: the pod is gone, terminating or gated */
	BIND_READ,      /* not applied, the pod changed or has a node: read it */
	BIND_UNKNOWN,   /* may have been applied, or may still be */
	BIND_NOT_SENT,  /* did not reach the server */
	BIND_SLOWER,    /* not applied; the server throttles (429) */
	BIND_RENEW,     /* not applied; the token was rejected (401) */
	BIND_FORBIDDEN, /* not applied; 403 */
	BIND_INVALID,   /* not applied; invalid as written */
};

enum bind_answer bind_answer_read(const struct http_answer *answer, const char *body,
                                  size_t body_bytes);

/* The fields of a pod that a Binding depends on. */
struct bind_pod {
	char uid[128];
	char version[64];
	char node[256]; /* spec.nodeName, "" */
	bool deleting;
	bool gated;
	bool ended; /* phase Succeeded or Failed */
};

/* 0, or -EINVAL if the body is not a pod. */
int bind_pod_read(const char *body, size_t body_bytes, struct bind_pod *out);

#endif
