/* SPDX-License-Identifier: Apache-2.0 */
/* What the answer to a Binding, or to a read of its pod, means.
 *
 * The API server says 409 both for "no" and for "perhaps": an error of etcd on
 * the way is wrapped as a conflict.  So a 409 is a no only with a text that is
 * known to be one; all else is unknown until the pod was read. */
#ifndef MUSTER_FRONTEND_BINDANSWER_H
#define MUSTER_FRONTEND_BINDANSWER_H

#include "frontend/base/env.h"

#include <stdbool.h>
#include <stddef.h>

enum bind_answer {
	BIND_TAKEN,     /* it landed */
	BIND_REFUSED,   /* this one did not: the pod is gone, deleting or gated */
	BIND_READ,      /* this one did not, the pod changed or has a node: read it */
	BIND_UNKNOWN,   /* may have landed or may still land */
	BIND_NOT_SENT,  /* did not reach the server */
	BIND_SLOWER,    /* did not land; the server wants less (429) */
	BIND_RENEW,     /* did not land; the token is not taken (401) */
	BIND_FORBIDDEN, /* did not land; 403 */
	BIND_INVALID,   /* did not land, and never will as it is written */
};

enum bind_answer bind_answer_read(const struct http_answer *answer, const char *body,
                                  size_t body_bytes);

/* A pod as the API server has it now: what a Binding depends on. */
struct bind_pod {
	char uid[128];
	char version[64];
	char node[256]; /* spec.nodeName, "" */
	bool deleting;
	bool gated;
	bool ended; /* phase Succeeded or Failed */
};

/* 0, or -EINVAL when the body is no pod. */
int bind_pod_read(const char *body, size_t body_bytes, struct bind_pod *out);

#endif
