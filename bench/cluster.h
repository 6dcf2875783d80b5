/* A cluster with real shapes for benches, fed to a core as records: 8 node types
 * (two with GPUs, one tainted), a zone label, nodes half full. */
#ifndef MUSTER_BENCH_CLUSTER_H
#define MUSTER_BENCH_CLUSTER_H

#include "core/core.h"

#include <stdbool.h>

struct cluster {
	struct core *core;
	struct ledger *ledger;
	uint32_t nodes;
	uint32_t next_pod;
	uint32_t generation;
	uint64_t time_ns;
	uint64_t binds; /* commands seen */
	pod_id last_bound;
};

/* Shapes that the cluster knows. */
enum cluster_shape { SHAPE_CPU, SHAPE_GPU, SHAPE_ZONE, SHAPE_TOLERANT, SHAPE_HUGE, SHAPES_N };

/* False and a message on standard error when memory is short. */
bool cluster_init(struct cluster *c, uint32_t nodes, uint32_t pods_max);
void cluster_free(struct cluster *c);

/* A pending pod; gang ID_NONE: alone.  Returns its id. */
pod_id cluster_pod(struct cluster *c, gang_id gang, enum cluster_shape shape);
void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum);

/* The pod ended. */
void cluster_pod_end(struct cluster *c, pod_id pod);

/* Feed EVENT_PLAN until the core has nothing more to plan. */
void cluster_plan(struct cluster *c);

#endif
