/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by victims.c (an answer is carried out), victims_allowed.c (may its victims go?),
 * victims_room.c (what is away while the planner is asked) and victims_needed.c (is each of them
 * needed?). */
#ifndef MUSTER_CORE_VICTIMS_IMPL_H
#define MUSTER_CORE_VICTIMS_IMPL_H

#include "core/lifecycle/nominate.h"
#include "core/lifecycle/state.h"
#include "core/shm/records.h"
#include "ipc/units.h"

/* A question: what is released tentatively, and for whom. */
struct trial {
	struct core *c;
	uint32_t index;
	bool behind; /* it leaves out what the backfill reservation holds */
	uint64_t ticket;
	struct eviction
		*victims; /* of the answer, then of nominations that end, then others that end */
	size_t cap;
	uint32_t n, own;  /* in all; of the answer */
	pod_id *released; /* pods whose capacity is released */
	size_t released_cap;
	uint32_t released_n;
	struct nomination *taken[NOMINATIONS_MAX]; /* released, the lowest priority first */
	uint32_t taken_n;
	uint32_t evicted; /* victims that are inherited, and were */
	uint8_t *marks;   /* by pod: enum mark */
};

enum mark {
	MARK_OWN = 1u << 0,     /* a victim of the answer */
	MARK_OTHERS = 1u << 1,  /* ... of a nomination */
	MARK_ASKED = 1u << 2,   /* the first member of a gang whose terms were looked at */
	MARK_LOWER = 1u << 3,   /* ... whose priority was */
	MARK_COUNTED = 1u << 4, /* ... that was counted, if it is broken */
	MARK_KEEPS = 1u << 5,   /* ... that keeps its quorum without all that goes */
	MARK_BREAKS = 1u << 6,  /* ... whose victims have `breaks_at` */
};

#define MARKS_GO ((uint8_t)(MARK_OWN | MARK_OTHERS))

/* victims_allowed.c: each victim of the answer may go now; they are added, sorted by pod. */
bool victims_hold(struct trial *t, const struct answer_record *a);

/* victims_allowed.c: the lowest priority of the members that are ready; the group's own if it has
 * one. */
int32_t victims_preemptor_priority(const struct core *c, const struct gang *g);

/* victims_allowed.c: the gang that goes whole with victim i; ID_NONE: it goes alone. */
uint32_t victims_unit(const struct trial *t, uint32_t i);

/* victims_allowed.c: gangs that have their quorum, and lose it by the answer's victims. */
uint32_t victims_broken(struct trial *t);

/* victims_allowed.c: sets `breaks_at` of the answer's victims. */
void victims_break(struct trial *t);

/* victims_allowed.c: with reclaim, those that lose it are away (core/lifecycle/evicted.h). */
void victims_leave(struct trial *t);

void victims_add(struct trial *t, const struct eviction *v);

/* victims_room.c: releases all that ends anyway, and the victims of the answer and of
 * nominations; allocates all of it again, and `taken_too`: what was taken over. */
void victims_ends_release(struct trial *t);
void victims_ends_restore(struct trial *t, bool taken_too);

/* victims_room.c: one pod away, or back on its node. */
void victims_release(struct trial *t, pod_id id);
void victims_allocate(struct trial *t, pod_id id);

/* victims_room.c: the planner places the gang as things are. */
bool victims_fit(struct trial *t);

/* victims_room.c: likewise; lower nominations are given up one by one, only as many as it needs. */
bool victims_fit_by_taking_over(struct trial *t);

/* victims_needed.c: the plan stands; false if it would without one of the victims, or a gang that
 * goes whole, and then it is undone. */
bool victims_all_needed(struct trial *t);

#endif
