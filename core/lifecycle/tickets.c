/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/tickets.h"

#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/shm/ledger.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define EXPIRE_NS (10 * NS_PER_S)
#define WAIT_FIRST_NS (2 * NS_PER_S)
#define WAIT_MOST_NS (60 * NS_PER_S)
#define PUT_OFF_FIRST_NS (10 * NS_PER_S)
#define PUT_OFF_MOST_NS (300 * NS_PER_S)
#define PURPOSES ((uint32_t)(PREEMPTION_PACK | PREEMPTION_ON))

static struct core_preemption *stats(struct core *c)
{
	return &c->ledger.ledger->preemption;
}

static void ticket_end(struct ticket *t)
{
	free(t->answer);
	*t = (struct ticket){ 0 };
}

void tickets_clear(struct core *c)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		ticket_end(&c->tickets.all[i]);
	if (c->tickets.waits)
		memset(c->tickets.waits, 0, c->gangs.groups * sizeof(*c->tickets.waits));
	c->tickets.flags = c->tickets.n = 0;
	c->tickets.renominates = false;
	c->tickets.last = 0;
	free(c->tickets.facts); /* mostly untouched: freeing is cheaper than clearing */
	c->tickets.facts = NULL;
}

void tickets_free(struct core *c)
{
	tickets_clear(c);
	free(c->tickets.waits);
	c->tickets.waits = NULL;
}

void tickets_set(struct core *c, const struct event_preemption *e)
{
	const uint32_t flags = e->flags & PREEMPTION_EXPLAIN ? e->flags & PURPOSES : 0;

	if (flags && !c->tickets.waits)
		c->tickets.waits = must_array(c->gangs.groups, sizeof(*c->tickets.waits));
	if ((flags & PREEMPTION_ON) && !c->tickets.facts)
		c->tickets.facts = must_array(c->pods.limit, sizeof(*c->tickets.facts));
	if (c->nominations.n > 0 && !(flags & PREEMPTION_ON))
		nominations_end_all(c);
	c->tickets.terms = *e;
	c->tickets.flags = flags;
}

static struct ticket *find(struct core *c, gang_id gang)
{
	for (uint32_t i = 0; c->tickets.n > 0 && i < TICKETS_MAX; i++)
		if (c->tickets.all[i].number != 0 && c->tickets.all[i].gang == gang)
			return &c->tickets.all[i];
	return NULL;
}

const struct ticket *ticket_of(const struct core *c, gang_id gang)
{
	for (uint32_t i = 0; c->tickets.n > 0 && i < TICKETS_MAX; i++)
		if (c->tickets.all[i].number != 0 && c->tickets.all[i].gang == gang &&
		    !c->tickets.all[i].answer)
			return &c->tickets.all[i];
	return NULL;
}

static void close(struct core *c, struct ticket *t)
{
	ticket_end(t);
	c->tickets.n--;
}

/* How long a gang waits for its next ticket; reset when the slot has another gang. */
static struct ticket_wait *wait_of(struct core *c, gang_id gang)
{
	struct ticket_wait *w = &c->tickets.waits[gang];
	const uint32_t generation = c->gangs.slots[gang].generation;

	if (w->generation != generation)
		*w = (struct ticket_wait){ .generation = generation };
	return w;
}

static void wait_longer(struct core *c, gang_id gang, uint64_t first_ns, uint64_t most_ns)
{
	struct ticket_wait *w = wait_of(c, gang);

	w->wait_ns = w->wait_ns < first_ns / 2 ? first_ns : 2 * w->wait_ns;
	w->wait_ns = w->wait_ns < most_ns ? w->wait_ns : most_ns;
	w->due_ns = c->now_ns + w->wait_ns;
}

void ticket_put_off(struct core *c, gang_id gang)
{
	wait_longer(c, gang, PUT_OFF_FIRST_NS, PUT_OFF_MOST_NS);
}

void ticket_note_stuck(struct core *c, gang_id gang, pod_id pod, uint32_t generation)
{
	struct ticket_wait *w = wait_of(c, gang);

	w->stuck_pod = pod;
	w->stuck_generation = generation;
}

void ticket_reason(struct core *c, gang_id gang, struct reason *r)
{
	const struct ticket_wait *w = wait_of(c, gang);

	r->stuck_pod = w->stuck_pod;
	r->stuck_generation = w->stuck_generation;
}

/* A free slot; or that of the lowest gang without an answer, if its priority is lower. */
static struct ticket *slot_find(struct core *c, int32_t priority)
{
	struct ticket *lowest = NULL;

