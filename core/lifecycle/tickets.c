/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/tickets.h"

#include "core/lifecycle/members.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/queued.h"
#include "core/shm/ledger.h"
#include "ipc/memory.h"
#include "ipc/units.h"

#include <stdlib.h>
#include <string.h>

#define EXPIRE_NS (10 * NS_PER_S)
#define WAIT_FIRST_NS (2 * NS_PER_S)
#define WAIT_MOST_NS (60 * NS_PER_S)
#define PUT_OFF_FIRST_NS (10 * NS_PER_S)
#define PUT_OFF_MOST_NS (300 * NS_PER_S)
#define PURPOSES ((uint32_t)(PREEMPTION_PACK | PREEMPTION_ON))
#define LONE_LOOKED_AT 1024u /* gangs of the queue, in one round of reasons */

static struct core_preemption *stats(struct core *c)
{
	return &c->ledger.ledger->preemption;
}

static void ticket_end(struct ticket *t)
{
	free(t->answer);
	*t = (struct ticket){ 0 };
}

static void close(struct core *c, struct ticket *t)
{
	ticket_end(t);
	c->tickets.n--;
}

void tickets_clear(struct core *c)
{
	for (uint32_t i = 0; i < TICKETS_MAX; i++)
		ticket_end(&c->tickets.all[i]);
	c->tickets.flags = c->tickets.n = 0;
	c->tickets.renominates = c->tickets.lone_again = false;
	c->tickets.last = 0;
	c->tickets.lone_next = ID_NONE;
	c->tickets.gang_next = 0;
	free(c->tickets.facts); /* mostly untouched, both: freeing is cheaper than clearing */
	free(c->tickets.waits);
	c->tickets.facts = NULL;
	c->tickets.waits = NULL;
}

void tickets_set(struct core *c, const struct event_preemption *e)
{
	const uint32_t flags = e->flags & PREEMPTION_EXPLAIN ? e->flags & PURPOSES : 0;

	if (flags && !c->tickets.waits)
		c->tickets.waits = must_array((size_t)c->gangs.groups + c->pod_counts.pod_classes.limit,
		                              sizeof(*c->tickets.waits));
	if ((flags & PREEMPTION_ON) && !c->tickets.facts)
		c->tickets.facts = must_array(c->pods.limit, sizeof(*c->tickets.facts));
	if (c->nominations.n > 0 && !(flags & PREEMPTION_ON))
		nominations_end_all(c);
	for (uint32_t i = 0; (c->tickets.flags & ~flags) && i < TICKETS_MAX; i++)
		if (c->tickets.all[i].number != 0)
			close(c, &c->tickets.all[i]);
	c->tickets.terms = *e;
	c->tickets.flags = flags;
}

static struct ticket *find(struct core *c, uint32_t index)
{
	for (uint32_t i = 0; c->tickets.n > 0 && i < TICKETS_MAX; i++)
		if (c->tickets.all[i].number != 0 && c->tickets.all[i].gang == index)
			return &c->tickets.all[i];
	return NULL;
}

static const struct pod *lone_pod(const struct core *c, uint32_t index)
{
	return &c->pods.slots[gang_lone_pod(&c->gangs, index)];
}

/* How long a gang, or the lone pods of a class, wait for their next ticket; reset when the slot has
 * another gang, or the class is one of another shape. */
static struct ticket_wait *wait_of(struct core *c, uint32_t index)
{
	const bool group = gang_is_group(&c->gangs, index);
	const uint32_t at = group ? index : c->gangs.groups + lone_pod(c, index)->class;
	const uint32_t generation =
		group ? c->gangs.slots[index].generation : lone_pod(c, index)->shape + 1;
	struct ticket_wait *w = &c->tickets.waits[at];

	if (w->generation != generation)
		*w = (struct ticket_wait){ .generation = generation };
	return w;
}

/* What is of no use to a pod is so to equal ones of no higher priority. */
static bool has_to_wait(struct core *c, uint32_t index)
{
	const struct ticket_wait *w = wait_of(c, index);

	return c->now_ns < w->due_ns && (gang_is_group(&c->gangs, index) ||
	                                 gang_priority(&c->gangs.slots[index]) <= w->priority);
}

static void wait_longer(struct core *c, uint32_t index, uint64_t first_ns, uint64_t most_ns)
{
	struct ticket_wait *w = wait_of(c, index);

	if (!gang_is_group(&c->gangs, index)) {
		if (has_to_wait(c, index))
			return; /* by the answer to an equal one */
		w->priority = gang_priority(&c->gangs.slots[index]);
	}
	w->wait_ns = w->wait_ns < first_ns / 2 ? first_ns : 2 * w->wait_ns;
	w->wait_ns = w->wait_ns < most_ns ? w->wait_ns : most_ns;
	w->due_ns = c->now_ns + w->wait_ns;
}

