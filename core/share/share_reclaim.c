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

static wide freed_of(const struct share_ask *frees, uint32_t r)
{
	for (uint32_t i = 0; i < frees->n; i++)
		if (frees->wants[i].resource == r)
			return frees->wants[i].value;
	return 0;
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

uint32_t shares_min_run(const struct shares *s, uint32_t queue, uint32_t victim)
{
	uint32_t a, b, most = 0;

	if (!share_is_queue(s, queue) || !share_is_queue(s, victim) ||
	    !branches_find(s, queue, victim, &a, &b))
		return 0;
	for (uint32_t q = victim;; q = s->set->defs[q].parent) {
		most = s->set->defs[q].min_run_s > most ? s->set->defs[q].min_run_s : most;
		if (q == b)
			return most;
	}
}

/* Some queue is guaranteed some of it: the root's own is the sum of all guarantees. */
static bool takes_back(const struct shares *s, uint32_t r)
{
	return share_counts(s, r) && s->own[share_at(s, 0, r)] > 0;
}

static bool by_guarantee(const struct shares *s, uint32_t a, uint32_t b, uint32_t victim,
                         const struct share_ask *ask, const struct share_ask *frees)
{
	bool takes = false;

	for (uint32_t i = 0; i < ask->n; i++) {
		const uint32_t r = ask->wants[i].resource;

		if (!takes_back(s, r) || freed_of(frees, r) == 0)
			continue;
		if (!share_is_inside(s, a, &ask->wants[i]) || !keeps_guarantees(s, victim, b, r))
			return false;
		takes = true;
	}
	return takes;
}

/* A with the gang has no more than B without, and less than B with the pod.  So B can't take it
 * back: it would have more than A without the gang.  Two infinite shares are equal, and nothing is
 * taken. */
static bool is_fair(const struct shares *s, uint32_t a, uint32_t b, const struct share_want *want,
                    wide freed)
{
	const uint32_t r = want->resource;
	const share_t with = share_over(s, a, r, want->value);

	return with != SHARE_INFINITE && with <= share_over(s, b, r, 0) &&
	       with < share_over(s, b, r, freed);
}

static bool by_share(const struct shares *s, uint32_t a, uint32_t b, uint32_t victim,
                     const struct share_ask *ask, const struct share_ask *frees)
{
	bool takes = false;

	for (uint32_t i = 0; i < frees->n; i++)
		if (share_counts(s, frees->wants[i].resource) &&
		    !keeps_guarantees(s, victim, b, frees->wants[i].resource))
			return false;
	for (uint32_t i = 0; i < ask->n; i++) {
		const uint32_t r = ask->wants[i].resource;
		const wide freed = freed_of(frees, r);

		if (!share_is_shared(s, r) || freed == 0)
			continue;
		if (!share_is_inside(s, a, &ask->wants[i]) && !is_fair(s, a, b, &ask->wants[i], freed))
			return false;
		takes = true;
	}
	return takes;
}

bool shares_reclaim(const struct shares *s, uint32_t queue, uint32_t victim,
                    const struct share_ask *ask, const struct share_ask *frees, bool fair)
{
	uint32_t a, b;

	if (!share_is_queue(s, queue) || !share_is_queue(s, victim) ||
	    !branches_find(s, queue, victim, &a, &b) || is_kept(s, victim, b))
		return false;
	return by_guarantee(s, a, b, victim, ask, frees) ||
	       (fair && by_share(s, a, b, victim, ask, frees));
}

struct share_taking shares_taking(const struct shares *s, uint32_t queue, uint32_t victim,
                                  const struct share_ask *ask, const struct share_ask *frees)
{
	struct share_taking t = { .resource = UINT32_MAX };
	share_t most = 0;

	branches_find(s, queue, victim, &t.a, &t.b);
	t.fair = !by_guarantee(s, t.a, t.b, victim, ask, frees);
	for (uint32_t i = 0; i < ask->n; i++) {
		const uint32_t r = ask->wants[i].resource;
		const wide freed = freed_of(frees, r);

		if (freed == 0 || !(t.fair ? share_is_shared(s, r) : takes_back(s, r)))
			continue;
		if (t.resource == UINT32_MAX || (t.fair && share_over(s, t.b, r, freed) > most)) {
			t.resource = r;
			most = t.fair ? share_over(s, t.b, r, freed) : 0;
		}
	}
	return t;
}

bool shares_owed(const struct shares *s, uint32_t queue, const struct share_ask *ask)
{
	bool owed = false;

	if (!share_is_queue(s, queue) || queue == QUEUE_ROOT)
		return false;
	for (uint32_t i = 0; i < ask->n; i++) {
		if (!takes_back(s, ask->wants[i].resource))
			continue;
		for (uint32_t q = queue; q != QUEUE_ROOT; q = s->set->defs[q].parent)
			if (!share_is_inside(s, q, &ask->wants[i]))
				return false;
		owed = true;
	}
	return owed;
}
