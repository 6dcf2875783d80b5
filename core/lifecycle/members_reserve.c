/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations: made, given up before they are sent, answered. */
#include "core/lifecycle/members_impl.h"

#include "core/base/probe.h"
#include "core/lifecycle/say.h"

#include <assert.h>

#define NS_PER_MS UINT64_C(1000000)
#define BACKOFF_FIRST_MS 1000u
#define BACKOFF_MOST_MS 10000u
#define BACKOFF_GRAIN_NS (20 * NS_PER_MS) /* so that many refusals cost few walks */

/* The pod has its room, and its command is due. */
static inline void reserved(struct core *c, struct pod *p)
{
	p->state = POD_RESERVED;
	p->any_attempt = false;
	p->attempt++;
	PROBE(reserved, pods_id(&c->pods, p), p->generation, p->node, p->gang);
}

void pod_reserve(struct core *c, pod_id id, node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->state == POD_PENDING && p->node == ID_NONE);
	member_out(c, p);
	list_leave(c, p);
	room_take(c, p, node);
	reserved(c, p);
	pod_queue_push(&c->sends, &c->pods, id);
	member_in(c, p);
}

/* A member has its room: it is counted, and its command is written. */
static inline void member_reserve(struct core *c, struct gang *g, struct cmd_bind *bind, pod_id id,
                                  node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->class == MEMBER_READY && p->list == LIST_NONE && p->node == ID_NONE);
	gang_uncount(g, p);
	p->node = node;
	p->leaving = false;
	reserved(c, p);
	/* Those before it go first. */
	if (c->sends.n > 0 || !say_bind(c, bind, id))
		pod_queue_push(&c->sends, &c->pods, id);
	p->class = MEMBER_BINDING;
	gang_count(g, p);
}

void gang_reserve(struct core *c, uint32_t index, const struct plan *plan)
{
	struct gang *g = &c->gangs.slots[index];
	struct cmd_bind bind;
	kind_id kind = KIND_NONE;
	uint32_t n = 0;

	assert(g->place == PLACE_NONE && c->looked_at == index);
	g->planned_terms = g->terms;
	bind = say_bind_of(c, index);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct pod *p = &c->pods.slots[plan->pods[i]];

		if (plan->nodes[i] == ID_NONE)
			continue;
		if (p->kind != kind) /* of a kind the first says it all */
			room_eased(c, p);
		kind = p->kind;
		member_reserve(c, g, &bind, plan->pods[i], plan->nodes[i]);
		n++;
	}
	c->pods.classes[MEMBER_READY] -= n;
	c->pods.classes[MEMBER_BINDING] += n;
	g->hopeless = 0;
	gang_keep_room(c, index);
}

void pod_reserve_again(struct core *c, pod_id id, node_id node, bool withdrawn)
{
	struct pod *p = &c->pods.slots[id];

	p->carried = true;
	p->withdrawn = withdrawn;
	pod_reserve(c, id, node);
}

void pod_keep_again(struct core *c, pod_id id, node_id node)
{
	struct pod *p = &c->pods.slots[id];

	member_out(c, p);
	room_take(c, p, node);
	keep_begin(c, p); /* member_in() knows whether its gang has begun */
	member_in(c, p);
}

/* ---- reservations that were not sent ------------------------------------------------ */

static void reservation_cancel(struct core *c, struct pod *p)
{
	member_out(c, p);
	list_leave(c, p);
	room_give(c, p);
	PROBE(reservation_cancelled, pods_id(&c->pods, p), p->generation);
	p->state = POD_PENDING;
	p->carried = p->withdrawn = false;
	member_in(c, p);
}

/* Its Binding is not to be sent; but an earlier one may land. */
static void reservation_give_up(struct core *c, struct pod *p)
{
	if (!p->carried) {
		reservation_cancel(c, p);
		return;
	}
	member_out(c, p);
	p->withdrawn = true;
	member_in(c, p);
}

void pod_claim(struct core *c, pod_id id, node_id node, uint64_t until_ns)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->state == POD_PENDING && p->list == LIST_NONE);
	member_out(c, p);
	room_take(c, p, node);
	p->state = POD_RESERVED;
	p->retry_ns = until_ns;
	if (until_ns < c->claims.due_ns)
		c->claims.due_ns = until_ns;
	PROBE(claim_reserved, id, p->generation, node);
	pod_queue_push(&c->claims.kept, &c->pods, id);
	member_in(c, p);
}

void pod_unclaim(struct core *c, pod_id id)
{
	reservation_cancel(c, &c->pods.slots[id]);
}

void gang_cancel_unsent(struct core *c, uint32_t index)
{
	struct gang *g;
	struct pod *p;
	bool whole;

	if (index == ID_NONE)
		return;
	g = &c->gangs.slots[index];
	whole = gang_is_whole(g) && !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED));
	if (g->members == 0 || whole || g->counts[MEMBER_BOUND] > 0)
		return;
	for (pod_id id = g->first; id != ID_NONE; id = p->next) {
		p = &c->pods.slots[id];
		if (p->state == POD_RESERVED && p->list != LIST_SEND && !p->withdrawn)
			return; /* on its way: the gang rolls forward */
	}
	for (pod_id id = g->first; id != ID_NONE; id = p->next) {
		p = &c->pods.slots[id];
		if (p->list == LIST_SEND && !p->withdrawn)
			reservation_give_up(c, p);
	}
}

