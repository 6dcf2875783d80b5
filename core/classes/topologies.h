/* SPDX-License-Identifier: Apache-2.0 */
/* Topology keys that rules ask for, and the domain of each node.
 *
 * A domain is the set of nodes that exist and have the same value for a key.  Domains of a
 * key are numbered densely as their values come up; the number of one without nodes
 * is used again. */
#ifndef MUSTER_CORE_TOPOLOGIES_H
#define MUSTER_CORE_TOPOLOGIES_H

#include "core/base/chains.h"
#include "core/cluster/nodes.h"

#define DOMAIN_NONE UINT32_MAX /* the node lacks the label, or does not exist */

typedef uint32_t topology_id;

struct topology {
	uint32_t refs;        /* by rules of live shapes; 0: unused */
	uint32_t key;         /* of a node label */
	uint32_t *domain;     /* by node */
	uint32_t *values;     /* by domain */
	uint32_t *present;    /* by domain: nodes that exist; 0: unused */
	uint32_t domains;     /* numbers below this were used at least once */
	uint32_t live;        /* domains with a node */
	struct chains chains; /* numbers of domains, by value; limits.nodes of them */
	uint64_t version;     /* counts the changes of `domain` */
};

struct topologies {
	struct topology *slots; /* move as it grows: ids are what is kept */
	uint32_t n;             /* slots below this were used */
	uint32_t room;
	struct nodes *nodes;
};

void topologies_init(struct topologies *ts, struct nodes *nodes);
void topologies_clear(struct topologies *ts);
void topologies_free(struct topologies *ts);

/* The topology of a key, held once more; -ENOMEM. */
int topology_take(struct topologies *ts, uint32_t key, topology_id *out);
void topology_give(struct topologies *ts, topology_id id);

/* The node's labels or presence changed, or it was dropped. */
void topologies_follow(struct topologies *ts, node_id node);

static inline uint32_t topology_domain(const struct topologies *ts, topology_id id, node_id node)
{
	return ts->slots[id].domain[node];
}

#endif
