/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by core/cycle/backfill*.c. */
#ifndef MUSTER_CORE_BACKFILL_IMPL_H
#define MUSTER_CORE_BACKFILL_IMPL_H

#include "core/lifecycle/state.h"

#define NODE_STEPS 2u /* of work for a node and class; struct budget */

/* What to reserve capacity for: the ready members of a gang, by class. */
struct wanted {
	class_id classes[HOLD_CLASSES_MAX];
	uint32_t members[HOLD_CLASSES_MAX];
	uint32_t n;
	const uint64_t *nodes; /* bits: reserve on these nodes only; NULL: on all */
	const uint64_t *whole; /* bits: reserve these nodes whole; NULL: none, but see views.h */
	const struct lasting *lasting; /* pods that do not end; NULL: all end */
};

/* The classes of the gang's ready members, and the pods that last; false when they are too many to
 * reserve for. */
bool wanted_find(const struct core *c, const struct gang *g, struct wanted *w);

/* True if the gang could start if all other pods that end had ended: false is certain, true is not
 * (see fit_is_certain()).  Sets w->nodes for a gang with required levels. */
bool could_fit(struct core *c, const struct gang *g, struct wanted *w);

/* For a gang that could not: true if it could in an empty cluster, so that what it lacks is used by
 * pods that do not end by themselves. */
bool lasting_pods_bar(struct core *c, const struct gang *g);

/* True if could_fit() is exact for the gang. */
bool fit_is_certain(const struct core *c, const struct gang *g, const struct wanted *w);

bool class_has_rules(const struct core *c, class_id class);

/* How many pods of the shape, up to `most`, the node takes when only the pods in `lasting` are
 * left; NULL: none. */
uint32_t empty_most(const struct core *c, const struct lasting *lasting, node_id id,
                    const struct shape *s, uint32_t most);

/* Upper bound, up to `most`, of the pods of the class that its rules between pods allow then. */
uint32_t ruled_most(struct core *c, const struct lasting *lasting, class_id class, uint32_t most);

/* For a gang with required levels: true if some domain could take `need` members when it is empty.
 * Then w->nodes, which lies in domains.mask, are the nodes of the one that takes most of them now;
 * the domain that is reserved already is retained as long as it could take them. */
bool domain_could_fit(struct core *c, const struct gang *g, struct wanted *w, uint64_t need);

/* For one class without rules between pods: reserves whole nodes that could take `need` members
 * when they are empty, those nearest to that first, of which 1 / (period + 1) of all nodes are in
 * use.  w->whole, which lies in backfill.whole_nodes, stays the same as long as it could take
 * them. */
void whole_nodes_find(struct core *c, struct wanted *w, uint64_t need, uint32_t period);

#endif
