/* Who stands where, as rules between pods see it.
 *
 *   selectors   how many pods that match stand on a node      (core/selectors.h)
 *   bonds       how many pods stand on a node that hold a term of their own
 *               against or for others
 *   things      ports, disks, claims and volumes in use on a node
 *
 * Kept by each pod that comes to a node or leaves it, whether by a record, by a
 * reservation, or by a plan that is tried and taken back; so the members of one gang see
 * each other. */
#ifndef MUSTER_CORE_CENSUS_H
#define MUSTER_CORE_CENSUS_H

#include "core/kinds.h"
#include "core/topologies.h"

typedef uint32_t bond_id;

/* A term of (anti-)affinity that placed pods hold, as it bears on others. */
struct bond {
	uint32_t refs; /* by shapes; 0: unused */
	selector_id selector; /* whom it is about, seen from the pod that holds it (not `incoming`) */
	topology_id topology;
	uint32_t kind;  /* enum pod_term_kind */
	int32_t weight;
	uint32_t *holders; /* by node */
	uint64_t holders_n;
};

/* A term of a shape, with all that is looked up about it. */
struct term_link {
	const struct pod_term *term;
	selector_id selector; /* `incoming`; of POD_TERM_AFFINITY: see shape_links.affinity */
	topology_id topology;
	bond_id bond;
};

struct spread_link {
	const struct spread *spread;
	selector_id selector; /* SELECTOR_NONE: it counts no pod; see also self */
	topology_id topology;
	bool self_always; /* an empty selector: counts nobody, but matches the pod itself */
};

/* What a shape's pod rules refer to; NULL in a shape without any. */
struct shape_links {
	struct term_link *terms;
	uint32_t terms_n;
	selector_id affinity; /* of all required affinity terms at once; SELECTOR_NONE */
	struct spread_link *spreads;
	uint32_t spreads_n;
};

struct things; /* core/things.h */

struct census {
	struct nodes *nodes;
	struct shapes *shapes;
	struct labels labels;
	struct selectors selectors;
	struct topologies topologies;
	struct kinds kinds;
	struct bond *bonds;
	uint32_t bonds_n;
	uint32_t bonds_room;
	struct shape_links **links; /* by shape */
	struct things *things;
};

/* -ENOMEM from those that return int. */
int census_init(struct census *cs, const struct limits *limits, struct nodes *nodes, struct shapes *shapes);
void census_clear(struct census *cs);
void census_free(struct census *cs);

/* A shape came, or is about to go.  When a selector is new, pods that match it get another
 * kind: census_relabel() of core/members.c is called for each set of labels that it
 * matches, and counts of placed pods are made. */
int census_shape_add(struct census *cs, shape_id shape);
void census_shape_drop(struct census *cs, shape_id shape);

/* One pod of that kind comes to the node or leaves it: room (core/nodes.h), matches, bonds and
 * things.  `leaving`: it is being deleted.  Never fails. */
void census_take(struct census *cs, node_id node, kind_id kind, bool leaving);
void census_give(struct census *cs, node_id node, kind_id kind, bool leaving);

/* Has the node room for one more pod of the kind, in full width, by every rule?  Slow and exact. */
bool census_fits(const struct census *cs, node_id node, kind_id kind);

#endif
