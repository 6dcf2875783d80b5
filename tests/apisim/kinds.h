/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds do beyond being stored: defaults, admission, validation. */
#ifndef MUSTER_APISIM_KINDS_H
#define MUSTER_APISIM_KINDS_H

#include "tests/apisim/resource.h"

extern const struct as_strategy as_node_strategy;           /* node.c */
extern const struct as_strategy as_pod_strategy;            /* pod.c */
extern const struct as_strategy as_namespace_strategy;      /* kinds.c */
extern const struct as_strategy as_event_strategy;          /* kinds.c */
extern const struct as_strategy as_lease_strategy;          /* kinds.c */
extern const struct as_strategy as_priority_class_strategy; /* kinds.c */
extern const struct as_strategy as_crd_strategy;            /* crd.c */

/* An event of events.k8s.io/v1 as one of v1: one object has both forms. */
void as_event_view(struct as_arena *a, struct as_json *object); /* kinds.c */

/* A definition was stored: serve what it declares; removed: serve it no more. */
struct as_api;
void as_crd_stored(struct as_api *api, const struct as_json *definition);
void as_crd_removed(struct as_api *api, struct as_arena *a, const struct as_json *definition);

#endif
