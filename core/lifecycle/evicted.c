/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/evicted.h"

#include "core/lifecycle/members.h"
#include "core/lifecycle/reservation.h"

static bool is_away(const struct core *c, const struct pod *p)
{
	return p->gang != ID_NONE && gang_is_group(&c->gangs, p->gang) &&
	       taken_is_away(&c->taken, p->gang);
}

void evicted_pod_ends(struct core *c, const struct pod *p)
{
	const bool away = is_away(c, p);

	if (away)
		taken_lose(&c->taken, p->gang);
	if (!away && !p->evicted && p->node != ID_NONE && reservation_is_bound(p))
		taken_change(&c->taken);
}

void evicted_pod_stays(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	p->evicted = false;
	if (is_away(c, p))
		gang_requeue(c, p->gang);
}

static bool some_go(const struct core *c, const struct gang *g)
{
	uint32_t n = 0;

	for (pod_id id = g->first; n < g->members; id = c->pods.slots[id].next, n++)
		if (c->pods.slots[id].evicted)
			return true;
	return false;
}

void evicted_gang_follow(struct core *c, uint32_t index, enum gang_state state)
{
	const struct gang *g = &c->gangs.slots[index];

	if (!gang_is_group(&c->gangs, index))
		return;
	if (!taken_is_away(&c->taken, index)) {
		if (g->state < GANG_WAITING && state >= GANG_WAITING)
			taken_change(&c->taken);
	} else if (state >= GANG_BINDING && !some_go(c, g)) {
		taken_stands(&c->taken, index);
	}
}
