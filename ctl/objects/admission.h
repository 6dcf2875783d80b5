/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server does to objects that never met one.  Of pods: the priority that its class
 * stands for, and what its RuntimeClass adds to it.  Of nodes: what is allocatable when only the
 * capacity is told.
 *
 * Classes come first, then pods. */
#ifndef MUSTER_CTL_ADMISSION_H
#define MUSTER_CTL_ADMISSION_H

#include "ctl/objects/files.h"

#include <stdbool.h>
#include <stddef.h>

struct admission;

struct admission *admission_new(void);
void admission_free(struct admission *a);

/* Is it a PriorityClass or a RuntimeClass? */
bool admission_takes(const struct object *object);

/* Remember a class; the object has to outlive the admission.  False and `error`: file,
 * object, field and value. */
bool admission_put(struct admission *a, const struct object *class, char *error,
                   size_t error_bytes);

/* The pod's JSON as admission leaves it: the object's own if nothing is to be done, else
 * good until the next call. */
bool admission_pod(struct admission *a, const struct object *pod, struct text *out, char *error,
                   size_t error_bytes);

/* The node's JSON with status.allocatable, which is status.capacity when it is not given: the
 * object's own if nothing is to be done, else in `made`. */
struct bytes;
struct text admission_node(const struct object *node, struct bytes *made);

#endif
