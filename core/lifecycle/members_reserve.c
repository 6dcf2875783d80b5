/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations are made: for a plan, for an earlier epoch, for another scheduler. */
#include "core/lifecycle/members.h"

#include "core/base/probe.h"
#include "core/lifecycle/outbox.h"
#include "core/lifecycle/precedence.h"
#include "core/lifecycle/queued.h"

#include <assert.h>

/* A new attempt begins on p->node. */
static inline void attempt_begin(struct core *c, struct pod *p, node_id node)
{
	p->attempt++;
	PROBE(reserved, pods_id(&c->pods, p), p->generation, node, p->gang);
}

/* The plan has allocated the member's capacity; its command is sent unless others wait. */
static inline void member_reserve(struct core *c, struct gang *g, struct cmd_bind *bind, pod_id id,
                                  node_id node)
{
	struct pod *p = &c->pods.slots[id];

	assert(p->readiness == MEMBER_READY && p->node == ID_NONE);
	gang_uncount(g, p);
	p->node = node;
	p->leaving = false;
	if (c->pod_counts.inventory)
		devices_adopt(c, p);
	attempt_begin(c, p, node);
	if (c->sends.n == 0 && outbox_bind(c, CMD_BIND, bind, id))
		reservation_set(c, p, RESERVATION_SENT, node);
	else
		reservation_set(c, p, RESERVATION_RESERVED, node);
	p->readiness = MEMBER_BINDING;
	gang_count(g, p);
}

static __attribute__((noinline)) void timeline_enter(struct core *c, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->nodes[i] != ID_NONE)
			timeline_pod_enter(
				c->promises.timeline,
				&(struct timeline_entry){ .pod = plan->pods[i],
			                              .gang = c->pods.slots[plan->pods[i]].gang,
			                              .node = plan->nodes[i],
			                              .shape = c->pods.slots[plan->pods[i]].shape,
			                              .ours = true },
				c->now_ns);
}

/* Not the members without a node: they would push others out of the log. */
static inline void note_placed(struct core *c, const struct plan *plan)
{
	if (plan->n == 1)
		pods_note_placed(&c->pods, plan->pods[0]);
	else if (plan->placed == plan->n)
		pods_note_all_placed(&c->pods, plan->pods, plan->n);
	else
		for (uint32_t i = 0; i < plan->n; i++)
			if (plan->nodes[i] != ID_NONE)
				pods_note_placed(&c->pods, plan->pods[i]);
}

BY_NAME void gang_reserve(struct core *c, uint32_t index, const struct plan *plan)
{
	struct gang *g = &c->gangs.slots[index];
	struct cmd_bind bind;
	class_id class = CLASS_NONE;
	uint32_t n = 0;

	assert(plan->placed > 0 && plan->placed <= plan->n);
	assert(g->queue == QUEUE_NONE && c->queue.in_cycle == index && g->retained == 0);
	g->planned_spec_id = g->spec_id;
	if (gang_have(g) == 0 && gang_is_group(&c->gangs, index))
		precedence_begin(c, g, plan);
	bind = outbox_bind_of(c, index);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct pod *p = &c->pods.slots[plan->pods[i]];

		if (plan->nodes[i] == ID_NONE)
			continue;
		if (p->class != class) /* once for each pod class */
			capacity_satisfies_others(c, p);
		class = p->class;
		member_reserve(c, g, &bind, plan->pods[i], plan->nodes[i]);
		n++;
	}
	note_placed(c, plan);
	if (c->promises.timeline)
		timeline_enter(c, plan);
	if (c->turns.shares)
		queued_plan(c, plan);
	assert(n == plan->placed && n <= c->pods.by_readiness[MEMBER_READY]);
	c->pods.by_readiness[MEMBER_READY] -= n;
	c->pods.by_readiness[MEMBER_BINDING] += n;
	g->infeasible_version = 0;
}

void pod_reserve_again(struct core *c, pod_id id, node_id node, enum reservation state)
{
	struct pod *p = &c->pods.slots[id];

	assert(node < c->nodes.limit);
	assert(state == RESERVATION_RETRY || state == RESERVATION_CANCEL ||
	       state == RESERVATION_RETAINED);
	assert(p->reservation == RESERVATION_NONE);
	member_out(c, p);
	reservation_set(c, p, state, node);
	if (state != RESERVATION_RETAINED) {
		pods_note_placed(&c->pods, id);
		attempt_begin(c, p, node);
	}
	member_in(c, p);
}

void pod_assume(struct core *c, pod_id id, node_id node, uint64_t until_ns)
{
	struct pod *p = &c->pods.slots[id];

	assert(node < c->nodes.limit);
	assert(!(p->flags & POD_OURS));
	assert(p->reservation == RESERVATION_NONE);
	member_out(c, p);
	reservation_set(c, p, RESERVATION_ASSUMED, node);
	pods_note_placed(&c->pods, id);
	p->retry_ns = until_ns;
	if (until_ns < c->assumes.due_ns)
		c->assumes.due_ns = until_ns;
	PROBE(assume_reserved, id, p->generation, node);
	member_in(c, p);
}
