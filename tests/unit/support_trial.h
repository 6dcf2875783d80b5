/* SPDX-License-Identifier: Apache-2.0 */
/* A gang on a random cluster with every rule, and a slow planner for it: each pod is evaluated by
 * loops. */
#ifndef MUSTER_TESTS_SUPPORT_TRIAL_H
#define MUSTER_TESTS_SUPPORT_TRIAL_H

#include "tests/unit/support_plain.h"

enum { TRIAL_MEMBERS = 7, TRIAL_OTHERS = TRIAL_MEMBERS };

/* One gang, number 0, is all that waits; other pods are on nodes. */
struct trial {
	struct plain *p;
	struct random *r;
	enum score_policy score;
	uint32_t members; /* pods 0 .. members - 1 */
	uint32_t quorum;
	uint32_t roles[PLAIN_ROLES + 1]; /* their quorums; the first stays 0 */
	bool alike;                      /* members are of one shape, and have the same labels */
	bool plain; /* no rules between pods, and nothing that weighs nodes against each other */
	bool with_policies;   /* most shapes have one */
	bool with_levels;     /* gangs have levels, and nodes racks in zones */
	uint32_t evaluations; /* left for brute force */
	uint32_t nodes;       /* bits: the slow planner looks at no others */
};

/* How many have to start, of all and of each role. */
struct need {
	int all, roles[PLAIN_ROLES + 1];
};

/* A cluster with a gang, as r, score, plain and with_... say; t->p is freed by plain_free(). */
void trial_begin(struct trial *t);

/* Another gang, or nothing happens by itself and then something changes. */
void trial_next(struct trial *t);

bool trial_pending(const struct trial *t, uint32_t pod);
uint32_t trial_waiting(const struct trial *t);
/* Members that have a node. */
uint32_t trial_have(const struct trial *t);
struct need trial_need(const struct trial *t);
void need_add(struct need *need, const struct plain_pod *pod);
bool need_met(const struct need *need);
/* Are enough there to start, of each role? */
bool trial_could_start(const struct trial *t);

/* The best node for it now, PLAIN_NONE. */
uint32_t trial_best_node(const struct trial *t, uint32_t pod);
/* Pending members in the order in which they are placed; how many. */
uint32_t trial_in_turn(const struct trial *t, uint32_t order[TRIAL_MEMBERS]);
/* Member after member, each on its best node, until one finds none; how many. */
uint32_t trial_slow_plan(struct trial *t, uint32_t nodes[TRIAL_MEMBERS]);
/* Is there any way, in any order, to place so many?  False when t->evaluations ran out, too. */
bool trial_brute(struct trial *t, struct need need);
/* Can those that were bound have come one after the other, each where it was allowed? */
bool trial_sound(struct trial *t, const uint32_t nodes[TRIAL_MEMBERS], uint32_t left);
/* Where the core sends pending members; how many. */
uint32_t trial_told(const struct trial *t, uint32_t nodes[TRIAL_MEMBERS]);

#endif
