/* What a shape finds on every node: how many of it fit, and how good the node is.
 *
 * A view is worked out once for a shape and then follows the log of changed
 * nodes, so that the next plan reads an array instead of every node's columns.
 * It holds nothing that can't be worked out anew from nodes and shape, and
 * view_check() does so. */
#ifndef MUSTER_CORE_VIEWS_H
#define MUSTER_CORE_VIEWS_H

#include "core/nodes.h"
#include "core/score.h"
#include "core/shapes.h"
#include "core/tree.h"

#define VIEWS_MAX 128u /* shapes with a view; the one not used for longest gives way */
#define HOLD_SHAPES_MAX 8u

#define NO_NODE UINT32_MAX

/* Arrays are by rank, so that the first of equals has the lowest name. */
/* Why nodes fall out for a shape, and how far each resource would reach. */
struct facts {
	uint64_t log_n; /* of the nodes when it was worked out; 0: never */
	uint32_t counts_n;
	struct why_count counts[WHY_COUNTS_MAX];
	uint64_t members[RESOURCES_MAX]; /* that this resource alone lets in */
};

/* Room that is kept for a gang that waits for it; see core/hold.h.  Whoever comes behind
 * that gang sees what is left beside it. */
struct hold {
	uint64_t version;  /* counts holds; 0: none */
	uint32_t shapes_n; /* 1: what it would place on a node is kept there; more: nodes that any
	                    * of them may go to are kept whole */
	shape_id shapes[HOLD_SHAPES_MAX];
};

struct view {
	shape_id shape;
	uint64_t hold; /* version of the hold that it leaves room for; 0: it sees all room */
	uint64_t position;      /* in the log of nodes */
	uint64_t order_version; /* of the ranks */
	uint64_t last_used;
	uint64_t capacity;  /* sum of counts */
	struct tree tree;   /* keys: score + 1; 0: not one fits */
	uint32_t *counts;   /* how many fit */
	uint32_t *verdicts; /* why the rules keep it off, packed; see view_verdict() */
	struct facts facts; /* kept by core/reason.c */
};

struct views {
	struct view slots[VIEWS_MAX];
	void *memory;       /* of all arrays */
	uint32_t *of_shape[2]; /* index into slots, NO_NODE: none; [1]: beside the hold */
	struct hold hold;
	uint64_t holds; /* ever */
	bool behind; /* whoever asks comes behind the hold; set it before views_get() */
	struct nodes *nodes;
	struct shapes *shapes;
	enum score_policy score;
	uint32_t most; /* a node's count is cut off here */
	uint64_t uses;
	uint64_t steps; /* work done, in units of about 10 ns; the planner's budget */
};

/* -ENOMEM */
int views_init(struct views *vs, const struct limits *limits, struct nodes *nodes, struct shapes *shapes,
               enum score_policy score);
void views_free(struct views *vs);
void views_clear(struct views *vs);

/* The view of a shape, up to date.  Good until VIEWS_MAX others were asked for, up
 * to date until a node changes. */
struct view *views_get(struct views *vs, shape_id shape);
void view_follow(struct views *vs, struct view *v);

/* Keep room for those shapes, and for no others; n 0: for nobody. */
void views_hold(struct views *vs, const shape_id *shapes, uint32_t n);

/* The shape is gone or another. */
void views_forget(struct views *vs, shape_id shape);

/* Rank of the best node that takes one more, by score, then by name; NO_NODE. */
static inline uint32_t view_best(const struct view *v)
{
	return tree_best(&v->tree);
}

/* One pod of the view's shape comes to the node of that rank; the view, which is up to
 * date, stays so. */
void view_take(struct views *vs, struct view *v, uint32_t rank);

/* Why the rules keep the shape off the node of that rank. */
enum node_why view_verdict(const struct view *v, uint32_t rank, uint32_t *arg);

/* Is the view, which is up to date, what a look at every node gives?  For tests. */
bool view_check(const struct views *vs, const struct view *v);

#endif
