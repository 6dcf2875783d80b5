/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index/gates.h"

#include "core/cluster/rule_node.h"
#include "core/filter/rule_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gate {
	enum { GATE_AFFINITY, GATE_ANTI, GATE_SPREAD, GATE_POLICY } kind;
	topology_id topology;
	bool single; /* one node a domain: closes nodes, not segments; never a policy's */
	bool self;   /* the kind itself counts */
	const struct spread *spread;
	const struct policy_link *policy;
	uint32_t *replicas;      /* policy: by domain, POLICY_NO_SHARE */
	uint64_t *left;          /* policy: by domain, scratch of gates_bound() */
	const uint32_t *counter; /* by node: pods that count */
	uint32_t *seen;          /* by node: of those, so many are in the sums */
	uint64_t *eligible;      /* bits by node: nodes that a spread counts; NULL: all */
	uint32_t *sums;          /* by domain */
	uint32_t *floors;        /* spread: the sum of a domain with eligible nodes, else UINT32_MAX */
	uint32_t domains;
	uint32_t live;     /* spread: domains with eligible nodes */
	uint32_t least;    /* spread: the lowest of the floors */
	uint32_t at_least; /* domains that are there */
	uint64_t total;
};

/* Above all bits of a segment's best. */
#define TIER_SHIFT 48
static_assert((uint64_t)TREE_KEY_MOST >> (TIER_SHIFT - 32) == 0 &&
                  POLICY_TIERS < 1u << (64 - TIER_SHIFT),
              "room for both");

struct segment {
	struct tree tree;
	uint32_t first; /* into ranks */
	uint32_t n;
	uint64_t best; /* key << 32 | ~rank, 0: none; of the tree */
	uint32_t tier; /* by a policy; goes before the key */
	bool open;
};

struct gates {
	const struct census *cs;
	kind_id kind;
	struct gate *at;
	uint32_t n;
	uint32_t nodes;
	bool first;        /* of its series: affinity gates stand open */
	bool affine;       /* there are affinity gates */
	bool tiered;       /* the last gate is a policy's */
	uint32_t wide;     /* gates that make segments */
	tree_key *base;    /* by rank */
	uint32_t *segment; /* by rank; the last one is of nodes without some key, and never open */
	uint32_t *place;   /* by rank: index in its segment */
	uint32_t *ranks;   /* of each segment in a row, rising */
	struct segment *segments;
	uint32_t segments_n;
	void *trees;
};

static const struct topology *topology_of(const struct gates *g, const struct gate *gate)
{
	return &g->cs->topologies.slots[gate->topology];
}

static uint32_t domain_of(const struct gates *g, const struct gate *gate, node_id node)
{
	return topology_of(g, gate)->domain[node];
}

static node_id node_at(const struct gates *g, uint32_t rank)
{
	return g->cs->nodes->order[rank];
}

/* ---- counts ------------------------------------------------------------------- */

static bool counts_there(const struct gate *gate, node_id node)
{
	return !gate->eligible || gate->eligible[node / 64] >> (node % 64) & 1;
}

static void least_find(struct gate *gate)
{
	uint32_t least = UINT32_MAX, n = 0;

	for (uint32_t d = 0; d < gate->domains; d++)
		least = gate->floors[d] < least ? gate->floors[d] : least;
	for (uint32_t d = 0; d < gate->domains; d++)
		n += gate->floors[d] == least;
	gate->least = least;
	gate->at_least = n;
}

/* True when the least sum of a spread is another one now. */
static bool sum_change(struct gate *gate, uint32_t domain, uint32_t delta)
{
	uint32_t was = gate->sums[domain], least = gate->least;

	gate->sums[domain] = was + delta;
	gate->total += (uint64_t)(int64_t)(int32_t)delta;
	if (gate->kind != GATE_SPREAD || gate->floors[domain] == UINT32_MAX)
		return false;
	gate->floors[domain] = was + delta;
	if (was == least && was + delta > was && gate->at_least > 1)
		gate->at_least--;
	else if (was == least || was + delta <= least)
		least_find(gate);
	return gate->least != least;
}

/* What a spread compares with. */
static uint32_t spread_floor(const struct gate *gate)
{
	return gate->live < gate->spread->min_domains || gate->live == 0 ? 0 : gate->least;
}

static bool policy_open(const struct gate *gate, uint32_t domain)
{
	if (domain == DOMAIN_NONE)
		return false;
	return policy_judges(gate->policy, domain, gate->replicas[domain], gate->sums[domain]) ==
	       NODE_FITS;
}

