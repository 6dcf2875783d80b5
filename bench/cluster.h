/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster with real shapes for benches, fed to a core as records: 8 node types (two
 * with GPUs of which one is tainted), zones, a rare pool, nodes half full on average,
 * each with two foreign pods.
 *
 * Records go through `feed`: straight into a core of its own, into a batch that is
 * timed as a whole, or onto a ring. */
#ifndef MUSTER_BENCH_CLUSTER_H
#define MUSTER_BENCH_CLUSTER_H

#include "ipc/ring.h"
#include "ipc/segment.h"

#include <stdbool.h>

struct cluster;

/* Passes a record on; its header is complete but for epoch and sequence of a ring. */
typedef bool (*cluster_feed_fn)(struct cluster *c, const struct record *r);

struct cluster_bind {
	pod_id pod;
	node_id node;
	uint32_t pod_generation;
	uint32_t attempt;
};

#define CLUSTER_BINDS (1u << 14) /* the last bindings that are kept */

/* Fields of a pod as sent to the core. */
struct cluster_told {
	uint32_t generation;
	gang_id gang;
	uint32_t shape;
};

struct cluster {
	struct core *core;      /* NULL: records go to `feed` */
	struct segment segment; /* as muster-core has it */
	struct ledger *ledger;
	struct limits limits;
	cluster_feed_fn feed;
	struct feed *followed; /* gets what a world would; NULL: nothing */
	void *feed_context;
	uint32_t nodes;
	bool racks;
	bool scattered;
	bool pairs; /* of devices */
	uint32_t pods_limit;
	uint32_t next_pod;   /* ids from here on were never used */
	uint32_t *free_pods; /* used ids that are free again */
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
	uint64_t binds;        /* commands read; the last are in bind[] */
	uint64_t reasons;
	struct cluster_bind *bind;
	unsigned char *batch; /* records to be sent by cluster_run() */
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

/* Shapes of pods in the cluster. */
enum cluster_shape {
	SHAPE_CPU,
	SHAPE_GPU,
	SHAPE_ZONE,                          /* one zone by a selector */
	SHAPE_TOLERANT,                      /* tolerates the taint */
	SHAPE_RARE,                          /* the rare pool alone: few fit */
	SHAPE_ANTI,                          /* no two of it on one node */
	SHAPE_SPREAD,                        /* as many in each zone, skew 1 */
	SHAPE_NEW,                           /* another one after each cluster_new_shape() */
	SHAPE_MIX,                           /* CLUSTER_MIX ordinary ones of different sizes */
	SHAPE_BIG = SHAPE_MIX + CLUSTER_MIX, /* few nodes have enough capacity for it */
	SHAPE_FILL = SHAPE_BIG + CLUSTER_BIG,
	SHAPES_N = SHAPE_FILL + CLUSTER_TYPES * CLUSTER_FILLS,
	/* After cluster_soft_shapes() alone. */
	SHAPE_SERVICE = SHAPES_N, /* a Service selects them: the default spreading by host and zone */
	SHAPE_PREFER_HOST,        /* prefers hosts without another of it */
	SHAPE_PREFER_ZONE,        /* prefers zones with others of it */
	SHAPE_PREFER_NODE,        /* prefers the nodes of one zone */
	SHAPE_DEVICE,             /* a claim for one device; after cluster_devices() */
};

struct cluster_setup {
	uint32_t nodes;
	uint32_t pods_more; /* besides the two foreign pods on each node */
	uint32_t resources; /* columns; 0: 8 */
	bool bare;          /* no foreign pods */
	bool racks;         /* nodes have blocks and racks, gangs keep to them */
	bool scattered;     /* names of nodes are in no order, as a cloud makes them */
	uint32_t spare;     /* ids of nodes besides those: cluster_node_join() */
	uint32_t promises;  /* of a start that stand at most; ends are in whole seconds */
	/* NULL: a core of its own, in this thread. */
	cluster_feed_fn feed;
	void *feed_context;
};

/* Limits for such a cluster. */
struct limits cluster_limits(const struct cluster_setup *setup);

/* False and a message on standard error when memory is short. */
bool cluster_init(struct cluster *c, const struct cluster_setup *setup);
void cluster_free(struct cluster *c);

/* A pending pod; gang ID_NONE: alone.  Returns its id. */
pod_id cluster_pod(struct cluster *c, gang_id gang, uint32_t shape);
void cluster_gang(struct cluster *c, gang_id gang, uint32_t quorum);

/* A pod of a queue with a deadline; of another scheduler if it has a node. */
struct cluster_terms {
	uint32_t queue; /* 0 without queues */
	uint32_t run_s; /* 0: no deadline */
	node_id node;   /* ID_NONE: pending */
};
pod_id cluster_pod_on(struct cluster *c, gang_id gang, uint32_t shape, struct cluster_terms terms);

/* A queue, as a child of one with a lower id; the root is 0, its own parent. */
void cluster_queue(struct cluster *c, uint32_t queue, uint32_t parent, bool guaranteed);

/* The same with labels of its own that no selector asks for. */
pod_id cluster_pod_labelled(struct cluster *c, uint32_t shape, uint32_t labels);

/* The API server accepted the binding, and the watch has shown it. */
void cluster_bound(struct cluster *c, const struct cluster_bind *b);

/* The pod ended; its id is reused. */
void cluster_pod_end(struct cluster *c, pod_id pod);
void cluster_gang_end(struct cluster *c, gang_id gang);

/* SHAPE_NEW is dropped and another one is added; `scarce`: like SHAPE_RARE, else SHAPE_CPU. */
void cluster_new_shape(struct cluster *c, bool scarce);

/* Each node gets 8 GPUs, of which the first `taken` are taken, and SHAPE_DEVICE asks for one.
 * `pairs`: it has 4 NICs too, and SHAPE_DEVICE asks for two GPUs and a NIC on one PCIe root. */
void cluster_devices(struct cluster *c, bool pairs, uint32_t taken);
/* Another number of them is taken. */
void cluster_node_devices(struct cluster *c, node_id node, uint32_t taken);

/* Adds the shapes with soft rules. */
void cluster_soft_shapes(struct cluster *c);

/* A bare node of a spare id joins or leaves. */
void cluster_node_join(struct cluster *c, node_id node);
void cluster_node_leave(struct cluster *c, node_id node);

/* Its memory grows (more) or has its first value again. */
void cluster_node(struct cluster *c, node_id node, bool more);

/* Feeds one EVENT_PLAN; false: the core has nothing to plan. */
bool cluster_turn(struct cluster *c);

/* Feeds them until the core has nothing more to plan; its commands are on the ring. */
void cluster_decide(struct cluster *c);

/* Reads the commands. */
void cluster_take(struct cluster *c);

/* Both; returns the ns of the first. */
uint64_t cluster_plan(struct cluster *c);
/* A lone pod of the shape comes, is planned and goes; ns of its plan. */
uint64_t cluster_single(struct cluster *c, uint32_t shape);

/* Collects records from now on; cluster_run() feeds them and returns the ns that the core took. */
void cluster_batch(struct cluster *c);
uint64_t cluster_run(struct cluster *c);

/* Reads a command of the core. */
void cluster_command(struct cluster *c, enum record_kind kind, const void *body);

#endif
