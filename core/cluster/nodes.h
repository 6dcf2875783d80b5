/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes: their records and their free capacity.
 *
 * A node id is a slot that the frontend chooses; a rank is the node's position by name, so that
 * the lowest name is the lowest rank.  Free capacity is in rows of one block or more of resources,
 * so that a look at one node reads a cache line or two.
 *
 * Each change of a node is appended to a log, which views follow (core/index/views.h). */
#ifndef MUSTER_CORE_NODES_H
#define MUSTER_CORE_NODES_H

#include "core/base/amount.h"
#include "core/cluster/fit.h"
#include "core/cluster/node_rules.h"
#include "core/cluster/shape.h"
#include "core/shm/ledger.h"
#include "core/shm/records.h"

#define NODE_LOG 4096u /* changes in the log; a view that is further behind reads all nodes */

#define ORDER_LOG 64u /* changes of the order that are known one by one */

/* A node entered or left the order of names: the rank that it has from now on, or had. */
struct order_change {
	uint32_t rank;
	bool left;
};

struct node {
	uint32_t generation;      /* 0: no such node */
	uint32_t pods;            /* bound or reserved here */
	uint32_t named;           /* pods bound here by their last record */
	uint32_t logged;          /* low bits of the log position of its last change */
	struct node_rules *rules; /* labels and taints; NULL: none */
	uint32_t name_step;       /* node_name() */
	uint16_t name_bytes;
	uint8_t flags; /* enum node_flags */
	bool changed;  /* in `behind` */
};

static_assert(sizeof(struct node) == CACHE_LINE / 2, "two to a line");
static_assert(NODE_FLAGS <= UINT8_MAX && NAME_BYTES_MAX <= UINT16_MAX, "fields are wide enough");
static_assert(NAME_ARENA_MOST / NAME_STEP <= UINT32_MAX, "a step of the arena fits 32 bits");

enum { SCORED_CPU, SCORED_MEMORY, SCORED_N };

/* Sums in full width, for when free capacity saturates at INT64_MIN. */
struct wide_sums {
	wide *sums;   /* [node * stride + resource] */
	wide *scored; /* [node * SCORED_N + ...] */
	void *memory; /* of `sums` */
};

struct nodes {
	struct node *slots;
	struct ledger_view *ledger;
	uint32_t limit;
	uint32_t span;      /* core/base/span.h */
	int64_t most;       /* no sum of requests up to this saturates */
	uint32_t used;      /* slots below were used at least once */
	uint32_t count;     /* in use */
	uint32_t present;   /* in use, and the object exists */
	uint32_t resources; /* limit */
	uint32_t columns;   /* resources below are in use */

	void *free_memory, *fits_memory; /* what they are in, by must_lines() */
	uint32_t stride;                 /* of the rows: whole blocks of amounts */
	int64_t *free;                   /* [node * stride + resource]: allocatable - sum, saturated */
	struct node_fit *fits;           /* by node */
	int64_t *scored; /* [node * SCORED_N + ...]: as scores count requests; unused with wide_sums */
	struct wide_sums *wide_sums;  /* NULL: no sum can saturate, and `free` is exact */
	wide free_sum[RESOURCES_MAX]; /* sum over present nodes of free capacity, 0 if negative */

	uint32_t *order; /* by rank */
	uint32_t *ranks; /* by node */
	bool order_old;
	uint64_t order_version;
	/* The changes since the last sort, if they are few; else all names are sorted. */
	bool order_lost;
	uint32_t entered_n, left_n;
	node_id entered[ORDER_LOG];
	uint32_t left[ORDER_LOG];                 /* ranks */
	struct order_change order_log[ORDER_LOG]; /* [i % ORDER_LOG], in the order of their making */
	uint64_t order_log_n;                     /* so far; leaps when all names were sorted */

	uint32_t log[NODE_LOG]; /* log[i % NODE_LOG]; ID_NONE: the node changed again later */
	uint64_t log_n;         /* changes so far */
	uint64_t facts_version; /* counts changes of nodes, their allocatable and their rules */
	uint64_t freed_version; /* counts changes that may make a node feasible */
	uint64_t saturated;     /* sums that saturated */

	uint32_t *behind; /* nodes whose rows in the ledger are not up to date */
	uint32_t behind_n;
};

static inline bool node_present(const struct node *n)
{
	return n->generation != 0 && (n->flags & NODE_PRESENT);
}

/* Its text is in the ledger's arena. */
static inline struct name node_name(const struct node *n)
{
	return (struct name){ .offset = (uint64_t)n->name_step * NAME_STEP, .bytes = n->name_bytes };
}

