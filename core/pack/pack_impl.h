/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the packing. */
#ifndef MUSTER_CORE_PACK_IMPL_H
#define MUSTER_CORE_PACK_IMPL_H

#include "core/base/amount.h"
#include "core/pack/pack.h"

#include <stddef.h>

/* One node's fillings in the search, as far as it has come. */
struct pack_frame {
	size_t first; /* of its fillings, in pack_search.fillings */
	uint32_t n, at;
};

struct pack_filling {
	double worth;
	uint16_t pieces[]; /* by kind */
};

struct pack_search {
	const struct pack_problem *p;
	uint64_t steps;

	/* Kinds from the biggest to the smallest; all that follows is by index in this order. */
	uint32_t sorted[PACK_KINDS];
	uint32_t left[PACK_KINDS]; /* pieces that no node has yet */
	uint64_t left_n;
	double size[PACK_KINDS], price[PACK_KINDS];
	uint64_t smaller[PACK_KINDS]; /* bits: kinds that one of this kind may replace */
	int64_t *takes;               /* [kind * resources + resource] */
	uint32_t *by_amount;          /* [resource * kinds + i]: kinds, the most first */

	/* Nodes that could take a piece, by index in the order of this attempt. */
	uint32_t *order;
	uint32_t nodes;
	uint32_t *most;  /* [node of the problem * kinds + kind] */
	int64_t *reach;  /* [node of the problem * resources + resource]: what fillings use at most */
	wide *reach_sum; /* [depth * resources + resource]: of the nodes from there on */
	uint64_t *bigs;  /* [depth * kinds + kind]: how many pieces of kinds up to this one fit there */

	/* One attempt. */
	struct pack_frame *frames;
	uint32_t depth;
	char *fillings; /* a stack that grows as it is filled */
	size_t filled, fillings_n, fillings_limit, filling_bytes;
	uint32_t width; /* so many of the fillings of a node are tried */
	uint64_t fails, fails_most;
	bool cut;                        /* something was not tried */
	uint32_t least_left[PACK_KINDS]; /* at the best point so far */
	uint64_t least_left_n;

	/* States without a solution, the last by hash. */
	uint32_t *dead;
	uint32_t attempt;
};

/* Puts the undominated maximal fillings of a node on the stack, those of most worth first, as many
 * as the width; false: there is no memory or no step left.  pack_fill.c. */
bool pack_fillings(struct pack_search *s, uint32_t node, struct pack_frame *frame);

/* Writes reach[] of a node. */
void pack_reach(struct pack_search *s, uint32_t node);

static inline struct pack_filling *pack_filling_at(const struct pack_search *s, size_t at)
{
	return (struct pack_filling *)(void *)(s->fillings + at * s->filling_bytes);
}

static inline const int64_t *pack_takes(const struct pack_search *s, uint32_t kind)
{
	return &s->takes[(size_t)kind * s->p->resources];
}

static inline bool pack_spend(struct pack_search *s, uint64_t steps)
{
	s->steps = s->steps > steps ? s->steps - steps : 0;
	return s->steps > 0;
}

/* Memory, kinds and nodes; false: the problem exceeds a limit.  pack_begin.c. */
bool pack_begin(struct pack_search *s);
void pack_end(struct pack_search *s);

/* How scarce each resource is: the more of it is needed, the more its amounts weigh. */
void pack_weigh(const struct pack_search *s, double *weights);

/* States that are dead: depth and what is left.  pack_dead.c. */
void pack_dead_init(struct pack_search *s);
bool pack_is_dead(const struct pack_search *s);
void pack_dead_add(struct pack_search *s);

/* False: what is left can't go to the nodes from the depth on.  pack_bounds.c. */
void pack_bounds_set(struct pack_search *s);
bool pack_bounds_hold(const struct pack_search *s);

#endif
