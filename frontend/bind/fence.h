/* SPDX-License-Identifier: Apache-2.0 */
/* A write of a pod's status that moves its version on, so that every Binding fails that was sent
 * before it: each names the version that its sender knew. */
#ifndef MUSTER_FRONTEND_FENCE_H
#define MUSTER_FRONTEND_FENCE_H

#include "frontend/base/env.h"
#include "frontend/json/jsonout.h"

struct fence {
	const char *namespace;
	const char *name;
	const char *uid;     /* of another pod of that name nothing is written */
	const char *version; /* that it is written over; a 409 tells that another one has moved it on.
	                        NULL: any */
	const char *node;    /* to which a Binding may land; NULL: it isn't known */
};

/* The request, whose path and body stand in those two. */
struct http_request fence_request(const struct fence *f, const struct env *env,
                                  struct jsonout *path, struct jsonout *body);

enum fence_end {
	FENCE_TAKEN,   /* the body is the pod as it is now: with a node, if a Binding was faster */
	FENCE_GONE,    /* no pod has that name any more, or another one has it */
	FENCE_MOVED,   /* another write came between, which may have been the Binding */
	FENCE_RENEW,   /* 401 */
	FENCE_REFUSED, /* what waiting alone does not mend: a missing right, a webhook */
	FENCE_UNKNOWN, /* not done, or nobody can say; it may be sent again */
};

enum fence_end fence_read(const struct http_answer *answer, const char *body, size_t body_bytes);

#endif
