/* SPDX-License-Identifier: Apache-2.0 */
/* What the server counts: GET /apisim/stats. */
#ifndef MUSTER_APISIM_STATS_H
#define MUSTER_APISIM_STATS_H

#include "tests/apisim/json.h"

#define AS_COUNTED_MAX 256

struct as_stats {
	struct {
		char name[96]; /* "POST pods/binding 201" */
		uint64_t n;
	} requests[AS_COUNTED_MAX];
	size_t requests_n;
	uint64_t binds;            /* accepted */
	uint64_t bind_conflicts;   /* 409 of any kind */
	uint64_t double_binds;     /* 409: the pod has a node already */
	uint64_t overcommitted;    /* pods that pushed a node over its allocatable */
	uint64_t unknown_node;     /* pods bound to a node that is not there */
	uint64_t kubelet_rejected; /* pods failed as OutOf... */
	uint64_t kubelet_started;
	uint64_t kubelet_finished;
	uint64_t kubelet_removed;
	uint64_t watches_open;
	uint64_t watches_lagged; /* dropped: too slow */
	uint64_t watch_events;
};

void as_stats_count(struct as_stats *s, const char *method, const char *what, int status);
struct as_json *as_stats_json(const struct as_stats *s, struct as_arena *a);

#endif
