/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors of pods that rules ask for, and how many pods on each node they match.
 *
 * A selector is a conjunction of parts; each part is a set of namespaces and clauses
 * about labels.  Required pod affinity needs the conjunction, since one existing
 * pod has to match all terms at once; everything else has one part.  Equal ones are one.
 *
 * Which pods count: those that have a node, whoever bound them (core/cluster/pods.h: RESERVED and
 * BOUND).  Counts by node are also of nodes that pods alone name and that do not exist; sums
 * are of those that exist.
 *
 * One that nobody asks for any more goes on counting for a while: the next gang of its sort
 * may ask again. */
#ifndef MUSTER_CORE_SELECTORS_H
#define MUSTER_CORE_SELECTORS_H

#include "core/classes/labels.h"

#define SELECTOR_NONE UINT32_MAX

typedef uint32_t selector_id;

/* One part, as a shape's record gives it; pointers into that record. */
struct selector_part {
	const struct requirement *clauses; /* In, NotIn, Exists, NotExists; others never hold */
	uint32_t clauses_n;
	const uint32_t *clause_values; /* what clauses' spans point into */
	const uint32_t *namespaces;    /* value numbers */
	uint32_t namespaces_n;
	const struct requirement *namespace_clauses;
	uint32_t namespace_clauses_n;
	uint32_t flags; /* TERM_MATCHES_NOTHING, TERM_EVERY_NAMESPACE, TERM_NAMESPACES_CHOSEN */
	/* Of an incoming pod: a namespaceSelector that also matches a namespace without labels
	 * is every namespace to kube-scheduler.  Of an existing pod's term it is not. */
	bool incoming;
};

struct selector {
	uint32_t refs;     /* 0: unused, or idle if body is there */
	uint32_t eases;    /* rules that one pod more may make easier: required affinity, hard spread */
	uint32_t *placed;  /* by node: pods there that match */
	uint32_t *staying; /* ... that are not being deleted: what spreads and policies count */
	uint64_t placed_n; /* sum over nodes that exist */
	struct selector_body *body; /* a copy of the parts; core/classes/selectors.c */
};

struct selectors {
	struct selector *slots;
	uint32_t room;
	uint32_t nodes; /* limit */
	uint32_t idle_n;
	uint32_t chosen_n; /* that ask for labels of namespaces */
	struct labels *labels;
	struct chains chains; /* numbers of selectors, by content */
	struct chains anchor_chains;
	struct anchor *anchors;
	uint32_t anchors_room;
};

/* -ENOMEM from those that return int; nothing has changed then. */
int selectors_init(struct selectors *ss, const struct limits *limits, struct labels *labels);
void selectors_clear(struct selectors *ss);
void selectors_free(struct selectors *ss);

/* The selector with those parts, held once more; *fresh when it is new: its counts are 0 then
 * and the caller (core/classes/census.c) counts the pods there are. */
int selector_take(struct selectors *ss, const struct selector_part *parts, uint32_t parts_n,
                  selector_id *out, bool *fresh);
void selector_give(struct selectors *ss, selector_id id);
/* Forget an idle one: no class has it any more. */
void selector_drop(struct selectors *ss, selector_id id);

/* Does it match pods with those labels? */
bool selector_matches(const struct selectors *ss, selector_id id, labels_id labels);

/* The selectors that match a set of labels, sorted; *list is malloc'd, NULL for none. */
int selectors_matching(const struct selectors *ss, labels_id labels, selector_id **list,
                       uint32_t *n);
/* The sets of labels that it matches, in no order; likewise. */
int selector_sets(const struct selectors *ss, selector_id id, labels_id **list, uint32_t *n);

#endif