static bool domain_open(const struct gates *g, const struct gate *gate, uint32_t domain)
{
	uint32_t sum;

	if (domain == DOMAIN_NONE)
		return gate->kind == GATE_ANTI;
	sum = gate->sums[domain];
	switch (gate->kind) {
	case GATE_ANTI:
		return sum == 0;
	case GATE_AFFINITY:
		return sum > 0 || g->first;
	case GATE_SPREAD:
		return (uint64_t)sum + gate->self <= (uint64_t)spread_floor(gate) + gate->spread->max_skew;
	case GATE_POLICY:
		break; /* policy_open() */
	}
	return false;
}

/* The first of its series: it matches its own terms, and nobody else does. */
static bool is_first(const struct gates *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->at[i].kind == GATE_AFFINITY && (g->at[i].total > 0 || !g->at[i].self))
			return false;
	return g->affine;
}

/* ---- nodes and segments ---------------------------------------------------------- */

static bool node_open(const struct gates *g, uint32_t rank)
{
	node_id node = node_at(g, rank);

	for (uint32_t i = 0; i < g->n; i++)
		if (g->at[i].single && !domain_open(g, &g->at[i], domain_of(g, &g->at[i], node)))
			return false;
	return true;
}

/* By the first n gates, which are all but a policy's. */
static bool segment_rules_open(const struct gates *g, const struct segment *s, uint32_t n)
{
	node_id node = node_at(g, g->ranks[s->first]);

	for (uint32_t i = 0; i < n; i++)
		if (!g->at[i].single && !domain_open(g, &g->at[i], domain_of(g, &g->at[i], node)))
			return false;
	return true;
}

static bool segment_policy_open(const struct gates *g, const struct segment *s)
{
	const struct gate *policy = &g->at[g->n - 1];

	return policy_open(policy, domain_of(g, policy, node_at(g, g->ranks[s->first])));
}

static bool segment_open(const struct gates *g, const struct segment *s)
{
	return segment_rules_open(g, s, g->n - g->tiered) && (!g->tiered || segment_policy_open(g, s));
}

/* Of one that is open. */
static uint32_t segment_tier(const struct gates *g, const struct segment *s)
{
	const struct gate *gate = &g->at[g->n - 1];
	uint32_t d = domain_of(g, gate, node_at(g, g->ranks[s->first]));

	return policy_tier(gate->policy, gate->replicas[d], gate->sums[d]);
}

static void best_set(const struct gates *g, struct segment *s)
{
	uint32_t i = tree_best(&s->tree);

	s->best = 0;
	if (i != TREE_NONE)
		s->best = (uint64_t)tree_at(&s->tree, i) << 32 | (uint32_t)~g->ranks[s->first + i];
}

static void node_set(struct gates *g, uint32_t rank)
{
	struct segment *s = &g->segments[g->segment[rank]];
	tree_key key = node_open(g, rank) ? g->base[rank] : 0;

	if (tree_at(&s->tree, g->place[rank]) == key)
		return;
	tree_set(&s->tree, g->place[rank], key);
	best_set(g, s);
}

static void segments_set(struct gates *g)
{
	const uint32_t n = g->n - g->tiered, segments = g->segments_n;

	for (uint32_t i = 0; i < segments; i++)
		g->segments[i].open = segment_rules_open(g, &g->segments[i], n);
	for (uint32_t i = 0; g->tiered && i < segments; i++) {
		struct segment *s = &g->segments[i];

		s->open = s->open && segment_policy_open(g, s);
		s->tier = s->open ? segment_tier(g, s) : 0;
	}
}

static void segment_set(const struct gates *g, struct segment *s)
{
	s->open = segment_open(g, s);
	s->tier = g->tiered && s->open ? segment_tier(g, s) : 0;
}

static void nodes_set_all(struct gates *g)
{
	for (uint32_t i = 0; i < g->segments_n; i++) {
		struct segment *s = &g->segments[i];

		for (uint32_t k = 0; k < s->n; k++) {
			uint32_t rank = g->ranks[s->first + k];

			s->tree.levels[0][k] = node_open(g, rank) ? g->base[rank] : 0;
		}
		tree_build(&s->tree);
		best_set(g, s);
	}
}

/* ---- building -------------------------------------------------------------------- */

static bool topology_single(const struct topology *t)
{
	for (uint32_t d = 0; d < t->domains; d++)
		if (t->present[d] > 1)
			return false;
	return true;
}