void nodes_init(struct nodes *ns, const struct limits *limits, struct ledger_view *ledger);
/* Extends the rows to that many resources; before any of them is used. */
void nodes_reach(struct nodes *ns, uint32_t resources);
/* Switches to sums in full width if requests of the shape could saturate; before a pod of it is
 * placed. */
void nodes_widen(struct nodes *ns, const struct shape_record *record);
void nodes_free(struct nodes *ns);
void nodes_clear(struct nodes *ns);

static inline struct node *nodes_find(const struct nodes *ns, node_id id)
{
	return id < ns->limit && ns->slots[id].generation ? &ns->slots[id] : NULL;
}

/* The present node of that name, or NULL. */
struct node *nodes_named(struct nodes *ns, const char *name, uint32_t bytes);

static inline node_id nodes_id(const struct nodes *ns, const struct node *n)
{
	return (node_id)(n - ns->slots);
}

/* Adds or updates a node from its record; pods on it stay.  *rules: labels, taints or flags
 * changed.
 *
 *   -EPROTO   the slot has another node
 *   -ENOSPC   the name arena is full
 *
 * On an error nothing has changed. */
int nodes_set(struct nodes *ns, const struct node_record *record, bool *rules);

/* Removes a node that has no pods. */
void nodes_drop(struct nodes *ns, node_id id);

/* One more pod of the shape on the node, or one less.  Free capacity may become negative:
 * Kubernetes can bind pods that do not fit. */
void nodes_allocate(struct nodes *ns, node_id id, const struct shape *s);
void nodes_release(struct nodes *ns, node_id id, const struct shape *s);
/* n pods at once. */
void nodes_allocate_many(struct nodes *ns, node_id id, const struct shape *s, uint32_t n);

/* Logs a change of the pods on a node that rules between pods depend on. */
void nodes_touch(struct nodes *ns, node_id id);

/* noderesources.Fit: fitsRequest, and the rules over one node: true if one more pod of the shape
 * fits. */
bool nodes_fit(const struct nodes *ns, node_id id, const struct shape *s);

static inline int64_t nodes_free_amount(const struct nodes *ns, node_id id, uint32_t resource)
{
	return resource < ns->stride ? ns->free[(size_t)id * ns->stride + resource] : 0;
}

static inline int64_t nodes_allocatable(const struct nodes *ns, node_id id, uint32_t resource)
{
	if (resource < AMOUNTS_BLOCK)
		return ns->ledger->amounts[id]
		    .allocatable[resource]; /* the first block is committed with the node's row */
	if (resource >= ns->columns)
		return 0;
	return ledger_amounts(ns->ledger, id, resource)->allocatable[resource % AMOUNTS_BLOCK];
}

/* The node has none of a resource that devices then serve: pod_counts_devices() says if they do. */
static inline bool nodes_leave_to_devices(const struct nodes *ns, node_id id,
                                          const struct request *q)
{
	return q->group > 0 && nodes_allocatable(ns, id, q->resource) == 0;
}

static inline wide nodes_sum(const struct nodes *ns, node_id id, uint32_t resource)
{
	if (resource >= ns->stride)
		return 0;
	if (ns->wide_sums)
		return ns->wide_sums->sums[(size_t)id * ns->stride + resource];
	return nodes_allocatable(ns, id, resource) - ns->free[(size_t)id * ns->stride + resource];
}

/* SCORED_CPU or SCORED_MEMORY */
static inline wide nodes_scored(const struct nodes *ns, node_id id, uint32_t which)
{
	const size_t at = (size_t)id * SCORED_N + which;

	return ns->wide_sums ? ns->wide_sums->scored[at] : ns->scored[at];
}

/* Some pod may fit that did not: what waits for capacity is tried again. */
static inline void nodes_note_freed(struct nodes *ns)
{
	ns->freed_version++;
}

/* Updates order and ranks if nodes were added or removed; core/cluster/node_order.c. */
void nodes_sort(struct nodes *ns);
/* The same as long as the changes are few and can be made one by one, but will soon not be: for
 * callers that see each change and don't need the order. */
void nodes_sort_few(struct nodes *ns);
/* After the node got its name, and before it loses it. */
void nodes_order_enter(struct nodes *ns, node_id id);
void nodes_order_leave(struct nodes *ns, node_id id);
/* Compares the name of a node with another, as memcmp(). */
int node_name_compare(const struct nodes *ns, const struct node *n, const char *name,
                      uint32_t bytes);

/* Updates the ledger rows of changed nodes. */
void nodes_publish(struct nodes *ns);

#endif
