/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/tickets.h"

#include "core/lifecycle/members.h"
#include "core/shm/ledger.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define EXPIRE_NS (10 * NS_PER_S)
#define WAIT_FIRST_NS (2 * NS_PER_S)
#define WAIT_MOST_NS (60 * NS_PER_S)
#define PURPOSES ((uint32_t)PREEMPTION_PACK)

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
	c->tickets.last = 0;
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

static void wait_longer(struct core *c, gang_id gang)
{
	struct ticket_wait *w = wait_of(c, gang);

	w->wait_ns = w->wait_ns == 0                 ? WAIT_FIRST_NS
	             : w->wait_ns < WAIT_MOST_NS / 2 ? 2 * w->wait_ns
	                                             : WAIT_MOST_NS;
	w->due_ns = c->now_ns + w->wait_ns;
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

/* Levels are not checked by plan_fixed(). */
static bool is_for(const struct core *c, const struct gang *g, enum wait_reason why)
{
	return (c->tickets.flags & PREEMPTION_PACK) && why == WAIT_GAVE_UP && !gang_has_levels(g);
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
	if (a->body->verdict != ANSWER_PACKED) {
		wait_longer(c, t->gang);
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
	wait_longer(c, index);
	stat_add(&stats(c)->stale, 1);
}

void tickets_tick(struct core *c)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++) {
		struct ticket *t = &c->tickets.all[i];

		if (t->number == 0 || c->now_ns - t->opened_ns < EXPIRE_NS)
			continue;
		stat_add(&stats(c)->expired, 1);
		close(c, t);
	}
}
