/* SPDX-License-Identifier: Apache-2.0 */
/* How a gang is placed: whole or not at all.
 *
 *   with levels              in one domain of required levels and as few as can be of preferred
 *                            ones, each chosen from all there are; there as follows
 *   members of one kind      the sum of counts says exactly whether they fit; each
 *                            then takes the best node there is
 *   ... with rules between   each on the best node that is left; if the first one's choice
 *       pods                 binds the others (required affinity), begun at the best node of
 *                            every place that could take all; if rules cross (rack and zone),
 *                            the search below
 *   of several kinds         the hardest kind first, each member on its best node; whoever
 *                            has to wait for others by a rule comes after them;
 *                            if that fails, the easiest members that make a quorum;
 *                            if that fails and affinity binds, begun elsewhere as above;
 *                            if that fails, a search in name order, which ends at
 *                            PLAN_TRIES
 *
 * Where roles have quorums of their own, what starts together has to hold so many of each:
 * the members that are tried first do, the easiest are chosen role by role, and a search
 * leaves out none that its role can't spare.  Members of one kind are as good as each other,
 * so there the sum of counts says it all.
 *
 * A plan under work takes room from the nodes and gives all of it back, unless
 * it ends as PLAN_PLACED: then the room stays taken for core/cycle/decide.c, which makes
 * it the members' own in the same step.  Nobody can see it in between: rows in
 * the ledger are written at the end of a step. */
#ifndef MUSTER_CORE_PLAN_H
#define MUSTER_CORE_PLAN_H

#include "core/index/views.h"
#include "core/plan/domains.h"
#include "core/queue/gangs.h"

#define PLAN_TRIES 2000u
#define PLAN_STEPS 2000000u /* work, after which no other way is tried; see struct views */
#define PLAN_DOMAINS 256u   /* that required affinity is tried in */
#define PLAN_BINDINGS 8u    /* topologies of required affinity that tell places apart */

enum plan_answer {
	PLAN_PLACED,     /* those that have to start have a node */
	PLAN_IMPOSSIBLE, /* proved: there is no such placement */
	PLAN_GAVE_UP,    /* none found within PLAN_TRIES */
};

/* A place to begin at: nodes that are in the same domain of every binding topology. */
struct plan_start {
	uint32_t rank; /* of the best node */
	uint32_t key;  /* view_key() */
	uint64_t room; /* how many nodes by themselves would take */
};

/* Members of one kind and one role, for a search. */
struct plan_class {
	kind_id kind;
	uint32_t role;  /* see plan.roles */
	uint32_t first; /* index in the set */
	uint32_t n, used;
};

struct plan {
	/* The gang's members that are ready, the highest priority first, then the oldest, then as they
	 * came; and the node of each: ID_NONE for those that found no room. */
	pod_id *pods;
	node_id *nodes;
	uint32_t n;
	uint32_t placed;

	/* When not all were placed: the first kind that failed, how many of it were
	 * to be placed, and how many members found room. */
	kind_id failed;
	uint32_t failed_need;
	uint32_t fit;
	/* Why no node took one more at that point, with rules between pods; else 0. */
	uint32_t counts_n;
	struct why_count counts[JUDGEMENT_COUNTS_MAX];

	bool kept_together; /* required levels had a say */
	uint32_t closest; /* ... and this domain takes most members, or those that were placed; OUTSIDE:
	                     there is none */

	/* Without a place for so many of that kind together there is none for those who have to start,
	 * and there wasn't; KIND_NONE: no such kind is known. */
	kind_id barred;
	uint32_t barred_need;

	bool alike;  /* all ready members have one kind */
	bool exact;  /* ... and the sum of its counts says whether they fit */
	bool search; /* the caller allows a search */

	struct domains domains; /* of the last gang with levels */

	/* Scratch. */
	uint8_t *roles; /* of each member, in need->roles; roles_n: one that doesn't matter */
	uint32_t roles_n;
	bool in_order; /* pods, as they came */
	uint32_t *set; /* indexes into pods: the members that are tried together */
	uint32_t set_n;
	bool ordered;               /* some rule asks who came before */
	uint32_t *ranks;            /* of the search, one for each of the set */
	uint64_t picks[PLAN_TRIES]; /* of the search when the order counts */
	struct plan_class classes[PLAN_TRIES];
	uint32_t classes_n;
	struct plan_start starts[PLAN_DOMAINS];
	uint32_t starts_n;
	bool starts_cut; /* there were more */
	struct plan_group *groups;
	uint32_t groups_n;
	uint32_t groups_limit;
};

/* -ENOMEM */
int plan_init(struct plan *plan, const struct limits *limits);
void plan_free(struct plan *plan);

/* Plan for the ready members of a gang of which `need` have to start together;
 * the rest start as far as there is room.  As many as that are ready, of each role too. */
enum plan_answer plan_gang(struct plan *plan, struct views *vs, const struct gangs *gs,
                           const struct gang *g, const struct gang_need *need);

#endif
