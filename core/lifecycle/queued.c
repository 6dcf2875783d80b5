/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/queued.h"

#include <assert.h>

void queued_add(const struct core *c, struct shares *s, const struct pod *p, uint32_t queue,
                int times)
{
	const struct shape *shape = &c->shapes.slots[p->shape];

	for (uint32_t i = 0; i < shape->sums_n; i++)
		shares_use(s, queue, shape->requests[i].resource, (wide)shape->requests[i].value * times);
}

void queued_enter(struct core *c, pod_id id)
{
	const struct share_set *set = shares_set(c->turns.shares);
	const uint32_t queue = set->of_pod(set->context, id);

	assert(c->turns.counted[id] == 0);
	c->turns.counted[id] = (queue < set->n ? queue : 0) + 1;
	queued_add(c, c->turns.shares, &c->pods.slots[id], c->turns.counted[id] - 1, 1);
}

void queued_leave(struct core *c, pod_id id)
{
	if (c->turns.counted[id] == 0)
		return;
	queued_add(c, c->turns.shares, &c->pods.slots[id], c->turns.counted[id] - 1, -1);
	c->turns.counted[id] = 0;
}

void queued_plan(struct core *c, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			queued_enter(c, plan->pods[i]);
}
