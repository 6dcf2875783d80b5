/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/queued.h"
#include "ipc/units.h"

#include <assert.h>

void queued_add(const struct core *c, struct shares *s, const struct pod *p, uint32_t queue,
                int times)
{
	const struct shape *shape = &c->shapes.slots[p->shape];

	for (uint32_t i = 0; i < shape->sums_n; i++)
		shares_use(s, queue, shape->requests[i].resource, (wide)shape->requests[i].value * times);
}

uint32_t queued_of(const struct core *c, pod_id id)
{
	const struct share_set *set = shares_set(c->turns.shares);

	return c->turns.set ? defined_number(c->turns.set, c->turns.named[id])
	                    : set->of_pod(set->context, id);
}

static uint32_t gang_find(const struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	uint32_t queue = 0, n = 0;

	for (pod_id id = g->first; n < g->members; id = c->pods.slots[id].next, n++) {
		const uint32_t of = queued_of(c, id);

		if (n > 0 && of != queue)
			return SHARE_TWO;
		queue = of;
	}
	return queue;
}

/* gang_requeue() forgets it: a member has changed. */
uint32_t queued_gang(const struct core *c, uint32_t index)
{
	if (c->turns.queue[index] == 0)
		c->turns.queue[index] = gang_find(c, index) + 1;
	return c->turns.queue[index] - 1;
}

uint32_t queued_id(const struct core *c, uint32_t queue)
{
	if (!c->turns.shares || queue >= shares_set(c->turns.shares)->n)
		return QUEUE_MISSING;
	return c->turns.set ? c->turns.set->about[queue].id : queue;
}

/* What changes changes now. */
static void time_tell(const struct core *c)
{
	if (c->turns.terms)
		shares_history_time(c->turns.shares, c->now_ns / NS_PER_S);
}

void queued_enter(struct core *c, pod_id id)
{
	const uint32_t queue = queued_of(c, id);

	assert(c->turns.counted[id] == 0);
	c->turns.rose = true;
	time_tell(c);
	c->turns.counted[id] = (queue < shares_set(c->turns.shares)->n ? queue : 0) + 1;
	queued_add(c, c->turns.shares, &c->pods.slots[id], c->turns.counted[id] - 1, 1);
}

void queued_record(struct core *c, const struct event_pod *e)
{
	const bool counted = c->turns.shares && c->turns.counted[e->pod] != 0;

	c->turns.stated[e->pod] = e->stated_s;
	if (!queued_differs(c, e))
		return;
	if (counted)
		queued_leave(c, e->pod);
	c->turns.named[e->pod] = e->queue;
	if (!counted)
		return;
	taken_change(&c->taken);
	queued_enter(c, e->pod);
	nodes_note_freed(&c->nodes); /* for who waits in the queue that it left */
}

void queued_leave(struct core *c, pod_id id)
{
	if (c->turns.counted[id] == 0)
		return;
	time_tell(c);
	queued_add(c, c->turns.shares, &c->pods.slots[id], c->turns.counted[id] - 1, -1);
	c->turns.counted[id] = 0;
}

void queued_plan(struct core *c, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			queued_enter(c, plan->pods[i]);
}
