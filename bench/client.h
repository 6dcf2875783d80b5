/* SPDX-License-Identifier: Apache-2.0 */
/* A client of an API server for benches: rows of requests, some of them at once, through
 * the frontend's own transport, and one watch that counts bindings.
 *
 * One thread. */
#ifndef MUSTER_BENCH_CLIENT_H
#define MUSTER_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_AT_ONCE 16u

struct client;

/* What request i of a row is; `path` has room for 512 bytes, `body` (NULL in the end: a
 * request without one) is freed. */
typedef void (*client_make_fn)(void *context, uint32_t i, char *path, char **body);

/* NULL and a message on standard error. */
struct client *client_new(const char *kubeconfig);
void client_free(struct client *c);

/* n requests, CLIENT_AT_ONCE of them at once, until all are answered.  False and a
 * message at the first answer that is no success. */
bool client_row(struct client *c, const char *method, uint32_t n, client_make_fn make,
                void *context);

/* One request; `body` may be NULL and is not freed.  The status, 0: no answer. */
int client_one(struct client *c, const char *method, const char *path, const char *body);

/* The body of the last answer of client_one(). */
const char *client_said(const struct client *c);

/* Bindings in one namespace, as a watch shows them. */
struct client_seen {
	uint32_t bound;
	uint64_t first_ns, last_ns;
	bool open;
};

/* Watch the pods of the namespace that have a node; the one before ends. */
bool client_watch(struct client *c, const char *namespace);
const struct client_seen *client_seen(const struct client *c);

/* Let things happen until n pods are bound; false when none was for that time, or the watch was
 * closed. */
bool client_wait(struct client *c, uint32_t n, uint32_t seconds);

/* Let things happen for so long. */
void client_idle(struct client *c, uint32_t ms);

#endif
