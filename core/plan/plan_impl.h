/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the planner. */
#ifndef MUSTER_CORE_PLAN_IMPL_H
#define MUSTER_CORE_PLAN_IMPL_H

#include "core/plan/plan.h"

/* Ready members of one class. */
struct plan_group {
	class_id class;
	bool later;  /* no node takes one before another member is placed */
	bool closed; /* in this pass no node took one more */
	uint32_t n;
	uint32_t wanted; /* of the set, or still allowed; see the user */
	uint64_t capacity;
};

static inline struct plan_group *group_of(struct plan *plan, const struct views *vs, class_id class)
{
	return &plan->groups[vs->pod_counts->pod_classes.slots[class].mark];
}

static inline class_id class_at(const struct plan *plan, const struct gangs *gs, uint32_t member)
{
	return gs->pods->slots[plan->pods[member]].class;
}

static inline uint32_t role_at(const struct plan *plan, uint32_t member)
{
	return plan->roles_n > 0 ? plan->roles[member] : 0;
}

/* Members [member, end) go to the nodes of a tree; ranks[index] of the tree, NULL: the index
 * itself. */
struct filling {
	struct tree *tree;
	const uint32_t *ranks;
	uint32_t member, end;
};

/* Places each on the best node left, with a plain view that has capacity for all of them there. */
void fill_levels(struct plan *plan, struct views *vs, struct view *v, const struct filling *f);

/* Reads the capacity of one class, and of each. */
void group_look(struct plan_group *g, const struct view *v);
void groups_look(struct plan *plan, struct views *vs);

/* Resets the result: nothing is placed, without a reason. */
void plan_nothing(struct plan *plan);

/* Places the collected members, without regard to levels. */
enum plan_answer plan_members(struct plan *plan, struct views *vs, const struct gangs *gs,
                              const struct gang_need *need);
/* Its parts for members of one class.  design.md, A plan, 2: alike_refused() if there is capacity
 * for fewer than `need`; no placement is tried. */
bool alike_refused(struct plan *plan, const struct view *v, uint32_t need);
enum plan_answer place_alike(struct plan *plan, struct views *vs, const struct gangs *gs,
                             struct view *v, uint32_t need);

/* The set is the first `need` members. */
void set_first(struct plan *plan, uint32_t need);

/* Sorts the groups by capacity, the set becomes all members in that order. */
void set_most_capacity_first(struct plan *plan, struct views *vs, const struct gangs *gs);

/* kube-scheduler's Diagnosis (findNodesThatFitPod) for one more pod of the class, with the
 * plan as placed so far. */
void note_why(struct plan *plan, struct views *vs, class_id class);
/* No node took one more of the class: if it has rules, notes why, with the plan as placed so
 * far. */
void note_why_if_ruled(struct plan *plan, struct views *vs, class_id class);

void plan_take(struct plan *plan, struct views *vs, uint32_t member, uint32_t rank, class_id class);
bool plan_take_best(struct plan *plan, struct views *vs, uint32_t member, class_id class);
void plan_undo(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member);

/* Places members of several classes that have to start together ... */
enum plan_answer plan_sets(struct plan *plan, struct views *vs, const struct gangs *gs,
                           const struct gang_need *need);

/* ... and as many of the others as fit. */
void place_rest(struct plan *plan, struct views *vs, const struct gangs *gs);

/* True if the order matters in which pods of the class and others are placed. */
bool rules_ordered(const struct pod_counts *cs, class_id class);

/* True if placing pods of this class one by one, each on any open node, always ends at the same
 * number: a greedy plan that fails is a proof then. */
bool rules_simple(const struct pod_counts *cs, class_id class);

/* The first member, of class `kind`, binds the others: finds the places to start at, best first,
 * that have capacity for `need` or more. */
void starts_find(struct plan *plan, struct views *vs, class_id class, uint32_t need);

/* plan_members() for a gang with levels. */
enum plan_answer plan_levels(struct plan *plan, struct views *vs, const struct gangs *gs,
                             const struct gang *g, const struct gang_need *need);

/* Tries every placement of the members that have to start together, up to PLAN_TRIES.  The set is
 * all members, sorted by class and role. */
enum plan_answer set_search(struct plan *plan, struct views *vs, const struct gangs *gs,
                            const struct gang_need *need);

/* The same as a packing, for up to plan->pack_left steps; gives up at once where a node's room
 * alone does not decide.  The set is sorted likewise. */
enum plan_answer set_pack(struct plan *plan, struct views *vs, const struct gangs *gs,
                          const struct gang_need *need);

#endif
