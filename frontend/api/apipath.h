/* SPDX-License-Identifier: Apache-2.0 */
/* URL paths of resources and objects. */
#ifndef MUSTER_FRONTEND_APIPATH_H
#define MUSTER_FRONTEND_APIPATH_H

#include "frontend/json/jsonout.h"
#include "frontend/base/resource.h"

/* The collection in all namespaces: "/apis/GROUP/VERSION/PLURAL", for the core group
 * "/api/VERSION/PLURAL". */
void apipath_all(struct jsonout *out, const struct resource *of);

/* One object; namespace "": the resource is of the cluster. */
void apipath_one(struct jsonout *out, const struct resource *of, const char *namespace,
                 const char *name);

#endif
