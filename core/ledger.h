/* The shared segment as its one writer sees it: where things lie, names, and rows
 * that observers can copy out whole. */
#ifndef MUSTER_CORE_LEDGER_H
#define MUSTER_CORE_LEDGER_H

#include "ipc/abi.h"

#include <stdbool.h>

#define NAME_BYTES_MAX 520u /* "namespace/name" of 253 each, with slack */

/* A text in the arena. */
struct name {
	uint64_t offset;
	uint32_t bytes; /* 0: none */
};

#define NAME_STEP 16u /* names take whole steps of the arena */
#define NAME_CLASSES (NAME_BYTES_MAX / NAME_STEP + 2)

struct ledger_view {
	struct ledger *ledger;
	struct limits limits;
	struct node_row *nodes;
	int64_t *allocatable; /* [resource * limits.nodes + node] */
	int64_t *used;
	struct gang_row *gangs;
	struct name_row *names;
	char *arena;
	unsigned char *commands;
	uint64_t arena_used;             /* bytes handed out at least once */
	uint64_t arena_free[NAME_CLASSES]; /* offset + 1 of the first free one of each size */
};

/* Bytes of a segment with these limits; 0 and *what when one can't be. */
uint64_t ledger_bytes(const struct limits *limits, const char **what);

/* Lay out zeroed memory and fill its head. */
void ledger_open(struct ledger_view *v, struct ledger *ledger, const struct limits *limits);

/* Forget all rows and names. */
void ledger_clear(struct ledger_view *v);

/* A copy of text in the arena, good until name_drop().  -ENOSPC */
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
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void stat_set(_Atomic uint64_t *gauge, uint64_t value)
{
	atomic_store_explicit(gauge, value, memory_order_relaxed);
}

#endif
