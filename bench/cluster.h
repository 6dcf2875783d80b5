/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster with real shapes for benches, fed to a core as records: 8 node types (two
 * with GPUs of which one is tainted), zones, a rare pool, nodes half full on average,
 * each with two foreign pods.
 *
 * Records go through `feed`: straight into a core of its own, into a batch that is
 * timed as a whole, or onto a ring. */
#ifndef MUSTER_BENCH_CLUSTER_H
#define MUSTER_BENCH_CLUSTER_H

#include "core/step/core.h"
#include "ipc/ring.h"
#include "ipc/segment.h"

#include <stdbool.h>

struct cluster;

/* Hand a record on; its header is filled in but for epoch and sequence of a ring. */
typedef bool (*cluster_feed_fn)(struct cluster *c, const struct record *r);

struct cluster_bind {
	pod_id pod;
	node_id node;
	uint32_t pod_generation;
	uint32_t attempt;
};

#define CLUSTER_BINDS (1u << 14) /* the last ones that are kept */

/* What a pod was told as. */
struct cluster_told {
	uint32_t generation;
	gang_id gang;
	uint32_t shape;
};

struct cluster {
	struct core *core;      /* NULL: records go elsewhere */
	struct segment segment; /* as muster-core has it */
	struct ledger *ledger;
	struct limits limits;
	cluster_feed_fn feed;
	void *feed_context;
	uint32_t nodes;
	bool racks;
	uint32_t pods_limit;
	uint32_t next_pod;   /* never used ids start here */
	uint32_t *free_pods; /* used ones that are free again */
	uint32_t free_n;
	struct cluster_told *pods; /* by id */
	uint32_t generation;
	uint32_t *gang_generations;
	uint32_t new_shapes;
	uint64_t time_ns;
	struct ring_writer commands; /* of our core, as in production */
	struct ring_reader taken;
	_Atomic uint64_t taken_head;
	unsigned char *buffer; /* for one command */
	uint64_t binds;        /* commands taken; the last are in bind[] */
	uint64_t reasons;
	struct cluster_bind *bind;
	unsigned char *batch; /* records that wait for cluster_run() */
	size_t batch_bytes, batch_room;
	bool batching;
};

enum {
	CLUSTER_TYPES = 8, /* of nodes */
	CLUSTER_FILLS = 4, /* sizes of the foreign pod that fills a node */
	CLUSTER_MIX = 16,
	CLUSTER_BIG = 16,
	CLUSTER_ZONES = 5,
	CLUSTER_BLOCK = 500, /* nodes */
	CLUSTER_RACK = 50,
};

/* Shapes that the cluster knows. */
enum cluster_shape {
	SHAPE_CPU,
	SHAPE_GPU,
	SHAPE_ZONE,                          /* one zone by a selector */
	SHAPE_TOLERANT,                      /* tolerates the taint */
	SHAPE_RARE,                          /* the rare pool alone: room for few */
	SHAPE_ANTI,                          /* no two of it on one node */
	SHAPE_SPREAD,                        /* as many in each zone, skew 1 */
	SHAPE_NEW,                           /* another one after each cluster_new_shape() */
	SHAPE_MIX,                           /* CLUSTER_MIX ordinary ones of different sizes */
	SHAPE_BIG = SHAPE_MIX + CLUSTER_MIX, /* that few nodes have room for */
	SHAPE_FILL = SHAPE_BIG + CLUSTER_BIG,
	SHAPES_N = SHAPE_FILL + CLUSTER_TYPES * CLUSTER_FILLS,
};

struct cluster_setup {
	uint32_t nodes;
	uint32_t pods_more; /* beside the two foreign ones on each node */
	uint32_t resources; /* columns; 0: 8 */
	bool bare;          /* no foreign pods */
	bool racks; /* nodes have labels of their block and rack, and gangs are kept together there */
	/* NULL: a core of its own, in this thread. */
	cluster_feed_fn feed;
	void *feed_context;
};

/* What it needs room for. */
struct limits cluster_limits(const struct cluster_setup *setup);

/* False and a message on standard error when memory is short. */
bool cluster_init(struct cluster *c, const struct cluster_setup *setup);
void cluster_free(struct cluster *c);

/* A pending pod; gang ID_NONE: alone.  Returns its id. */
pod_id cluster_pod(struct cluster *c, gang_id gang, uint32_t shape);
void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum);

/* The same with labels of its own that no selector asks for. */
pod_id cluster_pod_labelled(struct cluster *c, uint32_t shape, uint32_t labels);

/* The API server took the binding, and the watch says so as well. */
void cluster_bound(struct cluster *c, const struct cluster_bind *b);

/* The pod ended; its id is used again. */
void cluster_pod_end(struct cluster *c, pod_id pod);
void cluster_gang_end(struct cluster *c, gang_id gang);

/* SHAPE_NEW is gone and another one comes; `scarce`: like SHAPE_RARE, else SHAPE_CPU. */
void cluster_new_shape(struct cluster *c, bool scarce);

/* Its memory grows (more) or is as before. */
void cluster_node(struct cluster *c, node_id node, bool more);

/* Feed EVENT_PLAN until the core has nothing more to plan; its commands are on the ring. */
void cluster_decide(struct cluster *c);

/* Take the commands. */
void cluster_take(struct cluster *c);

/* Both; how many ns the first took. */
uint64_t cluster_plan(struct cluster *c);

/* From now on records are collected; cluster_run() feeds them and says how many ns
 * the core took. */
void cluster_batch(struct cluster *c);
uint64_t cluster_run(struct cluster *c);

/* Take a command of the core. */
void cluster_command(struct cluster *c, enum record_kind kind, const void *body);

#endif
