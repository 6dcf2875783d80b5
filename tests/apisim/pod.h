/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the pod's strategy. */
#ifndef MUSTER_APISIM_POD_H
#define MUSTER_APISIM_POD_H

#include "tests/apisim/call.h"

/* Note what is wrong with the spec. */
void as_pod_validate(struct as_call *c, const struct as_json *spec);
/* The zone and region of the node, if it is there, become labels of the pod
 * (admission plugin PodTopologyLabels). */
void as_copy_topology(struct as_call *c, struct as_json *metadata, const char *node);

#endif
