/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: places a whole gang, or none of it.  design.md, A plan.
 *
 *   with levels              in one domain of each required level and as few as possible of
 *                            preferred ones, chosen from all domains; within it as follows
 *   one class, plain         the sum of counts is exact; each member takes the best node left
 *   one class with rules     each member takes the best node left; if the first choice binds the
 *   between pods             others (required affinity), starting at the best node of every place
 *                            that could take all; if rules cross (rack and zone), the search below
 *   several classes          the class with the least capacity per member first, each member on its
 *                            best node, members that need others by a rule after those;
 *                            else the members with the most capacity that make a quorum;
 *                            else, if affinity binds, starting at other places as above;
 *                            else a search in name order that ends after PLAN_TRIES;
 *                            else, if it gave up and the caller has steps for it, core/pack
 *
 * Roles with quorums of their own: the members that are tried first contain as many of each, the
 * members with the most capacity are chosen role by role, and a search leaves out no member that
 * its role needs.  Members of one class are interchangeable, so there the sum of counts suffices.
 *
 * A plan allocates capacity on the nodes as it goes and releases all of it, unless the answer is
 * PLAN_PLACED: then core/cycle/cycle.c makes it the members' reservations in the same step.  Rows
 * of the ledger are written at the end of a step, so no reader sees the state in between. */
#ifndef MUSTER_CORE_PLAN_H
#define MUSTER_CORE_PLAN_H

#include "core/plan/domains.h"
#include "core/queue/gangs.h"
#include "core/index/views.h"

#define PLAN_TRIES 2000u
#define PLAN_STEPS 2000000u /* struct budget: work after which no other way is tried */
#define PLAN_DOMAINS 256u   /* places that required affinity is tried in */
#define PLAN_BINDINGS 8u    /* topologies of required affinity by which places differ */

enum plan_answer {
	PLAN_PLACED,     /* the members that have to start together have a node */
	PLAN_IMPOSSIBLE, /* it is certain that there is no such placement */
	PLAN_GAVE_UP,    /* none was found within PLAN_TRIES and PLAN_STEPS */
};

/* A place to start at: the nodes of one domain of every topology of required affinity. */
struct plan_start {
	uint32_t rank;     /* of the best node */
	uint32_t key;      /* view_key() */
	uint64_t capacity; /* sum of what its nodes take by themselves */
};

/* Members of one class and one role, for a search. */
struct plan_run {
	class_id class;
	uint32_t role;  /* see plan.roles */
	uint32_t first; /* index in the set */
	uint32_t n, used;
};

struct plan {
	struct view_scope scope; /* of the gang under work */
	/* The ready members, by priority, then age, then arrival; and the node of each, ID_NONE:
	 * none. */
	pod_id *pods;
	node_id *nodes;
	uint32_t n;
	uint32_t placed;

	/* When not all were placed: the first class that failed, how many of it were to be placed, and
	 * how many members fit. */
	class_id failed;
	uint32_t failed_need;
	uint32_t fit;
	/* With rules between pods: why no node took one more at that point. */
	uint32_t counts_n;
	struct filter_count counts[EVALUATION_COUNTS_MAX];

	/* Of members of several classes: what those that have to start are short of in sum. */
	struct shortfall lacks[SHORTFALLS_MAX];
	uint32_t lacks_n;
	bool lacks_known;

	bool kept_together; /* the gang has required levels ... */
	uint32_t closest;   /* ... and this domain takes most members, or has them; OUTSIDE: none */

	/* The gang can't start before this many pods of this class fit, and they did not; CLASS_NONE:
	 * no such class is known. */
	class_id barred;
	uint32_t barred_need;

	bool alike;  /* all ready members have one class */
	bool exact;  /* ... and the sum of its counts is exact */
	bool search; /* the caller allows a search */

	/* Steps of core/pack/pack.h: of each gang, and what is left of them; 0: no packing. */
	uint64_t pack_steps, pack_left;

	struct domains domains; /* of the last gang with levels */

	/* Scratch. */
	uint8_t *roles; /* of each member, in need->roles; roles_n: any */
	uint32_t roles_n;
	bool in_order; /* pods are sorted by arrival already */
	uint32_t *set; /* indexes into pods: the members that are tried together */
	uint32_t set_n;
	bool ordered;               /* the order of placing matters: rules_ordered() */
	uint32_t *ranks;            /* of the search, by index in the set */
	uint64_t picks[PLAN_TRIES]; /* of the search when the order matters */
	struct plan_run runs[PLAN_TRIES];
	uint32_t runs_n;
	struct plan_start starts[PLAN_DOMAINS];
	uint32_t starts_n;
	bool starts_cut; /* there were more */
	struct plan_group *groups;
	uint32_t groups_n;
	uint32_t groups_limit;
};

void plan_init(struct plan *plan, const struct limits *limits);
void plan_free(struct plan *plan);

/* Undoes every placement of the plan: it was asked whether there is one. */
void undo_all(struct plan *plan, struct views *vs, const struct gangs *gs);

/* Of a plan that was undone: places member `member`, which has no node, on that one.  False: it
 * does not fit there by the node itself. */
bool plan_take_on(struct plan *plan, struct views *vs, const struct gangs *gs, uint32_t member,
                  node_id node);

/* After plan_gang() has not placed members of several classes: sets plan->fit to how many of `need`
 * can be placed together, and what they lack. */
void plan_lack(struct plan *plan, struct views *vs, const struct gangs *gs,
               const struct gang_need *need);

/* plan_gang() by a placement that was found elsewhere, of a gang without levels: at least those
 * members that have to start go where it says, if each rule allows it now; the others as far as
 * capacity goes.  PLAN_GAVE_UP: it does not hold, and nothing is placed. */
enum plan_answer plan_fixed(struct plan *plan, struct views *vs, bool behind,
                            const struct gangs *gs, const struct gang *g,
                            const struct gang_need *need, const struct answer_pod *places,
                            uint32_t places_n);

/* Plans the ready members of a gang.  `need` of them, no more than are ready, have to start
 * together; the rest start as far as capacity goes. */
enum plan_answer plan_gang(struct plan *plan, struct views *vs, bool behind, const struct gangs *gs,
                           const struct gang *g, const struct gang_need *need);

#endif