static bool has_all_keys(const struct gates *g, const struct shape_links *links, node_id node)
{
	for (uint32_t i = 0; i < links->spreads_n; i++)
		if ((links->spreads[i].spread->flags & SPREAD_HARD) &&
		    topology_domain(&g->cs->topologies, links->spreads[i].topology, node) == DOMAIN_NONE)
			return false;
	return true;
}

/* Does a spread count the pods of that node, and has its domain to be even? */
static bool spread_counts(const struct gates *g, const struct spread *spread, node_id id)
{
	const shape_id shape = g->cs->kinds.slots[g->kind].shape;
	const struct shape *s = &g->cs->shapes->slots[shape];
	const struct node *n = &g->cs->nodes->slots[id];

	return node_present(n) && has_all_keys(g, g->cs->links[shape], id) &&
	       ((spread->flags & SPREAD_IGNORES_AFFINITY) || rule_affinity(s, n)) &&
	       !((spread->flags & SPREAD_HONORS_TAINTS) && rule_taint(s, n));
}

static int eligible_find(const struct gates *g, struct gate *gate)
{
	gate->eligible = calloc((g->cs->nodes->limit + 63) / 64, sizeof(*gate->eligible));
	if (!gate->eligible)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < g->nodes; rank++) {
		node_id id = node_at(g, rank);

		gate->eligible[id / 64] |= (uint64_t)spread_counts(g, gate->spread, id) << (id % 64);
	}
	return 0;
}

static int gate_sum(const struct gates *g, struct gate *gate)
{
	const struct topology *t = topology_of(g, gate);

	gate->single = gate->kind != GATE_POLICY && topology_single(t);
	gate->domains = t->domains;
	gate->seen = calloc(g->cs->nodes->limit, sizeof(*gate->seen));
	gate->sums = calloc(t->domains + 1, sizeof(*gate->sums));
	gate->floors = malloc((t->domains + 1) * sizeof(*gate->floors));
	if (!gate->seen || !gate->sums || !gate->floors)
		return -ENOMEM;
	memset(gate->floors, 0xff, (t->domains + 1) * sizeof(*gate->floors));
	for (uint32_t rank = 0; rank < g->nodes; rank++) {
		node_id id = node_at(g, rank);
		uint32_t d = t->domain[id];

		if (d == DOMAIN_NONE || !node_present(&g->cs->nodes->slots[id]) || !counts_there(gate, id))
			continue;
		if (gate->counter)
			gate->seen[id] = gate->counter[id];
		gate->sums[d] += gate->seen[id];
		gate->total += gate->seen[id];
		gate->live += gate->floors[d] == UINT32_MAX;
		gate->floors[d] = gate->sums[d];
	}
	if (gate->kind == GATE_SPREAD)
		least_find(gate);
	return 0;
}

static int gate_add(struct gates *g, const struct gate *gate)
{
	struct gate *grown = realloc(g->at, (g->n + 1) * sizeof(*grown));
	int rc;

	if (!grown)
		return -ENOMEM;
	g->at = grown;
	g->at[g->n] = *gate;
	rc = gate_sum(g, &g->at[g->n++]);
	g->wide += rc == 0 && !g->at[g->n - 1].single;
	return rc;
}

static int add_policy(struct gates *g, kind_id kind, const struct policy_link *link)
{
	const struct topology *t = &g->cs->topologies.slots[link->topology];
	struct gate gate = { .kind = GATE_POLICY,
		                 .topology = link->topology,
		                 .policy = link,
		                 .counter = g->cs->selectors.slots[link->selector].staying,
		                 .self = kind_matches(&g->cs->kinds, kind, link->selector) };
	struct gate *added;
	int rc = gate_add(g, &gate);

	if (rc < 0)
		return rc;
	added = &g->at[g->n - 1];
	added->replicas = malloc((t->domains + 1) * sizeof(*added->replicas));
	added->left = malloc((t->domains + 1) * sizeof(*added->left));
	if (!added->replicas || !added->left)
		return -ENOMEM;
	for (uint32_t d = 0; d < t->domains; d++)
		added->replicas[d] = policy_replicas(link, t, d);
	g->tiered = true;
	return 0;
}

