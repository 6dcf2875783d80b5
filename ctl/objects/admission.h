/* SPDX-License-Identifier: Apache-2.0 */
/* Admission of objects that no API server has seen. Pods: the priority of their class, and the
 * overhead, node selector and tolerations of their RuntimeClass. Nodes: allocatable when only the
 * capacity is given. Classes have to come first, then pods. */
#ifndef MUSTER_CTL_ADMISSION_H
#define MUSTER_CTL_ADMISSION_H

#include "ctl/objects/files.h"

#include <stdbool.h>
#include <stddef.h>

struct admission;

struct admission *admission_new(void);
void admission_free(struct admission *a);

/* True for a PriorityClass or a RuntimeClass. */
bool admission_takes(const struct object *object);

/* Adds a class; the object has to outlive the admission. False and `error`: file, object, field and
 * value. */
bool admission_put(struct admission *a, const struct object *class, char *error,
                   size_t error_bytes);

/* The pod's JSON after admission: the object's own if nothing changes, else good until the next
 * call. */
bool admission_pod(struct admission *a, const struct object *pod, struct text *out, char *error,
                   size_t error_bytes);

/* The node's JSON with status.allocatable, by default status.capacity: the object's own if nothing
 * changes, else in `made`. */
struct bytes;
struct text admission_node(const struct object *node, struct bytes *made);

#endif
