/* SPDX-License-Identifier: Apache-2.0 */
/* The records of the cluster of bench/cluster.h: each tell_*() makes one and passes it to the core,
 * or keeps it for cluster_run() while a batch is collected. */
#ifndef MUSTER_BENCH_CLUSTER_RECORDS_H
#define MUSTER_BENCH_CLUSTER_RECORDS_H

#include "bench/builder.h"
#include "bench/cluster.h"

struct shape_spec {
	int64_t cpu_milli, memory_bytes, gpus;
	uint32_t rules; /* enum rule, in the .c */
};

struct pod_spec {
	pod_id pod;
	gang_id gang;
	uint32_t shape;
	node_id node; /* ID_NONE: pending */
	bool foreign;
	uint32_t labels; /* of its own */
	uint32_t queue;  /* not read without queues */
	uint32_t run_s;  /* its deadline; 0: none */
};

/* What a shape asks for, by its number in bench/cluster.h; SHAPE_NEW differs each time. */
struct shape_spec shape_spec(const struct cluster *c, uint32_t shape);
/* The same on few nodes: 15 cores more, and a rule that few nodes meet. */
struct shape_spec shape_spec_scarce(struct shape_spec s);

/* Passes on the record of these parts. */
void tell(struct cluster *c, enum record_kind kind, const struct part *parts);

void tell_names(struct cluster *c); /* of the GPUs and of the taint */
void tell_node(struct cluster *c, uint32_t node, int64_t more_memory);
void tell_shape(struct cluster *c, uint32_t shape, const struct shape_spec *s);
void tell_pod(struct cluster *c, const struct pod_spec *s);
/* With racks: one block is required, one rack preferred. */
void tell_gang(struct cluster *c, gang_id gang, uint32_t quorum);
/* Without limits; `guaranteed`: a core of CPU. The parent of the root is itself. */
void tell_queue(struct cluster *c, uint32_t queue, uint32_t parent, bool guaranteed);
void tell_drop(struct cluster *c, enum record_kind kind, uint32_t id, uint32_t generation);

#endif
