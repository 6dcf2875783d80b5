/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds: what can't go to the nodes that are left, by sums and by counts. */
#include "core/pack/pack_impl.h"

#include <string.h>

/* How many pieces that take `least` at least the node has room for. */
static uint64_t count_at(const struct pack_search *s, uint32_t node, const int64_t *least,
                         uint64_t limit)
{
	const int64_t *room = &s->p->room[(size_t)node * s->p->resources];

	for (uint32_t r = 0; r < s->p->resources; r++) {
		uint64_t n = least[r] > 0 ? (room[r] > 0 ? (uint64_t)(room[r] / least[r]) : 0) : limit;

		limit = n < limit ? n : limit;
	}
	return limit;
}

void pack_bounds_set(struct pack_search *s)
{
	const uint32_t kinds = s->p->kinds, resources = s->p->resources;

	memset(&s->reach_sum[(size_t)s->nodes * resources], 0, resources * sizeof(*s->reach_sum));
	memset(&s->bigs[(size_t)s->nodes * kinds], 0, kinds * sizeof(*s->bigs));
	for (uint32_t d = s->nodes; d-- > 0;) {
		const uint32_t node = s->order[d];
		int64_t least[PACK_RESOURCES];
		uint64_t limit = 0;

		for (uint32_t r = 0; r < resources; r++)
			s->reach_sum[(size_t)d * resources + r] =
				s->reach_sum[(size_t)(d + 1) * resources + r] +
				s->reach[(size_t)node * resources + r];
		for (uint32_t k = 0; k < kinds; k++) {
			const int64_t *takes = pack_takes(s, k);

			for (uint32_t r = 0; r < resources; r++)
				least[r] = k == 0 || takes[r] < least[r] ? takes[r] : least[r];
			limit += s->most[(size_t)node * kinds + k];
			s->bigs[(size_t)d * kinds + k] =
				s->bigs[(size_t)(d + 1) * kinds + k] + count_at(s, node, least, limit);
		}
	}
}

/* What the pieces need of the resource, those left out that take most. */
static wide needed(const struct pack_search *s, uint32_t resource)
{
	uint64_t omit = s->p->omit;
	wide sum = 0;

	for (uint32_t i = 0; i < s->p->kinds; i++) {
		const uint32_t k = s->by_amount[(size_t)resource * s->p->kinds + i];
		const uint64_t out = s->left[k] < omit ? s->left[k] : omit;

		omit -= out;
		sum += (wide)pack_takes(s, k)[resource] * (s->left[k] - out);
	}
	return sum;
}

bool pack_bounds_hold(const struct pack_search *s)
{
	uint64_t pieces = 0;

	for (uint32_t r = 0; r < s->p->resources; r++)
		if (needed(s, r) > s->reach_sum[(size_t)s->depth * s->p->resources + r])
			return false;
	for (uint32_t k = 0; k < s->p->kinds; k++) {
		pieces += s->left[k];
		if (pieces > s->bigs[(size_t)s->depth * s->p->kinds + k] + s->p->omit)
			return false;
	}
	return true;
}