	for (uint32_t i = 0; i < TICKETS_MAX; i++) {
		struct ticket *t = &c->tickets.all[i];

		if (t->number == 0)
			return t;
		if (!t->answer && t->priority < priority && (!lowest || t->priority < lowest->priority))
			lowest = t;
	}
	if (lowest)
		close(c, lowest);
	return lowest;
}

static void ticket_open(struct core *c, gang_id gang)
{
	const struct gang *g = &c->gangs.slots[gang];
	struct ticket *t;

	if (c->now_ns < wait_of(c, gang)->due_ns)
		return;
	t = slot_find(c, gang_priority(g));
	if (!t)
		return;
	*t = (struct ticket){ .number = ++c->tickets.last,
		                  .gang = gang,
		                  .generation = g->generation,
		                  .priority = gang_priority(g),
		                  .opened_ns = c->now_ns };
	c->tickets.n++;
	stat_add(&stats(c)->tickets, 1);
}

/* Levels are not checked by plan_fixed(), and minResources are of the whole cluster. */
static bool is_for(const struct core *c, const struct gang *g, enum wait_reason why)
{
	if ((c->tickets.flags & PREEMPTION_PACK) && why == WAIT_GAVE_UP && !gang_has_levels(g))
		return true;
	return (c->tickets.flags & PREEMPTION_ON) && waits_for_capacity(why) && why != WAIT_VICTIMS &&
	       why != WAIT_MIN_RESOURCES && !gang_asks_minimum(g);
}

static bool may_start(const struct core *c, uint32_t verdict)
{
	return verdict == ANSWER_PACKED || ((c->tickets.flags & PREEMPTION_ON) &&
	                                    (verdict == ANSWER_VICTIMS || verdict == ANSWER_FREE));
}

void ticket_follow(struct core *c, uint32_t index, enum wait_reason why)
{
	struct ticket *t;

	if (!gang_is_group(&c->gangs, index))
		return;
	t = find(c, index);
	if (is_for(c, &c->gangs.slots[index], why)) {
		if (!t)
			ticket_open(c, index);
		return;
	}
	if (t)
		close(c, t);
	if (why == WAIT_NONE)
		*wait_of(c, index) = (struct ticket_wait){ 0 };
}

void ticket_answered(struct core *c, const struct record *r, const struct answer_record *a)
{
	struct ticket *t = find(c, a->body->gang);

	if (!t || t->answer || t->number != a->body->ticket || t->generation != a->body->generation ||
	    c->gangs.slots[t->gang].generation != t->generation) {
		stat_add(&stats(c)->stale, 1);
		return;
	}
	stat_add(&stats(c)->answers, 1);
	if (!may_start(c, a->body->verdict)) {
		wait_longer(c, t->gang, WAIT_FIRST_NS, WAIT_MOST_NS);
		close(c, t);
		return;
	}
	t->answer = must_alloc(r->bytes);
	memcpy(t->answer, r, r->bytes);
	c->gangs.slots[t->gang].infeasible_version = 0;
	gang_requeue(c, t->gang);
}

struct record *ticket_take(struct core *c, uint32_t index)
{
	struct ticket *t = gang_is_group(&c->gangs, index) ? find(c, index) : NULL;
	struct record *answer;

	if (!t || !t->answer)
		return NULL;
	answer = t->answer;
	t->answer = NULL;
	close(c, t);
	return answer;
}

void ticket_stale(struct core *c, uint32_t index)
{
	wait_longer(c, index, WAIT_FIRST_NS, WAIT_MOST_NS);
	stat_add(&stats(c)->stale, 1);
}

void tickets_tick(struct core *c)
{
	if (c->nominations.n > 0)
		nominations_tick(c);
	for (uint32_t i = 0; c->tickets.n > 0 && i < TICKETS_MAX; i++) {
		struct ticket *t = &c->tickets.all[i];

		if (t->number == 0 || c->now_ns - t->opened_ns < EXPIRE_NS)
			continue;
		stat_add(&stats(c)->expired, 1);
		close(c, t);
	}
}

void tickets_refresh(struct core *c)
{
	if (!(c->tickets.flags & PREEMPTION_ON) || c->gangs.states[GANG_WAITING] == 0)
		return;
	for (gang_id id = 0; id < c->gangs.used; id++) {
		const struct gang *g = gangs_group(&c->gangs, id);

		if (g && g->state == GANG_WAITING && !nomination_of(c, id))
			ticket_follow(c, id, (enum wait_reason)c->ledger.gangs[id].reason.why);
	}
}
