/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger: the shared segment of the core, of which it is the only writer.  Layout, names, and
 * rows that observers copy consistently (a seqlock each).
 *
 * Parts whose pages are committed as they are needed: see ipc/abi.h, committed[]. */
#ifndef MUSTER_CORE_LEDGER_H
#define MUSTER_CORE_LEDGER_H

#include "core/base/config.h"

#include <stdbool.h>

#define NAME_BYTES_MAX 520u /* "namespace/name" of 253 each, and some more */

/* A text in the arena. */
struct name {
	uint64_t offset;
	uint32_t bytes; /* 0: none */
};

#define NAME_ARENA_MOST (UINT64_C(1) << 32) /* bytes */
#define NAME_STEP 16u                       /* allocation unit of the arena, bytes */
#define NAME_CLASSES (NAME_BYTES_MAX / NAME_STEP + 2)

/* Place of a part in the segment; the first `committed` of its bytes have pages. */
struct ledger_area {
	uint64_t offset, bytes, committed;
};

struct ledger_view {
	struct ledger *ledger;
	core_make_fn make; /* NULL: the whole segment has pages */
	void *make_context;
	struct ledger_area parts[LEDGER_PARTS];
	struct limits limits;
	struct node_row *nodes;
	struct node_amounts *amounts; /* [block * limits.nodes + node] */
	struct gang_row *gangs;
	char *queues;         /* QUEUE_ROW_BYTES() each */
	uint32_t queues_used; /* those from here on are empty */
	uint32_t nodes_used;  /* the same of nodes */
	uint32_t blocks_used; /* of amounts */
	struct name_row *names;
	char *arena;
	unsigned char *commands;
	uint64_t arena_used;               /* bytes allocated at least once */
	uint64_t arena_free[NAME_CLASSES]; /* by steps: offset + 1 of the first free piece; 0: none */
};

/* Bytes of a segment with these limits.  0: a limit is out of range, and *what is a static text. */
uint64_t ledger_bytes(const struct limits *limits, const char **what);

/* The first bytes of it that need pages before ledger_open(). */
uint64_t ledger_bytes_first(const struct limits *limits);

/* Initializes zeroed memory.  `make` commits pages of a part before their first use. */
void ledger_open(struct ledger_view *v, struct ledger *ledger, const struct limits *limits,
                 core_make_fn make, void *context);

/* Commits the first `bytes` of a part; ends the process if there is no memory. */
void ledger_reach(struct ledger_view *v, enum ledger_part part, uint64_t bytes);

static inline void ledger_reach_gang(struct ledger_view *v, uint32_t gang)
{
	ledger_reach(v, PART_GANGS, (gang + UINT64_C(1)) * sizeof(struct gang_row));
}

/* The row of a node and its blocks of the resources in use; and blocks of more resources for all
 * nodes in use. */
void ledger_reach_node(struct ledger_view *v, node_id node);
void ledger_reach_resources(struct ledger_view *v, uint32_t resources);

/* The row of a queue, followed by its amounts. */
static inline struct queue_row *ledger_queue(const struct ledger_view *v, uint32_t queue)
{
	return (struct queue_row *)(void *)(v->queues + queue * QUEUE_ROW_BYTES(v->limits.resources));
}

static inline void ledger_reach_queue(struct ledger_view *v, uint32_t queue)
{
	v->queues_used = queue < v->queues_used ? v->queues_used : queue + 1;
	ledger_reach(v, PART_QUEUES, (queue + UINT64_C(1)) * QUEUE_ROW_BYTES(v->limits.resources));
}

/* The block with a resource of a node, at [resource % AMOUNTS_BLOCK]. */
static inline struct node_amounts *ledger_amounts(const struct ledger_view *v, node_id node,
                                                  uint32_t resource)
{
	return &v->amounts[(size_t)(resource / AMOUNTS_BLOCK) * v->limits.nodes + node];
}

/* Clears all rows and names. */
void ledger_clear(struct ledger_view *v);

/* Copies a text to the arena, until name_drop().  -ENOSPC: the arena is full. */
int name_add(struct ledger_view *v, const char *text, uint32_t bytes, struct name *out);
void name_drop(struct ledger_view *v, struct name *name);
static inline const char *name_text(const struct ledger_view *v, struct name name)
{
	return v->arena + name.offset;
}

/* Write section of a row: between the two its version is odd, and observers retry. */
void row_begin(_Atomic uint32_t *version);
void row_end(_Atomic uint32_t *version);

/* Relaxed: one writer, and observers need no order between counters. */
static inline void stat_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
	                      memory_order_relaxed);
}

static inline void stat_set(_Atomic uint64_t *gauge, uint64_t value)
{
	atomic_store_explicit(gauge, value, memory_order_relaxed);
}

#endif