/* Would the node take the pod that is reserved there as it is now? */
static bool still_fits(const struct core *c, const struct pod *p)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	if (!node_present(&c->nodes.slots[p->node]) || !shape_allows(s, p->node))
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (nodes_room(&c->nodes, p->node, s->requests[i].resource) < 0)
			return false;
	return true;
}

bool pod_still_reserved(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	if (p->withdrawn || still_fits(c, p))
		return true;
	reservation_give_up(c, p);
	gang_cancel_unsent(c, p->gang);
	return false;
}

static void unreserve(struct core *c, node_id node, bool all)
{
	pod_id id = c->sends.first;

	while (id != ID_NONE) {
		struct pod *p = &c->pods.slots[id];

		if (p->node != node || (!all && (p->withdrawn || still_fits(c, p)))) {
			id = p->list_next;
			continue;
		}
		if (all)
			reservation_cancel(c, p);
		else
			reservation_give_up(c, p);
		gang_cancel_unsent(c, p->gang);
		id = c->sends.first; /* anything may have left the list */
	}
}

void node_unreserve(struct core *c, node_id node)
{
	unreserve(c, node, false);
}

void node_leave(struct core *c, node_id node)
{
	unreserve(c, node, true);
	if (c->nodes.slots[node].pods == 0)
		return;
	for (pod_id id = 0; id < c->pods.used; id++) {
		struct pod *p = &c->pods.slots[id];

		if (p->generation == 0 || p->node != node)
			continue;
		keep_end(c, p);
		room_give(c, p);
	}
}

/* ---- answers ------------------------------------------------------------------------ */

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

	p->refusals++;
	wait_ns = backoff_ns(p, retry_ms);
	p->retry_ns = c->now_ns < UINT64_MAX - wait_ns ? c->now_ns + wait_ns : UINT64_MAX;
	pod_queue_push(&c->backoff, &c->pods, pods_id(&c->pods, p));
	if (p->retry_ns < c->backoff_due_ns)
		c->backoff_due_ns = p->retry_ns;
}

uint64_t pods_over(struct core *c, const struct pod_queue *q,
                   void (*over)(struct core *c, pod_id id))
{
	uint64_t due_ns = UINT64_MAX;
	pod_id next;

	for (pod_id id = q->first; id != ID_NONE; id = next) {
		const struct pod *p = &c->pods.slots[id];

		next = p->list_next;
		if (p->retry_ns <= c->now_ns)
			over(c, id);
		else if (p->retry_ns < due_ns)
			due_ns = p->retry_ns;
	}
	return due_ns;
}

static void backoff_over(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	member_out(c, p);
	list_leave(c, p);
	PROBE(backoff_over, id, p->generation);
	member_in(c, p);
}

void backoff_wake(struct core *c)
{
	const uint64_t due_ns = pods_over(c, &c->backoff, backoff_over);

	c->backoff_due_ns =
		due_ns > c->now_ns + BACKOFF_GRAIN_NS ? due_ns : c->now_ns + BACKOFF_GRAIN_NS;
	if (c->backoff.n == 0)
		c->backoff_due_ns = UINT64_MAX;
}

void pod_answered(struct core *c, enum record_kind kind, const struct result *result,
                  uint64_t time_ns)
{
	struct pod *p = pods_find(&c->pods, result->pod);
	bool withdrawn;

	/* A reservation that answers are for is made after the lists. */
	if (!c->synced || !p || p->generation != result->generation || !pod_is_sent(p) ||
	    (!p->any_attempt && p->attempt != result->attempt)) {
		stat_add(&core_stats(c)->stale_results, 1);
		return;
	}
	if (kind == RESULT_UNKNOWN)
		return;
	member_out(c, p);
	withdrawn = p->withdrawn;
	p->carried = p->withdrawn = false;
	p->any_attempt = false;
	p->answered_ns = time_ns;
	if (kind == RESULT_BOUND) {
		PROBE(bound, result->pod, result->generation, p->node);
		p->state = POD_BOUND;
		p->confirmed = false;
		p->refusals = 0;
		stat_add(&core_stats(c)->binds_accepted, 1);
	} else {
		PROBE(bind_refused, result->pod, result->generation, p->node);
		p->state = POD_PENDING;
		if (!withdrawn) { /* else nothing was asked for that could be refused */
			backoff_begin(c, p, result->retry_ms);
			stat_add(&core_stats(c)->binds_refused, 1);
		}
		if (pod_class(p) == MEMBER_BACKOFF)
			keep_begin(c, p); /* member_in() knows whether its gang has begun */
		else
			room_give(c, p);
	}
	member_in(c, p);
	if (c->sends.n > 0)
		gang_cancel_unsent(c, p->gang);
}
