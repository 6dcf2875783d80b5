/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are emptied for a gang that has held room for long.
 *
 * A hold keeps what the gang could place; what is too little for one of its members is anybody's.
 * Small pods that take each other's room as they end could so bar members that need more for ever.
 */
#include "core/cycle/hold_impl.h"

#include <string.h>

#define STEPS 16u /* nodes are taken by how much of them is missing, in so many steps */

static bool has_bit(const uint64_t *bits, node_id id)
{
	return bits[id / 64] >> (id % 64) & 1;
}

/* Would those that are emptied take enough, and are all of them still where room is to be kept? */
static bool same_do(const struct core *c, const struct wanted *w, const struct shape *s,
                    uint64_t need)
{
	uint64_t sum = 0;

	if (!c->views.hold.some_whole)
		return false;
	for (node_id id = 0; id < c->nodes.used; id++) {
		if (!has_bit(c->views.hold_whole, id))
			continue;
		if (w->nodes && !has_bit(w->nodes, id))
			return false;
		sum += empty_most(c, id, s, w->members[0]);
	}
	return sum >= need;
}

/* Of its members the node could take, and can't now: 0 none, STEPS all. */
static uint32_t missing(const struct core *c, const struct wanted *w, node_id id, uint32_t empty)
{
	uint32_t now = views_count_at(&c->views, id, w->kinds[0]);

	return now < empty ? (uint32_t)((uint64_t)(empty - now) * STEPS / empty) : 0;
}

static void choose(struct core *c, const struct wanted *w, const struct shape *s, uint64_t need)
{
	uint64_t sum = 0;

	nodes_sort(&c->nodes);
	memset(c->drain, 0, (c->nodes.limit + 63) / 64 * sizeof(*c->drain));
	for (uint32_t step = 0; step <= STEPS && sum < need; step++) {
		for (uint32_t rank = 0; rank < c->nodes.count && sum < need; rank++) {
			const node_id id = c->nodes.order[rank];
			const uint32_t empty =
				w->nodes && !has_bit(w->nodes, id) ? 0 : empty_most(c, id, s, w->members[0]);

			if (empty == 0 || missing(c, w, id, empty) != step)
				continue;
			c->drain[id / 64] |= UINT64_C(1) << (id % 64);
			sum += empty;
		}
	}
}

void drain_find(struct core *c, struct wanted *w, uint64_t need)
{
	const struct shape *s = &c->shapes.slots[c->census.kinds.slots[w->kinds[0]].shape];

	/* Of several kinds, and with rules between pods, it isn't known which nodes would do. */
	if (w->n > 1 || kind_has_rules(c, w->kinds[0]))
		return;
	if (same_do(c, w, s, need))
		memcpy(c->drain, c->views.hold_whole, (c->nodes.limit + 63) / 64 * sizeof(*c->drain));
	else
		choose(c, w, s, need);
	w->whole = c->drain;
}
