/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server has a resource and its objects. */
#ifndef MUSTER_FRONTEND_APIPATH_H
#define MUSTER_FRONTEND_APIPATH_H

#include "frontend/json/jsonout.h"
#include "frontend/model/model.h"

/* All of its objects, in all namespaces: "/apis/GROUP/VERSION/PLURAL", of the core group
 * "/api/VERSION/PLURAL". */
void apipath_all(struct jsonout *out, const struct resource *of);

/* One object of a resource that has namespaces. */
void apipath_one(struct jsonout *out, const struct resource *of, const char *namespace,
                 const char *name);

#endif
