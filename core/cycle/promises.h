/* SPDX-License-Identifier: Apache-2.0 */
/* Promises in the scheduling cycle: core/timeline/timeline.h for the gangs of the queue.  All are
 * called with config.promise_depth > 0 alone.
 *
 *   cycle begins      promises_begin()       promises are looked at; gangs that are due are planned
 *   before a plan     promises_bar()         may the gang start now, beside the promises?
 *   after it          promises_accept()      do they hold with these nodes?  If not, with others?
 *   cycle of a gang   promises_gang_tried()  it started, or waits and gets a promise
 *   its reason        promises_show()        the promise is a part of it
 *   cycle ends        promises_end()         what moved is published
 *
 * A gang gets a promise if its members that have to start together ask for rules of single nodes
 * alone: no required levels, no rules between pods, no host ports, no devices of claims, no
 * minResources.  Others start where the promises leave room, and hold by core/cycle/backfill.h. */
#ifndef MUSTER_CORE_CYCLE_PROMISES_H
#define MUSTER_CORE_CYCLE_PROMISES_H

#include "core/lifecycle/state.h"

void promises_begin(struct core *c);

/* True if the promise is of something that is known and that its queue does not use yet: the
 * members of a nominated gang are counted, and of a stale promise it is not known what it asks for.
 */
bool promise_is_to_come(const struct core *c, const struct promise *p);

/* True if gang `index` has to wait; c->need is its own. */
bool promises_bar(struct core *c, uint32_t index);

/* The plan placed the gang of promises_bar(): true if it may be reserved, on these nodes or on
 * others that c->plan has now.  False: it was undone. */
bool promises_accept(struct core *c);

/* The same of places that victims of c->plan, which are in the timeline as such, leave by start_ns:
 * true if the promises hold.  The plan is unchanged. */
bool promises_accept_from(struct core *c, uint64_t start_ns);

/* The plan was undone by promises_bar() (`barred`), or by promises_accept(): the reason has the
 * gang whose promise bars it, where a single one is known to. */
void promises_reason(struct core *c, bool barred, struct reason *r);

/* `had`: members that had a node before.  A gang that its queue refuses loses its promise: what it
 * waits for is no end of a pod. */
void promises_gang_tried(struct core *c, uint32_t index, enum wait_reason why, uint32_t had);

/* The promise of the gang, for its reason. */
void promises_show(struct core *c, uint32_t index, struct reason *reason);

/* At the end of a cycle: gangs whose promise moved publish their reason in the next tick. */
void promises_end(struct core *c);

/* Before EVENT_SYNCED: what an earlier core or frontend had promised the gang of the pod.  The
 * first cycle places them first, in the order of their times. */
void promises_before(struct core *c, const struct event_promised *e);

/* A new epoch. */
void promises_clear(struct core *c);

/* promises.due_ns has come: known ends pass, and gangs are due, without a record; or one was
 * edited. */
__attribute__((cold)) void promises_tick(struct core *c);

#endif
