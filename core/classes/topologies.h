/* SPDX-License-Identifier: Apache-2.0 */
/* Topology keys of the rules of live shapes, and the domain of each node.
 *
 * A domain is the set of present nodes with the same value of a label key.  The domains of a key
 * have dense ids; the id of a domain that lost its last node is allocated again. */
#ifndef MUSTER_CORE_TOPOLOGIES_H
#define MUSTER_CORE_TOPOLOGIES_H

#include "core/base/id_table.h"
#include "core/cluster/nodes.h"

#define DOMAIN_NONE UINT32_MAX /* the node lacks the label or is not present */

typedef uint32_t topology_id;

struct topology {
	uint32_t refs;       /* by rules of live shapes; 0: unused */
	uint32_t key;        /* of a node label */
	uint32_t *domain;    /* by node; of `nowhere` until a node has the key */
	uint32_t *values;    /* by domain; NULL until then */
	uint32_t *present;   /* by domain: number of nodes; 0: unused */
	uint32_t domains;    /* ids below were used at least once */
	uint32_t live;       /* domains with a node */
	struct id_table ids; /* domains by value; as many as the span of nodes at most */
};

/* Anybody who may create pods writes keys, hundreds for each, which no node has: a node that is
 * followed costs its labels and the topologies that nodes have, and such a key no look at nodes. */
struct topologies {
	struct topology *slots; /* moved when it grows: callers keep ids */
	uint32_t n;             /* slots below were used at least once */
	uint32_t cap;
	struct id_table ids; /* by key */
	struct nodes *nodes;
	uint32_t *nowhere;      /* by node: DOMAIN_NONE */
	topology_id *somewhere; /* those with `values` */
	uint32_t somewhere_n;
	size_t somewhere_cap;
	uint64_t *keys;   /* bits: keys that a node had since topologies_clear() */
	size_t keys_n;    /* words */
	bool unfollowed;  /* topologies_follow() is not called: nodes may have any key */
	uint64_t version; /* counts changes of domains of nodes */
};

void topologies_init(struct topologies *ts, struct nodes *nodes);
void topologies_clear(struct topologies *ts);
void topologies_free(struct topologies *ts);
/* The nodes' span, which was `from`, has grown. */
void topologies_reach(struct topologies *ts, uint32_t from);

/* Returns the topology of a label key and adds a reference; the last unref frees it. */
topology_id topology_ref(struct topologies *ts, uint32_t key);
void topology_unref(struct topologies *ts, topology_id id);

/* Updates the domain of a node whose labels or presence changed. */
void topologies_follow(struct topologies *ts, node_id node);

static inline uint32_t topology_domain(const struct topologies *ts, topology_id id, node_id node)
{
	return ts->slots[id].domain[node];
}

/* No two nodes are in one domain. */
static inline bool topology_is_single(const struct topology *t)
{
	for (uint32_t d = 0; d < t->domains; d++)
		if (t->present[d] > 1)
			return false;
	return true;
}

#endif
