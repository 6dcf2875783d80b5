/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a muster-frontend, or to a server in a bench. */
#ifndef MUSTER_CTL_HTTP_H
#define MUSTER_CTL_HTTP_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* The default address of muster-frontend. */
#define HTTP_LISTEN "127.0.0.1:10261"

/* The URL of a path of the muster-frontend that has --listen `listen`: ":PORT" is every address for
 * a server, and this host for a client. */
void http_url(const char *listen, const char *path, char *out, size_t out_bytes);

/* GET url into `body`, ended by a NUL that is not counted.  `any_tls`: https as well, and any
 * certificate; for servers of tests on the loopback interface.  False and `error`, with the URL,
 * for anything but status 200. */
bool http_get(const char *url, long timeout_ms, bool any_tls, struct bytes *body, char *error,
              size_t error_bytes);

/* POST of JSON, with the answer in `body` whatever its status.  The status, or 0 and `error` if
 * there is no answer. */
long http_post(const char *url, long timeout_ms, const char *json, size_t bytes, struct bytes *body,
               char *error, size_t error_bytes);

#endif
