/* SPDX-License-Identifier: Apache-2.0 */
/* The reservation of a pod: the capacity that it holds on a node, and how far its binding is.
 *
 *   NONE ──plan────────► RESERVED ──CMD_BIND────────► SENT ────────┐
 *    │                                                ▲ │          │
 *    ├──epoch begins──► RETRY ─────CMD_RETRY_BIND─────┘ │          ├─bound─► BOUND ─► CONFIRMED
 *    │                    │                        POD_BINDING     │
 *    │             pod or gang changed                  ▼          │
 *    ├──POD_BINDING───────┼───────────────────────► IN_FLIGHT ─────┤
 *    │                    ▼                                        ├─refused─► RETAINED or NONE
 *    ├──epoch begins──► CANCEL ────CMD_CANCEL_BIND─► CANCEL_SENT ──┘
 *    │
 *    ├──epoch begins──► RETAINED ──the gang's next plan, or the gang changed──► NONE
 *    │
 *    ├──EVENT_ASSUME──► ASSUMED ──expired──► NONE
 *    │
 *    └──plan that counts on victims──► NOMINATED ──the plan that places it, or an end──► NONE
 *
 * A command name is the moment at which the command is in the ring, bound and refused are results,
 * POD_BINDING is the flag of a record.  RESERVED is passed at once unless the ring is full.  An
 * epoch restores reservations of the one before: core/lifecycle/inflight.h.
 *
 * Not drawn: CONFIRMED follows every state when a record has the pod's node.  NONE follows when the
 * pod or its node is deleted, or a record or the gang no longer allows what was planned.  IN_FLIGHT
 * follows RESERVED, RETRY and CONFIRMED as well.  CANCEL_SENT is never retained.
 *
 *   state         counts as   waits on          binding may land
 *   NONE          ready *     -                 no
 *   RETAINED      ready *     -                 no
 *   RESERVED      binding     c->sends          no
 *   RETRY         binding     c->sends          yes
 *   CANCEL        backoff     c->sends          yes
 *   SENT          binding     the result        yes
 *   CANCEL_SENT   backoff     the result        yes
 *   IN_FLIGHT     binding     the result        yes
 *   ASSUMED       binding     c->assumes.pods   yes, another scheduler's
 *   BOUND         bound       the watch         did
 *   CONFIRMED     bound       -                 did
 *   NOMINATED     ready       victims           no
 *   * backoff while pod.backoff is set: on c->backoff
 *
 * All states but NONE hold capacity on pod.node.  SENT, CANCEL_SENT, IN_FLIGHT, ASSUMED, BOUND and
 * CONFIRMED go on without it (ID_NONE) when the node is deleted first. */
#ifndef MUSTER_CORE_RESERVATION_H
#define MUSTER_CORE_RESERVATION_H

#include "core/lifecycle/state.h"

#include <assert.h>

#define RESERVATION_BIT(state) (1u << RESERVATION_##state)

static inline bool reservation_in(const struct pod *p, uint32_t states)
{
	return states >> p->reservation & 1;
}

/* No command is due or sent for it, and no binding can land. */
static inline bool reservation_is_pending(const struct pod *p)
{
	return reservation_in(p, RESERVATION_BIT(NONE) | RESERVATION_BIT(RETAINED) |
	                             RESERVATION_BIT(NOMINATED));
}

static inline bool reservation_is_retained(const struct pod *p)
{
	return p->reservation == RESERVATION_RETAINED;
}

#define RESERVATION_UNSENT                                                                         \
	(RESERVATION_BIT(RESERVED) | RESERVATION_BIT(RETRY) | RESERVATION_BIT(CANCEL))
#define RESERVATION_NEEDS_NODE                                                                     \
	(RESERVATION_UNSENT | RESERVATION_BIT(RETAINED) | RESERVATION_BIT(NOMINATED))

