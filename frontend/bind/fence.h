/* SPDX-License-Identifier: Apache-2.0 */
/* Fence: a write of the pod's status that advances its resourceVersion, so that every Binding sent
 * earlier fails, since each carries the version that its sender knew. */
#ifndef MUSTER_FRONTEND_FENCE_H
#define MUSTER_FRONTEND_FENCE_H

#include "frontend/base/env.h"
#include "frontend/json/jsonout.h"

struct fence {
	const char *namespace;
	const char *name;
	const char *uid;     /* a pod of that name with another uid is not written */
	const char *version; /* precondition; a 409 means that another writer advanced it. NULL: none */
	const char *node;    /* the target of a Binding that may be applied; NULL: unknown */
};

/* The request; its path and body are stored in those two. */
struct http_request fence_request(const struct fence *f, const struct env *env,
                                  struct jsonout *path, struct jsonout *body);

enum fence_end {
	FENCE_TAKEN,   /* the body is the current pod, with a node if a Binding was faster */
	FENCE_GONE,    /* the pod does not exist, or has another uid */
	FENCE_MOVED,   /* another write came first, perhaps the Binding */
	FENCE_RENEW,   /* 401 */
	FENCE_REFUSED, /* does not resolve by waiting: a missing right, a webhook */
	FENCE_UNKNOWN, /* not done or unknown; may be sent again */
};

enum fence_end fence_read(const struct http_answer *answer, const char *body, size_t body_bytes);

#endif
