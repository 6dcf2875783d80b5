/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/turn_order.h"

#include "core/cycle/turn_asks.h"
#include "core/cycle/turns.h"
#include "ipc/memory.h"

#include <stdlib.h>

/* A gang that waits. */
struct waits {
	uint32_t leaf, gang;
	bool extra;
};

struct listing {
	struct core *c;
	struct waits *all; /* by leaf, then in their order */
	uint32_t n;
	uint32_t *next; /* by leaf: the first that had no turn; past its last one: n, or another's */
	struct share_waiting *waiting;
	struct share_ask *asks;
};

static int by_turn(const void *a, const void *b, void *context)
{
	const struct waits *x = a, *y = b;
	const struct core *c = context;

	if (x->leaf != y->leaf)
		return x->leaf < y->leaf ? -1 : 1;
	if (x->extra != y->extra)
		return x->extra ? 1 : -1;
	return gang_before(&c->gangs, x->gang, y->gang) ? -1 : 1;
}

static void all_find(struct listing *l)
{
	const struct gangs *gs = &l->c->gangs;

	l->all = must_array(gs->n + 1u, sizeof(*l->all));
	for (uint32_t i = 0; i < gs->n; i++) {
		const struct gang *g = &gs->slots[i];
		const uint32_t leaf = g->generation ? turns_leaf(l->c, i) : UINT32_MAX;

		if (leaf != UINT32_MAX && g->counts[MEMBER_READY] > 0 && gang_enough(g, MEMBER_READY))
			l->all[l->n++] = (struct waits){ .leaf = leaf, .gang = i, .extra = gang_quorum_met(g) };
	}
	if (l->n > 1)
		qsort_r(l->all, l->n, sizeof(*l->all), by_turn, l->c);
}

/* Who is first in the leaf now. */
static void leaf_renew(struct listing *l, uint32_t leaf)
{
	const uint32_t at = l->next[leaf];

	l->waiting[leaf] = (struct share_waiting){ .waits = false };
	if (at < l->n && l->all[at].leaf == leaf)
		l->waiting[leaf] = ask_waiting(l->c, l->all[at].gang, l->all[at].extra, &l->asks[leaf]);
	shares_waits_anew(l->c->turns.shares, leaf);
}

static void suppose(struct core *c, uint32_t leaf, const struct share_ask *ask, int times)
{
	for (uint32_t i = 0; i < ask->n; i++)
		shares_suppose(c->turns.shares, leaf, ask->wants[i].resource, ask->wants[i].value * times);
}

static void turn_take(struct listing *l, uint32_t leaf, struct turn *out)
{
	const struct waits *w = &l->all[l->next[leaf]++];
	const struct shares *s = l->c->turns.shares;
	const struct gang *g = &l->c->gangs.slots[w->gang];

	*out = (struct turn){ .gang = w->gang,
		                  .generation = g->generation,
		                  .queue = leaf,
		                  .priority = gang_priority(g),
		                  .extra = w->extra,
		                  .inside = shares_inside(s, leaf, &l->asks[leaf]),
		                  .share = shares_over(s, leaf, &l->asks[leaf]) };
	suppose(l->c, leaf, &l->asks[leaf], 1);
	leaf_renew(l, leaf);
}

uint32_t turn_order(struct core *c, struct turn *out, uint32_t most)
{
	struct shares *s = c->turns.shares;
	const uint32_t queues = shares_set(s)->n;
	struct listing l = { .c = c,
		                 .next = must_array(queues, sizeof(*l.next)),
		                 .waiting = must_array(queues, sizeof(*l.waiting)),
		                 .asks = must_array(queues, sizeof(*l.asks)) };
	struct share_ask ask;
	uint32_t n = 0, leaf;

	all_find(&l);
	for (uint32_t q = 0; q < queues; q++)
		l.next[q] = l.n;
	for (uint32_t i = l.n; i-- > 0;)
		l.next[l.all[i].leaf] = i;
	for (uint32_t q = 0; q < queues; q++)
		leaf_renew(&l, q);
	while (n < most && (leaf = shares_next(s, l.waiting)) != UINT32_MAX)
		turn_take(&l, leaf, &out[n++]);
	for (uint32_t i = 0; i < n; i++) {
		ask_find(c, out[i].gang, &ask);
		suppose(c, out[i].queue, &ask, -1);
	}
	for (uint32_t q = 0; q < queues; q++)
		shares_waits_anew(s, q);
	free(l.all);
	free(l.next);
	free(l.waiting);
	free(l.asks);
	return n;
}