void ticket_put_off(struct core *c, uint32_t index)
{
	wait_longer(c, index, PUT_OFF_FIRST_NS, PUT_OFF_MOST_NS);
}

void ticket_note_stuck(struct core *c, gang_id gang, pod_id pod, uint32_t generation)
{
	struct ticket_wait *w = wait_of(c, gang);

	w->stuck_pod = pod;
	w->stuck_generation = generation;
}

void ticket_note_taken(struct core *c, uint32_t index, pod_id pod, uint32_t generation)
{
	struct ticket_wait *w = wait_of(c, index);

	w->taken_pod = pod;
	w->taken_generation = generation;
	w->taken_of = index;
	w->taken_of_generation = c->gangs.slots[index].generation;
}

void ticket_reason(struct core *c, uint32_t index, struct reason *r)
{
	const struct ticket_wait *w = wait_of(c, index);

	r->stuck_pod = w->stuck_pod;
	r->stuck_generation = w->stuck_generation;
	/* Equal lone pods, which had no nomination, or are made later, lost none. */
	if (w->taken_of == index && w->taken_of_generation == c->gangs.slots[index].generation) {
		r->taken_pod = w->taken_pod;
		r->taken_generation = w->taken_generation;
	}
}

/* Tickets of lone pods of the gang's namespace. */
static uint32_t namespace_tickets(const struct core *c, const struct gang *g)
{
	uint32_t n = 0;

	for (uint32_t i = TICKETS_GANGS; i < TICKETS_MAX; i++)
		if (c->tickets.all[i].number != 0)
			n += gang_same_namespace(&c->gangs.slots[c->tickets.all[i].gang], g);
	return n;
}

/* With reclaim gangs of one queue may evict what those of another may not, whatever their priority:
 * each queue has its part of the tickets. */
static bool by_queue(const struct core *c)
{
	return c->turns.shares && (c->tickets.terms.flags & PREEMPTION_RECLAIM);
}

/* Tickets of gangs of the queue. */
static uint32_t queue_tickets(const struct core *c, uint32_t queue)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TICKETS_GANGS; i++)
		n += c->tickets.all[i].number != 0 && queued_gang(c, c->tickets.all[i].gang) == queue;
	return n;
}

/* The lowest gang's, without an answer, of the queue with the most; that still has as many as the
 * gang's then. */
static struct ticket *of_other_queue(struct core *c, uint32_t index)
{
	uint32_t most = queue_tickets(c, queued_gang(c, index)) + 1;
	struct ticket *lowest = NULL;

	for (uint32_t i = 0; i < TICKETS_GANGS; i++) {
		struct ticket *t = &c->tickets.all[i];
		const uint32_t n = t->answer ? 0 : queue_tickets(c, queued_gang(c, t->gang));

		if (n > most || (lowest && n == most && t->priority < lowest->priority)) {
			most = n;
			lowest = t;
		}
	}
	return lowest;
}

/* True if the ticket, which has no answer, ends so that the gang can have one. */
static bool yields(const struct core *c, const struct ticket *t, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];

	if (t->answer || t->priority > gang_priority(g))
		return false;
	if (gang_is_group(&c->gangs, index) && by_queue(c) &&
	    queued_gang(c, t->gang) != queued_gang(c, index))
		return false;
	return t->priority < gang_priority(g) ||
	       (!gang_is_group(&c->gangs, index) &&
	        namespace_tickets(c, &c->gangs.slots[t->gang]) > namespace_tickets(c, g) + 1);
}

/* A free slot; or one of a queue with more; or that of the lowest gang that yields. */
static struct ticket *slot_find(struct core *c, uint32_t index)
{
	const bool group = gang_is_group(&c->gangs, index);
	const uint32_t end = group ? TICKETS_GANGS : TICKETS_MAX;
	struct ticket *lowest = NULL, *other;

	for (uint32_t i = group ? 0 : TICKETS_GANGS; i < end; i++) {
		struct ticket *t = &c->tickets.all[i];

		if (t->number == 0)
			return t;
		if ((!lowest || t->priority < lowest->priority) && yields(c, t, index))
			lowest = t;
	}
	other = group && by_queue(c) ? of_other_queue(c, index) : NULL;
	lowest = other ? other : lowest;
	if (lowest)
		close(c, lowest);
	return lowest;
}

/* The least number that no open ticket of an equal pod has. */
static uint32_t nth_find(const struct core *c, uint32_t index)
{
	uint32_t used = 0, n = 0;

	for (uint32_t i = TICKETS_GANGS; i < TICKETS_MAX; i++) {
		const struct ticket *t = &c->tickets.all[i];

		if (t->number != 0 && t->generation == c->gangs.slots[t->gang].generation &&
		    t->priority == gang_priority(&c->gangs.slots[index]) &&
		    lone_pod(c, t->gang)->class == lone_pod(c, index)->class)
			used |= UINT32_C(1) << t->nth;
	}
	while (used & UINT32_C(1) << n)
		n++;
	return n;
}

