/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations: gangs that have their room already, beside the pods that have to go first.
 *
 *   a plan that counts on victims ──► nominated ──all gone, and it fits──► ordinary reservations
 *                                         └──room elsewhere first, or an end below──► none
 *
 * The members that have to start hold capacity on their planned nodes (RESERVATION_NOMINATED) while
 * the victims still do, so free capacity is below zero there and no other pod can take it.  They
 * count as ready: each plan of the gang releases them tentatively (core/cycle/answered.c).  No
 * CMD_BIND is sent for them before a plan has placed them on capacity that is free.
 *
 *   victim    due ──CMD_EVICT──► sent ──RESULT_EVICT_SENT, POD_DELETING──► ending ──► gone
 *              └──the nomination ends──► none: it was not evicted
 *
 * Pods that end on the planned nodes, by any hand, are victims that are ending already.
 * Commands wait in a queue of their own while the ring is full; a victim of a nomination that has
 * ended is never sent.  The number of pods evicted for a ticket is that of its victims or less.
 *
 * EVENT_BEGIN ends all, without a command: what ends is in the lists of the new epoch, and is room
 * to come for the gang that asks next. */
#ifndef MUSTER_CORE_NOMINATE_H
#define MUSTER_CORE_NOMINATE_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* How a nomination ends; struct core_preemption counts them. */
enum nomination_end {
	NOMINATION_PLACED,
	NOMINATION_ELSEWHERE,
	NOMINATION_CHANGED, /* the gang, a member or a node of the plan; or a higher pod has its slot */
	NOMINATION_REFUSED, /* a victim can't be evicted */
	NOMINATION_STUCK,   /* a victim does not go */
	NOMINATION_TAKEN_OVER,
	NOMINATION_LOST, /* the victims are gone, and it does not fit */
};

/* Of the gang; NULL: none. */
struct nomination *nomination_of(struct core *c, uint32_t index);

/* A slot for it; NULL: there are too many, or commands wait.  Half of those for lone pods are for
 * one namespace at most.  A lone pod that finds them taken has that of one of lower priority (of
 * its own namespace, if that has its half): n->ticket is not 0 then, and the caller ends it. */
struct nomination *nomination_new(struct core *c, uint32_t index);

/* Each member that c->plan has placed is nominated there; the plan has allocated its capacity.
 * `victims`: memory that is the nomination's then; those that are due are evicted. */
void nomination_make(struct core *c, struct nomination *n, uint32_t index, uint64_t ticket,
                     struct eviction *victims, uint32_t victims_n);

/* Ends it; victims that were not sent are not evicted.  Members that are not bound next lose their
 * node in the API, too. */
void nomination_end(struct core *c, struct nomination *n, enum nomination_end how);

/* The pod has a node in the API, and no nomination: it loses that. */
void nomination_clear(struct core *c, pod_id id);

/* Victims of other nominations that are still on its nodes: as long as there are some, room there
 * is held for more members than fit, although its own victims are gone. */
uint32_t nomination_others_victims(const struct core *c, const struct nomination *n);

#define VICTIM_GRACE_NS (30 * UINT64_C(1000000000)) /* where none is known */

/* When the victim is gone: by its grace, or the default one. */
uint64_t victim_gone_ns(const struct core *c, const struct eviction *v);
/* The last of them; now: there are none. */
uint64_t victims_gone_ns(const struct core *c, const struct eviction *victims, uint32_t n);

/* With promises: room that is being emptied is taken, and will be free of the victims. */
void nomination_timeline_begin(struct core *c, const struct nomination *n);
/* Victims that have not begun to end will be gone by then; 0: they stay. */
void nomination_victims_expect(struct core *c, const struct nomination *n, uint64_t by_ns);
/* With promises: the members are in the timeline from start_ns on, or leave it while a plan of
 * another gang that takes over is judged. */
void nomination_timeline_enter(struct core *c, const struct nomination *n);
void nomination_timeline_leave(struct core *c, const struct nomination *n);
/* The same for another plan of its own, after which its victims would stay where they are. */
void nomination_timeline_restore(struct core *c, const struct nomination *n);
void nomination_timeline_release(struct core *c, const struct nomination *n);

/* The capacity of its members is released, or allocated again. */
void nomination_release_tentatively(struct core *c, const struct nomination *n);
void nomination_restore(struct core *c, const struct nomination *n);
/* It was released tentatively, and stays so: the members are as if they had never been nominated.
 */
void nomination_release_finally(struct core *c, const struct nomination *n);

/* A pod is about to be removed, or changes: it is nominated, or a victim. */
void nominations_pod_gone(struct core *c, pod_id id);
void nominations_pod_changes(struct core *c, pod_id id, uint32_t flags, bool stays);
/* Others bound it on a node: the room of a nomination there may be lost to it. */
void nominations_pod_came(struct core *c, pod_id id, uint32_t generation, node_id node);
/* A node is about to be removed (`gone`), or has changed: it may allow a member no more. */
void nominations_node_changes(struct core *c, node_id node, bool gone);
/* Gangs evict no more. */
void nominations_end_all(struct core *c);
/* The terms of a gang change. */
void nominations_gang_changes(struct core *c, uint32_t index);

void nominations_result(struct core *c, enum record_kind kind, const struct evict_result *r);

/* Writes commands that wait; false: the ring is full. */
bool nominations_flush(struct core *c);

/* Called by tickets_tick(). */
void nominations_tick(struct core *c);

/* At EVENT_BEGIN. */
void nominations_forget(struct core *c);
void nominations_clear(struct core *c);

#endif
