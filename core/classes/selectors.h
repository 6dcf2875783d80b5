/* SPDX-License-Identifier: Apache-2.0 */
/* Pod selectors of the rules of live shapes, each stored once, with the number of matching pods on
 * each node.
 *
 * A selector is a conjunction of parts; a part is a set of namespaces and clauses about labels.
 * All required pod affinity terms of a shape make one selector, since one existing pod has to
 * match all of them (interpodaffinity: podMatchesAllAffinityTerms); every other selector has one
 * part.
 *
 * Counted are the pods that have a node, reserved or bound (core/cluster/pods.h), also on nodes
 * that are not present; sums are over present nodes.
 *
 * A selector without references is idle: it keeps counting, so that the next gang with the same
 * rules finds its counts.  pod_counts_tidy() drops idle ones when there are many. */
#ifndef MUSTER_CORE_SELECTORS_H
#define MUSTER_CORE_SELECTORS_H

#include "core/classes/node_counts.h"
#include "core/classes/labels.h"

#define SELECTOR_NONE UINT32_MAX

typedef uint32_t selector_id;

/* One part; the pointers go into a shape's record. */
struct selector_part {
	const struct requirement *clauses; /* In, NotIn, Exists, NotExists; others never match */
	uint32_t clauses_n;
	const uint32_t *clause_values; /* the spans of clauses point into it */
	const uint32_t *namespaces;    /* numbers of names */
	uint32_t namespaces_n;
	const struct requirement *namespace_clauses;
	uint32_t namespace_clauses_n;
	uint32_t flags; /* TERM_MATCHES_NOTHING, TERM_EVERY_NAMESPACE, TERM_NAMESPACES_CHOSEN */
	/* Term of an incoming pod: then a namespaceSelector that matches a namespace without labels
	 * selects every namespace, as in kube-scheduler.  Not so in a term of a placed pod. */
	bool incoming;
};

struct selector {
	uint32_t refs;  /* 0: unused, or idle if `body` is set */
	uint32_t eases; /* rules that one more matching pod can relax: required affinity, hard spread */
	struct node_counts *placed; /* by node: matching pods */
	struct node_counts
		*staying;      /* by node: those not being deleted, which spreads and policies count */
	uint64_t placed_n; /* sum of `placed` over present nodes */
	struct selector_body *body; /* a copy of the parts; core/classes/selectors.c */
};

struct selectors {
	struct selector *slots;
	uint32_t cap;
	uint32_t span; /* of nodes */
	uint32_t idle_n;
	uint32_t chosen_n; /* with a namespaceSelector */
	struct labels *labels;
	struct id_table ids; /* by content */
	struct id_table anchor_ids;
	struct anchor *anchors;
	uint32_t anchors_cap;
};

/* `span`: of the nodes that are counted, which may have come before. */
void selectors_init(struct selectors *ss, uint32_t span, struct labels *labels);
/* The span of nodes has grown. */
void selectors_reach(struct selectors *ss, uint32_t span);
void selectors_clear(struct selectors *ss);
void selectors_free(struct selectors *ss);

/* Returns the selector with these parts and adds a reference.  *fresh: it is new, its counts are
 * 0, and the caller (core/classes/pod_counts_match.c) counts the placed pods. */
selector_id selector_ref(struct selectors *ss, const struct selector_part *parts, uint32_t parts_n,
                         bool *fresh);
void selector_unref(struct selectors *ss, selector_id id);
/* Frees an idle selector, which no match set has any more. */
void selector_drop(struct selectors *ss, selector_id id);

/* True if it matches pods with these labels. */
bool selector_matches(const struct selectors *ss, selector_id id, labels_id labels);

/* The *n selectors that match a label set, sorted.  The caller frees the list; NULL: none. */
selector_id *selectors_matching(const struct selectors *ss, labels_id labels, uint32_t *n);
/* The *n label sets that a selector matches, in no order.  The caller frees the list;
 * NULL: none. */
labels_id *selector_sets(const struct selectors *ss, selector_id id, uint32_t *n);

/* `by` matching pods more: 1, n, or UINT32_MAX for one less.  `exists`: the node is present. */
static inline void selector_change(struct selectors *ss, selector_id id, node_id node, bool exists,
                                   bool leaving, uint32_t by)
{
	struct selector *s = &ss->slots[id];

	node_counts_add(s->placed, ss->span, node, by);
	if (!leaving)
		node_counts_add(s->staying, ss->span, node, by);
	if (exists)
		s->placed_n += (uint64_t)(int64_t)(int32_t)by;
}

#endif
