/* SPDX-License-Identifier: Apache-2.0 */
/* What the three files of the soft rules share. */
#ifndef MUSTER_CORE_SOFT_IMPL_H
#define MUSTER_CORE_SOFT_IMPL_H

#include "core/index/constraints_impl.h"
#include "core/index/soft.h"

#define GROUP_NONE UINT32_MAX

/* Pods that count, and what each of them adds. */
struct soft_term {
	const struct node_counts *counter; /* by node; of the pod counts */
	int64_t weight;
};

/* A sum by domain, or a count of each node by itself. */
struct soft_sum {
	const struct spread *spread; /* NULL: terms of one topology */
	topology_id topology;
	bool own; /* each node by itself: no domain has two, or SPREAD_BY_NODE */
	struct soft_term *terms;
	uint32_t terms_n;
	uint64_t *eligible; /* bits by rank: nodes whose pods a spread counts; NULL: all */
	int64_t *sums;      /* by domain; NULL: own */
	uint32_t domains;
	uint32_t *seen; /* spread, by domain: round in which it was found; the last: no domain */
	uint32_t spans; /* spread: domains of the scored nodes */
	double weight;  /* spread: topologyNormalizingWeight */
};

/* Words of a site. */
enum {
	SITE_TAINTS,    /* rule_soft_taints() */
	SITE_PREFERRED, /* rule_preferred() */
	SITE_SCORED,    /* 0: a soft spread does not score the node (IgnoredNodes) */
	SITE_SEGMENT,   /* of the required rules */
	SITE_DOMAINS,   /* of each sum; of an own one 0; or DOMAIN_NONE */
};

/* Words of a group. */
enum {
	GROUP_SITE,
	GROUP_HIDDEN, /* not in the mask */
	GROUP_OWN,    /* of each sum: the node's value; 0 where the domain's sum counts */
};

struct soft_group {
	uint64_t *heap; /* points << 32 | ~rank, the largest first */
	uint32_t n, room;
	uint32_t at; /* index in `live` if n > 0 */
	/* By the last soft_score(). */
	bool open;
	uint32_t points; /* of the normalised scores */
	int64_t spread, pods;
};

struct soft {
	const struct pod_counts *pod_counts;
	class_id class;
	struct soft_known known;
	uint32_t nodes;

	struct soft_sum *sums; /* spreads first, in the order of the shape */
	uint32_t sums_n, spreads_n;
	bool terms;      /* the others */
	int64_t *values; /* [rank * sums_n + sum]: the part of the sum that the node is */
	uint8_t *facts;  /* by rank, as they were */

	uint32_t *site; /* by rank */
	struct id_table site_ids;
	uint32_t *sites; /* [site * site_words + ...] */
	uint32_t site_words;
	uint32_t *words; /* scratch: of one site */

	uint64_t masked;
	uint64_t *shown; /* bits by rank */
	uint64_t swept;  /* constraints_swept() of the groups */

	struct id_table group_ids;
	struct soft_group *groups;
	uint32_t groups_cap;
	int64_t *keys; /* [group * key_words + ...] */
	uint32_t key_words;
	int64_t *key;    /* scratch: one */
	uint32_t *group; /* by rank; GROUP_NONE: infeasible */
	uint32_t *place; /* by rank: index in the heap */
	uint32_t *live;  /* groups with a node */
	uint32_t live_n;
	bool spans_old; /* the groups in `live` changed */
	uint32_t round; /* of the search for spans */

	uint64_t best; /* key << 32 | ~rank; 0: no node */
};

static inline const uint32_t *soft_site(const struct soft *s, uint32_t site)
{
	return &s->sites[(size_t)site * s->site_words];
}

static inline const int64_t *soft_group_key(const struct soft *s, uint32_t group)
{
	return &s->keys[(size_t)group * s->key_words];
}

static inline node_id soft_node(const struct soft *s, uint32_t rank)
{
	return s->pod_counts->nodes->order[rank];
}

/* The part of a sum that the node is. */
int64_t soft_value(const struct soft *s, const struct soft_sum *sum, uint32_t rank);
/* The words of the site that the node is in by now. */
void soft_site_words(const struct soft *s, uint32_t rank, uint32_t *out);

/* Forms all groups again. */
void groups_form(struct soft *s);

#endif