static int add_own(struct gates *g, kind_id kind, const struct shape_links *links)
{
	const struct selectors *ss = &g->cs->selectors;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < links->terms_n; i++) {
		const struct term_link *t = &links->terms[i];
		struct gate gate = { .topology = t->topology };

		if (t->term->kind == POD_TERM_AFFINITY) {
			gate.kind = GATE_AFFINITY;
			gate.counter = ss->slots[links->affinity].placed;
			gate.self = kind_matches(&g->cs->kinds, kind, links->affinity);
			g->affine = true;
		} else if (t->term->kind == POD_TERM_ANTI_AFFINITY) {
			gate.kind = GATE_ANTI;
			gate.counter = ss->slots[t->selector].placed;
			gate.self = kind_matches(&g->cs->kinds, kind, t->selector);
		} else {
			continue;
		}
		rc = gate_add(g, &gate);
	}
	for (uint32_t i = 0; rc == 0 && i < links->spreads_n; i++) {
		const struct spread_link *t = &links->spreads[i];
		struct gate gate = { .kind = GATE_SPREAD, .topology = t->topology, .spread = t->spread };

		if (!(t->spread->flags & SPREAD_HARD))
			continue;
		gate.self = t->self_always;
		if (t->selector != SELECTOR_NONE) {
			gate.counter = ss->slots[t->selector].staying;
			gate.self = gate.self || kind_matches(&g->cs->kinds, kind, t->selector);
		}
		rc = eligible_find(g, &gate);
		if (rc == 0)
			rc = gate_add(g, &gate);
		if (rc < 0 && (g->n == 0 || g->at[g->n - 1].eligible != gate.eligible))
			free(gate.eligible);
	}
	return rc;
}

/* Terms of pods that are there, against pods of this kind. */
static int add_existing(struct gates *g, kind_id kind)
{
	int rc = 0;

	for (bond_id id = 0; rc == 0 && id < g->cs->bonds_n; id++) {
		const struct bond *b = &g->cs->bonds[id];

		if (b->refs > 0 && b->kind == POD_TERM_ANTI_AFFINITY &&
		    kind_matches(&g->cs->kinds, kind, b->selector)) {
			struct gate gate = { .kind = GATE_ANTI,
				                 .topology = b->topology,
				                 .counter = b->holders };

			rc = gate_add(g, &gate);
		}
	}
	return rc;
}

/* ---- segments, found by the domains of their nodes --------------------------------- */

static bool same_segment(const struct gates *g, node_id a, node_id b)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (!g->at[i].single && domain_of(g, &g->at[i], a) != domain_of(g, &g->at[i], b))
			return false;
	return true;
}

static uint32_t segment_hash(const struct gates *g, node_id node)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < g->n; i++)
		if (!g->at[i].single)
			hash = (hash ^ domain_of(g, &g->at[i], node)) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32);
}

/* Number the segments in the order of their first ranks; g->place holds the next of each
 * chain meanwhile. */
static int segments_number(struct gates *g, uint32_t *heads, uint32_t mask, uint32_t *firsts)
{
	for (uint32_t rank = 0; rank < g->nodes; rank++) {
		node_id node = node_at(g, rank);
		uint32_t slot = segment_hash(g, node) & mask;

		while (heads[slot] != UINT32_MAX && !same_segment(g, node, node_at(g, firsts[heads[slot]])))
			slot = (slot + 1) & mask;
		if (heads[slot] == UINT32_MAX) {
			heads[slot] = g->segments_n;
			firsts[g->segments_n++] = rank;
		}
		g->segment[rank] = heads[slot];
	}
	return 0;
}

static int segments_lay_out(struct gates *g)
{
	uint32_t first = 0;
	size_t bytes = 0;
	unsigned char *at;

	g->segments = calloc(g->segments_n + 1, sizeof(*g->segments));
	if (!g->segments)
		return -ENOMEM;
	for (uint32_t rank = 0; rank < g->nodes; rank++)
		g->segments[g->segment[rank]].n++;
	for (uint32_t i = 0; i < g->segments_n; i++) {
		g->segments[i].first = first;
		first += g->segments[i].n;
		bytes += tree_bytes(g->segments[i].n);
		g->segments[i].n = 0;
	}
	for (uint32_t rank = 0; rank < g->nodes; rank++) {
		struct segment *s = &g->segments[g->segment[rank]];

		g->place[rank] = s->n;
		g->ranks[s->first + s->n++] = rank;
	}
	g->trees = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE) / CACHE_LINE * CACHE_LINE);
	if (!g->trees)
		return -ENOMEM;
	memset(g->trees, 0, bytes);
	at = g->trees;
	for (uint32_t i = 0; i < g->segments_n; i++) {
		tree_open(&g->segments[i].tree, at, g->segments[i].n);
		at += tree_bytes(g->segments[i].n);
	}
	return 0;
}

