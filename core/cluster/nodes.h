/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes: what they are, and what is left of each.
 *
 * Ids are slots of the frontend; ranks number them by name, so that "the lowest
 * name" is the lowest rank.  Room is kept in rows, so that a look at one node reads
 * a cache line or two; rows are as long as there are resources in use.
 *
 * Every change of a node is logged; views (core/index/views.h) follow the log. */
#ifndef MUSTER_CORE_NODES_H
#define MUSTER_CORE_NODES_H

#include "core/base/amount.h"
#include "core/cluster/fit.h"
#include "core/cluster/node_rules.h"
#include "core/cluster/shapes.h"
#include "core/shm/ledger.h"
#include "core/shm/records.h"

#define NODE_LOG 4096u /* changes kept; who is further behind looks at all */

struct node {
	uint32_t generation;      /* 0: no such node */
	uint32_t pods;            /* bound or reserved here */
	uint32_t named;           /* pods whose last record says they are bound here */
	uint32_t logged;          /* low bits of the number of its last change in the log */
	struct node_rules *rules; /* labels and taints; NULL: none */
	uint32_t name_step;       /* node_name() */
	uint16_t name_bytes;
	uint8_t flags; /* enum node_flags */
	bool changed;  /* its row in the ledger is behind */
};

static_assert(sizeof(struct node) == CACHE_LINE / 2, "two to a line");
static_assert((NODE_PRESENT | NODE_CORDONED | NODE_RESTARTS_ALL) <= UINT8_MAX &&
                  NAME_BYTES_MAX <= UINT16_MAX,
              "there is room");
static_assert(NAME_ARENA_MOST / NAME_STEP <= UINT32_MAX,
              "a place in the arena is counted in steps");

enum { SCORED_CPU, SCORED_MEMORY, SCORED_N };

/* Sums that room can't tell because it may have been cut off. */
struct wide_sums {
	wide *sums;   /* [node * stride + resource] */
	wide *scored; /* [node * SCORED_N + ...] */
};

struct nodes {
	struct node *slots;
	struct ledger_view *ledger;
	uint32_t limit;
	int64_t most;       /* of a request: no sum of such ones is cut off */
	uint32_t used;      /* slots below this were used at least once */
	uint32_t count;     /* in use */
	uint32_t present;   /* ... and the object exists */
	uint32_t resources; /* limit */
	uint32_t columns;   /* resources below this were seen */

	uint32_t stride;       /* of the rows, whole blocks of amounts */
	int64_t *room;         /* [node * stride + resource]: allocatable - sum, cut off */
	struct node_fit *fits; /* by node */
	int64_t *scored; /* [node * SCORED_N + ...], as scores count requests; once there are wide_sums,
	                    theirs count */
	struct wide_sums *wide_sums; /* NULL: no sum can be cut off, and room tells it */
	wide free[RESOURCES_MAX];    /* over present nodes, those overdrawn as 0 */

	uint32_t *order; /* by rank */
	uint32_t *ranks; /* by node */
	bool order_old;
	uint64_t order_version;

	uint32_t log[NODE_LOG]; /* ID_NONE: of a node that changed again since */
	uint64_t log_n;         /* changes ever; log[i % NODE_LOG] */
	uint64_t facts_version; /* counts changes of what there is: nodes, their resources and rules */
	uint64_t room_version;  /* counts the times some node may have got more room */
	uint64_t saturated;     /* sums that were cut off */

	uint32_t *behind; /* nodes whose rows are behind */
	uint32_t behind_n;
};

static inline bool node_present(const struct node *n)
{
	return n->generation != 0 && (n->flags & NODE_PRESENT);
}

/* In the ledger's arena. */
static inline struct name node_name(const struct node *n)
{
	return (struct name){ .offset = (uint64_t)n->name_step * NAME_STEP, .bytes = n->name_bytes };
}

/* -ENOMEM */
int nodes_init(struct nodes *ns, const struct limits *limits, struct ledger_view *ledger);
/* Rows for that many resources; before anything asks for one of them.  -ENOMEM */
int nodes_reach(struct nodes *ns, uint32_t resources);
/* Room for sums of such requests; before a pod of the shape comes.  -ENOMEM */
int nodes_widen(struct nodes *ns, const struct shape_record *record);
void nodes_free(struct nodes *ns);
void nodes_clear(struct nodes *ns);

static inline struct node *nodes_find(const struct nodes *ns, node_id id)
{
	return id < ns->limit && ns->slots[id].generation ? &ns->slots[id] : NULL;
}

/* By name, NULL when there is none of that name that is present. */
struct node *nodes_named(struct nodes *ns, const char *name, uint32_t bytes);

static inline node_id nodes_id(const struct nodes *ns, const struct node *n)
{
	return (node_id)(n - ns->slots);
}

/* Set a node as its record says; pods on it stay.  *rules is set when labels,
 * taints or flags changed.
 *
 *   -EPROTO   the slot belongs to another node
 *   -ENOSPC   no room for the name
 *   -ENOMEM
 *
 * On any error nothing has changed. */
int nodes_set(struct nodes *ns, const struct node_record *record, bool *rules);

/* Forget a node that nobody refers to any more. */
void nodes_drop(struct nodes *ns, node_id id);

/* A pod of this shape comes or goes.  Taking never fails: what Kubernetes has
 * bound is there, fit or not. */
void nodes_take(struct nodes *ns, node_id id, const struct shape *s);
void nodes_give(struct nodes *ns, node_id id, const struct shape *s);
/* n of them at once. */
void nodes_take_many(struct nodes *ns, node_id id, const struct shape *s, uint32_t n);

/* Something about the pods on it changed that rules between pods see. */
void nodes_touch(struct nodes *ns, node_id id);

/* Has the node room for one more, in full width? */
bool nodes_fit(const struct nodes *ns, node_id id, const struct shape *s);

static inline int64_t nodes_room(const struct nodes *ns, node_id id, uint32_t resource)
{
	return resource < ns->stride ? ns->room[(size_t)id * ns->stride + resource] : 0;
}

static inline int64_t nodes_allocatable(const struct nodes *ns, node_id id, uint32_t resource)
{
	if (resource < AMOUNTS_BLOCK)
		return ns->ledger->amounts[id].allocatable[resource]; /* the first block is always there */
	return resource < ns->columns
	           ? ledger_amounts(ns->ledger, id, resource)->allocatable[resource % AMOUNTS_BLOCK]
	           : 0;
}

static inline wide nodes_sum(const struct nodes *ns, node_id id, uint32_t resource)
{
	if (resource >= ns->stride)
		return 0;
	if (ns->wide_sums)
		return ns->wide_sums->sums[(size_t)id * ns->stride + resource];
	return nodes_allocatable(ns, id, resource) - ns->room[(size_t)id * ns->stride + resource];
}

/* SCORED_CPU or SCORED_MEMORY */
static inline wide nodes_scored(const struct nodes *ns, node_id id, uint32_t which)
{
	const size_t at = (size_t)id * SCORED_N + which;

	return ns->wide_sums ? ns->wide_sums->scored[at] : ns->scored[at];
}

/* Number the nodes by name, if any came or went. */
void nodes_sort(struct nodes *ns);

/* Bring the rows of changed nodes up to date. */
void nodes_publish(struct nodes *ns);

#endif
