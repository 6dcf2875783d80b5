/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/answered.h"

#include "core/lifecycle/tickets.h"
#include "core/shm/ledger.h"

#include <stdlib.h>

/* core/pack found it beside the loop. */
static enum plan_answer plan_packed(struct core *c, const struct gang *g, bool behind,
                                    const struct answer_record *a)
{
	if (gang_has_levels(g))
		return PLAN_GAVE_UP;
	return plan_fixed(&c->plan, &c->views, behind, &c->gangs, g, &c->need, a->places,
	                  a->body->places_n);
}

enum plan_answer plan_answered(struct core *c, uint32_t index, bool behind)
{
	const struct gang *g = &c->gangs.slots[index];
	struct record *r = ticket_take(c, index);
	enum plan_answer answer = PLAN_GAVE_UP;
	struct answer_record a;

	if (r && !record_answer(r, &c->ledger.limits, &a)) {
		answer = plan_packed(c, g, behind, &a);
		if (answer == PLAN_PLACED)
			stat_add(&c->ledger.ledger->preemption.packed, 1);
		else
			ticket_stale(c, index);
	}
	free(r);
	return answer == PLAN_PLACED ? answer
	                             : plan_gang(&c->plan, &c->views, behind, &c->gangs, g, &c->need);
}
