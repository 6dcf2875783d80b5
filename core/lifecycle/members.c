/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs in their queues, and members in the counts of their gang. */
#include "core/lifecycle/members.h"

#include "core/lifecycle/retain.h"

void gang_dequeue(struct core *c, uint32_t index)
{
	squeue_remove(&c->queue, index);
}

void gang_requeue(struct core *c, uint32_t index)
{
	if (c->turns.shares)
		c->turns.queue[index] = 0; /* core/lifecycle/queued.h */
	squeue_activate(&c->queue, index);
}

void member_out(struct core *c, struct pod *p)
{
	c->pods.by_readiness[p->readiness]--;
	if (p->gang != ID_NONE)
		gang_uncount(&c->gangs.slots[p->gang], p);
}

void member_in(struct core *c, struct pod *p)
{
	struct gang *g;

	p->readiness = (uint8_t)pod_readiness(p);
	c->pods.by_readiness[p->readiness]++;
	if (p->gang == ID_NONE)
		return;
	g = &c->gangs.slots[p->gang];
	gang_count(g, p);
	g->infeasible_version = 0;
	if (g->retained > 0)
		gang_retain_check(c, p->gang);
	gang_requeue(c, p->gang);
}
