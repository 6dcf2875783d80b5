/* SPDX-License-Identifier: Apache-2.0 */
/* The domains of a gang's levels, as a tree (design.md, Levels).
 *
 *   [0]                                all nodes
 *    +- required levels                a node without one of their keys is excluded
 *        +- preferred levels           nodes without the key are a domain of their own, the last
 *
 * Required levels come first, and both parts in the gang's order (widest first).  All members have
 * to be in one domain of the last required level; preferred levels only distribute them inside it.
 * The tree is computed for one plan, during which no node changes. */
#ifndef MUSTER_CORE_DOMAINS_H
#define MUSTER_CORE_DOMAINS_H

#include "core/classes/pod_counts.h"
#include "core/queue/gangs.h"
#include "core/base/tree.h"

#define OUTSIDE UINT32_MAX /* a node in no domain; no domain */

/* One domain of a level within one of the level above. */
struct domain {
	uint32_t parent, first, next; /* in the tree; OUTSIDE: none */
	uint32_t twin;                /* of the same level with the same number, within another */
	uint32_t number;              /* of the level's topology; DOMAIN_NONE: nodes without the key */
	uint32_t depth;               /* levels above it and its own; 0: all nodes */
	uint32_t nodes;
	uint32_t members; /* of the gang that have a node here */

	/* Of the classes that were counted. */
	uint64_t capacity; /* of the last class: sum of what each node takes by itself */
	uint64_t bound;    /* upper bound of the members that can be placed here */
	uint64_t spare;    /* capacity beyond that */
	uint32_t key;      /* of its best node */
	uint32_t best;     /* rank of that, the first of equals */
	/* By depth: domains below it that have capacity and none of the gang's members. */
	uint32_t spans[GANG_LEVELS_MAX + 1];
};

/* Members that go to one innermost domain. */
struct share {
	uint32_t domain;
	uint32_t members;
};

struct domains {
	/* parents before their children, and children by their first nodes' names */
	struct domain *at;
	uint32_t n;
	uint32_t required; /* depth of the domain that all members have to share; 0: none */
	uint32_t depth;    /* levels */
	topology_id topologies[GANG_LEVELS_MAX]; /* by depth - 1 */
	uint32_t fixed;    /* the domain of the required depth that has members; OUTSIDE: none */
	uint32_t *of_rank; /* innermost domain of each node */
	uint32_t *ranks;   /* nodes of one innermost domain in a row, rising */
	uint32_t *firsts;  /* by domain: where its row begins; only of innermost ones */
	struct share *shares;
	uint32_t shares_n;

	/* Scratch. */
	uint32_t *heads; /* by number of a topology's domain */
	uint32_t *list;  /* domains in some order, as a stack */
	uint32_t list_n;
	uint64_t *mask; /* bits by rank, for view_scope_mask() */
	tree_key *keys; /* of a tree over the nodes of one domain */
	node_id *kept;  /* by member: the best plan so far */
	void *memory;
};

static inline bool gang_has_levels(const struct gang *g)
{
	return g->parts && g->parts->levels_n > 0;
}

static inline bool gang_requires_level(const struct gang *g)
{
	for (uint32_t i = 0; gang_has_levels(g) && i < g->parts->levels_n; i++)
		if (g->parts->levels[i].flags & LEVEL_REQUIRED)
			return true;
	return false;
}

/* Allocates the memory for any gang with levels, at the first call. */
void domains_reach(struct domains *d, const struct limits *limits);
void domains_free(struct domains *d);

/* Builds the tree of a gang with levels, with its placed members and no capacity.  The ranks of
 * nodes have to be up to date. */
void domains_find(struct domains *d, const struct pod_counts *cs, const struct gang *g);

/* Adds what a node takes of a class by itself: once for each node, then domains_sum() with the
 * number of members of the class, then domains_next_class() for the next one. */
static inline void domains_add(struct domains *d, uint32_t rank, uint32_t capacity, uint32_t key)
{
	struct domain *x;

	if (d->of_rank[rank] == OUTSIDE || capacity == 0)
		return;
	x = &d->at[d->of_rank[rank]];
	x->capacity += capacity;
	if (key > x->key || x->best == OUTSIDE) {
		x->key = key;
		x->best = rank;
	}
}
void domains_sum(struct domains *d, uint32_t wanted);
void domains_next_class(struct domains *d);

/* True if required levels, and members that have a node, allow the domain. */
static inline bool domain_eligible(const struct domains *d, uint32_t i)
{
	return d->at[i].depth == d->required && (d->fixed == OUTSIDE || d->fixed == i);
}

/* True if the node of that rank is in the domain; none is in OUTSIDE. */
static inline bool domain_has(const struct domains *d, uint32_t domain, uint32_t rank)
{
	uint32_t i = d->of_rank[rank];

	while (i != OUTSIDE && i != domain)
		i = d->at[i].parent;
	return i != OUTSIDE;
}

/* Order in which domains of one depth are tried: those with members first and nodes without the key
 * last, by the widest preferred level and then by those below; then by how many members could be
 * placed, least spare capacity, best node. */
int domain_compare(const struct domains *d, uint32_t x, uint32_t y);

/* Adds the nodes of that domain to the mask. */
void domains_mask_add(struct domains *d, const struct nodes *ns, uint32_t domain);

/* Distributes members of one class within a domain that has capacity for them:
 *
 *   level by level, first the domains that have members, then others, then nodes without the
 *   key; of these always the one that takes most of the members left; of such the one that needs
 *   the fewest domains at deeper levels; then the one with the least spare capacity; then with the
 *   best node
 *
 * spans[depth] counts the domains that get their first member, by level.  `keep`: fills
 * d->shares. */
void domains_share(struct domains *d, uint32_t domain, uint64_t members,
                   uint32_t spans[GANG_LEVELS_MAX + 1], bool keep);

/* For one class: of the eligible domains that take at least `need` of `wanted` members, the one
 * that takes most; then in the fewest domains of preferred levels; then with the least spare
 * capacity; then with the best node.  OUTSIDE: none. */
uint32_t domains_choose(struct domains *d, uint32_t need, uint32_t wanted);

/* The eligible domain that takes most members; OUTSIDE: none. */
uint32_t domains_closest(const struct domains *d);

#endif
