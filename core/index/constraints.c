/* SPDX-License-Identifier: Apache-2.0 */
/* Domain constraints: the number of pods per domain, and which domains it opens. */
#include "core/index/constraints.h"
#include "core/index/constraints_impl.h"

#include <assert.h>

void constraint_least_find(struct constraint *con)
{
	uint32_t least = UINT32_MAX, n = 0;

	for (uint32_t d = 0; d < con->domains; d++)
		least = con->floors[d] < least ? con->floors[d] : least;
	for (uint32_t d = 0; d < con->domains; d++)
		n += con->floors[d] == least;
	con->least = least;
	con->at_least = n;
}

/* True if this changed the minimum of a spread. */
static bool sum_change(struct constraint *con, uint32_t domain, uint32_t delta)
{
	uint32_t was = con->sums[domain], least = con->least;

	con->sums[domain] = was + delta;
	con->total += (uint64_t)(int64_t)(int32_t)delta;
	if (con->kind != CONSTRAINT_SPREAD || con->floors[domain] == UINT32_MAX)
		return false;
	con->floors[domain] = was + delta;
	if (was == least && was + delta > was && con->at_least > 1)
		con->at_least--;
	else if (was == least || was + delta <= least)
		constraint_least_find(con);
	return con->least != least;
}

/* interpodaffinity: satisfyPodAffinity lets the first pod of a series start anywhere if no pod
 * matches its terms and it matches them itself. */
bool constraints_are_first(const struct constraints *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].kind == CONSTRAINT_AFFINITY && (c->at[i].total > 0 || !c->at[i].self))
			return false;
	return c->affine;
}

void constraints_follow(struct constraints *c, uint32_t rank, tree_key base)
{
	node_id node = constraints_node(c, rank);
	bool all_nodes = false, all_segments = false, own_segment = false, first;

	assert(rank < c->nodes);
	c->base[rank] = base;
	for (uint32_t i = 0; i < c->n; i++) {
		struct constraint *con = &c->at[i];
		uint32_t d = constraint_domain(c, con, node), now;
		bool moved;

		if (d == DOMAIN_NONE || !constraint_counts(con, node))
			continue;
		now = constraint_now(con, node);
		if (now == con->seen[node])
			continue;
		moved = sum_change(con, d, now - con->seen[node]);
		con->seen[node] = now;
		all_nodes = all_nodes || (moved && con->single);
		/* With one constraint that makes segments, its domains are the segments. */
		own_segment = own_segment || !con->single;
		all_segments = all_segments || (!con->single && (moved || c->wide > 1));
	}
	first = constraints_are_first(c);
	if (first != c->first) {
		c->first = first;
		all_nodes = all_segments = true;
	}
	if (all_nodes)
		segment_nodes_set(c);
	else
		segment_node_set(c, rank);
	if (all_segments)
		segments_set(c);
	else if (own_segment)
		segment_set(c, &c->segments[c->segment[rank]]);
}

uint32_t constraints_most_at(const struct constraints *c, uint32_t rank, uint32_t count)
{
	node_id node = constraints_node(c, rank);

	for (uint32_t i = 0; i < c->n && count > 0; i++) {
		const struct constraint *con = &c->at[i];
		uint32_t d = constraint_domain(c, con, node);

		if (con->kind == CONSTRAINT_POLICY && !constraint_policy_open(con, d))
			return 0;
		if (con->kind != CONSTRAINT_ANTI || d == DOMAIN_NONE)
			continue;
		if (con->sums[d] > 0)
			return 0;
		count = con->self ? 1 : count;
	}
	return count;
}

/* At most what the share of the domain has left; that much is subtracted from it. */
static uint32_t policy_most(const struct constraint *con, uint32_t domain, uint32_t count)
{
	if (!constraint_policy_open(con, domain))
		return 0;
	if (!con->self || !(con->policy->policy->flags & POLICY_REQUIRED))
		return count;
	count = count < con->left[domain] ? count : (uint32_t)con->left[domain];
	con->left[domain] -= count;
	return count;
}

static uint32_t bound_at(const struct constraints *c, uint32_t rank, uint32_t count)
{
	node_id node = constraints_node(c, rank);

	count = constraints_most_at(c, rank, count);
	for (uint32_t i = 0; i < c->n && count > 0; i++)
		if (c->at[i].kind == CONSTRAINT_POLICY)
			count = policy_most(&c->at[i], constraint_domain(c, &c->at[i], node), count);
	return count;
}

static void policy_left_set(const struct constraint *con)
{
	for (uint32_t d = 0; d < con->domains; d++)
		con->left[d] = con->sums[d] < con->replicas[d] ? con->replicas[d] - con->sums[d] : 0;
}

uint64_t constraints_bound(const struct constraints *c, const uint32_t *counts)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->at[i].kind == CONSTRAINT_POLICY)
			policy_left_set(&c->at[i]);
	for (uint32_t rank = 0; rank < c->nodes; rank++)
		sum += bound_at(c, rank, counts[rank]);
	return sum;
}

uint32_t constraints_cost(const struct constraints *c)
{
	return 4 + c->rules_n + c->segments_n / 4;
}
