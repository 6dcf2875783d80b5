/* SPDX-License-Identifier: Apache-2.0 */
/* A client of an API server for commands, benches and the demo: queued requests, some of them at
 * once, and one watch, over the frontend's transport.
 *
 * One thread.  Callbacks come out of apiclient_run() alone; they may queue more requests. */
#ifndef MUSTER_CTL_APICLIENT_H
#define MUSTER_CTL_APICLIENT_H

#include "frontend/api/kubeconfig.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apiclient;

/* `most` requests at once; more wait.  NULL and `error`. */
struct apiclient *apiclient_new(const struct access_options *options, unsigned most, char *error,
                                size_t error_bytes);
void apiclient_free(struct apiclient *c); /* NULL: nothing */

/* The server's URL and where it comes from: a kubeconfig's path, or the pod's service account. */
const char *apiclient_server(const struct apiclient *c);
const char *apiclient_source(const struct apiclient *c);

/* Called once for each request: status 0 when there was no answer, then the body is the reason. The
 * body is NUL-terminated and good until the callback returns. */
typedef void (*apiclient_done_fn)(void *context, int status, const char *body, size_t bytes);

/* Queues a request; they start in this order.  `body` is freed, NULL: a request without one; of
 * PATCH it is a merge patch. */
void apiclient_send(struct apiclient *c, const char *method, const char *path, char *body,
                    apiclient_done_fn done, void *context);
/* Drops the requests that were not started, without a callback. */
void apiclient_forget(struct apiclient *c);
/* Requests that were not answered yet. */
unsigned apiclient_open(const struct apiclient *c);

/* A watch: `line` gets each line of the stream until it ends or its status is not 200.  The watch
 * before is cancelled. */
typedef void (*apiclient_line_fn)(void *context, const char *line, size_t bytes);
void apiclient_watch(struct apiclient *c, const char *path, apiclient_line_fn line, void *context);
bool apiclient_watching(const struct apiclient *c);

/* Runs what can be run; waits at most that long for something to happen. */
void apiclient_run(struct apiclient *c, uint32_t wait_ms);

#endif