/* True if the pod may evict, and could be nominated.  One that waits and may has no facts. */
static bool lone_may_ask(struct core *c, uint32_t index)
{
	const struct event_pod_facts *f = &c->tickets.facts[gang_lone_pod(&c->gangs, index)].sent;
	const bool never = f->generation == c->gangs.slots[index].generation && (f->flags & FACT_NEVER);

	return !never && nomination_new(c, index);
}

static void ticket_open(struct core *c, uint32_t index)
{
	const struct gang *g = &c->gangs.slots[index];
	const bool group = gang_is_group(&c->gangs, index);
	struct ticket *t;

	if (has_to_wait(c, index) || (!group && !lone_may_ask(c, index)))
		return;
	t = slot_find(c, index);
	if (!t)
		return;
	*t = (struct ticket){ .number = ++c->tickets.last,
		                  .gang = index,
		                  .generation = g->generation,
		                  .priority = gang_priority(g),
		                  .nth = group ? 0 : nth_find(c, index),
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

	if (!gang_is_group(&c->gangs, index) && !(c->tickets.flags & PREEMPTION_ON))
		return;
	t = find(c, index);
	if (t && t->generation != c->gangs.slots[index].generation) {
		close(c, t);
		t = NULL;
	}
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

	if (!t || t->answer || t->number != a->body->ticket || t->generation != a->body->generation) {
		stat_add(&stats(c)->stale, 1);
		return;
	}
	if (c->gangs.slots[t->gang].generation != t->generation) {
		stat_add(&stats(c)->stale, 1);
		close(c, t);
		return;
	}
	stat_add(&stats(c)->answers, 1);
	if (!may_start(c, a->body->verdict)) {
		/* Of equal lone pods the first one's answer is that of all: the others may only have no
		 * node that costs as much. */
		if (t->nth == 0)
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
	struct ticket *t = find(c, index);
	struct record *answer;

	if (!t || !t->answer || t->generation != c->gangs.slots[index].generation)
		return NULL;
	answer = t->answer;
	t->answer = NULL;
	close(c, t);
	return answer;
}

void ticket_held(struct core *c, uint32_t index)
{
	struct ticket_wait *w = wait_of(c, index);

	if (gang_is_group(&c->gangs, index))
		return;
	c->tickets.lone_again = true;
	w->due_ns = 0;
	if (w->wait_ns < PUT_OFF_FIRST_NS)
		w->wait_ns = 0;
}

void ticket_stale(struct core *c, uint32_t index)
{
	wait_longer(c, index, WAIT_FIRST_NS, WAIT_MOST_NS);
	stat_add(&stats(c)->stale, 1);
}

/* Goes on where it ended the last time: those behind many that have to wait have a turn, too. */
static void lone_refresh(struct core *c)
{
	const struct queue *q = &c->queue.unschedulable;
	uint32_t index = c->tickets.lone_next, n = 0;

	if (index == ID_NONE || c->gangs.slots[index].queue != QUEUE_UNSCHEDULABLE)
		index = queue_first(q);
	for (; index != ID_NONE && n < LONE_LOOKED_AT; index = queue_next(q, index), n++)
		if (!gang_is_group(&c->gangs, index))
			ticket_follow(c, index, (enum wait_reason)c->gangs.slots[index].published_why);
	c->tickets.lone_next = index;
	c->tickets.lone_again = false;
}

void tickets_tick(struct core *c)
{
	if (c->nominations.n > 0)
		nominations_tick(c);
	if (c->tickets.lone_again)
		lone_refresh(c);
	for (uint32_t i = 0; c->tickets.n > 0 && i < TICKETS_MAX; i++) {
		struct ticket *t = &c->tickets.all[i];

		if (t->number == 0 || c->now_ns - t->opened_ns < EXPIRE_NS)
			continue;
		stat_add(&stats(c)->expired, 1);
		close(c, t);
	}
}

/* By queue they go on behind the last one that has got a ticket: there may be more queues than
 * tickets. */
void tickets_refresh(struct core *c)
{
	const gang_id used = c->gangs.used, from = by_queue(c) ? c->tickets.gang_next : 0;

	if (!(c->tickets.flags & PREEMPTION_ON))
		return;
	lone_refresh(c);
	if (c->gangs.states[GANG_WAITING] == 0)
		return;
	for (gang_id n = 0; n < used; n++) {
		const gang_id id = n < used - from ? from + n : n - (used - from);
		const struct gang *g = gangs_group(&c->gangs, id);
		const uint64_t last = c->tickets.last;

		if (g && g->state == GANG_WAITING && !nomination_of(c, id))
			ticket_follow(c, id, (enum wait_reason)c->ledger.gangs[id].reason.why);
		if (c->tickets.last != last)
			c->tickets.gang_next = id + 1;
	}
}
