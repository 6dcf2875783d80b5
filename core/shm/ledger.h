/* SPDX-License-Identifier: Apache-2.0 */
/* The shared segment as its one writer sees it: where things lie, names, and rows
 * that observers can copy out whole. */
#ifndef MUSTER_CORE_LEDGER_H
#define MUSTER_CORE_LEDGER_H

#include "core/step/core.h"

#include <stdbool.h>

#define NAME_BYTES_MAX 520u /* "namespace/name" of 253 each, with slack */

/* A text in the arena. */
struct name {
	uint64_t offset;
	uint32_t bytes; /* 0: none */
};

#define NAME_ARENA_MOST (UINT64_C(1) << 32) /* bytes */
#define NAME_STEP 16u                       /* names take whole steps of the arena */
#define NAME_CLASSES (NAME_BYTES_MAX / NAME_STEP + 2)

/* Where a part lies, and what of it is there. */
struct ledger_area {
	uint64_t offset, bytes, made;
};

struct ledger_view {
	struct ledger *ledger;
	core_make_fn make; /* NULL: all of it is there */
	void *make_context;
	struct ledger_area parts[LEDGER_PARTS];
	struct limits limits;
	struct node_row *nodes;
	struct node_amounts *amounts; /* [block * limits.nodes + node] */
	struct gang_row *gangs;
	struct name_row *names;
	char *arena;
	unsigned char *commands;
	uint64_t arena_used;               /* bytes handed out at least once */
	uint64_t arena_free[NAME_CLASSES]; /* offset + 1 of the first free one of each size */
};

/* Bytes of a segment with these limits; 0 and *what when one can't be. */
uint64_t ledger_bytes(const struct limits *limits, const char **what);

/* Of these, so many from the start on are to be there before ledger_open(). */
uint64_t ledger_bytes_first(const struct limits *limits);

/* Lay out zeroed memory and fill its head.  Parts are made as they are needed, if there is a
 * `make`. */
void ledger_open(struct ledger_view *v, struct ledger *ledger, const struct limits *limits,
                 core_make_fn make, void *context);

/* The first bytes of the part are there from now on.  -ENOMEM, and nothing that can be seen has
 * changed. */
int ledger_reach(struct ledger_view *v, enum ledger_part part, uint64_t bytes);

static inline int ledger_reach_gang(struct ledger_view *v, uint32_t gang)
{
	return ledger_reach(v, PART_GANGS, (gang + UINT64_C(1)) * sizeof(struct gang_row));
}

static inline int ledger_reach_resources(struct ledger_view *v, uint32_t resources)
{
	return ledger_reach(v, PART_AMOUNTS,
	                    (uint64_t)AMOUNT_BLOCKS(resources) * v->limits.nodes *
	                        sizeof(struct node_amounts));
}

/* Where the resource's amounts of a node stand, at [resource % AMOUNTS_BLOCK]. */
static inline struct node_amounts *ledger_amounts(const struct ledger_view *v, node_id node,
                                                  uint32_t resource)
{
	return &v->amounts[(size_t)(resource / AMOUNTS_BLOCK) * v->limits.nodes + node];
}

/* Forget all rows and names. */
void ledger_clear(struct ledger_view *v);

/* A copy of text in the arena, good until name_drop().  -ENOSPC, -ENOMEM */
int name_add(struct ledger_view *v, const char *text, uint32_t bytes, struct name *out);
void name_drop(struct ledger_view *v, struct name *name);
static inline const char *name_text(const struct ledger_view *v, struct name name)
{
	return v->arena + name.offset;
}

/* Between the two a row is inconsistent, and observers can tell. */
void row_begin(_Atomic uint32_t *version);
void row_end(_Atomic uint32_t *version);

/* Relaxed: one writer, and observers want no order between counters. */
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
