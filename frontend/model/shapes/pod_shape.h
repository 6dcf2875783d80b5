/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a pod's shape that depend on other objects than the pod: volumes, its policy, and
 * default spread constraints.  They are derived again when those objects change, without the pod's
 * JSON. */
#ifndef MUSTER_FRONTEND_MODEL_POD_SHAPE_H
#define MUSTER_FRONTEND_MODEL_POD_SHAPE_H

#include "frontend/model/pods/pods.h"
#include "frontend/model/shapes/shapes.h"

/* Derive the default spread constraints again. */
void pod_respread(struct model *m, uint32_t pod);
/* Derive the policy again; one that cannot be applied refuses the pod. */
void pod_join_policy(struct model *m, uint32_t pod);

/* Pass the pod's volumes to frontend/volume/ (NULL: the pod is gone) and derive the shape from what
 * it returns.  If the shape cannot be stored, a pending pod is refused, and the node of a bound one
 * is unaccounted. */
void pod_set_storage(struct model *m, uint32_t pod, const struct pod_object *object);

/* Refuse a pending pod that asks for a resource which nodes have without a column (columns.h). */
void pod_check_columns(struct model *m, uint32_t pod);
/* Refuse a pending pod whose entries were withdrawn (shares.h), until it is put again. */
void pod_refuse_until_put(struct model *m, uint32_t pod, const char *text);

/* What storage and devices make of the pod may have changed.  If that is by a claim that other
 * pods name too, repeatedly, and it would be planned again, it is refused until storage_apply(). */
void pod_storage_changed(struct model *m, uint32_t pod);
/* Join these pods of the namespace, at the next flush; returns how many there are. */
uint64_t storage_apply(struct model *m, const struct namespace_entry *n);
/* The pod, whose object was put, has resource claims or had some. */
void pod_set_claims(struct model *m, uint32_t pod, const char *json, size_t bytes);

#endif
