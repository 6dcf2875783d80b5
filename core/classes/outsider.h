/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that is in no table, evaluated as if it were pending: a class of its own for a cluster that
 * does not change.
 *
 *   pod counts of the cluster ──┬── nodes, usage ───────────────► the same
 *                               ├── pods that match its rules ──► counted again, from the pods
 *                               └── terms of placed pods ───────► those that match it
 *
 * So evaluate(&o->counts, o->class, ...) has the same result for the outsider as for such a pod in
 * the cluster.  An outsider is valid until the cluster changes.
 *
 * Its records come from outside the core: work and memory are bounded here, by the rules in them
 * and the size of the cluster.  It has no devices: these are numbers of the core's own questions.
 */
#ifndef MUSTER_CORE_OUTSIDER_H
#define MUSTER_CORE_OUTSIDER_H

#include "core/classes/pod_counts.h"

#define OUTSIDER_RULES 32u                 /* between pods: each has counts by node */
#define OUTSIDER_STEPS UINT64_C(200000000) /* items of rules times what they are compared with */

struct outsider {
	struct pod_counts counts; /* nodes and usage are borrowed */
	struct shapes shapes;     /* of one shape, 0; sets of nodes are borrowed */
	class_id class;
	uint32_t own_terms; /* placed terms from here on have borrowed counts */
};

static inline const struct shape *outsider_shape(const struct outsider *o)
{
	return &o->shapes.slots[0];
}

/* Why the shape, whose record was checked, is not evaluated: a static text, or NULL.  *steps counts
 * what shapes of one question are compared with. */
const char *outsider_fault(const struct pod_counts *cluster, const struct shape_record *shape,
                           uint64_t *steps);

/* The records were checked (core/shm/records.h), with the limits of the cluster.  NULL, or a static
 * text: why it is not evaluated; then nothing was made. */
const char *outsider_make(const struct pod_counts *cluster, const struct limits *limits,
                          const struct shape_record *shape, const struct pod_record *pod,
                          struct outsider *out);
void outsider_free(struct outsider *o);

#endif
