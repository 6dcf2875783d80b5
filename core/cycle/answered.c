/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cycle/answered.h"

#include "core/cycle/victims.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/tickets.h"
#include "core/plan/reason.h"
#include "core/shm/ledger.h"

#include <stdlib.h>

static enum plan_answer plan_now(struct core *c, uint32_t index, bool behind)
{
	return plan_gang(&c->plan, &c->views, behind, &c->gangs, &c->gangs.slots[index], &c->need);
}

/* core/pack found it beside the loop. */
static enum plan_answer plan_packed(struct core *c, uint32_t index, bool behind,
                                    const struct answer_record *a)
{
	const struct gang *g = &c->gangs.slots[index];
	enum plan_answer answer = PLAN_GAVE_UP;

	if (!gang_has_levels(g))
		answer = plan_fixed(&c->plan, &c->views, behind, &c->gangs, g, &c->need, a->places,
		                    a->body->places_n);
	if (answer == PLAN_PLACED)
		stat_add(&c->ledger.ledger->preemption.packed, 1);
	else
		ticket_stale(c, index);
	return answer == PLAN_PLACED ? answer : plan_now(c, index, behind);
}

/* As things are first. */
static enum plan_answer plan_with_victims(struct core *c, uint32_t index, bool behind,
                                          const struct answer_record *a)
{
	const enum plan_answer answer = plan_now(c, index, behind);

	if (answer == PLAN_PLACED)
		return answer;
	if (victims_commit(c, index, behind, a)) {
		ticket_held(c, index);
		return answer;
	}
	ticket_stale(c, index);
	return plan_now(c, index, behind); /* the reason is that of the present state */
}

/* Its own room is released. */
static enum plan_answer plan_nominated_now(struct core *c, uint32_t index, bool behind,
                                           struct nomination *n)
{
	const struct gang *g = &c->gangs.slots[index];

	n->placed_there = n->victims_n == 0 && !gang_has_levels(g) &&
	                  plan_fixed(&c->plan, &c->views, false, &c->gangs, g, &c->need, n->places,
	                             n->places_n) == PLAN_PLACED;
	if (n->placed_there)
		return PLAN_PLACED;
	return plan_now(c, index, n->victims_n > 0 && behind);
}

static enum plan_answer plan_nominated(struct core *c, uint32_t index, bool behind,
                                       struct nomination *n)
{
	enum plan_answer answer;

	nomination_release_tentatively(c, n);
	answer = plan_nominated_now(c, index, behind, n);
	if (answer != PLAN_PLACED)
		plan_judged(c, n, false);
	return answer;
}

void plan_judged(struct core *c, struct nomination *n, bool accepted)
{
	if (accepted) {
		nomination_release_finally(c, n);
		nomination_end(c, n, n->victims_n > 0 ? NOMINATION_ELSEWHERE : NOMINATION_PLACED);
		return;
	}
	nomination_restore(c, n);
	if (n->victims_n == 0 && !n->placed_there && nomination_others_victims(c, n) == 0)
		nomination_end(c, n, NOMINATION_LOST);
}

enum plan_answer plan_answered(struct core *c, uint32_t index, bool behind)
{
	struct nomination *n = nomination_of(c, index);
	enum plan_answer answer;
	struct answer_record a;
	struct record *r;

	if (n)
		return plan_nominated(c, index, behind, n);
	r = ticket_take(c, index);
	if (!r || record_answer(r, &c->ledger.limits, &a))
		answer = plan_now(c, index, behind);
	else if (a.body->verdict == ANSWER_PACKED)
		answer = plan_packed(c, index, behind, &a);
	else
		answer = plan_with_victims(c, index, behind, &a);
	free(r);
	return answer;
}

bool nominated_reason(struct core *c, uint32_t index, struct reason *r)
{
	const struct nomination *n = nomination_of(c, index);

	if (!n)
		return false;
	reason_begin(r, &c->gangs.slots[index], &c->nodes);
	r->need = n->places_n;
	r->victims = n->victims_n > 0 ? n->victims_n : nomination_others_victims(c, n);
	return true;
}
