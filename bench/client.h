/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of requests and one watch that counts bindings or Events, over ctl/objects/apiclient.h. */
#ifndef MUSTER_BENCH_CLIENT_H
#define MUSTER_BENCH_CLIENT_H

#include "ctl/objects/apiclient.h"
#include "frontend/base/bytes.h"

#define CLIENT_AT_ONCE 16u

/* Bindings, or Events about them, in one namespace, as a watch shows them. */
struct client_seen {
	uint32_t bound;
	uint64_t first_ns, last_ns;
};

/* An open loop: request i is due i / per_s after the start, whether the ones before were answered
 * or not, so that a stall counts for all that were due in it (no coordinated omission). */
struct client_pace {
	uint64_t start_ns; /* 0: not begun */
	double per_s;
	double *took_ms; /* [n]: from when it was due until the watch showed pod-i bound */
	uint32_t n;
};

struct client {
	struct apiclient *api; /* NULL: not open */
	struct client_seen seen;
	struct client_pace *pace; /* NULL: requests go as the ones before are answered */
	bool failed;
	int status;        /* of the last answer, 0: none */
	struct bytes said; /* its body, or the error */
};

/* What request i of a row is; `path` has 512 bytes, `body` (NULL: a request without one) is freed.
 */
typedef void (*client_make_fn)(void *context, uint32_t i, char *path, char **body);

/* False and a message on standard error.  All zero is a closed client. */
bool client_open(struct client *c, const char *kubeconfig);
void client_close(struct client *c);

/* n requests, CLIENT_AT_ONCE of them at once, until all are answered.  False and a message at the
 * first answer that is not a success. */
bool client_row(struct client *c, const char *method, uint32_t n, client_make_fn make,
                void *context);

/* One request; `body` may be NULL and is not freed.  The status, 0: no answer. */
int client_one(struct client *c, const char *method, const char *path, const char *body);

/* The body of the last answer of client_one(). */
const char *client_said(const struct client *c);

/* Watches the pods of the namespace that have a node; the watch before ends. */
void client_watch(struct client *c, const char *namespace);

/* The same after the API server ended the watch: all are counted again, the first binding keeps its
 * time. */
void client_watch_again(struct client *c, const char *namespace);

/* Watches the Events "Scheduled" of the namespace instead. */
void client_watch_events(struct client *c, const char *namespace);

/* Runs until n were seen.  False: none was for that time, or the watch was closed. */
bool client_wait(struct client *c, uint32_t n, uint32_t seconds);

/* Runs for that time. */
void client_idle(struct client *c, uint32_t ms);

#endif
