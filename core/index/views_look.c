/* SPDX-License-Identifier: Apache-2.0 */
/* One node seen by one kind. */
#include "core/index/views_impl.h"

#include "core/classes/things.h"

/* How many fit, `most` or fewer.  The quotient of the scarcest resource is within one of
 * the answer (core/base/amount.h), so all of them are asked in whole numbers which it is. */
uint32_t node_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most)
{
	const int64_t *rooms = &ns->room[(size_t)id * ns->stride];
	double least = (double)most + 1;
	bool down = false, up = true;
	uint64_t count;

	for (uint32_t i = 0; i < s->requests_n; i++) {
		const struct request *q = &s->requests[i];
		double quotient = (double)rooms[q->resource] * q->inverse;

		least = quotient < least ? quotient : least;
		if (q->value == INT64_MAX)
			return 0; /* cut off: fits nowhere */
	}
	if (least < 0.5 || least >= (double)most + 1)
		return least < 0.5 ? 0 : most;
	count = (uint64_t)least;
	for (uint32_t i = 0; i < s->requests_n; i++) {
		uint64_t value = (uint64_t)s->requests[i].value,
				 room = (uint64_t)rooms[s->requests[i].resource];
		uint64_t taken = count * value;

		down = down || taken > room;
		up = up && taken + value <= room;
	}
	count += up - down;
	return count < most ? (uint32_t)count : most;
}

/* How many fit beside `kept` pods of another shape, which have room themselves. */
static uint32_t count_beside(const struct nodes *ns, node_id id, const struct shape *s,
                             uint32_t most, const struct shape *other, uint32_t kept)
{
	int64_t others[RESOURCES_MAX] = { 0 };
	uint32_t least = most;

	for (uint32_t i = 0; i < other->requests_n; i++)
		others[other->requests[i].resource] = amount_times(other->requests[i].value, kept);
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		int64_t room = nodes_room(ns, id, q->resource) - others[q->resource];
		uint32_t count = amount_count(room, q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

/* ... as far as the hold leaves room. */
uint32_t node_count_behind(const struct views *vs, node_id id, const struct shape *s)
{
	const struct shape *other;
	uint32_t kept = 0;

	if (vs->hold.within && !(vs->hold_nodes[id / 64] >> (id % 64) & 1))
		return node_count(vs->nodes, id, s, vs->most);
	if (vs->hold.kinds_n > 1 || (vs->hold.some_whole && vs->hold_whole[id / 64] >> (id % 64) & 1)) {
		for (uint32_t i = 0; i < vs->hold.kinds_n; i++)
			if (shape_allows(shape_of(vs, vs->hold.kinds[i]), id))
				return 0;
	} else {
		other = shape_of(vs, vs->hold.kinds[0]);
		kept = shape_allows(other, id) ? node_count(vs->nodes, id, other, vs->most) : 0;
	}
	if (kept == 0)
		return node_count(vs->nodes, id, s, vs->most);
	return count_beside(vs->nodes, id, s, vs->most, other, kept);
}

/* The parts of the score that are the same everywhere are left out. */
uint32_t node_key(const struct views *vs, const struct view *v, const struct shape *s, node_id id)
{
	const struct node_fit *f = &vs->nodes->fits[id];
	uint32_t key = 1;

	if (vs->score != SCORE_KUBE)
		return key + score_node(vs->score, vs->nodes, id, s);
	if (fit_exact(f) && s->fit.exact)
		key += fit_points(f, &s->fit);
	else
		key += score_node(vs->score, vs->nodes, id, s) +
		       (s->fit.balances ? score_balanced(vs->nodes, id, s) : 0);
	if (s->body->images_n > 0)
		key += v->images_of[vs->nodes->ranks[id]];
	return key;
}

/* One node by itself. */
struct look node_look(const struct views *vs, const struct view *v, const struct shape *s,
                      node_id id)
{
	struct look look = { 0 };

	if (!shape_allows(s, id))
		return look;
	look.count =
		v->hold > 0 ? node_count_behind(vs, id, s) : node_count(vs->nodes, id, s, vs->most);
	if (look.count == 0)
		return look;
	if (s->body->ports_n > 0) {
		if (things_port_conflict(vs->census->things, id, s))
			return (struct look){ 0 };
		look.count = 1;
	}
	look.key = node_key(vs, v, s, id);
	return look;
}
