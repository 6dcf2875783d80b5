/* SPDX-License-Identifier: Apache-2.0 */
/* One node by itself for one class: the reference of the vector scans. */
#include "core/filter/score.h"
#include "core/index/views_impl.h"

#include "core/classes/usage.h"

/* The quotient of the scarcest resource is within one of the result (core/base/amount.h), which
 * whole numbers then decide for all resources. */
uint32_t node_count(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most)
{
	const int64_t *row = &ns->free[(size_t)id * ns->stride];
	double least = (double)most + 1;
	bool down = false, up = true;
	uint64_t count;

	for (uint32_t i = 0; i < s->requests_n; i++) {
		const struct request *q = &s->requests[i];
		double quotient = (double)row[q->resource] * q->inverse;

		least = quotient < least ? quotient : least;
		if (q->value == INT64_MAX)
			return 0; /* saturated: fits nowhere */
	}
	if (least < 0.5 || least >= (double)most + 1)
		return least < 0.5 ? 0 : most;
	count = (uint64_t)least;
	for (uint32_t i = 0; i < s->requests_n; i++) {
		uint64_t value = (uint64_t)s->requests[i].value,
				 free = (uint64_t)row[s->requests[i].resource];
		uint64_t taken = count * value;

		down = down || taken > free;
		up = up && taken + value <= free;
	}
	count += up - down;
	return count < most ? (uint32_t)count : most;
}

/* How many fit when `reserved` pods of another shape, which fit themselves, are subtracted. */
static uint32_t count_less(const struct nodes *ns, node_id id, const struct shape *s, uint32_t most,
                           const struct shape *other, uint32_t reserved)
{
	int64_t others[RESOURCES_MAX] = { 0 };
	uint32_t least = most;

	for (uint32_t i = 0; i < other->requests_n; i++)
		others[other->requests[i].resource] = amount_times(other->requests[i].value, reserved);
	for (uint32_t i = 0; i < s->requests_n && least > 0; i++) {
		const struct request *q = &s->requests[i];
		int64_t free = nodes_free_amount(ns, id, q->resource) - others[q->resource];
		uint32_t count = amount_count(free, q->value, q->inverse, most);

		least = count < least ? count : least;
	}
	return least;
}

uint32_t node_count_behind(const struct views *vs, node_id id, const struct shape *s)
{
	const struct shape *other;
	uint32_t reserved = 0;

	if (vs->hold.within && !(vs->hold_nodes[id / 64] >> (id % 64) & 1))
		return node_count(vs->nodes, id, s, vs->most);
	if (vs->hold.classes_n > 1 ||
	    (vs->hold.some_whole && vs->hold_whole[id / 64] >> (id % 64) & 1)) {
		for (uint32_t i = 0; i < vs->hold.classes_n; i++)
			if (shape_allows(shape_of(vs, vs->hold.classes[i]), id))
				return 0;
	} else {
		other = shape_of(vs, vs->hold.classes[0]);
		reserved = shape_allows(other, id) ? node_count(vs->nodes, id, other, vs->most) : 0;
	}
	if (reserved == 0)
		return node_count(vs->nodes, id, s, vs->most);
	return count_less(vs->nodes, id, s, vs->most, other, reserved);
}

/* Without the scores that are equal on all nodes. */
uint32_t node_key(const struct views *vs, const struct view *v, const struct shape *s, node_id id)
{
	const struct node_fit *f = &vs->nodes->fits[id];
	uint32_t key = 1;

	if (vs->score != SCORE_KUBE)
		return key + score_node(vs->score, vs->pod_counts, id, s);
	if (fit_exact(f) && s->fit.exact)
		key += fit_points(f, &s->fit);
	else
		key += score_node(vs->score, vs->pod_counts, id, s) +
		       (s->fit.balances ? score_balanced(vs->nodes, id, s) : 0);
	if (v->has_images)
		key += v->images_of[vs->nodes->ranks[id]];
	return key;
}

struct scan_result scan_node(const struct views *vs, const struct view *v, const struct shape *s,
                             node_id id)
{
	struct scan_result result = { 0 };

	if (!shape_allows(s, id))
		return result;
	result.count =
		v->hold > 0 ? node_count_behind(vs, id, s) : node_count(vs->nodes, id, s, vs->most);
	if (s->body->devices > 0)
		result.count = pod_counts_devices(vs->pod_counts, id, s, result.count);
	if (result.count == 0)
		return result;
	if (s->body->ports_n > 0) {
		/* nodeports: Fits.  Two pods of the class would conflict with each other. */
		if (usage_port_conflict(vs->pod_counts->usage, id, s))
			return (struct scan_result){ 0 };
		result.count = 1;
	}
	result.key = node_key(vs, v, s, id);
	return result;
}
