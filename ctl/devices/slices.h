/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of ResourceSlices, and the claims that hold them, from objects in files. */
#ifndef MUSTER_CTL_SLICES_H
#define MUSTER_CTL_SLICES_H

#include "frontend/cel/cel.h"

#include <stdbool.h>
#include <stddef.h>

struct slice_device {
	const char *id;   /* "driver/pool/name" */
	const char *node; /* of its slice, or of itself; "" when it serves several */
	bool tainted;     /* by a taint NoSchedule or NoExecute of its own */
	struct cel_device device;
	const char **claims; /* "ns/name", in the order of the objects */
	size_t claims_n;
};

struct slices;

struct slices *slices_new(void);
void slices_free(struct slices *s);

/* Reads a ResourceSlice or a ResourceClaim of resource.k8s.io; other kinds are passed over.  The
 * text must outlive the slices.  False: `error` names field and value. */
bool slices_put(struct slices *s, const char *api_version, const char *kind, struct text json,
                char *error, size_t error_bytes);

/* After the last object: sorted by id.  Of a pool only the slices of its newest generation count.
 */
struct slice_device *slices_devices(struct slices *s, size_t *n);

#endif
