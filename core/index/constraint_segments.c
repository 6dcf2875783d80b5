/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: nodes that are in the same domain of every constraint, with a winner tree each. */
#include "core/index/constraints.h"
#include "core/index/constraints_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A tier is compared in the bits above those of `best`. */
#define TIER_SHIFT 48
static_assert((uint64_t)TREE_KEY_MOST >> (TIER_SHIFT - 32) == 0 &&
                  POLICY_TIERS < 1u << (64 - TIER_SHIFT),
              "a key is below the tier, and a tier fits above it");

/* By the constraints that close single nodes. */
static bool node_open(const struct constraints *c, uint32_t rank)
{
	node_id node = constraints_node(c, rank);

	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].single &&
		    !constraint_open(c, &c->at[i], constraint_domain(c, &c->at[i], node)))
			return false;
	return true;
}

/* By the first n constraints, which are all but the policy's. */
static bool rules_open(const struct constraints *c, const struct segment *s, uint32_t n)
{
	node_id node = constraints_node(c, c->ranks[s->first]);

	for (uint32_t i = 0; i < n; i++)
		if (!c->at[i].single &&
		    !constraint_open(c, &c->at[i], constraint_domain(c, &c->at[i], node)))
			return false;
	return true;
}

static bool policy_open(const struct constraints *c, const struct segment *s)
{
	const struct constraint *policy = &c->at[c->n - 1];

	return constraint_policy_open(
		policy, constraint_domain(c, policy, constraints_node(c, c->ranks[s->first])));
}

static bool segment_open(const struct constraints *c, const struct segment *s)
{
	return rules_open(c, s, c->n - c->tiered) && (!c->tiered || policy_open(c, s));
}

/* Of an open segment. */
static uint32_t segment_tier(const struct constraints *c, const struct segment *s)
{
	const struct constraint *con = &c->at[c->n - 1];
	uint32_t d = constraint_domain(c, con, constraints_node(c, c->ranks[s->first]));

	return policy_tier(con->policy, con->replicas[d], con->sums[d]);
}

void segments_set(struct constraints *c)
{
	const uint32_t n = c->n - c->tiered, segments = c->segments_n;

	for (uint32_t i = 0; i < segments; i++)
		c->segments[i].open = rules_open(c, &c->segments[i], n);
	for (uint32_t i = 0; c->tiered && i < segments; i++) {
		struct segment *s = &c->segments[i];

		s->open = s->open && policy_open(c, s);
		s->tier = s->open ? segment_tier(c, s) : 0;
	}
}

void segment_set(const struct constraints *c, struct segment *s)
{
	s->open = segment_open(c, s);
	s->tier = c->tiered && s->open ? segment_tier(c, s) : 0;
}

static void best_set(const struct constraints *c, struct segment *s)
{
	uint32_t i = tree_best(&s->tree);

	s->best = 0;
	if (i != TREE_NONE)
		s->best = (uint64_t)tree_at(&s->tree, i) << 32 | (uint32_t)~c->ranks[s->first + i];
}

void segment_node_set(struct constraints *c, uint32_t rank)
{
	struct segment *s = &c->segments[c->segment[rank]];
	tree_key key = node_open(c, rank) ? c->base[rank] : 0;

	if (tree_at(&s->tree, c->place[rank]) == key)
		return;
	tree_set(&s->tree, c->place[rank], key);
	best_set(c, s);
}

void segment_nodes_set(struct constraints *c)
{
	c->swept++;
	for (uint32_t i = 0; i < c->segments_n; i++) {
		struct segment *s = &c->segments[i];

		for (uint32_t k = 0; k < s->n; k++) {
			uint32_t rank = c->ranks[s->first + k];

			s->tree.levels[0][k] = node_open(c, rank) ? c->base[rank] : 0;
		}
		tree_build(&s->tree);
		best_set(c, s);
	}
}

void constraints_rebase(struct constraints *c, const tree_key *base)
{
	memcpy(c->base, base, c->nodes * sizeof(*base));
	segment_nodes_set(c);
}

