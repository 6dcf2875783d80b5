/* SPDX-License-Identifier: Apache-2.0 */
/* Where a gang with levels may be kept together: the domains of its levels, as a tree.
 *
 *   [0]                                all nodes
 *    +- required levels                a node without one of their keys is out
 *        +- preferred levels           nodes without the key are a domain of their own, the last
 *
 * Required levels come first, each kind in the gang's order (the widest first); so a domain of the
 * last required level is where all members have to be, and preferred levels only say how to share
 * them out inside it.  The tree is worked out for one plan, and nodes don't change meanwhile. */
#ifndef MUSTER_CORE_DOMAINS_H
#define MUSTER_CORE_DOMAINS_H

#include "core/base/tree.h"
#include "core/classes/census.h"
#include "core/queue/gangs.h"

#define OUTSIDE UINT32_MAX /* a node in no domain; no domain */

/* One domain of a level within one of the level above. */
struct domain {
	uint32_t parent, first, next; /* in the tree; OUTSIDE: none */
	uint32_t twin;                /* of the same level with the same number, within another */
	uint32_t number;              /* of the level's topology; DOMAIN_NONE: nodes without the key */
	uint32_t depth;               /* levels above it and its own; 0: all nodes */
	uint32_t nodes;
	uint32_t members; /* of the gang that stand there */

	/* Of the kinds that were counted. */
	uint64_t room;  /* the last kind: so many of it by each node itself */
	uint64_t bound; /* no more members than these can be placed here */
	uint64_t spare; /* room beside that */
	uint32_t key;   /* of its best node */
	uint32_t best;  /* rank of that, the first of equals */
	/* By depth: domains below it that have room and none of the gang's members. */
	uint32_t spans[GANG_LEVELS_MAX + 1];
};

/* So many members go to an innermost domain. */
struct share {
	uint32_t domain;
	uint32_t members;
};

struct domains {
	struct domain *at; /* parents before their children, and children by their first nodes' names */
	uint32_t n;
	uint32_t required; /* depth of the domain that all members have to share; 0: none */
	uint32_t depth;    /* levels */
	topology_id topologies[GANG_LEVELS_MAX]; /* by depth - 1 */
	uint32_t fixed;    /* where members stand already, of the required depth; OUTSIDE: nowhere */
	uint32_t *of_rank; /* innermost domain of each node */
	uint32_t *ranks;   /* nodes of one innermost domain in a row, rising */
	uint32_t *firsts;  /* by domain: where its row begins; only of innermost ones */
	struct share *shares;
	uint32_t shares_n;

	/* Scratch. */
	uint32_t *heads; /* by number of a topology's domain */
	uint32_t *list;  /* domains in some order, as a stack */
	uint32_t list_n;
	uint64_t *mask; /* bits by rank, for views_mask() */
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

/* Memory for any gang with levels; until then there is none.  -ENOMEM */
int domains_reach(struct domains *d, const struct limits *limits);
void domains_free(struct domains *d);

/* The tree of a gang that has levels, and where its members stand; room is 0 everywhere.  Ranks
 * are up to date. */
void domains_find(struct domains *d, const struct census *cs, const struct gang *g);

/* So many of a kind fit on the node by itself; once for each node, then domains_sum() with the
 * number of members that are of the kind.  Then the next kind. */
static inline void domains_add(struct domains *d, uint32_t rank, uint32_t room, uint32_t key)
{
	struct domain *x;

	if (d->of_rank[rank] == OUTSIDE || room == 0)
		return;
	x = &d->at[d->of_rank[rank]];
	x->room += room;
	if (key > x->key || x->best == OUTSIDE) {
		x->key = key;
		x->best = rank;
	}
}
void domains_sum(struct domains *d, uint32_t wanted);
void domains_next_kind(struct domains *d);

/* May members go there together, as far as required levels and those who stand somewhere say? */
static inline bool domain_eligible(const struct domains *d, uint32_t i)
{
	return d->at[i].depth == d->required && (d->fixed == OUTSIDE || d->fixed == i);
}

/* Is the node of that rank in the domain?  None is in OUTSIDE. */
static inline bool domain_has(const struct domains *d, uint32_t domain, uint32_t rank)
{
	uint32_t i = d->of_rank[rank];

	while (i != OUTSIDE && i != domain)
		i = d->at[i].parent;
	return i != OUTSIDE;
}

/* Domains of one depth in the order in which they are tried: first where members stand, and last
 * nodes without the key, by the widest preferred level and then by those below; then by how many
 * members could be placed, by the least room beside them, by the best node. */
int domain_compare(const struct domains *d, uint32_t x, uint32_t y);

/* Bits of the nodes of that domain, beside those that are set. */
void domains_mask_add(struct domains *d, const struct nodes *ns, uint32_t domain);

/* Share so many members of one kind out over what lies in a domain that has room for them:
 *
 *   level by level, first the domains where members stand, then others, then nodes without the key;
 *   of these always the one that takes most of those left; of such the one that needs the fewest
 *   domains at deeper levels; then with the least room left over; then with the best node
 *
 * spans[depth] are the domains that are begun, of each level below it.  `keep`: shares are
 * written. */
void domains_share(struct domains *d, uint32_t domain, uint64_t members,
                   uint32_t spans[GANG_LEVELS_MAX + 1], bool keep);

/* Of one kind: of the eligible domains that take `need` of `wanted` members or more the one that
 * takes most; then in the fewest domains of preferred levels; then with the least room left over;
 * then with the best node. OUTSIDE: none. */
uint32_t domains_choose(struct domains *d, uint32_t need, uint32_t wanted);

/* The eligible domain that takes most of the members; OUTSIDE: there is none. */
uint32_t domains_closest(const struct domains *d);

#endif
