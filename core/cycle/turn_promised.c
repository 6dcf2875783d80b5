/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/turn_promised.h"

#include "core/cycle/promises.h"
#include "core/cycle/turn_asks.h"
#include "core/lifecycle/queued.h"
#include "ipc/memory.h"

/* True if those that are counted are those that stand. */
static bool is_current(const struct core *c)
{
	const struct timeline *timeline = c->promises.timeline;
	const struct turns *t = &c->turns;
	uint32_t n = 0;

	for (uint32_t i = 0; i < promises_n(timeline); i++) {
		const struct promise *p = promise_at(timeline, i);

		if (!promise_is_to_come(c, p))
			continue;
		if (n == t->promised_n || t->promised[n].serial != p->serial ||
		    t->promised[n].queue != queued_gang(c, p->ask.gang))
			return false;
		n++;
	}
	return n == t->promised_n;
}

static void count(struct core *c, const struct promise *p)
{
	const uint32_t queue = queued_gang(c, p->ask.gang);
	struct share_ask ask = { 0 };
	struct turns *t = &c->turns;

	ask_promised(c, &p->ask, &ask);
	for (uint32_t i = 0; i < ask.n; i++)
		shares_promise(t->shares, queue, ask.wants[i].resource, ask.wants[i].value);
	t->promised[t->promised_n++] = (struct turn_promise){ .serial = p->serial, .queue = queue };
}

void turns_promised_follow(struct core *c)
{
	const struct timeline *timeline = c->promises.timeline;
	struct turns *t = &c->turns;

	if (is_current(c))
		return;
	for (uint32_t i = 0; i < t->promised_n; i++)
		shares_promise_none(t->shares, t->promised[i].queue);
	t->promised_n = 0;
	if (t->promised_room < promises_n(timeline)) {
		t->promised_room = promises_n(timeline) * 2 + 64;
		t->promised = must_grow(t->promised, t->promised_room * sizeof(*t->promised));
	}
	for (uint32_t i = 0; i < promises_n(timeline); i++)
		if (promise_is_to_come(c, promise_at(timeline, i)))
			count(c, promise_at(timeline, i));
}

static bool is_before(const struct promise *a, const struct promise *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->serial < b->serial);
}

const struct promise *turns_promised_due(const struct core *c, const struct promise *after)
{
	const struct timeline *timeline = c->promises.timeline;
	const struct promise *first = NULL;

	for (uint32_t i = 0; i < promises_n(timeline); i++) {
		const struct promise *p = promise_at(timeline, i);

		if (p->at_ns > c->now_ns || !promise_is_to_come(c, p) ||
		    c->gangs.slots[p->ask.gang].queue != QUEUE_ACTIVE)
			continue;
		if ((!after || is_before(after, p)) && (!first || is_before(p, first)))
			first = p;
	}
	return first;
}
