/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of pods and capacity of nodes. */
#ifndef MUSTER_APISIM_REQUESTS_H
#define MUSTER_APISIM_REQUESTS_H

#include "tests/apisim/call.h"

/* Rewrite every quantity of a pod's spec in its canonical form; 400 for one that
 * is none.  0 or -1. */
int as_pod_normalise(struct as_call *c, struct as_json *spec);
/* The same for the members of one list of amounts (NULL is fine). */
int as_amounts_normalise(struct as_call *c, struct as_json *amounts);

/* Amounts by resource name: cpu in milli, everything else in its own unit.
 * Sums saturate. */
struct as_amount {
	const char *name;
	int64_t value;
};

struct as_amounts {
	struct as_amount *at;
	size_t n;
	size_t room;
};

int64_t as_amounts_get(const struct as_amounts *a, const char *name);
/* The effective request of a pod, with one of "pods"; arena memory. */
struct as_amounts as_pod_requests(struct as_arena *arena, const struct as_json *pod);
struct as_amounts as_node_allocatable(struct as_arena *arena, const struct as_json *node);
int64_t as_saturated_add(int64_t a, int64_t b);

#endif
