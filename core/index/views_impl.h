/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the views share: one node, or many, seen by one kind. */
#ifndef MUSTER_CORE_VIEWS_IMPL_H
#define MUSTER_CORE_VIEWS_IMPL_H

#include "core/index/views.h"

static inline struct shape *shape_of(const struct views *vs, kind_id kind)
{
	return &vs->census->shapes->slots[vs->census->kinds.slots[kind].shape];
}

struct look {
	uint32_t key, count; /* key 0: it takes none */
};

#define LOOKS_MOST 64u /* at once */

struct looks {
	tree_key keys[LOOKS_MOST];
	uint32_t counts[LOOKS_MOST];
	uint64_t sum; /* of them */
};

/* How many fit, `most` or fewer; other rules are not asked. */
uint32_t node_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most);
/* ... as far as the hold leaves room. */
uint32_t node_count_behind(const struct views *vs, node_id id, const struct shape *s);

/* Of a node that takes one. */
uint32_t node_key(const struct views *vs, const struct view *v, const struct shape *s, node_id id);

/* One node by itself. */
struct look node_look(const struct views *vs, const struct view *v, const struct shape *s,
                      node_id id);

/* n of them, 1 to LOOKS_MOST, several in one step: the same for those that the shape's rules allow.
 * There is room for LOOKS_MOST ids, and those behind n may be written to. */
void nodes_look(const struct views *vs, const struct view *v, const struct shape *s, node_id *ids,
                uint32_t n, struct looks *out);
/* ... whatever the rules say. */
void block_look(const struct views *vs, const struct view *v, const struct shape *s,
                const node_id *ids, uint32_t n, struct looks *out);

/* Do the lines of the nodes (core/cluster/fit.h) tell all that this view asks of a node, but for
 * whom the rules allow? */
bool lines_suit(const struct views *vs, const struct view *v, const struct shape *s);

/* The looks of all nodes by rank, which is up to date; the sum of counts.  Both arrays go on to the
 * next whole step of columns. */
uint64_t all_look(struct views *vs, const struct view *v, const struct shape *s, tree_key *keys,
                  uint32_t *counts);

/* Has the processor vectors for the quicker way?  Both give the same. */
bool lanes_are_wide(void);

#endif
