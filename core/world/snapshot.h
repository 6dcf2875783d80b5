/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of a world, for readers in other threads: immutable, published under RCU
 * (core/world/rcu.h), in chunks of 64 nodes that consecutive snapshots share while they are equal.
 *
 *   root ──► struct snapshot ──► chunks[]: free and allocatable capacity, the nodes that each live
 *            gangs in the order of the queue          shape may use, the pods there
 *
 * One thread publishes; any number reads, without a lock and without stopping anybody.  Memory is
 * bounded whatever readers do: with SNAPSHOTS_KEPT_MOST earlier snapshots waiting for a grace
 * period no further one is made. */
#ifndef MUSTER_CORE_SNAPSHOT_H
#define MUSTER_CORE_SNAPSHOT_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

#define CHUNK_NODES 64u
#define SNAPSHOTS_KEPT_MOST 4u

struct core;

enum snapshot_pod_flags {
	SNAPSHOT_POD_LEAVING = 1u << 0, /* it is being deleted */
	SNAPSHOT_POD_BOUND = 1u << 1,   /* else capacity is only reserved for it */
};

struct snapshot_pod {
	pod_id pod;
	uint32_t generation;
	shape_id shape;
	int32_t priority;
	uint32_t gang; /* as in struct gangs: a group, or a lone pod; ID_NONE: neither */
	uint16_t flags;
	uint8_t node; /* in its chunk */
	uint8_t reserved;
};

static_assert(sizeof(struct snapshot_pod) == 24, "24 bytes a pod");

/* Followed by its arrays, in this order. */
struct snapshot_chunk {
	_Atomic uint32_t refs; /* snapshots that share it */
	uint32_t bytes;        /* with the arrays */
	uint64_t present;      /* bits: the nodes that exist */
	uint32_t resources;    /* rows of capacity */
	uint32_t shapes_n;     /* as of the snapshot that made it */
	uint32_t pods_n;
	uint32_t reserved;
	/* int64_t free[resources][CHUNK_NODES], allocatable[resources][CHUNK_NODES];
	 * uint64_t allowed[shapes_n]; struct snapshot_pod pods[pods_n], sorted by node, then id */
};

static inline const int64_t *chunk_free(const struct snapshot_chunk *c, uint32_t resource)
{
	return (const int64_t *)(const void *)(c + 1) + (size_t)resource * CHUNK_NODES;
}

static inline const int64_t *chunk_allocatable(const struct snapshot_chunk *c, uint32_t resource)
{
	return chunk_free(c, c->resources + resource);
}

/* Bits: the nodes that rules over single nodes allow to the shape of that row. */
static inline const uint64_t *chunk_allowed(const struct snapshot_chunk *c)
{
	return (const uint64_t *)(const void *)chunk_free(c, 2 * c->resources);
}

static inline const struct snapshot_pod *chunk_pods(const struct snapshot_chunk *c)
{
	return (const struct snapshot_pod *)(const void *)(chunk_allowed(c) + c->shapes_n);
}

/* A gang with something to plan. */
struct snapshot_gang {
	uint32_t gang; /* as in struct gangs */
	uint32_t generation;
	int32_t priority;
	uint32_t missing; /* members that have to start together */
	uint64_t age_ns;
	uint8_t band;    /* enum queue_band */
	uint8_t waiting; /* it was planned and waits for capacity */
	uint8_t reserved[6];
};

static_assert(sizeof(struct snapshot_gang) == 32, "no padding: compared as bytes");

/* What a placed pod takes. */
struct snapshot_request {
	uint32_t shape; /* a row; ascending */
	uint32_t resource;
	int64_t value;
};

struct snapshot {
	uint64_t position; /* steps of the world */
	uint64_t epoch;
	uint64_t now_ns;
	uint32_t nodes_n; /* ids below were used at least once */
	uint32_t chunks_n;
	uint32_t resources;
	uint32_t shapes_n; /* live */
	uint32_t requests_n;
	uint32_t gangs_n;
	bool exact;             /* no sum of requests exceeds int64: free capacity is the difference */
	uint32_t backfill_gang; /* the owner of the backfill reservation; ID_NONE: none */
	struct snapshot_chunk **chunks;
	shape_id *shapes; /* by row, ascending */
	struct snapshot_request *requests;
	struct snapshot_gang *gangs; /* in the order of the queue */
};

/* snapshots.c: publication. */
struct snapshots;

/* Before the process restricts its system calls: liburcu starts the thread that calls back. */
struct snapshots *snapshots_new(void);

/* Waits for the callbacks; readers have ended. */
void snapshots_free(struct snapshots *s);

/* The thread publishes or reads; each registers once. */
void snapshots_enter(void);
void snapshots_leave(void);

/* Updater: no earlier one would have to be kept. */
bool snapshots_has_room(const struct snapshots *s);

/* Updater: takes over `fresh` and its chunks.  A chunk that is equal to the one of the last
 * snapshot is replaced by it.  *copied, *shared: chunks. */
void snapshots_publish(struct snapshots *s, struct snapshot *fresh, uint32_t *copied,
                       uint32_t *shared);

/* Earlier snapshots that are not freed yet, and chunks in all. */
uint32_t snapshots_kept(const struct snapshots *s);
uint64_t snapshots_chunks(const struct snapshots *s);

/* Reader: a section, and the latest snapshot in it; NULL: none was published. */
const struct snapshot *snapshots_begin(const struct snapshots *s);
void snapshots_end(void);

/* A snapshot with zeroed arrays of these lengths, and a chunk. */
struct snapshot *snapshot_new(uint32_t nodes_n, uint32_t shapes_n, uint32_t requests_n,
                              uint32_t gangs_n);
struct snapshot_chunk *snapshot_chunk_new(uint32_t resources, uint32_t shapes_n, uint32_t pods_n);

/* snapshot_make.c: of the core as it is now. */
struct snapshot *snapshot_make(const struct core *core, uint64_t position);

/* snapshot_audit.c: the free capacity of each node recomputed from its pods.  *difference is the
 * first node and resource where it is another one. */
struct audit_difference {
	node_id node;
	uint32_t resource;
	int64_t free; /* of the snapshot */
	int64_t recomputed;
};

/* Scratch of snapshot_audit(): a reader does not allocate in its section. */
struct audit {
	int64_t taken[RESOURCES_MAX][CHUNK_NODES];
	uint32_t *requests_at; /* by shape row; the first of its requests */
	uint32_t cap;
};

/* Chunk `first` and each `step`th after it.  True if all are equal.  Reader: within a section. `a`
 * has room for the shapes of the limits. */
bool snapshot_audit(const struct snapshot *s, uint32_t first, uint32_t step, struct audit *a,
                    struct audit_difference *difference);
struct audit *audit_new(uint32_t shapes_most);
void audit_free(struct audit *a);

#endif
