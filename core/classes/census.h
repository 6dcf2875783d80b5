/* SPDX-License-Identifier: Apache-2.0 */
/* Who stands where, as rules between pods see it.
 *
 *   selectors   how many pods that match stand on a node      (core/classes/selectors.h)
 *   bonds       how many pods stand on a node that hold a term of their own
 *               against or for others
 *   things      ports, disks, claims and volumes in use on a node  (core/classes/things.h)
 *
 * Kept by each pod that comes to a node or leaves it, whether by a record, by a
 * reservation, or by a plan that is tried and taken back; so the members of one gang see
 * each other. */
#ifndef MUSTER_CORE_CENSUS_H
#define MUSTER_CORE_CENSUS_H

#include "core/classes/kinds.h"
#include "core/classes/things.h"
#include "core/classes/topologies.h"
#include "core/cluster/pods.h"

typedef uint32_t bond_id;

/* A term of (anti-)affinity that placed pods hold, as it bears on others. */
struct bond {
	uint32_t refs;        /* by shapes; 0: unused */
	selector_id selector; /* whom it is about, seen from the pod that holds it (not `incoming`) */
	topology_id topology;
	uint32_t kind; /* enum pod_term_kind */
	int32_t weight;
	uint32_t *holders;  /* by node, also of nodes that do not exist */
	uint64_t holders_n; /* sum over nodes that exist */
};

/* A term of a shape, with all that is looked up about it. */
struct term_link {
	const struct pod_term *term;
	selector_id
		selector; /* `incoming`; SELECTOR_NONE of POD_TERM_AFFINITY: see shape_links.affinity */
	topology_id topology;
	bond_id bond;
};

struct spread_link {
	const struct spread *spread;
	selector_id selector; /* SELECTOR_NONE: it counts no pod; see also self_always */
	topology_id topology;
	bool self_always; /* an empty selector: counts nobody, but matches the pod itself */
};

/* core/filter/rule_policy.h */
struct policy_link {
	const struct policy *policy; /* NULL: none */
	const struct policy_share *shares;
	selector_id selector;
	topology_id topology;
};

/* What a shape's pod rules refer to; NULL in a shape without any. */
struct shape_links {
	struct term_link *terms;
	uint32_t terms_n;
	selector_id affinity; /* of all required affinity terms at once; SELECTOR_NONE */
	struct spread_link *spreads;
	uint32_t spreads_n;
	struct policy_link policy;
};

/* What the owner of the pods wants to hear; each may be NULL. */
struct census_hooks {
	void *context;
	void (*moved)(void *context, pod_id pod);       /* the pod is of another kind now */
	void (*kind_gone)(void *context, kind_id kind); /* the number may become another's */
};

struct census {
	struct nodes *nodes;
	struct shapes *shapes;
	struct pods *pods;
	struct labels labels;
	struct selectors selectors;
	struct topologies topologies;
	struct kinds kinds;
	struct bond *bonds;
	uint32_t bonds_n; /* bonds below this were used at least once */
	uint32_t bonds_room;
	struct chains bond_chains;
	struct shape_links **links; /* by shape */
	struct things *things;
	uint64_t rules_version; /* counts what may change where kinds may go, but for pods that come and
	                           go */
	struct census_hooks hooks;
	uint32_t idle_most; /* selectors that nobody asks for; more are forgotten */
};

/* -ENOMEM from those that return int; nothing that can be seen has changed then. */
int census_init(struct census *cs, const struct limits *limits, struct nodes *nodes,
                struct shapes *shapes, struct pods *pods);
void census_clear(struct census *cs);
void census_free(struct census *cs);

/* A shape comes, in two steps: what can fail; then, when it is in the table, its links.  When a
 * selector is new, the pods that match it get another kind, and those that are placed are counted.
 */
int census_links_make(struct census *cs, const struct shape *s, struct shape_links **out);
void census_links_free(struct census *cs, struct shape_links *links);
void census_links_put(struct census *cs, shape_id shape, struct shape_links *links);
/* It is about to go. */
void census_shape_drop(struct census *cs, shape_id shape);

/* A namespace has those labels now, or is gone; pods that are matched otherwise now get
 * another kind. */
int census_namespace_set(struct census *cs, const struct namespace_record *record);
int census_namespace_drop(struct census *cs, uint32_t name);

/* A node's record was taken into the table (core/cluster/nodes.h); `existed`: before that. */
void census_node_follow(struct census *cs, node_id node, bool existed);
/* The node was dropped; no pod is on it. */
void census_node_drop(struct census *cs, node_id node, bool existed);

/* A pod in two steps: what can fail, ... */
int census_labels_take(struct census *cs, uint32_t namespace, const struct pod_label *at,
                       uint32_t n, labels_id *out);
void census_labels_give(struct census *cs, labels_id labels);
/* (and things_reserve() for its shape) ... then its kind.  The pod takes both over; it is on no
 * node in between. */
void census_pod_enter(struct census *cs, pod_id pod, labels_id labels);
void census_pod_leave(struct census *cs, pod_id pod);

/* One pod of that kind comes to the node or leaves it: room (core/cluster/nodes.h), matches, bonds
 * and things.  `leaving`: it is being deleted.  Never fails. */
void census_take(struct census *cs, node_id node, kind_id kind, bool leaving);
void census_give(struct census *cs, node_id node, kind_id kind, bool leaving);
/* n that are not leaving. */
void census_take_many(struct census *cs, node_id node, kind_id kind, uint32_t n);

/* May one more pod of the kind make room for others somewhere: does it match a selector of
 * required affinity or of a hard spread? */
bool census_eases(const struct census *cs, kind_id kind);

/* Everything recounted from the pods; false and a static text.  For tests. */
bool census_valid(const struct census *cs, const char **why);

#endif
