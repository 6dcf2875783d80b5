/* SPDX-License-Identifier: Apache-2.0 */
/* May a gang start, and which is next. */
#include "core/share/share_impl.h"

static bool block(struct share_block *out, enum queue_by by, uint32_t at)
{
	*out = (struct share_block){ .by = by, .at = at, .resource = UINT32_MAX };
	return false;
}

static wide above_zero(wide value)
{
	return value > 0 ? value : 0;
}

static bool within_limit(const struct shares *s, uint32_t q, const struct share_want *want,
                         struct share_block *out)
{
	const int64_t limit = s->set->defs[q].limit[want->resource];
	const wide used = s->used[share_at(s, q, want->resource)];

	if (limit == QUEUE_NO_LIMIT || used + want->value <= limit)
		return true;
	block(out, want->value > limit ? QUEUE_BY_NEVER : QUEUE_BY_LIMIT, q);
	out->resource = want->resource;
	out->need = want->value;
	out->have = want->value > limit ? limit : above_zero(limit - used);
	return false;
}

/* The rooms kept below the root and each queue with a limit on the way, with the gang counted. */
static bool leaves_kept(const struct shares *s, uint32_t leaf, const struct share_want *want,
                        struct share_block *out)
{
	const uint32_t r = want->resource;
	wide kept = 0, before = 0; /* of the child on the way, with the gang and without it */

	for (uint32_t q = leaf;; q = s->set->defs[q].parent) {
		const size_t at = share_at(s, q, r);
		const int64_t limit = s->set->defs[q].limit[r];
		const wide below = s->below[at] - before + kept, used = s->used[at] + want->value;
		wide cap = limit == QUEUE_NO_LIMIT ? -1 : limit;

		if (q == 0)
			cap = cap < 0 || s->total[r] < cap ? s->total[r] : cap;
		if (cap >= 0 && below > 0 && used + below > cap) {
			block(out, QUEUE_BY_KEPT, q);
			out->resource = r;
			out->need = want->value;
			out->have = above_zero(cap - s->used[at] - below);
			return false;
		}
		if (q == 0)
			return true;
		before = s->kept[at];
		kept = shares_reserved(s, q, r) - used;
		kept = above_zero(kept > below ? kept : below);
	}
}

bool shares_allow(const struct shares *s, uint32_t queue, const struct share_ask *ask,
                  struct share_block *out)
{
	if (queue == SHARE_TWO)
		return block(out, QUEUE_BY_TWO, 0);
	if (!share_is_queue(s, queue))
		return block(out, QUEUE_BY_MISSING, 0);
	if (s->set->defs[queue].parked)
		return block(out, QUEUE_BY_PARKED, queue);
	if (!s->queues[queue].leaf)
		return block(out, QUEUE_BY_CHILDREN, queue);
	for (uint32_t q = queue;; q = s->set->defs[q].parent) {
		if (s->set->defs[q].state != QUEUE_OPEN)
			return block(out, QUEUE_BY_STATE, q);
		for (uint32_t i = 0; i < ask->n; i++)
			if (share_counts(s, ask->wants[i].resource) && !within_limit(s, q, &ask->wants[i], out))
				return false;
		if (q == 0)
			break;
	}
	for (uint32_t i = 0; i < ask->n; i++)
		if (share_counts(s, ask->wants[i].resource) && !leaves_kept(s, queue, &ask->wants[i], out))
			return false;
	block(out, QUEUE_BY_NONE, queue);
	return true;
}

/* The queue on the way to the root that allows the least; SHARE_MISSING: none limits it. */
static uint32_t run_limit(const struct shares *s, uint32_t queue)
{
	uint32_t at = SHARE_MISSING;

	for (uint32_t q = queue;; q = s->set->defs[q].parent) {
		const uint32_t most = s->set->defs[q].max_run_s;

		if (most > 0 && (at == SHARE_MISSING || most < s->set->defs[at].max_run_s))
			at = q;
		if (q == 0)
			return at;
	}
}

uint32_t shares_max_run(const struct shares *s, uint32_t queue)
{
	const uint32_t at = run_limit(s, queue);

	return at != SHARE_MISSING ? s->set->defs[at].max_run_s : UINT32_MAX;
}

bool shares_allow_run(const struct shares *s, uint32_t queue, uint32_t stated_s,
                      struct share_block *out)
{
	const uint32_t at = run_limit(s, queue);

	if (at == SHARE_MISSING || stated_s <= s->set->defs[at].max_run_s)
		return true;
	block(out, QUEUE_BY_RUN, at);
	out->need = stated_s;
	out->have = s->set->defs[at].max_run_s;
	return false;
}

bool share_is_shared(const struct shares *s, uint32_t r)
{
	return share_counts(s, r) && s->total[r] > 0 && !(s->set->unshared >> r & 1);
}

