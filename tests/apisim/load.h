/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are there before the first client: made, or read from a file. */
#ifndef MUSTER_APISIM_LOAD_H
#define MUSTER_APISIM_LOAD_H

#include "tests/apisim/api.h"

struct as_node_plan {
	unsigned n;
	const char *cpu, *memory; /* quantities */
	unsigned gpus, pods, zones;
};

/* Each returns 0, or -1 with a message on standard error. */
int as_load_nodes(struct as_api *api, const struct as_node_plan *plan, uint64_t now_ns);
/* A List, one object or several, as `kubectl get -o json` prints.  uid,
 * creationTimestamp and status are kept; missing namespaces are made. */
int as_load_file(struct as_api *api, const char *path, uint64_t now_ns);

#endif