/* A command for it is due and not in the ring yet. */
static inline bool reservation_is_unsent(const struct pod *p)
{
	return reservation_in(p, RESERVATION_UNSENT);
}

/* A result is to come. */
static inline bool reservation_is_sent(const struct pod *p)
{
	return reservation_in(p, RESERVATION_BIT(SENT) | RESERVATION_BIT(CANCEL_SENT) |
	                             RESERVATION_BIT(IN_FLIGHT));
}

static inline bool reservation_is_cancelled(const struct pod *p)
{
	return reservation_in(p, RESERVATION_BIT(CANCEL) | RESERVATION_BIT(CANCEL_SENT));
}

static inline bool reservation_is_bound(const struct pod *p)
{
	return reservation_in(p, RESERVATION_BIT(BOUND) | RESERVATION_BIT(CONFIRMED));
}

/* True for the flags of a pod that muster may place. */
static inline bool pod_flags_schedulable(uint32_t flags)
{
	return (flags & (POD_OURS | POD_GATED | POD_DELETING | POD_REFUSED)) == POD_OURS;
}

/* How its gang counts the pod: by its flags, reservation and backoff. */
static inline enum readiness pod_readiness(const struct pod *p)
{
	if (p->flags & POD_DELETING)
		return MEMBER_OUTSIDE;
	if (reservation_is_bound(p))
		return MEMBER_BOUND;
	if (!reservation_is_pending(p) && !reservation_is_cancelled(p))
		return MEMBER_BINDING;
	if (!(p->flags & POD_OURS))
		return MEMBER_OUTSIDE;
	if (p->flags & POD_GATED)
		return MEMBER_GATED;
	if (p->flags & POD_REFUSED)
		return MEMBER_REFUSED;
	return p->backoff || reservation_is_cancelled(p) ? MEMBER_BACKOFF : MEMBER_READY;
}

/* The list that the pod is on; NULL: none. */
struct pod_list *reservation_list(struct core *c, const struct pod *p);

/* By state: the states that may follow it, as bits. */
extern const uint32_t reservation_transitions[RESERVATIONS];

/* The parts of reservation_set() that few transitions need: capacity and lists. */
void capacity_move(struct core *c, struct pod *p, node_id node);
void reservation_relist(struct core *c, struct pod *p, enum reservation to);

/* The only place that changes pod.reservation.  Releases and allocates capacity (ID_NONE: nowhere;
 * nothing if pod.node is `node` already), moves the pod between lists, ends a backoff that the new
 * state does not have, and keeps gang.retained and pods.reservations.
 *
 * Where pod_readiness() changes the caller puts this between member_out() and member_in(). */
static inline void reservation_set(struct core *c, struct pod *p, enum reservation to, node_id node)
{
	const uint32_t listed = RESERVATION_NEEDS_NODE | RESERVATION_BIT(ASSUMED);
	const enum reservation from = (enum reservation)p->reservation;

	assert(reservation_transitions[from] >> to & 1);
	assert(node != ID_NONE || !(RESERVATION_NEEDS_NODE >> to & 1));
	c->pods.reservations[from]--;
	c->pods.reservations[to]++;
	if (p->node != node)
		capacity_move(c, p, node);
	if (p->backoff || (listed & (1u << to | 1u << from)))
		reservation_relist(c, p, to);
	p->reservation = (uint8_t)to;
}

/* The pod leaves backoff, if it is in it. */
void backoff_leave(struct core *c, struct pod *p);

/* Releases the pod's capacity and no more; pod.node is ID_NONE then. */
void capacity_release(struct core *c, struct pod *p);

/* With an inventory: capacity on pod.node was allocated for the pod, and the devices that came with
 * it become the pod's. */
void devices_adopt(struct core *c, const struct pod *p);

/* Call when the pod came to a node: required affinity or spread of others may be satisfied now. */
void capacity_satisfies_others(struct core *c, const struct pod *p);

#endif
