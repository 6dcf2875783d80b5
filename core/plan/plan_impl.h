/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the planner share. */
#ifndef MUSTER_CORE_PLAN_IMPL_H
#define MUSTER_CORE_PLAN_IMPL_H

#include "core/plan/plan.h"

/* Ready members of one kind. */
struct plan_group {
	kind_id kind;
	bool later;  /* no node takes it before another member is placed */
	bool closed; /* in this pass no node took one more */
	uint32_t n;
	uint32_t wanted; /* of them in the set */
	uint64_t capacity;
};

static inline struct plan_group *group_of(struct plan *plan, const struct views *vs, kind_id kind)
{
	return &plan->groups[vs->census->kinds.slots[kind].mark];
}

static inline kind_id kind_at(const struct plan *plan, const struct gangs *gs, uint32_t member)
{
	return gs->pods->slots[plan->pods[member]].kind;
}

static inline uint32_t role_at(const struct plan *plan, uint32_t member)
{
	return plan->roles_n > 0 ? plan->roles[member] : 0;
}

/* Members from `member` to before `end` go to nodes of a tree, by ranks[index]; NULL: the index is
 * the rank. */
struct filling {
	struct tree *tree;
	const uint32_t *ranks;
	uint32_t member, end;
};

/* ---- core/plan/plan.c ---- */

/* Each on the best node there is, of a plain view that has room for all of them there. */
void fill_levels(struct plan *plan, struct views *vs, struct view *v, const struct filling *f);

/* What each kind finds now. */
void groups_look(struct plan *plan, struct views *vs);

/* Nobody is placed, and nothing is known of why. */
void plan_nothing(struct plan *plan);

/* Place the members that were collected, without regard to levels. */
enum plan_answer plan_members(struct plan *plan, struct views *vs, const struct gangs *gs,
                              const struct gang_need *need);
void undo_all(struct plan *plan, struct views *vs, const struct gangs *gs);

/* The first members are the set. */
void set_first(struct plan *plan, uint32_t need);

/* No node took one more of the kind, which has rules: why not, as things stand in the middle of the
 * plan. */
void note_why_if_ruled(struct plan *plan, struct views *vs, kind_id kind);

void plan_take(struct plan *plan, struct views *vs, uint32_t member, uint32_t rank, kind_id kind);
bool plan_take_best(struct plan *plan, struct views *vs, uint32_t member, kind_id kind);
void plan_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member);

/* ---- core/plan/plan_sets.c ---- */

/* Members of several kinds: those that have to start together. */
enum plan_answer plan_sets(struct plan *plan, struct views *vs, const struct gangs *gs,
                           const struct gang_need *need);

/* ... and as many of the others as there is room for. */
void place_rest(struct plan *plan, struct views *vs, const struct gangs *gs);

/* ---- core/plan/plan_rules.c ---- */

/* Does the order count in which pods of the kind and others are placed? */
bool rules_ordered(const struct census *cs, kind_id kind);

/* Does filling up with pods of this kind alone, each on any node that is open, always come to the
 * same number?  Then the greedy way is a proof. */
bool rules_simple(const struct census *cs, kind_id kind);

/* The first member binds the others: places to begin at, the best node of each, the best first.
 * `kind` is the first one's; those with room for fewer than `need` are left out. */
void starts_find(struct plan *plan, struct views *vs, kind_id kind, uint32_t need);

/* ---- core/plan/plan_levels.c ---- */

/* The same with levels. */
enum plan_answer plan_levels(struct plan *plan, struct views *vs, const struct gangs *gs,
                             const struct gang *g, const struct gang_need *need);

/* ---- core/plan/plan_search.c ---- */

/* Every way to place what has to start of the set, which is all members, sorted by kind and
 * role; at most PLAN_TRIES. */
enum plan_answer set_search(struct plan *plan, struct views *vs, const struct gangs *gs,
                            const struct gang_need *need);

#endif
