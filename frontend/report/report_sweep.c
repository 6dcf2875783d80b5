/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep: every 30 s what the watch shows of pods and groups is compared with what should be
 * reported, and what differs is written.  So reports converge after any outage of the server or of
 * rights, whatever was given up meanwhile.  A poll looks at SWEEP_STEP objects of each kind. */
#include "frontend/report/report_impl.h"

#include "frontend/report/event.h"

#define SWEEP_STEP 1024u
#define SWEEP_GAP_NS (10 * NS_PER_MS) /* between two steps */

/* At the end of a sweep.  True if all that had to ask are before `next`: it is their turn. */
static bool right_turn(struct right *right)
{
	bool over = right->passed && !right->asked;

	if (over)
		right->next = 0;
	right->passed = right->asked = false;
	return over;
}

static void sweep_begin(struct report *r)
{
	r->sweeps = true;
	r->sweep_pod = r->sweep_gang = 0;
	r->sweep_kept = false;
}

static void sweep_end(struct report *r, uint64_t now)
{
	bool again = right_turn(&r->conditions);

	again |= right_turn(&r->events);
	for (size_t i = 0; i < REPORT_DIALECTS_MAX; i++)
		again |= right_turn(&r->statuses[i]);
	r->sweeps = false;
	r->sweep_ns = again ? now : now + REPORT_SWEEP_NS;
}

/* A server outage, a missing right, or a write of another client over ours. */
static void pod_sweep(struct pod_item *p, const struct pod_view *pod)
{
	struct report *r = p->item.report;

	if (!p->standing || pod->gated || !report_pod_waits(r, pod))
		return;
	if (!report_condition_is(p, pod, p->standing, p->standing_reason) &&
	    report_may_ask(&r->conditions, p->pod))
		report_item_set(p, p->standing, p->standing_reason);
	else if (report_event_owed(p) && !p->recent && report_may_ask(&r->events, p->pod))
		report_item_owe(p);
}

/* Of pods that wait; items of others are freed.  It rests while the queue is half full, with what
 * is in flight, which comes back for its Event: the other half is for what changes.  True at its
 * end. */
static bool pods_sweep(struct report *r)
{
	struct pod_view pod;
	struct pod_item *p;

	for (size_t n = 0; n < SWEEP_STEP && r->sweep_pod < r->by_pod_n; n++) {
		if (r->queued_n[ITEM_POD] + r->flying_n > r->config.queue_max / 2)
			return false;
		p = r->by_pod[r->sweep_pod++];
		if (!p || p->item.queued || p->item.flying)
			continue;
		if (!model_pod(r->config.model, p->pod, p->generation, &pod) || pod.node[0])
			report_item_free(&p->item);
		else
			pod_sweep(p, &pod);
	}
	return r->sweep_pod >= r->by_pod_n;
}

/* True at its end. */
static bool gangs_sweep(struct report *r)
{
	const struct env *env = r->config.env;
	size_t all = model_gang_slots(r->config.model);
	char now[EVENT_TIME_BYTES];

	if (r->by_gang_n > all)
		all = r->by_gang_n;
	event_time(now, sizeof(now), env->wall_ns(env->context), false);
	for (size_t n = 0; n < SWEEP_STEP && r->sweep_gang < all; n++)
		report_group_sweep(r, (gang_id)r->sweep_gang++, now);
	return r->sweep_gang >= all;
}

/* Events of bindings that were not written. */
static void kept_sweep(struct report *r, uint64_t now)
{
	struct item *i, *next;

	for (i = TAILQ_FIRST(&r->kept); i; i = next) {
		next = TAILQ_NEXT(i, link);
		if (now - i->since_ns > EVENT_LATE_NS) {
			report_item_unlist(i);
			report_item_free(i);
			report_dropped(r, "the event of a binding could not be written for an hour");
		} else if (r->queued_n[ITEM_BIND] <= r->config.queue_max / 2 &&
		           report_may_ask(&r->events, r->events.next)) {
			report_item_unlist(i);
			i->due_ns = now;
			report_item_queue(i);
		}
	}
	r->sweep_kept = true;
}

uint64_t report_sweep(struct report *r, uint64_t now)
{
	bool pods, gangs;

	if (!r->sweeps && now < r->sweep_ns)
		return r->sweep_ns;
	if (!r->sweeps)
		sweep_begin(r);
	pods = pods_sweep(r);
	gangs = gangs_sweep(r);
	if (gangs && !r->sweep_kept)
		kept_sweep(r, now);
	if (!pods || !gangs)
		return now + SWEEP_GAP_NS;
	sweep_end(r, now);
	return r->sweep_ns;
}

uint64_t report_recent(struct report *r, uint64_t now)
{
	struct pod_view pod;
	struct pod_item *p;

	while ((p = TAILQ_FIRST(&r->recent)) != NULL && p->event_ns + EVENT_GAP_NS <= now) {
		TAILQ_REMOVE(&r->recent, p, recent_link);
		p->recent = false;
		/* One that is queued or in flight comes to its Event by itself. */
		if (!p->item.queued && !p->item.flying && report_event_owed(p) &&
		    model_pod(r->config.model, p->pod, p->generation, &pod) && !pod.gated &&
		    report_pod_waits(r, &pod))
			report_item_owe(p);
	}
	return p ? p->event_ns + EVENT_GAP_NS : NEVER_NS;
}
