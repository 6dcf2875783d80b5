/* SPDX-License-Identifier: Apache-2.0 */
/* Every object that placement looks at, from a live API server, as kubectl get prints them. */
#ifndef MUSTER_CTL_FETCH_H
#define MUSTER_CTL_FETCH_H

#include "ctl/objects/files.h"
#include "frontend/api/kubeconfig.h"

/* List all of them into `files`; what the cluster does not have is passed over.  False and `error`.
 */
bool fetch_all(struct files *files, const struct access_options *options, char *error,
               size_t error_bytes);

/* The same with only the nodes that have these labels, as muster-frontend --node-selector; NULL:
 * all. */
bool fetch_selected(struct files *files, const struct access_options *options,
                    const char *node_selector, char *error, size_t error_bytes);

#endif
