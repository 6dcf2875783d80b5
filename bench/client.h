/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of requests and one watch that counts bindings, over ctl/objects/apiclient.h. */
#ifndef MUSTER_BENCH_CLIENT_H
#define MUSTER_BENCH_CLIENT_H

#include "ctl/objects/apiclient.h"
#include "frontend/base/bytes.h"

#define CLIENT_AT_ONCE 16u

/* Bindings in one namespace, as a watch shows them. */
struct client_seen {
	uint32_t bound;
	uint64_t first_ns, last_ns;
};

struct client {
	struct apiclient *api; /* NULL: not open */
	struct client_seen seen;
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

/* Runs until n pods are bound.  False: none was for that time, or the watch was closed. */
bool client_wait(struct client *c, uint32_t n, uint32_t seconds);

/* Runs for that time. */
void client_idle(struct client *c, uint32_t ms);

#endif
