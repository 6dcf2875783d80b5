/* SPDX-License-Identifier: Apache-2.0 */
/* One GET of a page of a muster-frontend, or of a server in a bench. */
#ifndef MUSTER_CTL_HTTP_H
#define MUSTER_CTL_HTTP_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* GET url into `body`, ended by a NUL that is not counted.  `any_tls`: https as well, and any
 * certificate; for servers of tests on the loopback interface.  False and `error`, with the URL,
 * for anything but status 200. */
bool http_get(const char *url, long timeout_ms, bool any_tls, struct bytes *body, char *error,
              size_t error_bytes);

#endif
