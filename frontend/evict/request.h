/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of an eviction, and what their answers mean.
 *
 *   respect      POST pods/eviction: the API server checks the budget with the deletion
 *   best-effort  PATCH pods/status: the condition DisruptionTarget and nothing else of the status;
 *                then DELETE
 *
 * Each names the uid of the pod, so it can be repeated: a pod of that name that was made since is
 * not touched.  None has a grace period of its own: the pod's counts. */
#ifndef MUSTER_FRONTEND_EVICT_REQUEST_H
#define MUSTER_FRONTEND_EVICT_REQUEST_H

#include "frontend/base/env.h"
#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evict_target {
	const char *namespace;
	const char *name;
	const char *uid;
};

/* Path and body are written to those two, which outlive the call of start(). */
struct http_request evict_request_mark(const struct evict_target *t, const char *scheduler,
                                       bool for_group, uint64_t wall_ns, struct jsonout *path,
                                       struct jsonout *body);
struct http_request evict_request_delete(const struct evict_target *t, uint32_t deadline_ms,
                                         struct jsonout *path, struct jsonout *body);
struct http_request evict_request_evict(const struct evict_target *t, uint32_t deadline_ms,
                                        struct jsonout *path, struct jsonout *body);
struct http_request evict_request_read(const struct evict_target *t, struct jsonout *path);

enum evict_answer {
	EVICT_TAKEN,     /* the server has done it */
	EVICT_BUDGET,    /* a budget forbids it, or the pod is in more than one: not done */
	EVICT_READ,      /* the pod is gone, another one, or changed: read it */
	EVICT_UNKNOWN,   /* may have been done, or may be done yet: read the pod */
	EVICT_AGAIN,     /* did not reach the server, or it throttles: not done */
	EVICT_RENEW,     /* 401: not done */
	EVICT_FORBIDDEN, /* 403: not done */
	EVICT_INVALID,   /* not done, and repeating it is of no use */
};

enum evict_answer evict_answer_read(const struct http_answer *answer, const char *body,
                                    size_t body_bytes);

#endif
