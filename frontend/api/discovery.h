/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: which resources an API version has. */
#ifndef MUSTER_FRONTEND_DISCOVERY_H
#define MUSTER_FRONTEND_DISCOVERY_H

#include "frontend/base/resource.h"
#include "frontend/json/jsonout.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the path of the APIResourceList of the resource's group and version. */
void discovery_path(struct jsonout *out, const struct resource *of);

/* Whether that list has the subresource, such as "status".
 *   -EINVAL  it is not an APIResourceList, or the resource itself is not in it */
int discovery_has(const char *body, size_t bytes, const struct resource *of,
                  const char *subresource, bool *has);

#endif
