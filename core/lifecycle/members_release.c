/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations end before their command is sent. */
#include "core/lifecycle/members.h"

#include "core/base/probe.h"
#include "core/lifecycle/nominate.h"
#include "core/lifecycle/retain.h"

#include <assert.h>

void reservation_end(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	assert(id < c->pods.limit);
	assert(p->generation != 0);
	member_out(c, p);
	reservation_set(c, p, RESERVATION_NONE, ID_NONE);
	PROBE(reservation_cancelled, id, p->generation);
	member_in(c, p);
}

/* The command will not be sent; a binding of an earlier epoch may land all the same. */
static void give_up(struct core *c, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	assert(reservation_is_unsent(p) && !reservation_is_cancelled(p));
	if (p->reservation == RESERVATION_RESERVED) {
		reservation_end(c, id);
		return;
	}
	member_out(c, p);
	reservation_set(c, p, RESERVATION_CANCEL, p->node);
	member_in(c, p);
}

static bool may_be_given_up(const struct pod *p)
{
	return reservation_is_unsent(p) && !reservation_is_cancelled(p);
}

void gang_cancel_unsent(struct core *c, uint32_t index)
{
	const uint32_t on_its_way =
		RESERVATION_BIT(SENT) | RESERVATION_BIT(IN_FLIGHT) | RESERVATION_BIT(ASSUMED);
	const struct gang *g;
	bool whole;

	if (index == ID_NONE)
		return;
	g = &c->gangs.slots[index];
	whole = gang_quorum_met(g) && !(g->flags & (GANG_OBJECT_MISSING | GANG_REFUSED));
	if (g->members == 0 || whole || g->counts[MEMBER_BOUND] > 0)
		return;
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next)
		if (reservation_in(&c->pods.slots[id], on_its_way))
			return; /* it can not be taken back: the gang completes what it began */
	for (pod_id id = g->first; id != ID_NONE; id = c->pods.slots[id].next)
		if (may_be_given_up(&c->pods.slots[id]))
			give_up(c, id);
}

/* True if the node, as it is now, takes the pod that is reserved there. */
static bool still_fits(const struct core *c, const struct pod *p)
{
	const struct shape *s = &c->shapes.slots[p->shape];

	assert(p->node < c->nodes.limit);
	if (!node_present(&c->nodes.slots[p->node]) || !shape_allows(s, p->node))
		return false;
	for (uint32_t i = 0; i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];

		if (!nodes_leave_to_devices(&c->nodes, p->node, q) &&
		    nodes_free_amount(&c->nodes, p->node, q->resource) < 0)
			return false;
	}
	return true;
}

bool pod_still_reserved(struct core *c, pod_id id)
{
	const struct pod *p = &c->pods.slots[id];

	assert(reservation_is_unsent(p));
	if (reservation_is_cancelled(p) || still_fits(c, p))
		return true;
	give_up(c, id);
	gang_cancel_unsent(c, p->gang);
	return false;
}

static void unreserve(struct core *c, node_id node, bool deleted)
{
	pod_id id = c->sends.first;

	while (id != ID_NONE) {
		const struct pod *p = &c->pods.slots[id];

		if (p->node != node || (!deleted && (reservation_is_cancelled(p) || still_fits(c, p)))) {
			id = p->list_next;
			continue;
		}
		(deleted ? reservation_end : give_up)(c, id);
		gang_cancel_unsent(c, p->gang);
		id = c->sends.first; /* any pod may have left the list */
	}
}

void node_unreserve(struct core *c, node_id node)
{
	assert(node < c->nodes.limit);
	unreserve(c, node, false);
	if (c->nominations.n > 0)
		nominations_node_changes(c, node, false);
}

/* A pod whose binding is under way goes on without the node. */
static void leave(struct core *c, node_id node, pod_id id)
{
	struct pod *p = &c->pods.slots[id];

	if (p->generation == 0 || p->node != node)
		return;
	if (reservation_is_retained(p))
		retained_end(c, p);
	else
		reservation_set(c, p, (enum reservation)p->reservation, ID_NONE);
}

void node_leave(struct core *c, node_id node)
{
	const struct node *n = &c->nodes.slots[node];
	const uint64_t logged = c->pods.placed_n;

	assert(node < c->nodes.limit);
	unreserve(c, node, true);
	if (c->nominations.n > 0)
		nominations_node_changes(c, node, true);
	for (uint64_t back = 1; n->pods > 0 && back <= logged && back <= PLACED_LOG; back++)
		leave(c, node, c->pods.placed[(logged - back) % PLACED_LOG]);
	/* Placed longer ago, or by another instance. */
	for (pod_id id = 0; n->pods > 0 && id < c->pods.used; id++)
		leave(c, node, id);
}
