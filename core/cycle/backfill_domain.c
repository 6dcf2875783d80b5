/* SPDX-License-Identifier: Apache-2.0 */
/* The domain in which capacity is reserved for a gang with required levels (design.md, Levels). */
#include "core/cycle/backfill_impl.h"

#include "core/base/span.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What each domain takes when it is empty. */
static void count_empty(struct core *c, const struct wanted *w)
{
	struct domains *d = &c->plan.domains;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct shape *s = class_shape(&c->pod_counts, w->classes[i]);

		if (i > 0)
			domains_next_class(d);
		for (uint32_t rank = 0; rank < c->nodes.count; rank++)
			domains_add(d, rank, empty_most(c, w->lasting, c->nodes.order[rank], s, w->members[i]),
			            0);
		domains_sum(d, ruled_most(c, w->lasting, w->classes[i], w->members[i]));
	}
}

/* What each domain takes now. */
static void count_now(struct core *c, const struct wanted *w)
{
	struct domains *d = &c->plan.domains;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct view *v = views_get(&c->views, &(struct view_scope){ 0 }, w->classes[i]);

		if (i > 0)
			domains_next_class(d);
		for (uint32_t rank = 0; rank < c->nodes.count; rank++)
			domains_add(d, rank, view_most_at(v, rank), view_key(v, rank));
		domains_sum(d, w->members[i]);
	}
}

/* The domain that is reserved now, found by the first of its nodes; OUTSIDE: none. */
static uint32_t domain_reserved(const struct core *c)
{
	const struct domains *d = &c->plan.domains;

	if (c->views.hold.version == 0 || !c->views.hold.within)
		return OUTSIDE;
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
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

	memset(d->mask, 0, span_words(c->nodes.span) * sizeof(*d->mask));
	for (uint32_t rank = 0; rank < c->nodes.count; rank++) {
		const node_id id = c->nodes.order[rank];

		if (domain_has(d, domain, rank))
			d->mask[id / 64] |= UINT64_C(1) << (id % 64);
	}
}

bool domain_could_fit(struct core *c, const struct gang *g, struct wanted *w, uint64_t need)
{
	struct domains *d = &c->plan.domains;
	uint32_t best = OUTSIDE, reserved;
	bool *able;

	assert(need > 0);
	nodes_sort(&c->nodes);
	domains_find(d, &c->pod_counts, g);
	able = must_array(d->n, sizeof(*able));
	count_empty(c, w);
	for (uint32_t i = 0; i < d->n; i++)
		able[i] = domain_eligible(d, i) && d->at[i].bound >= need;
	reserved = domain_reserved(c);
	domains_find(d, &c->pod_counts, g);
	count_now(c, w);
	for (uint32_t i = 0; i < d->n; i++)
		if (able[i] && (best == OUTSIDE || domain_compare(d, i, best) < 0))
			best = i;
	if (reserved != OUTSIDE && able[reserved])
		best = reserved;
	free(able);
	if (best == OUTSIDE)
		return false;
	bits_write(c, best);
	w->nodes = d->mask;
	return true;
}
