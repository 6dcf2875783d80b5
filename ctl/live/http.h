/* SPDX-License-Identifier: Apache-2.0 */
/* One page of a muster-frontend. */
#ifndef MUSTER_CTL_HTTP_H
#define MUSTER_CTL_HTTP_H

#include "frontend/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* GET http://LISTEN/PATH into `body`, ended by a NUL that is not counted.  False and `error`, with
 * the address, for anything but status 200. */
bool http_get(const char *listen, const char *path, struct bytes *body, char *error,
              size_t error_bytes);

#endif