share_t share_over(const struct shares *s, uint32_t queue, uint32_t r, wide more)
{
	const size_t at = share_at(s, queue, r);
	const wide used = s->history ? history_effective(s, queue, r, more) : s->used[at] + more;
	const wide over = above_zero(used - s->has[at]);

	if (over == 0)
		return 0;
	if (s->weight[at] == 0)
		return SHARE_INFINITE;
	/* 63 + 20 + 40 bits, by 63 + 20 bits. */
	return (share_t)wide_cut(over) * 1000000 * SHARE_ONE /
	       ((share_t)s->total[r] * (share_t)s->weight[at]);
}

share_t shares_over(const struct shares *s, uint32_t queue, const struct share_ask *ask)
{
	share_t most = 0;

	for (uint32_t i = 0; i < ask->n; i++) {
		const uint32_t r = ask->wants[i].resource;
		const share_t share = share_is_shared(s, r) ? share_over(s, queue, r, 0) : 0;

		most = share > most ? share : most;
	}
	return most;
}

bool shares_inside(const struct shares *s, uint32_t queue, const struct share_ask *ask)
{
	for (uint32_t i = 0; i < ask->n; i++)
		if (share_is_shared(s, ask->wants[i].resource) &&
		    !share_is_inside(s, queue, &ask->wants[i]))
			return false;
	return true;
}

/* shares_over() and shares_inside() with what is promised: without it a queue would be given one
 * promise after the other, since none of them changes what it uses. */
static void key_find(struct shares *s, uint32_t queue, const struct share_waiting *first)
{
	const uint8_t extra = first->extra ? 4 : 0, asks = first->begun ? 0 : 2;
	struct share_key key = { .priority = s->set->defs[queue].priority,
		                     .rank = s->queues[queue].rank,
		                     .age_ns = first->age_ns };
	uint8_t outside = 0;

	for (uint32_t i = 0; i < first->ask->n; i++) {
		const struct share_want *want = &first->ask->wants[i];
		share_t over;
		wide promised;

		if (!share_is_shared(s, want->resource))
			continue;
		promised = s->promised[share_at(s, queue, want->resource)];
		over = share_over(s, queue, want->resource, promised);
		key.over = over > key.over ? over : key.over;
		if (!share_is_inside(s, queue,
		                     &(struct share_want){ .resource = want->resource,
		                                           .value = want->value + promised }))
			outside = 1;
	}
	key.class = (uint8_t)(extra + asks + outside);
	s->queues[queue].key = key;
}

/* True if sibling a, with its first gang, comes before b. */
static bool turn_before(const struct share_key *a, const struct share_key *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->over != b->over)
		return a->over < b->over;
	if (a->age_ns != b->age_ns)
		return a->age_ns < b->age_ns;
	return a->rank < b->rank;
}

/* Of two children the one that comes first. */
static uint32_t earlier(const struct shares *s, uint32_t a, uint32_t b)
{
	if (a == UINT32_MAX || b == UINT32_MAX)
		return a == UINT32_MAX ? b : a;
	return turn_before(&s->queues[b].key, &s->queues[a].key) ? b : a;
}

/* The queue, whose key is new, among its siblings. */
static void sibling_follow(struct shares *s, uint32_t queue)
{
	const struct share *of = &s->queues[queue], *parent = &s->queues[s->set->defs[queue].parent];
	uint32_t *firsts = &s->firsts[parent->children_at];
	uint32_t i = parent->children + of->slot;

	firsts[i] = of->first != UINT32_MAX ? queue : UINT32_MAX;
	while ((i /= 2) > 0)
		firsts[i] = earlier(s, firsts[2 * i], firsts[2 * i + 1]);
}

static void queue_follow(struct shares *s, uint32_t q, const struct share_waiting *waiting)
{
	struct share *of = &s->queues[q];

	if (of->leaf) {
		of->first = waiting[q].waits ? q : UINT32_MAX;
	} else {
		const uint32_t child = s->firsts[of->children_at + 1];

		of->first = child != UINT32_MAX ? s->queues[child].first : UINT32_MAX;
	}
	if (of->first != UINT32_MAX)
		key_find(s, q, &waiting[of->first]);
	if (q > 0)
		sibling_follow(s, q);
}

/* Children have greater numbers than their parents: from the last stale queue on. */
uint32_t shares_next(struct shares *s, const struct share_waiting *waiting)
{
	for (uint32_t i = s->set->n / 64 + 1u; i-- > 0;)
		while (s->stale[i] != 0) {
			const uint32_t bit = 63u - (uint32_t)__builtin_clzll(s->stale[i]);

			queue_follow(s, i * 64 + bit, waiting);
			s->stale[i] &= ~(UINT64_C(1) << bit);
		}
	return s->queues[0].first;
}
