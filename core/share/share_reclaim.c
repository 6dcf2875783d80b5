/* SPDX-License-Identifier: Apache-2.0 */
/* What one queue may take back of another. */
#include "core/share/share_impl.h"

/* The branches of two queues just below the lowest one above both; false: one is above the other.
 * A parent's index is below its children's. */
static bool branches_find(const struct shares *s, uint32_t queue, uint32_t victim, uint32_t *a,
                          uint32_t *b)
{
	*a = *b = UINT32_MAX;
	while (queue != victim) {
		if (queue > victim) {
			*a = queue;
			queue = s->set->defs[queue].parent;
		} else {
			*b = victim;
			victim = s->set->defs[victim].parent;
		}
	}
	return *a != UINT32_MAX && *b != UINT32_MAX;
}

static bool is_freed(const struct share_ask *frees, uint32_t r)
{
	for (uint32_t i = 0; i < frees->n; i++)
		if (frees->wants[i].resource == r)
			return true;
	return false;
}

/* True if every queue from `victim` to B has its guarantee still. */
static bool keeps_guarantees(const struct shares *s, uint32_t victim, uint32_t b, uint32_t r)
{
	for (uint32_t q = victim;; q = s->set->defs[q].parent) {
		if (s->used[share_at(s, q, r)] < s->has[share_at(s, q, r)])
			return false;
		if (q == b)
			return true;
	}
}

static bool is_kept(const struct shares *s, uint32_t victim, uint32_t b)
{
	for (uint32_t q = victim;; q = s->set->defs[q].parent) {
		if (s->set->defs[q].kept)
			return true;
		if (q == b)
			return false;
	}
}

bool shares_reclaim(const struct shares *s, uint32_t queue, uint32_t victim,
                    const struct share_ask *ask, const struct share_ask *frees)
{
	uint32_t a, b;
	bool takes = false;

	if (!share_is_queue(s, queue) || !share_is_queue(s, victim) ||
	    !branches_find(s, queue, victim, &a, &b) || is_kept(s, victim, b))
		return false;
	for (uint32_t i = 0; i < ask->n; i++) {
		const uint32_t r = ask->wants[i].resource;

		/* The root's own is the sum of all guarantees. */
		if (!share_counts(s, r) || s->own[share_at(s, 0, r)] == 0 || !is_freed(frees, r))
			continue;
		if (s->used[share_at(s, a, r)] + ask->wants[i].value > s->has[share_at(s, a, r)] ||
		    !keeps_guarantees(s, victim, b, r))
			return false;
		takes = true;
	}
	return takes;
}