uint32_t constraints_best(const struct constraints *c)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < c->segments_n; i++) {
		const struct segment *s = &c->segments[i];
		uint64_t now = (uint64_t)s->tier << TIER_SHIFT | s->best;

		if (s->open && s->best > 0 && now > best)
			best = now;
	}
	return best ? ~(uint32_t)best : TREE_NONE;
}

bool constraints_open(const struct constraints *c, uint32_t rank)
{
	return c->segments[c->segment[rank]].open && node_open(c, rank);
}

bool constraints_node_open(const struct constraints *c, uint32_t rank)
{
	return tree_at(&c->segments[c->segment[rank]].tree, c->place[rank]) > 0;
}

uint32_t constraints_segment(const struct constraints *c, uint32_t rank)
{
	return c->segment[rank];
}

bool constraints_segment_open(const struct constraints *c, uint32_t segment)
{
	return c->segments[segment].open;
}

uint64_t constraints_swept(const struct constraints *c)
{
	return c->swept;
}

uint32_t constraints_tier(const struct constraints *c, uint32_t rank)
{
	return c->segments[c->segment[rank]].tier;
}

static bool same_segment(const struct constraints *c, node_id a, node_id b)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!c->at[i].single &&
		    constraint_domain(c, &c->at[i], a) != constraint_domain(c, &c->at[i], b))
			return false;
	return true;
}

static uint32_t segment_hash(const struct constraints *c, node_id node)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < c->n; i++)
		if (!c->at[i].single)
			hash = (hash ^ constraint_domain(c, &c->at[i], node)) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(hash >> 32);
}

/* Numbers the segments in the order of their first ranks, with a hash table by their domains. */
static void segments_number(struct constraints *c)
{
	uint32_t mask = 64, *heads, *firsts;

	while (mask < 2 * c->nodes)
		mask *= 2;
	heads = must_array(mask, sizeof(*heads));
	firsts = must_array(c->nodes, sizeof(*firsts));
	memset(heads, 0xff, mask-- * sizeof(*heads));
	for (uint32_t rank = 0; rank < c->nodes; rank++) {
		node_id node = constraints_node(c, rank);
		uint32_t slot = segment_hash(c, node) & mask;

		while (heads[slot] != UINT32_MAX &&
		       !same_segment(c, node, constraints_node(c, firsts[heads[slot]])))
			slot = (slot + 1) & mask;
		if (heads[slot] == UINT32_MAX) {
			heads[slot] = c->segments_n;
			firsts[c->segments_n++] = rank;
		}
		c->segment[rank] = heads[slot];
	}
	free(heads);
	free(firsts);
}

void segments_build(struct constraints *c)
{
	uint32_t first = 0;
	size_t bytes = 0;
	unsigned char *at;

	segments_number(c);
	c->segments = must_array(c->segments_n, sizeof(*c->segments));
	for (uint32_t rank = 0; rank < c->nodes; rank++)
		c->segments[c->segment[rank]].n++;
	for (uint32_t i = 0; i < c->segments_n; i++) {
		c->segments[i].first = first;
		first += c->segments[i].n;
		bytes += tree_bytes(c->segments[i].n);
		c->segments[i].n = 0;
	}
	assert(first == c->nodes);
	for (uint32_t rank = 0; rank < c->nodes; rank++) {
		struct segment *s = &c->segments[c->segment[rank]];

		c->place[rank] = s->n;
		c->ranks[s->first + s->n++] = rank;
	}
	c->trees = must_aligned(CACHE_LINE, bytes);
	at = c->trees;
	for (uint32_t i = 0; i < c->segments_n; i++) {
		tree_open(&c->segments[i].tree, at, c->segments[i].n);
		at += tree_bytes(c->segments[i].n);
	}
}

bool segments_check(const struct constraints *c)
{
	for (uint32_t rank = 0; rank < c->nodes; rank++) {
		const struct segment *s = &c->segments[c->segment[rank]];

		if (tree_at(&s->tree, c->place[rank]) != (node_open(c, rank) ? c->base[rank] : 0) ||
		    s->open != segment_open(c, s))
			return false;
		if (c->tiered && s->open && s->tier != segment_tier(c, s))
			return false;
	}
	return true;
}
