/* SPDX-License-Identifier: Apache-2.0 */
/* What queues used in the past.  Histories are at most 2^63 * QUEUE_PAST_ONE, so that products with
 * a decay of 32 bits or a factor of 20 stay within 127. */
#include "core/share/share_impl.h"

#include "ipc/memory.h"

#include <stdlib.h>

#define DECAY_ONE (INT64_C(1) << 32)

void shares_history_begin(struct shares *s, const struct event_queue_terms *terms, uint64_t now_s)
{
	struct history *h;

	history_free(s->history);
	s->history = NULL;
	for (uint32_t q = 0; q < s->set->n; q++)
		share_mark_stale(s, q);
	if (terms->factor == 0)
		return;
	h = must_alloc(sizeof(*h));
	*h = (struct history){ .now_s = now_s, .all_s = now_s, .terms = *terms };
	h->since_s = must_array(s->set->n, sizeof(*h->since_s));
	h->past = must_array((size_t)s->set->n * s->set->resources + 1, sizeof(*h->past));
	for (uint32_t q = 0; q < s->set->n; q++)
		h->since_s[q] = now_s;
	s->history = h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	free(h->since_s);
	free(h->past);
	free(h);
}

bool shares_has_history(const struct shares *s)
{
	return s->history != NULL;
}

/* What is left of DECAY_ONE after so long. */
static int64_t left_after(const struct history *h, uint64_t seconds)
{
	uint64_t left = DECAY_ONE;

	if (seconds >> QUEUE_DECAYS)
		return 0;
	for (uint32_t i = 0; i < QUEUE_DECAYS; i++)
		if (seconds >> i & 1)
			left = left * h->terms.decays[i] >> 32; /* both are at most DECAY_ONE */
	return (int64_t)left;
}

void history_bring_up(struct shares *s, uint32_t q)
{
	struct history *h = s->history;
	wide goes;

	if (h->since_s[q] >= h->now_s)
		return;
	goes = DECAY_ONE - left_after(h, h->now_s - h->since_s[q]);
	h->since_s[q] = h->now_s;
	for (uint32_t r = 0; r < s->set->resources; r++) {
		wide *past = &h->past[share_at(s, q, r)];
		const wide used = (wide)wide_cut(s->used[share_at(s, q, r)]) * QUEUE_PAST_ONE;

		*past += (used - *past) * goes / DECAY_ONE;
	}
	share_mark_stale(s, q);
}

static void bring_all_up(struct shares *s)
{
	for (uint32_t q = 0; q < s->set->n; q++)
		history_bring_up(s, q);
	s->history->all_s = s->history->now_s;
}

void shares_history_time(struct shares *s, uint64_t now_s)
{
	struct history *h = s->history;

	if (now_s <= h->now_s)
		return;
	h->now_s = now_s;
	if (now_s - h->all_s >= SHARE_HISTORY_S)
		bring_all_up(s);
}

uint64_t shares_history_due_s(const struct shares *s)
{
	return s->history->all_s + SHARE_HISTORY_S;
}

wide history_effective(const struct shares *s, uint32_t q, uint32_t r, wide more)
{
	const struct history *h = s->history;
	const wide used = wide_cut(s->used[share_at(s, q, r)] + more);

	return (1000 * used * QUEUE_PAST_ONE + h->terms.factor * h->past[share_at(s, q, r)]) /
	       ((1000 + (wide)h->terms.factor) * QUEUE_PAST_ONE);
}

wide shares_history(const struct shares *s, uint32_t q, uint32_t r)
{
	return s->history && share_counts(s, r) ? s->history->past[share_at(s, q, r)] : 0;
}

void shares_history_copy(struct shares *s, uint32_t q, struct shares *from, uint32_t of)
{
	if (!s->history || !from->history)
		return;
	from->history->now_s = s->history->now_s;
	history_bring_up(from, of);
	for (uint32_t r = 0; r < s->set->resources; r++)
		s->history->past[share_at(s, q, r)] = shares_history(from, of, r);
}

void shares_history_restore(struct shares *s, uint32_t q, const struct queue_past *past, uint32_t n,
                            uint64_t at_s)
{
	struct history *h = s->history;

	if (!h)
		return;
	for (uint32_t r = 0; r < s->set->resources; r++)
		h->past[share_at(s, q, r)] = 0;
	for (uint32_t i = 0; i < n; i++)
		if (share_counts(s, past[i].resource))
			h->past[share_at(s, q, past[i].resource)] =
				(wide)past[i].value * QUEUE_PAST_ONE + past[i].part;
	h->since_s[q] = at_s < h->now_s ? at_s : h->now_s;
	history_bring_up(s, q);
	share_mark_stale(s, q);
}
