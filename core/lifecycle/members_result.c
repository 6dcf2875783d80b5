/* SPDX-License-Identifier: Apache-2.0 */
/* Results of commands, and the backoff of members whose binding was refused. */
#include "core/lifecycle/members.h"

#include "core/base/probe.h"
#include "ipc/units.h"

#include <assert.h>

/* As kube-scheduler's podInitialBackoffSeconds and podMaxBackoffSeconds. */
#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_MOST_MS 10000u
#define BACKOFF_GRAIN_NS (20 * NS_PER_MS) /* so that many refusals need few walks over the list */

static uint64_t backoff_ns(const struct pod *p, uint32_t retry_ms)
{
	uint64_t ms = BACKOFF_FIRST_MS;

	if (retry_ms > 0)
		return retry_ms * NS_PER_MS;
	for (uint32_t i = 1; i < p->refusals && ms < BACKOFF_MOST_MS; i++)
		ms *= 2;
	return (ms < BACKOFF_MOST_MS ? ms : BACKOFF_MOST_MS) * NS_PER_MS;
}

static void backoff_begin(struct core *c, struct pod *p, uint32_t retry_ms)
{
	uint64_t wait_ns;

	assert(!p->backoff);
	p->refusals++;
	wait_ns = backoff_ns(p, retry_ms);
	p->retry_ns = c->now_ns < UINT64_MAX - wait_ns ? c->now_ns + wait_ns : UINT64_MAX;
	p->backoff = true;
	pod_list_push(&c->backoff, &c->pods, pods_id(&c->pods, p));
	if (p->retry_ns < c->backoff_due_ns)
		c->backoff_due_ns = p->retry_ns;
}

uint64_t pods_expire(struct core *c, const struct pod_list *list,
                     void (*expired)(struct core *c, pod_id id))
{
	uint64_t due_ns = UINT64_MAX;
	pod_id next;

	for (pod_id id = list->first; id != ID_NONE; id = next) {
		const struct pod *p = &c->pods.slots[id];

		next = p->list_next;
		if (p->retry_ns <= c->now_ns)
			expired(c, id);
		else if (p->retry_ns < due_ns)
			due_ns = p->retry_ns;
	}
	return due_ns;
}

static void backoff_end(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->backoff);
	member_out(c, p);
	backoff_leave(c, p);
	PROBE(backoff_ended, id, p->generation);
	member_in(c, p);
}

void backoff_wake(struct core *c)
{
	const uint64_t due_ns = pods_expire(c, &c->backoff, backoff_end);

	c->backoff_due_ns = c->now_ns + BACKOFF_GRAIN_NS;
	if (due_ns > c->backoff_due_ns)
		c->backoff_due_ns = due_ns;
}

static void bound(struct core *c, struct pod *p)
{
	assert(reservation_is_sent(p));
	PROBE(bound, pods_id(&c->pods, p), p->generation, p->node);
	p->refusals = 0;
	reservation_set(c, p, RESERVATION_BOUND, p->node);
	stat_add(&core_stats(c)->binds_accepted, 1);
}

/* Retains the reservation if the pod can be placed again; member_in() ends it if the gang is not
 * partially bound. */
static void refused(struct core *c, struct pod *p, const struct result *result)
{
	const bool cancelled = reservation_is_cancelled(p);

	assert(reservation_is_sent(p));
	PROBE(bind_refused, pods_id(&c->pods, p), p->generation, p->node);
	if (!cancelled) {
		backoff_begin(c, p, result->retry_ms);
		stat_add(&core_stats(c)->binds_refused, 1);
	}
	if (!cancelled && p->node != ID_NONE && pod_flags_schedulable(p->flags))
		reservation_set(c, p, RESERVATION_RETAINED, p->node);
	else
		reservation_set(c, p, RESERVATION_NONE, ID_NONE);
}

void pod_answered(struct core *c, enum record_kind kind, const struct result *result,
                  uint64_t time_ns)
{
	struct pod *p = pods_find(&c->pods, result->pod);

	/* Before the initial lists are complete nothing was sent in this epoch. */
	if (!c->synced || !p || p->generation != result->generation || !reservation_is_sent(p) ||
	    (p->reservation != RESERVATION_IN_FLIGHT && p->attempt != result->attempt)) {
		stat_add(&core_stats(c)->stale_results, 1);
		return;
	}
	if (kind == RESULT_UNKNOWN)
		return;
	member_out(c, p);
	p->answered_ns = time_ns;
	if (kind == RESULT_BOUND)
		bound(c, p);
	else
		refused(c, p, result);
	member_in(c, p);
	if (c->sends.n > 0)
		gang_cancel_unsent(c, p->gang);
}
