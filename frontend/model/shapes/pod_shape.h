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

/* What storage and claims say of it may have changed. */
void pod_join_again(struct model *m, uint32_t pod);
/* The pod, whose object was put, has resource claims or had some. */
void pod_set_claims(struct model *m, uint32_t pod, const char *json, size_t bytes);

#endif
