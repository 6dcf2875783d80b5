/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of the API server, and errors of objects. */
#ifndef MUSTER_FRONTEND_RESOURCE_H
#define MUSTER_FRONTEND_RESOURCE_H

#include <stdbool.h>

/* A collection that is listed and watched. */
struct resource {
	const char *group;   /* "" is the core group */
	const char *version; /* the version in use; some have several (frontend/dialect/dialect.h) */
	const char *plural;
	const char *kind;
	bool optional; /* a CRD that a cluster may not have */
};

/* An error of an object, in parts, for a message such as
 *   Node n1: status.allocatable["cpu"]: "12x" is not a quantity */
struct decode_error {
	char object[600]; /* "Node n1", "Pod ns/name", or "object" without a name */
	char field[256];  /* path of the field */
	char text[512];   /* the error, with the value */
};

enum pod_phase {
	POD_PHASE_PENDING,
	POD_PHASE_RUNNING,
	POD_PHASE_SUCCEEDED,
	POD_PHASE_FAILED,
	POD_PHASE_UNKNOWN,
	POD_PHASES
};

#endif
