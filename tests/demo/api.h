/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the API server for the demo: many requests at once, one thread. */
#ifndef MUSTER_DEMO_API_H
#define MUSTER_DEMO_API_H

#include <stdbool.h>
#include <stddef.h>

struct api;

/* Called once for each request: status 0 when there was no answer, then body is why. */
typedef void (*api_done_fn)(void *context, int status, const char *body, size_t bytes);

/* Who we are comes from the kubeconfig.  NULL and `error`. */
struct api *api_new(const char *kubeconfig, unsigned lanes, char *error, size_t error_bytes);
void api_free(struct api *a);

/* Queue a request; `body` is freed, NULL for a GET.  They start in this order. */
void api_send(struct api *a, const char *path, char *body, api_done_fn done, void *context);

/* Drop the requests that were not started; nobody is told. */
void api_forget(struct api *a);

/* A watch: each line of the stream is handed on, until it ends.  One at a time. */
typedef void (*api_line_fn)(void *context, const char *line, size_t bytes);
void api_watch(struct api *a, const char *path, api_line_fn line, void *context);

/* Is the watch still open?  False too when there was none. */
bool api_watching(const struct api *a);

/* Do what can be done; wait at most that long for something to happen. */
void api_run(struct api *a, int wait_ms);

#endif
