/* SPDX-License-Identifier: Apache-2.0 */
/* A view and the cache of views, as data; what they are and who changes them: core/index/views.h.
 */
#ifndef MUSTER_CORE_VIEW_H
#define MUSTER_CORE_VIEW_H

#include "core/base/budget.h"
#include "core/base/config.h"
#include "core/base/tree.h"
#include "core/filter/evaluation.h"
#include "core/index/columns.h"
#include "core/index/constraints.h"
#include "core/index/soft.h"

/* Memory of all views; at least VIEWS_LEAST are kept.  The least recently used one is replaced. */
#define VIEWS_BYTES (UINT64_C(64) << 20)
#define VIEWS_LEAST 16u
#define VIEWS_MOST 1024u
#define HOLD_CLASSES_MAX 8u

#define NO_NODE UINT32_MAX

/* Why nodes are infeasible for a class, and for how many pods each resource alone suffices;
 * written by core/plan/reason.c. */
struct facts {
	uint64_t log_n;         /* length of the log of nodes when it was computed; 0: never */
	uint64_t rules_version; /* of the pod counts then */
	uint32_t counts_n;
	struct filter_count counts[FILTER_COUNTS_MAX];
	uint64_t members[RESOURCES_MAX]; /* pods for which this resource alone suffices */
};

/* Capacity that is reserved for a waiting gang; see core/cycle/backfill.h. */
struct hold {
	uint64_t version; /* number of the reservation; 0: none */
	uint32_t classes_n;
	class_id classes[HOLD_CLASSES_MAX];
	bool within; /* only on nodes of views.hold_nodes */
	/* With one class the capacity for as many of its pods as fit on a node is reserved there.
	 * With several, and on nodes of views.hold_whole, nodes that any of them may use are reserved
	 * whole. */
	bool some_whole;
};

/* For whom a view is read.  The zero value sees all nodes and all free capacity. */
struct view_scope {
	/* the reserved capacity is not free: the gang is queued behind the reservation's owner */
	bool behind;
	uint64_t mask_version; /* 0: no mask */
	const uint64_t *mask;  /* bits by rank: nodes that are not set have key 0 and are in no sum */
};

enum view_mode { VIEW_PLAIN, VIEW_CONSTRAINED, VIEW_WEIGHED, VIEW_EVALUATED };

/* Arrays are by rank, so that of equal nodes the one with the first name wins. */
struct view {
	class_id class; /* that read it last; others may read it too: core/index/views.c */
	uint64_t made;  /* number of its making; 0: never */
	enum view_mode mode;
	bool plain_counts;      /* each pod lowers a node's count by one: no ports, no reservation */
	uint64_t hold;          /* version of the reservation that is subtracted; 0: none */
	uint64_t position;      /* in the log of nodes */
	uint64_t order_version; /* of the ranks */
	uint64_t rules_version; /* of the pod counts */
	/* For view_reorder(): the rules alone, the place in the log of the order, the nodes; 0 nodes:
	 * to be built */
	uint64_t only_rules, order_log;
	uint32_t nodes;
	/* upper bound of the pods that fit together; VIEW_PLAIN: exact, the sum of counts */
	uint64_t capacity;
	/* keys: score + 1; 0: infeasible.  VIEW_CONSTRAINED: without the constraints; other modes:
	 * with the tiers of a policy, of which all below the best 27 are one */
	struct tree tree;
	uint32_t *counts; /* pods that fit by the node itself; VIEW_EVALUATED: 0 where placing other
	                   * members of the gang cannot make the node feasible */
	uint64_t counted; /* sum of counts */
	struct constraints *constraints; /* VIEW_CONSTRAINED, and with closed_form; NULL: none */
	struct soft *soft;               /* with closed_form; NULL: it is to be built */
	tree_key *points;   /* VIEW_WEIGHED: key of the node by itself; see also `masked` */
	uint8_t *facts_of;  /* enum node_facts */
	uint8_t *images_of; /* image_locality(), with has_images */
	/* Some node had an image of the class when the view was built.  A node that gets one changes
	 * rules_version, and the view is built again. */
	bool has_images;
	int32_t *preferred; /* rule_preferred(); NULL: no preferences */
	/* VIEW_WEIGHED: the scores are those of `soft`, and the tree has no keys.  Not with a policy.
	 */
	bool closed_form;
	bool stale; /* VIEW_WEIGHED: scores are to be normalised before it is used */
	/* mask_version that is applied; 0: none.  But for VIEW_WEIGHED, `points` has the keys without
	 * the mask */
	uint64_t masked;
	struct facts facts;
};

/* The view that a class read. */
struct view_read {
	uint32_t slot;
	uint64_t
		made; /* view.made then, 0: none; if it is another by now, the view is not the class's */
};

#define BATCH_KEYS 4u

/* A node that takes pods in a batch: view_take_batch(). */
struct batch_node {
	uint32_t rank;
	uint32_t taken;
	tree_key keys[BATCH_KEYS]; /* after pod i + 1, i + 1 + BATCH_KEYS ... */
};

struct views {
	struct view *slots;
	uint64_t *last_used; /* by slot, value of `uses`; 0: unused */
	uint32_t slots_n;
	uint32_t slots_used; /* those from here on were never in use */
	void *memory;        /* of the arrays of all views */
	uint32_t *kin;       /* by slot: kin_of() its class */
	uint64_t makes;      /* of views so far */
	/* by class; [1]: with the reservation subtracted */
	struct view_read *of_class[2];
	struct hold hold;
	uint64_t holds;                    /* reservations so far */
	uint64_t *hold_nodes, *hold_whole; /* bits by node */
	uint64_t masks;                    /* masks so far */
	bool avx2;                         /* simd_has_avx2() */
	struct pod_counts *pod_counts;
	struct nodes *nodes;   /* of the pod counts */
	struct budget *budget; /* of the core */
	struct columns columns;
	struct evaluation evaluation; /* scratch */
	enum score_policy score;
	uint32_t most; /* limits.pods: counts are cut off here */
	struct batch_node *batch;
	uint32_t batch_n;
	uint32_t *batch_at; /* by rank: index in batch + 1; 0: not in it */
	uint64_t uses;
};

/* Rank of the feasible node with the highest score, of equal ones the first name; or TREE_NONE. */
static inline uint32_t view_best(const struct view *v)
{
	if (v->mode == VIEW_CONSTRAINED)
		return constraints_best(v->constraints);
	return v->mode == VIEW_WEIGHED && v->soft ? soft_best(v->soft) : tree_best(&v->tree);
}

/* Score of a feasible node relative to others of the view; > 0. */
static inline uint32_t view_key(const struct view *v, uint32_t rank)
{
	uint32_t key = v->soft ? soft_key(v->soft, rank) : (uint32_t)tree_at(&v->tree, rank);

	return v->mode == VIEW_CONSTRAINED ? constraints_tier(v->constraints, rank) << 16 | key : key;
}

/* True if the node of that rank is feasible for one pod. */
static inline bool view_open(const struct view *v, uint32_t rank)
{
	if (v->soft)
		return soft_key(v->soft, rank) > 0;
	return tree_at(&v->tree, rank) > 0 &&
	       (v->mode != VIEW_CONSTRAINED || constraints_open(v->constraints, rank));
}

#endif
