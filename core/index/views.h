/* SPDX-License-Identifier: Apache-2.0 */
/* Materialized views: for one pod class, how many of its pods fit on each node and the node's
 * score.
 *
 * A view is computed once over all nodes and then follows the log of changed nodes, so that a plan
 * reads a winner tree in place of all nodes.  The mode depends on what the class requests:
 *
 *   VIEW_PLAIN        each node by itself: resources, rules over one node, ports, images
 *   VIEW_CONSTRAINED  and required rules between pods: core/index/constraints.h
 *   VIEW_WEIGHED      scores normalised over all nodes (preferences, soft rules): what each node
 *                     is by itself is kept, the rest is computed for groups of nodes after each
 *                     change: core/index/soft.h; with a policy for all nodes
 *   VIEW_EVALUATED    claims and disks that may be in use on any node, devices that several nodes
 *                     have: all is evaluated again
 *
 * Nodes by themselves are computed in several ways, with the same result to the last bit:
 *
 *   way               used for                         precision      file             proof
 *   scan_node()       one node; every class            int64, double  view_scan.c      test_views
 *   scan_nodes(),     up to 64 nodes; numbers below    4 doubles      view_scan_f64.c  test_vectors
 *   scan_block()      2^53, no ports, no images, no
 *                     reservation
 *   scan_all()        all nodes, when a view is        8 floats over  view_scan_f32.c, test_vectors
 *                     built; numbers below 2^24.       packed columns columns.c
 *                     Nodes that may be rounded
 *                     wrongly go to scan_nodes()
 *   view_take_batch() pods of one class, one after     4 doubles      view_batch.c     test_views
 *                     the other on one node: keys
 *                     after 1, 2, 3 and 4 pods
 *   evaluate()        all filters and scores over      int64, double  core/filter/    test_evaluate
 *                     all nodes
 *
 * test_vectors compares with scan_node(), test_views with evaluate(), node by node; view_check()
 * does both for a view in use.  A view holds nothing that cannot be computed again. */
#ifndef MUSTER_CORE_VIEWS_H
#define MUSTER_CORE_VIEWS_H

#include "core/index/view.h"

/* The pod counts and the budget outlive the views. */
void views_init(struct views *vs, const struct limits *limits, struct pod_counts *pod_counts,
                struct budget *budget, enum score_policy score);
void views_free(struct views *vs);
/* The nodes' span has grown, and what views refer to has moved: all are built again. */
void views_reach(struct views *vs);
void views_clear(struct views *vs);
/* Computes what all views read: the order of the names and the columns.  Once all nodes are known,
 * so that the first plan does not have it in its time. */
void views_prepare(struct views *vs);

/* The view of a class, up to date; classes that differ in nothing but images that no node has
 * read the same one.  The pointer is good until VIEWS_LEAST other classes were
 * requested, the contents until a node changes. */
struct view *views_get(struct views *vs, const struct view_scope *scope, class_id class);

/* Restricts the scope to the nodes whose bits are set, by rank; NULL: all.  The caller keeps the
 * bits; while they are in use, nodes that are not set do not change. */
void view_scope_mask(struct views *vs, struct view_scope *scope, const uint64_t *bits);

/* Upper bound of the pods of the class that the node of that rank could ever take with those it
 * has. */
uint32_t view_most_at(const struct view *v, uint32_t rank);

/* Upper bound of the pods of the class that can be placed together now. */
uint64_t view_bound(struct views *vs, const struct view *v);

/* Places one pod of the class on the node of that rank; a view that was up to date stays so. */
void view_take(struct views *vs, struct view *v, uint32_t rank);

/* Places up to `most` pods on one node, of a plain view that is up to date, as long as its key is
 * at least `least` (> 0), which it must be; returns how many.  The view's counts and level 0 of
 * its tree are current at once; the other levels, the node and all other views after
 * view_batch_end(), which must come before any other call. */
uint32_t view_take_batch(struct views *vs, struct view *v, uint32_t rank, tree_key least,
                         uint32_t most);
void view_batch_end(struct views *vs, struct view *v);

/* Upper bound of the pods of the class that fit on the node by itself. */
uint32_t views_count_at(const struct views *vs, node_id id, class_id class);

/* True if resources and ports of the node suffice for one pod with the reservation subtracted; no
 * other rule is evaluated. */
bool views_suffice(const struct views *vs, node_id id, class_id class);
/* The same of a shape that no table needs to have. */
bool views_suffice_shape(const struct views *vs, node_id id, const struct shape *s);

/* Sets the reservation to those classes, n 0: to none.  `within`: on these nodes alone, bits by
 * id; NULL: on all.  `whole`: nodes that are reserved whole, likewise; NULL: none.  The bits are
 * copied. */
void views_hold(struct views *vs, const class_id *classes, uint32_t n, const uint64_t *within,
                const uint64_t *whole);

/* True if the reservation is restricted to exactly those nodes. */
bool views_holds_within(const struct views *vs, const uint64_t *within, const uint64_t *whole);

/* The class is dropped, or its id is used for another. */
void views_forget(struct views *vs, class_id class);

/* True if the view, which is up to date, equals a scan and an evaluation of all nodes.  For
 * tests. */
bool view_check(struct views *vs, const struct view *v);

#endif
