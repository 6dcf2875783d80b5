/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the views share: nodes evaluated by themselves for one class. */
#ifndef MUSTER_CORE_VIEWS_IMPL_H
#define MUSTER_CORE_VIEWS_IMPL_H

#include "core/index/view.h"

static inline struct shape *shape_of(const struct views *vs, class_id class)
{
	return class_shape(vs->pod_counts, class);
}

struct scan_result {
	uint32_t key, count; /* key 0: no pod fits */
};

#define SCAN_MOST 64u /* nodes of one call */

struct scan_results {
	tree_key keys[SCAN_MOST];
	uint32_t counts[SCAN_MOST];
	uint64_t sum; /* of the counts */
};

/* Brings the view up to date, within the scope. */
void view_follow(struct views *vs, const struct view_scope *scope, struct view *v);

/* The nodes of a plain view move with their ranks, if that is known and all that changed; false:
 * the view must be built again.  Nodes that entered follow by the log of nodes. */
bool view_reorder(struct views *vs, struct view *v);

/* VIEW_WEIGHED: computes the scores again, which are normalised over all nodes. */
void view_weigh(struct views *vs, const struct view_scope *scope, struct view *v);
/* VIEW_WEIGHED: the node of that rank, whose key is set, may have other labels or taints. */
void view_weighed_follow(struct views *vs, struct view *v, const struct shape *s, uint32_t rank);
/* VIEW_WEIGHED: what only scores and spreads read of a node. */
void view_facts_set(struct views *vs, struct view *v, const struct shape *s, uint32_t rank);
/* VIEW_EVALUATED: all filters and scores again. */
void view_reevaluate(struct views *vs, struct view *v);
/* True if the view's nodes are those that evaluate() finds feasible and, in the modes that are
 * normalised, have its scores; and then if its best node is the one that evaluate() scores
 * highest.  For tests. */
bool view_evaluated_check(struct views *vs, const struct view *v);
bool view_best_check(const struct views *vs, const struct view *v);

static inline bool view_hidden(const struct view_scope *scope, const struct view *v, uint32_t rank)
{
	return v->masked && !(scope->mask[rank / 64] >> (rank % 64) & 1);
}

/* How many pods fit by resources (noderesources: fitsRequest), `most` or fewer. */
uint32_t node_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most);
/* The same with the reservation subtracted. */
uint32_t node_count_behind(const struct views *vs, node_id id, const struct shape *s);
/* Key of a node on which at least one pod fits. */
uint32_t node_key(const struct views *vs, const struct view *v, const struct shape *s, node_id id);
struct scan_result scan_node(const struct views *vs, const struct view *v, const struct shape *s,
                             node_id id);

/* n nodes, 1 to SCAN_MOST, as if the shape's rules allowed all.  ids[] has SCAN_MOST items; those
 * from n on may be overwritten. */
void scan_nodes(const struct views *vs, const struct view *v, const struct shape *s, node_id *ids,
                uint32_t n, struct scan_results *out);
/* n nodes, whether or not the shape's rules allow them. */
void scan_block(const struct views *vs, const struct view *v, const struct shape *s,
                const node_id *ids, uint32_t n, struct scan_results *out);
/* True if struct node_fit (core/cluster/fit.h) and the shape's rules determine the view's result
 * for a node. */
bool fit_suffices(const struct views *vs, const struct view *v, const struct shape *s);
/* True if the processor has AVX2 and FMA; the results do not depend on it. */
bool simd_has_avx2(void);

/* All nodes by rank, which is up to date; returns the sum of counts.  Both arrays are padded to a
 * multiple of COLUMN_LANES items. */
uint64_t scan_all(struct views *vs, const struct view *v, const struct shape *s, tree_key *keys,
                  uint32_t *counts);

#endif
