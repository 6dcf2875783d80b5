/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are reserved whole for the owner of an old backfill reservation.
 *
 * A reservation leaves to others what is too little for one more member.  Small pods that replace
 * each other there as they end could keep larger members out forever; on a node that is reserved
 * whole they are not replaced. */
#include "core/cycle/backfill_impl.h"
#include "core/base/span.h"

#include <assert.h>
#include <string.h>

#define STEPS 16u /* nodes are chosen in this many steps of how much of them is in use */

static bool has_bit(const uint64_t *bits, node_id id)
{
	return bits[id / 64] >> (id % 64) & 1;
}

/* The part of the members it could take when empty that the node can't take now: 0 none, STEPS
 * all. */
static uint32_t used_part(const struct core *c, const struct wanted *w, node_id id, uint32_t empty)
{
	uint32_t now = views_count_at(&c->views, id, w->classes[0]);

	return now < empty ? (uint32_t)((uint64_t)(empty - now) * STEPS / empty) : 0;
}

/* True if the nodes that are reserved whole take enough, all of them are in w->nodes, and at most
 * `used_most` are in use. */
static bool same_suffice(const struct core *c, const struct wanted *w, const struct shape *s,
                         uint64_t need, uint32_t used_most)
{
	uint64_t sum = 0;
	uint32_t used = 0, empty;

	if (!c->views.hold.some_whole)
		return false;
	for (node_id id = 0; id < c->nodes.used; id++) {
		if (!has_bit(c->views.hold_whole, id))
			continue;
		if (w->nodes && !has_bit(w->nodes, id))
			return false;
		empty = empty_most(c, w->lasting, id, s, w->members[0]);
		used += empty > 0 && used_part(c, w, id, empty) > 0;
		sum += empty;
	}
	return sum >= need && used <= used_most;
}

/* Of nodes that are in use at most `used_most`. */
static void choose(struct core *c, const struct wanted *w, const struct shape *s, uint64_t need,
                   uint32_t used_most)
{
	uint64_t sum = 0;
	uint32_t used = 0;

	nodes_sort(&c->nodes);
	memset(c->backfill.whole_nodes, 0,
	       span_words(c->nodes.span) * sizeof(*c->backfill.whole_nodes));
	for (uint32_t step = 0; step <= STEPS && sum < need; step++) {
		for (uint32_t rank = 0; rank < c->nodes.count && sum < need; rank++) {
			const node_id id = c->nodes.order[rank];
			const uint32_t empty = w->nodes && !has_bit(w->nodes, id)
			                           ? 0
			                           : empty_most(c, w->lasting, id, s, w->members[0]);

			if (empty == 0 || used_part(c, w, id, empty) != step || used == used_most)
				continue;
			used += step > 0;
			c->backfill.whole_nodes[id / 64] |= UINT64_C(1) << (id % 64);
			sum += empty;
		}
	}
}

void whole_nodes_find(struct core *c, struct wanted *w, uint64_t need, uint32_t period)
{
	const uint32_t share = c->nodes.present / (period + 1), used_most = share > 0 ? share : 1;
	const struct shape *s = class_shape(&c->pod_counts, w->classes[0]);

	assert(w->n > 0);
	assert(need > 0);
	/* For several classes, or with rules between pods, it is not known which nodes would
	 * suffice. */
	if (w->n > 1 || class_has_rules(c, w->classes[0]))
		return;
	if (same_suffice(c, w, s, need, used_most))
		memcpy(c->backfill.whole_nodes, c->views.hold_whole,
		       span_words(c->nodes.span) * sizeof(*c->backfill.whole_nodes));
	else
		choose(c, w, s, need, used_most);
	w->whole = c->backfill.whole_nodes;
}
