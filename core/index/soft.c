/* SPDX-License-Identifier: Apache-2.0 */
/* Soft rules: groups of nodes with the same raw values, and how they follow the nodes. */
#include "core/index/soft.h"
#include "core/index/soft_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_FIRST 16u /* nodes */

/* Empty groups are kept, since their counts come again, up to so many for each node. */
#define GROUPS_EACH 2u

static uint64_t item_of(const struct soft *s, uint32_t rank)
{
	return (uint64_t)(uint32_t)s->known.points[rank] << 32 | (uint32_t)~rank;
}

static uint32_t item_rank(uint64_t item)
{
	return ~(uint32_t)item;
}

static void heap_put(struct soft *s, struct soft_group *g, uint32_t at, uint64_t item)
{
	g->heap[at] = item;
	s->place[item_rank(item)] = at;
}

static void heap_up(struct soft *s, struct soft_group *g, uint32_t at, uint64_t item)
{
	while (at > 0 && g->heap[(at - 1) / 2] < item) {
		heap_put(s, g, at, g->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(s, g, at, item);
}

static void heap_down(struct soft *s, struct soft_group *g, uint32_t at, uint64_t item)
{
	uint32_t below;

	while ((below = 2 * at + 1) < g->n) {
		below += below + 1 < g->n && g->heap[below + 1] > g->heap[below];
		if (g->heap[below] < item)
			break;
		heap_put(s, g, at, g->heap[below]);
		at = below;
	}
	heap_put(s, g, at, item);
}

/* The item at that place was replaced. */
static void heap_mend(struct soft *s, struct soft_group *g, uint32_t at, uint64_t item)
{
	if (at > 0 && g->heap[(at - 1) / 2] < item)
		heap_up(s, g, at, item);
	else
		heap_down(s, g, at, item);
}

static void group_leave(struct soft *s, uint32_t rank)
{
	const uint32_t group = s->group[rank], at = s->place[rank];
	struct soft_group *g = &s->groups[group];
	const uint64_t last = g->heap[g->n - 1];

	assert(item_rank(g->heap[at]) == rank);
	g->n--;
	s->group[rank] = GROUP_NONE;
	if (at < g->n)
		heap_mend(s, g, at, last);
	if (g->n > 0)
		return;
	s->live[g->at] = s->live[--s->live_n];
	s->groups[s->live[g->at]].at = g->at;
	s->spans_old = true;
}

/* Appends the node; its place in the heap is not right yet. */
static void group_append(struct soft *s, uint32_t group, uint32_t rank)
{
	struct soft_group *g = &s->groups[group];

	if (g->n == g->room) {
		g->room = g->room ? 2 * g->room : HEAP_FIRST;
		g->heap = must_grow(g->heap, g->room * sizeof(*g->heap));
	}
	if (g->n == 0) {
		g->at = s->live_n;
		s->live[s->live_n++] = group;
		s->spans_old = true;
	}
	s->group[rank] = group;
	heap_put(s, g, g->n++, item_of(s, rank));
}

static void groups_reserve(struct soft *s)
{
	const uint32_t was = s->groups_cap;

	id_table_reserve(&s->group_ids, 1);
	id_table_fit(&s->group_ids, &s->groups, &s->groups_cap, sizeof(*s->groups));
	if (s->groups_cap == was)
		return;
	s->keys = must_grow(s->keys, (size_t)s->groups_cap * s->key_words * sizeof(*s->keys));
	s->live = must_grow(s->live, s->groups_cap * sizeof(*s->live));
}

/* The group of the node by its values, which is made if it is new. */
static uint32_t group_find(struct soft *s, uint32_t rank)
{
	const int64_t *values = &s->values[(size_t)rank * s->sums_n];
	uint32_t hash = s->site[rank], group;

	s->key[GROUP_SITE] = s->site[rank];
	s->key[GROUP_HIDDEN] = s->masked && !(s->shown[rank / 64] >> (rank % 64) & 1);
	for (uint32_t i = 0; i < s->sums_n; i++)
		s->key[GROUP_OWN + i] = s->sums[i].own ? values[i] : 0;
	for (uint32_t i = GROUP_HIDDEN; i < s->key_words; i++)
		hash = id_hash(hash, (uint32_t)s->key[i]);
	group = id_table_first(&s->group_ids, hash);
	while (group != ID_TABLE_NONE &&
	       memcmp(soft_group_key(s, group), s->key, s->key_words * sizeof(*s->key)) != 0)
		group = id_table_next(&s->group_ids, group);
	if (group != ID_TABLE_NONE)
		return group;
	groups_reserve(s);
	group = id_table_add(&s->group_ids, hash);
	memcpy(&s->keys[(size_t)group * s->key_words], s->key, s->key_words * sizeof(*s->key));
	return group;
}

static bool is_open(const struct soft *s, uint32_t rank)
{
	return s->known.points[rank] > 0 &&
	       (!s->known.rules || constraints_node_open(s->known.rules, rank));
}

void groups_form(struct soft *s)
{
	for (uint32_t i = 0; i < s->groups_cap; i++)
		s->groups[i].n = 0;
	id_table_clear(&s->group_ids);
	s->live_n = 0;
	for (uint32_t rank = 0; rank < s->nodes; rank++)
		if (is_open(s, rank))
			group_append(s, group_find(s, rank), rank);
		else
			s->group[rank] = GROUP_NONE;
	for (uint32_t i = 0; i < s->live_n; i++) {
		struct soft_group *g = &s->groups[s->live[i]];

		for (uint32_t at = g->n / 2; at-- > 0;)
			heap_down(s, g, at, g->heap[at]);
	}
	s->spans_old = true;
	s->swept = s->known.rules ? constraints_swept(s->known.rules) : 0;
}

bool soft_mask(struct soft *s, uint64_t version, const uint64_t *bits)
{
	if (s->masked == version)
		return false;
	s->masked = version;
	if (bits)
		memcpy(s->shown, bits, (s->nodes + 63) / 64 * sizeof(*bits));
	groups_form(s);
	return true;
}

/* Reads the counts of the node; true if one of its own changed. */
static bool values_follow(struct soft *s, uint32_t rank)
{
	const uint32_t *domains = soft_site(s, s->site[rank]) + SITE_DOMAINS;
	int64_t *values = &s->values[(size_t)rank * s->sums_n];
	bool moved = false;

	for (uint32_t i = 0; i < s->sums_n; i++) {
		struct soft_sum *sum = &s->sums[i];
		const int64_t now = soft_value(s, sum, rank);

		if (now == values[i])
			continue;
		assert(domains[i] != DOMAIN_NONE);
		if (sum->own)
			moved = true;
		else
			sum->sums[domains[i]] += now - values[i];
		values[i] = now;
	}
	return moved;
}

void soft_follow(struct soft *s, uint32_t rank)
{
	const bool moved = values_follow(s, rank), open = is_open(s, rank);
	const uint32_t was = s->group[rank];
	uint32_t group;

	if (was != GROUP_NONE && (moved || !open))
		group_leave(s, rank);
	if (!open)
		return;
	if (was != GROUP_NONE && !moved) {
		heap_mend(s, &s->groups[was], s->place[rank], item_of(s, rank));
		return;
	}
	group = group_find(s, rank);
	group_append(s, group, rank);
	heap_up(s, &s->groups[group], s->place[rank], item_of(s, rank));
}

bool soft_outdated(const struct soft *s, uint32_t rank)
{
	assert(rank < s->nodes);
	soft_site_words(s, rank, s->words);
	return s->facts[rank] != s->known.facts[rank] ||
	       memcmp(s->words, soft_site(s, s->site[rank]), s->site_words * sizeof(*s->words)) != 0 ||
	       s->group_ids.used > GROUPS_EACH * (s->nodes + HEAP_FIRST);
}
