/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle/reservation.h"

#include "core/lifecycle/precedence.h"
#include "core/lifecycle/queued.h"

#include <assert.h>

/* Each state may follow itself, and NONE and CONFIRMED may follow every state. */
#define TO RESERVATION_BIT
#define FROM(state, more) [RESERVATION_##state] = TO(state) | TO(NONE) | TO(CONFIRMED) | (more)

const uint32_t reservation_transitions[RESERVATIONS] = {
	FROM(NONE, TO(RETAINED) | TO(RESERVED) | TO(RETRY) | TO(CANCEL) | TO(SENT) | TO(IN_FLIGHT) |
	               TO(ASSUMED) | TO(NOMINATED)),
	FROM(RETAINED, 0),
	FROM(RESERVED, TO(SENT) | TO(IN_FLIGHT)),
	FROM(RETRY, TO(CANCEL) | TO(SENT) | TO(IN_FLIGHT)),
	FROM(CANCEL, TO(CANCEL_SENT)),
	FROM(SENT, TO(RETAINED) | TO(IN_FLIGHT) | TO(BOUND)),
	FROM(CANCEL_SENT, TO(BOUND)),
	FROM(IN_FLIGHT, TO(RETAINED) | TO(BOUND)),
	FROM(ASSUMED, 0),
	FROM(BOUND, 0),
	FROM(CONFIRMED, TO(IN_FLIGHT)),
	FROM(NOMINATED, 0),
};

struct pod_list *reservation_list(struct core *c, const struct pod *p)
{
	if (reservation_is_unsent(p))
		return &c->sends;
	if (p->reservation == RESERVATION_ASSUMED)
		return &c->assumes.pods;
	return p->backoff ? &c->backoff : NULL;
}

void capacity_satisfies_others(struct core *c, const struct pod *p)
{
	if (pod_counts_eases(&c->pod_counts, p->class))
		nodes_note_freed(&c->nodes);
}

/* Out of line: capacity moves with each pod, and few run with promises. */
static __attribute__((noinline, cold)) void promises_leave(struct core *c, const struct pod *p)
{
	timeline_pod_leave(c->promises.timeline, pods_id(&c->pods, p));
}

static __attribute__((noinline, cold)) void promises_retain(struct core *c, const struct pod *p)
{
	timeline_pod_retain(c->promises.timeline, pods_id(&c->pods, p));
}

static __attribute__((noinline, cold)) void promises_enter(struct core *c, const struct pod *p)
{
	const struct timeline_entry entry = {
		.pod = pods_id(&c->pods, p), .gang = p->gang, .node = p->node, .shape = p->shape
	};

	timeline_pod_enter(c->promises.timeline, &entry, c->now_ns);
}

void devices_adopt(struct core *c, const struct pod *p)
{
	const uint32_t devices = c->shapes.slots[p->shape].body->devices;

	if (devices > 0)
		inventory_adopt(c->pod_counts.inventory, p->node, devices - 1, pods_id(&c->pods, p));
}

void capacity_release(struct core *c, struct pod *p)
{
	if (p->node == ID_NONE)
		return;
	if (c->pod_counts.inventory)
		inventory_return(c->pod_counts.inventory, pods_id(&c->pods, p));
	pod_counts_release(&c->pod_counts, p->node, p->class, p->leaving);
	if (c->promises.timeline)
		promises_leave(c, p);
	if (c->turns.shares)
		queued_leave(c, pods_id(&c->pods, p));
	p->node = ID_NONE;
	nodes_note_freed(&c->nodes);
}

void capacity_move(struct core *c, struct pod *p, node_id node)
{
	capacity_release(c, p);
	if (node == ID_NONE)
		return;
	p->node = node;
	p->leaving = p->flags & POD_DELETING;
	pod_counts_allocate(&c->pod_counts, node, p->class, p->leaving);
	if (c->pod_counts.inventory)
		devices_adopt(c, p);
	if (c->promises.timeline)
		promises_enter(c, p);
	if (c->turns.shares)
		queued_enter(c, pods_id(&c->pods, p));
	capacity_satisfies_others(c, p);
}

void backoff_leave(struct core *c, struct pod *p)
{
	if (!p->backoff)
		return;
	pod_list_remove(&c->backoff, &c->pods, pods_id(&c->pods, p));
	p->backoff = false;
}

static void retaining_remove(struct core *c, uint32_t index)
{
	assert(c->retaining_n <= RETAINING_SHOWN);
	for (uint32_t i = 0; i < c->retaining_n; i++)
		if (c->retaining[i] == index)
			c->retaining[i--] = c->retaining[--c->retaining_n];
}

void reservation_relist(struct core *c, struct pod *p, enum reservation to)
{
	struct pod_list *left = reservation_list(c, p), *entered;

	assert(!reservation_is_retained(p) || c->gangs.slots[p->gang].retained > 0);
	assert(to != RESERVATION_RETAINED || p->gang < c->gangs.n);
	if (reservation_is_retained(p) && --c->gangs.slots[p->gang].retained == 0)
		retaining_remove(c, p->gang);
	if (reservation_is_retained(p) && c->promises.timeline)
		timeline_retained_end(c->promises.timeline);
	/* It may have been entered by capacity_move(). */
	if (to == RESERVATION_RETAINED && c->promises.timeline)
		promises_retain(c, p);
	if (to == RESERVATION_RETAINED) {
		if (c->gangs.slots[p->gang].retained++ == 0 && c->retaining_n < RETAINING_SHOWN)
			c->retaining[c->retaining_n++] = p->gang;
		precedence_note(c, &c->gangs.slots[p->gang]);
	}
	p->reservation = (uint8_t)to;
	p->backoff = p->backoff && reservation_is_pending(p);

	entered = reservation_list(c, p);
	if (left == entered)
		return;
	if (left)
		pod_list_remove(left, &c->pods, pods_id(&c->pods, p));
	if (entered)
		pod_list_push(entered, &c->pods, pods_id(&c->pods, p));
}