static int segments_build(struct gates *g)
{
	uint32_t mask = 64, *heads, *firsts;
	int rc;

	while (mask < 2 * g->nodes)
		mask *= 2;
	heads = malloc(mask * sizeof(*heads));
	firsts = malloc((g->nodes + 1) * sizeof(*firsts));
	if (!heads || !firsts) {
		free(heads);
		free(firsts);
		return -ENOMEM;
	}
	memset(heads, 0xff, mask * sizeof(*heads));
	rc = segments_number(g, heads, mask - 1, firsts);
	free(heads);
	free(firsts);
	return rc < 0 ? rc : segments_lay_out(g);
}

void gates_free(struct gates *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->n; i++) {
		free(g->at[i].seen);
		free(g->at[i].sums);
		free(g->at[i].floors);
		free(g->at[i].eligible);
		free(g->at[i].replicas);
		free(g->at[i].left);
	}
	free(g->at);
	free(g->base);
	free(g->segment);
	free(g->place);
	free(g->ranks);
	free(g->segments);
	free(g->trees);
	free(g);
}

static int build(struct gates *g, kind_id kind, const tree_key *base)
{
	const struct kind *k = &g->cs->kinds.slots[kind];
	const struct shape_links *links = g->cs->links[k->shape];
	int rc = 0;

	if (links)
		rc = add_own(g, kind, links);
	if (rc == 0)
		rc = add_existing(g, kind);
	if (rc == 0 && links && links->policy.policy)
		rc = add_policy(g, kind, &links->policy);
	if (rc < 0 || g->n == 0)
		return rc;
	g->base = malloc((g->nodes + 1) * sizeof(*g->base));
	g->segment = malloc((g->nodes + 1) * sizeof(*g->segment));
	g->place = malloc((g->nodes + 1) * sizeof(*g->place));
	g->ranks = malloc((g->nodes + 1) * sizeof(*g->ranks));
	if (!g->base || !g->segment || !g->place || !g->ranks)
		return -ENOMEM;
	memcpy(g->base, base, g->nodes * sizeof(*base));
	rc = segments_build(g);
	if (rc < 0)
		return rc;
	g->first = is_first(g);
	nodes_set_all(g);
	segments_set(g);
	return 0;
}

int gates_new(struct gates **out, const struct census *cs, kind_id kind, const tree_key *base)
{
	struct gates *g = calloc(1, sizeof(*g));
	int rc;

	*out = NULL;
	if (!g)
		return -ENOMEM;
	g->cs = cs;
	g->kind = kind;
	g->nodes = cs->nodes->count;
	rc = build(g, kind, base);
	if (rc < 0 || g->n == 0) {
		gates_free(g);
		return rc;
	}
	*out = g;
	return 0;
}

/* ---- following --------------------------------------------------------------------- */

bool gates_outdated(const struct gates *g, uint32_t rank)
{
	node_id id = node_at(g, rank);

	for (uint32_t i = 0; i < g->n; i++)
		if (g->at[i].eligible &&
		    counts_there(&g->at[i], id) != spread_counts(g, g->at[i].spread, id))
			return true;
	return false;
}

void gates_follow(struct gates *g, uint32_t rank, tree_key base)
{
	node_id node = node_at(g, rank);
	bool all_nodes = false, all_segments = false, own_segment = false, first;

	g->base[rank] = base;
	for (uint32_t i = 0; i < g->n; i++) {
		struct gate *gate = &g->at[i];
		uint32_t d = domain_of(g, gate, node), now = gate->counter ? gate->counter[node] : 0;
		bool moved;

		if (now == gate->seen[node] || d == DOMAIN_NONE || !counts_there(gate, node))
			continue;
		moved = sum_change(gate, d, now - gate->seen[node]);
		gate->seen[node] = now;
		all_nodes = all_nodes || (moved && gate->single);
		/* The domain of an only gate is the node's segment. */
		own_segment = own_segment || !gate->single;
		all_segments = all_segments || (!gate->single && (moved || g->wide > 1));
	}
	first = is_first(g);
	if (first != g->first) {
		g->first = first;
		all_nodes = all_segments = true;
	}
	if (all_nodes)
		nodes_set_all(g);
	else
		node_set(g, rank);
	if (all_segments)
		segments_set(g);
	else if (own_segment)
		segment_set(g, &g->segments[g->segment[rank]]);
}

