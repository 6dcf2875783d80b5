/* SPDX-License-Identifier: Apache-2.0 */
/* What the three files of the domain constraints share. */
#ifndef MUSTER_CORE_CONSTRAINTS_IMPL_H
#define MUSTER_CORE_CONSTRAINTS_IMPL_H

#include "core/base/tree.h"
#include "core/classes/pod_counts.h"
#include "core/filter/rule_policy.h"

struct constraint {
	enum { CONSTRAINT_AFFINITY, CONSTRAINT_ANTI, CONSTRAINT_SPREAD, CONSTRAINT_POLICY } kind;
	topology_id topology;
	bool single; /* one node per domain: closes nodes, not segments; never a policy's */
	bool self;   /* pods of the class count themselves */
	const struct spread *spread;
	const struct policy_link *policy;
	uint32_t *replicas;                  /* policy: by domain, POLICY_NO_SHARE */
	uint64_t *left;                      /* policy: by domain, scratch of constraints_bound() */
	const struct node_counts **counters; /* by node: pods that count, added; of the pod counts */
	uint32_t counters_n;
	uint32_t *seen;     /* by node: the part of `counters` that is in the sums */
	uint64_t *eligible; /* bits by node: nodes that a spread counts; NULL: all */
	uint32_t *sums;     /* by domain */
	uint32_t *floors;   /* spread: the sum of a domain with eligible nodes, else UINT32_MAX */
	uint32_t domains;
	uint32_t live;     /* spread: domains with eligible nodes */
	uint32_t least;    /* spread: minimum of the floors */
	uint32_t at_least; /* spread: number of domains with that minimum */
	uint64_t total;    /* sum of the sums */
};

struct segment {
	struct tree tree;
	uint32_t first; /* index in ranks[] */
	uint32_t n;
	uint64_t best; /* of the tree: key << 32 | ~rank; 0: no node */
	uint32_t tier; /* of the policy; compared before the key */
	bool open;
};

struct constraints {
	const struct pod_counts *pod_counts;
	class_id class;
	struct constraint *at;
	uint32_t n;
	uint32_t rules_n; /* that these are made of */
	uint32_t nodes;
	/* no pod matches the affinity terms yet, and the class matches its own: all open */
	bool first;
	bool affine;       /* some are CONSTRAINT_AFFINITY */
	bool tiered;       /* the last one is CONSTRAINT_POLICY */
	uint32_t wide;     /* constraints that make segments */
	tree_key *base;    /* by rank */
	uint32_t *segment; /* by rank */
	uint32_t *place;   /* by rank: index in its segment */
	uint32_t *ranks;   /* of each segment in a row, ascending */
	struct segment *segments;
	uint32_t segments_n;
	void *trees;    /* memory of all trees */
	uint64_t swept; /* constraints_swept() */
};

static inline const struct topology *constraint_topology(const struct constraints *c,
                                                         const struct constraint *con)
{
	return &c->pod_counts->topologies.slots[con->topology];
}

static inline uint32_t constraint_domain(const struct constraints *c, const struct constraint *con,
                                         node_id node)
{
	return constraint_topology(c, con)->domain[node];
}

static inline node_id constraints_node(const struct constraints *c, uint32_t rank)
{
	return c->pod_counts->nodes->order[rank];
}

/* The pods on the node that count. */
static inline uint32_t constraint_now(const struct constraint *con, node_id node)
{
	uint32_t now = 0;

	for (uint32_t i = 0; i < con->counters_n; i++)
		now += node_counts_at(con->counters[i], node);
	return now;
}

/* True if the constraint counts the pods of that node. */
static inline bool constraint_counts(const struct constraint *con, node_id node)
{
	return !con->eligible || con->eligible[node / 64] >> (node % 64) & 1;
}

/* The global minimum (podtopologyspread: minMatchNum): 0 when fewer than minDomains are
 * eligible. */
static inline uint32_t spread_floor(const struct constraint *con)
{
	return con->live < con->spread->min_domains || con->live == 0 ? 0 : con->least;
}

static inline bool constraint_policy_open(const struct constraint *con, uint32_t domain)
{
	if (domain == DOMAIN_NONE)
		return false;
	return policy_filter(con->policy, domain, con->replicas[domain], con->sums[domain]) ==
	       FILTER_PASSED;
}

/* True if the domain, which may be DOMAIN_NONE, takes one more pod. */
static inline bool constraint_open(const struct constraints *c, const struct constraint *con,
                                   uint32_t domain)
{
	uint32_t sum;

	if (domain == DOMAIN_NONE)
		return con->kind == CONSTRAINT_ANTI;
	sum = con->sums[domain];
	switch (con->kind) {
	case CONSTRAINT_ANTI:
		return sum == 0;
	case CONSTRAINT_AFFINITY:
		return sum > 0 || c->first;
	case CONSTRAINT_SPREAD:
		return (uint64_t)sum + con->self <= (uint64_t)spread_floor(con) + con->spread->max_skew;
	case CONSTRAINT_POLICY:
		break; /* constraint_policy_open() */
	}
	return false;
}

/* Recomputes `least` and `at_least` of a spread. */
void constraint_least_find(struct constraint *con);
/* What `first` has to be. */
bool constraints_are_first(const struct constraints *c);

/* Finds the segments; base[] and the constraints are set. */
void segments_build(struct constraints *c);
/* A node's key, the keys of all nodes, a segment's `open` and `tier`, those of all segments. */
void segment_node_set(struct constraints *c, uint32_t rank);
void segment_nodes_set(struct constraints *c);
void segment_set(const struct constraints *c, struct segment *s);
void segments_set(struct constraints *c);
/* True if all keys, `open` and `tier` are current. */
bool segments_check(const struct constraints *c);

#endif
