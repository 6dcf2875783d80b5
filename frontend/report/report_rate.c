/* SPDX-License-Identifier: Apache-2.0 */
/* How much is written at once.
 *
 * What waits (conditions, its Events, statuses of groups): `per_second` of them, four at once, one
 * while bindings wait.  Its number has no natural bound: each pod may change its reason again and
 * again.
 *
 * Events of bindings: one for each binding that the server accepted, so their rate is bounded by
 * that of bindings, and a limit below it only makes a backlog.  They go in bursts, behind the
 * bindings on the server that these have woken: an Event alone costs it three to four times as much
 * (docs/decisions/081).  A window of their own (frontend/base/window.h) finds how many at once, and
 * a 429 halves it; it never exceeds that of bindings, so that what slows these slows Events, too.
 *
 * While bindings wait they have precedence: Events get a share of the window that grows with their
 * queue, from none, or one that is 5 s old, to the whole of it when the queue is half full.  So a
 * stream of bindings without end leaves them a queue that is partly full, in which nothing is
 * lost, and never starves them. */
#include "frontend/report/report_impl.h"

#include <string.h>

#define IN_FLIGHT_MAX 4u /* of what waits */

size_t report_waiting(const struct report *r)
{
	return r->queued_n[ITEM_POD] + r->queued_n[ITEM_BIND] + r->queued_n[ITEM_GROUP] + r->held_n;
}

static void tokens_fill(struct report *r, uint64_t now)
{
	double most = r->config.per_second > 10 ? r->config.per_second / 4.0 : 1;

	r->tokens += (double)(now - r->tokens_ns) * 1e-9 * r->config.per_second;
	if (r->tokens > most)
		r->tokens = most;
	r->tokens_ns = now;
}

static struct item *due_item(const struct report *r, enum item_kind kind, uint64_t now)
{
	struct item *i = TAILQ_FIRST(&r->queues[kind]);

	return i && i->due_ns <= now ? i : NULL;
}

/* Alternates between pods and groups. Reasons of pods wait equally long, so the first is the first
 * due; one that continues with its event is due in any case. */
static struct item *next_reason(struct report *r, uint64_t now)
{
	struct item *pod = due_item(r, ITEM_POD, now), *group = due_item(r, ITEM_GROUP, now);

	if (pod && group) {
		r->groups_turn = !r->groups_turn;
		return r->groups_turn ? pod : group;
	}
	return pod ? pod : group;
}

static size_t reasons_most(bool binds_waiting)
{
	return binds_waiting ? 1 : IN_FLIGHT_MAX;
}

static size_t reasons_flying(const struct report *r)
{
	return r->flying_n - r->events_flying;
}

static size_t events_most(const struct report *r, uint64_t now, bool binds_waiting)
{
	const size_t queued = r->queued_n[ITEM_BIND], half = (r->config.queue_max + 1) / 2;
	size_t most = r->window.size, share;

	if (r->config.binder && binder_window(r->config.binder) < most)
		most = binder_window(r->config.binder);
	if (!binds_waiting)
		return most;
	share = queued < half ? most * queued / half : most;
	return share == 0 && due_item(r, ITEM_BIND, now) ? 1 : share;
}

static bool is_about(struct item *flying, const char *uid)
{
	struct pod_view pod;

	if (flying->kind == ITEM_BIND)
		return strcmp(report_bind_text((const struct bind_item *)flying, BIND_UID), uid) == 0;
	return flying->kind == ITEM_POD && flying->step != STEP_CONDITION &&
	       model_pod(flying->report->config.model, pod_of(flying)->pod, pod_of(flying)->generation,
	                 &pod) &&
	       strcmp(pod.uid, uid) == 0;
}

/* The first Event of a binding, unless one about the same object is in flight: two at once on two
 * connections might be created in either order. */
static struct item *next_event(const struct report *r)
{
	struct item *first = TAILQ_FIRST(&r->queues[ITEM_BIND]), *i;
	const char *uid;

	if (!first)
		return NULL;
	uid = report_bind_text((const struct bind_item *)first, BIND_UID);
	TAILQ_FOREACH (i, &r->flying, link)
		if (is_about(i, uid))
			return NULL;
	return first;
}

static void item_go(struct item *i)
{
	report_item_unlist(i);
	report_item_send(i);
}

/* The time at which the first queued item may be sent; an answer triggers the call as well. */
static uint64_t next_due(const struct report *r, uint64_t now, bool binds_waiting)
{
	uint64_t next = NEVER_NS;
	const struct item *i = TAILQ_FIRST(&r->held);

	if (i)
		next = i->due_ns;
	if (reasons_flying(r) < reasons_most(binds_waiting))
		for (int k = 0; k < ITEM_KINDS; k++) {
			i = k != ITEM_BIND ? TAILQ_FIRST(&r->queues[k]) : NULL;
			if (i && i->due_ns < next)
				next = i->due_ns;
		}
	if (next <= now && r->tokens < 1)
		next = now + (uint64_t)((1 - r->tokens) / r->config.per_second * 1e9) + 1;
	i = TAILQ_FIRST(&r->queues[ITEM_BIND]);
	if (i && binds_waiting && i->due_ns > now && i->due_ns < next)
		next = i->due_ns;
	return next;
}

uint64_t report_send_due(struct report *r, uint64_t now, bool binds_waiting)
{
	struct item *i;

	r->binds_waiting = binds_waiting;
	if (report_waiting(r) == 0)
		return NEVER_NS;
	if (now < r->pause_until_ns)
		return r->pause_until_ns;
	report_held_go(r, now);
	tokens_fill(r, now);
	while (reasons_flying(r) < reasons_most(binds_waiting) && r->tokens >= 1 &&
	       (i = next_reason(r, now)) != NULL)
		item_go(i);
	while (r->events_flying < events_most(r, now, binds_waiting) && (i = next_event(r)) != NULL)
		item_go(i);
	return report_waiting(r) == 0 ? NEVER_NS : next_due(r, now, binds_waiting);
}