void gates_rebase(struct gates *g, const tree_key *base)
{
	memcpy(g->base, base, g->nodes * sizeof(*base));
	nodes_set_all(g);
}

/* ---- asking ------------------------------------------------------------------------- */

uint32_t gates_best(const struct gates *g)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < g->segments_n; i++) {
		const struct segment *s = &g->segments[i];
		uint64_t now = (uint64_t)s->tier << TIER_SHIFT | s->best;

		if (s->open && s->best > 0 && now > best)
			best = now;
	}
	return best ? ~(uint32_t)best : TREE_NONE;
}

bool gates_open(const struct gates *g, uint32_t rank)
{
	return g->segments[g->segment[rank]].open && node_open(g, rank);
}

uint32_t gates_tier(const struct gates *g, uint32_t rank)
{
	return g->segments[g->segment[rank]].tier;
}

/* Of the count, as many as the domain has left beside those that were asked for before. */
static uint32_t policy_most(const struct gate *gate, uint32_t domain, uint32_t count)
{
	if (!policy_open(gate, domain))
		return 0;
	if (!gate->self || !(gate->policy->policy->flags & POLICY_REQUIRED))
		return count;
	count = count < gate->left[domain] ? count : (uint32_t)gate->left[domain];
	gate->left[domain] -= count;
	return count;
}

uint32_t gates_most_at(const struct gates *g, uint32_t rank, uint32_t count)
{
	node_id node = node_at(g, rank);

	for (uint32_t i = 0; i < g->n && count > 0; i++) {
		const struct gate *gate = &g->at[i];
		uint32_t d = domain_of(g, gate, node);

		if (gate->kind == GATE_POLICY && !policy_open(gate, d))
			return 0;
		if (gate->kind != GATE_ANTI || d == DOMAIN_NONE)
			continue;
		if (gate->sums[d] > 0)
			return 0;
		count = gate->self ? 1 : count;
	}
	return count;
}

/* ... and all its policies leave. */
static uint32_t bound_at(const struct gates *g, uint32_t rank, uint32_t count)
{
	node_id node = node_at(g, rank);

	count = gates_most_at(g, rank, count);
	for (uint32_t i = 0; i < g->n && count > 0; i++)
		if (g->at[i].kind == GATE_POLICY)
			count = policy_most(&g->at[i], domain_of(g, &g->at[i], node), count);
	return count;
}

static void policy_left(const struct gate *gate)
{
	for (uint32_t d = 0; d < gate->domains; d++)
		gate->left[d] = gate->sums[d] < gate->replicas[d] ? gate->replicas[d] - gate->sums[d] : 0;
}

uint64_t gates_bound(const struct gates *g, const uint32_t *counts)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < g->n; i++)
		if (g->at[i].kind == GATE_POLICY)
			policy_left(&g->at[i]);
	for (uint32_t rank = 0; rank < g->nodes; rank++)
		sum += bound_at(g, rank, counts[rank]);
	return sum;
}

uint32_t gates_steps(const struct gates *g)
{
	return 4 + g->n + g->segments_n / 4;
}

/* ---- checking ------------------------------------------------------------------------ */

static bool gate_check(const struct gates *g, const struct gate *gate)
{
	struct gate fresh = *gate;
	bool same;

	fresh.total = 0;
	fresh.live = 0;
	fresh.seen = fresh.sums = fresh.floors = NULL;
	same = gate_sum(g, &fresh) == 0 && fresh.total == gate->total &&
	       fresh.domains == gate->domains &&
	       memcmp(fresh.sums, gate->sums, gate->domains * sizeof(*gate->sums)) == 0 &&
	       (gate->kind != GATE_SPREAD ||
	        (fresh.least == gate->least && fresh.live == gate->live &&
	         memcmp(fresh.floors, gate->floors, gate->domains * sizeof(*gate->floors)) == 0));
	free(fresh.seen);
	free(fresh.sums);
	free(fresh.floors);
	return same;
}

bool gates_check(const struct gates *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (!gate_check(g, &g->at[i]))
			return false;
	if (is_first(g) != g->first)
		return false;
	for (uint32_t rank = 0; rank < g->nodes; rank++) {
		const struct segment *s = &g->segments[g->segment[rank]];

		if (tree_at(&s->tree, g->place[rank]) != (node_open(g, rank) ? g->base[rank] : 0) ||
		    s->open != segment_open(g, s))
			return false;
		if (g->tiered && s->open && s->tier != segment_tier(g, s))
			return false;
	}
	return true;
}
