/* SPDX-License-Identifier: Apache-2.0 */
/* In which domain room is kept for a gang that has required levels. */
#include "core/cycle/hold_impl.h"

#include <stdlib.h>
#include <string.h>

/* Room when nobody is there. */
static void count_empty(struct core *c, const struct wanted *w)
{
	struct domains *d = &c->plan.domains;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct shape *s = &c->shapes.slots[c->census.kinds.slots[w->kinds[i]].shape];

		if (i > 0)
			domains_next_kind(d);
		for (uint32_t rank = 0; rank < c->nodes.count; rank++)
			domains_add(d, rank, empty_most(c, c->nodes.order[rank], s, w->members[i]), 0);
		domains_sum(d, ruled_most(c, w->kinds[i], w->members[i]));
	}
}

static void count_now(struct core *c, const struct wanted *w)
{
	struct domains *d = &c->plan.domains;

	c->views.behind = false;
	for (uint32_t i = 0; i < w->n; i++) {
		const struct view *v = views_get(&c->views, w->kinds[i]);

		if (i > 0)
			domains_next_kind(d);
		for (uint32_t rank = 0; rank < c->nodes.count; rank++)
			domains_add(d, rank, view_most_at(v, rank), view_key(v, rank));
		domains_sum(d, w->members[i]);
	}
}

/* The one in which room is kept now, by the first of its nodes. */
static uint32_t domain_held(const struct core *c)
{
	const struct domains *d = &c->plan.domains;

	for (uint32_t rank = 0;
	     c->views.hold.version > 0 && c->views.hold.within && rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];
		uint32_t i = d->of_rank[rank];

		if (!(c->views.hold_nodes[id / 64] >> (id % 64) & 1))
			continue;
		while (i != OUTSIDE && d->at[i].depth > d->required)
			i = d->at[i].parent;
		if (i != OUTSIDE)
			return i;
	}
	return OUTSIDE;
}

static void bits_write(struct core *c, uint32_t domain)
{
	struct domains *d = &c->plan.domains;

	memset(d->mask, 0, (c->nodes.limit + 63) / 64 * sizeof(*d->mask));
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];

		if (domain_has(d, domain, rank))
			d->mask[id / 64] |= UINT64_C(1) << (id % 64);
	}
}

bool domain_could_fit(struct core *c, const struct gang *g, struct wanted *w, uint64_t need)
{
	struct domains *d = &c->plan.domains;
	uint32_t best = OUTSIDE, held;
	bool *able;

	nodes_sort(&c->nodes);
	domains_find(d, &c->census, g);
	able = calloc(d->n, sizeof(*able));
	if (!able)
		return false;
	count_empty(c, w);
	for (uint32_t i = 0; i < d->n; i++)
		able[i] = domain_eligible(d, i) && d->at[i].bound >= need;
	held = domain_held(c);
	domains_find(d, &c->census, g);
	count_now(c, w);
	for (uint32_t i = 0; i < d->n; i++)
		if (able[i] && (best == OUTSIDE || domain_compare(d, i, best) < 0))
			best = i;
	if (held != OUTSIDE && able[held])
		best = held;
	free(able);
	if (best == OUTSIDE)
		return false;
	bits_write(c, best);
	w->nodes = d->mask;
	return true;
}
