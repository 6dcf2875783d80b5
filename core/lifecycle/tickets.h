/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets: gangs and lone pods that wait and are searched for beside the loop
 * (core/world/lookout.h).
 *
 *   the gang waits ──► open ──EVENT_ANSWER──► answered ──the gang's next plan──► none
 *                        └──10 s, or the gang waits for capacity no more──► none
 *
 * The world's core has the tickets of the loop's, since it applies the same records: so a question
 * needs no message.  An answer that says where the gang could start requeues it; its next plan
 * checks the answer against the present state (core/cycle/answered.c).  After another answer, or
 * one that no longer held, a gang has a ticket again after two seconds, then four, up to a minute.
 *
 * With queues and PREEMPTION_RECLAIM a gang takes the ticket of one of another queue that has two
 * more, whatever their priority, and else of a lower one of its own queue: those of a queue that
 * may take nothing back have not all of them.
 *
 * Lone pods have tickets of their own, with PREEMPTION_ON, so that they take none of those of
 * gangs. One of a higher priority takes another's; of equal ones that of a namespace with more.
 * Equal pods (of one class and priority) wait together after an answer that was of no use, since
 * the same would be answered to each; as long as one of them waits, so does no other one's search.
 * Those with open tickets are answered with different nodes (struct ticket: nth).
 *
 * There is no ticket unless EVENT_PREEMPTION asks for what they are for.  EVENT_BEGIN ends all. */
#ifndef MUSTER_CORE_TICKETS_H
#define MUSTER_CORE_TICKETS_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* What is asked for from now on.  When something is not any more all tickets end, with answers that
 * no plan has taken: what still waits may have one again. */
void tickets_set(struct core *c, const struct event_preemption *e);
void tickets_clear(struct core *c);

/* True if gangs may have tickets. */
static inline bool tickets_are_on(const struct core *c)
{
	return c->tickets.flags != 0;
}

/* True if what waits is asked again when room was freed: always but offline, where nothing ends
 * unless it is evicted. */
static inline bool tickets_retry(const struct core *c)
{
	return !c->config.once || tickets_are_on(c);
}

/* The gang was planned and waits because of `why`, or does not (WAIT_NONE). */
void ticket_follow(struct core *c, uint32_t index, enum wait_reason why);

/* An answer has come; see above. */
void ticket_answered(struct core *c, const struct record *r, const struct answer_record *a);

/* The answer for the gang, which is to be planned: the ticket ends.  NULL: there is none; else
 * memory of the caller. */
struct record *ticket_take(struct core *c, uint32_t index);

/* The gang's nomination failed: no search for 10 s, doubled each time, at most five minutes. */
void ticket_put_off(struct core *c, uint32_t index);

/* A victim of the gang did not end, or another scheduler bound a pod to capacity that is nominated
 * to the gang or lone pod.  Reasons report both until the gang, or a pod of the class of the lone
 * pod, starts. */
void ticket_note_stuck(struct core *c, gang_id gang, pod_id pod, uint32_t generation);
void ticket_note_taken(struct core *c, uint32_t index, pod_id pod, uint32_t generation);
void ticket_reason(struct core *c, uint32_t index, struct reason *r);

/* Once for each round of reasons: gangs that wait may have a ticket, although nothing changed. */
void tickets_refresh(struct core *c);

/* The answer held, and the gang is nominated: pods that are equal to a lone one wait no longer. */
void ticket_held(struct core *c, uint32_t index);

/* It did not hold: the gang has to wait for its next ticket. */
void ticket_stale(struct core *c, uint32_t index);

/* Once for each new time, of nominations too.  Out of line: see cycle_tick(). */
__attribute__((noinline)) void tickets_tick(struct core *c);

#endif
