/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes: pods with equal requests and equal placement rules.  For each shape the set of nodes
 * that its rules over single nodes allow is kept current, one bit a node. */
#ifndef MUSTER_CORE_SHAPES_H
#define MUSTER_CORE_SHAPES_H

#include "core/cluster/shape.h"
#include "core/cluster/taint_sets.h"

struct node;

#define COLUMNS_MOST 8u

/* The values of all nodes for one label key. */
struct label_column {
	uint32_t *values; /* by node; NO_VALUE: no such label; NULL: column unused */
	uint32_t key;
	uint64_t last_used;
};

#define NO_VALUE UINT32_MAX

struct shapes {
	struct shape *slots;
	uint32_t *kin; /* by slot: its shape's */
	uint32_t limit;
	uint32_t used;      /* slots below were used at least once */
	uint32_t count;     /* in use */
	uint32_t words;     /* of a node set: of the span */
	uint32_t resources; /* columns */
	/* Sets of present nodes: */
	uint64_t *open;   /* without taints and not cordoned */
	uint64_t *barred; /* all others */
	uint64_t *soft;   /* with a PreferNoSchedule taint */
	uint32_t soft_n;  /* number of them */
	uint64_t *single; /* barred, and in none of `tainted` */
	struct taint_sets tainted;
	struct label_column columns[COLUMNS_MOST]; /* keys that shapes select by; replaced by LRU */
	uint64_t uses;                             /* clock of the columns */
};

void shapes_init(struct shapes *ss, const struct limits *limits);
void shapes_free(struct shapes *ss);
/* The span of nodes has grown. */
void shapes_reach(struct shapes *ss, uint32_t span);
void shapes_clear(struct shapes *ss);

static inline struct shape *shapes_find(const struct shapes *ss, shape_id id)
{
	return id < ss->limit && ss->slots[id].body ? &ss->slots[id] : NULL;
}

/* Makes a shape from a record, which is copied; shapes_put() stores it, or shapes_unmake() frees
 * it.
 *
 *   0         *out was made
 *   1         the slot has an equal shape; nothing was made
 *   -EPROTO   the slot has another shape, which pods have; nothing was made */
int shapes_make(struct shapes *ss, const struct shape_record *record, const struct node *nodes,
                uint32_t nodes_used, struct shape *out);
void shapes_put(struct shapes *ss, const struct shape *s);
void shapes_unmake(struct shape *s);
void shapes_drop(struct shapes *ss, shape_id id);

/* True if the shapes differ in nothing but images. */
bool shapes_are_kin(const struct shape *a, const struct shape *b);

/* Updates the sets of nodes after labels, taints or flags of a node changed or it was dropped. */
void shapes_follow(struct shapes *ss, node_id id, const struct node *n);

#endif
