/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by search_gang.c (the question and its levels), gang_units.c (candidates), gang_room.c
 * (are they enough, by sums), gang_blocks.c (a good set of whole gangs), gang_counts.c and
 * gang_branch.c (which of them go). */
#ifndef MUSTER_CORE_SEARCH_GANG_IMPL_H
#define MUSTER_CORE_SEARCH_GANG_IMPL_H

#include "core/search/search_impl.h"

#define NO_UNIT UINT32_MAX

enum decision { UNDECIDED, STAYS, GOES };

/* What is decided at once: a pod, or a gang that goes whole or not at all. */
struct gang_unit {
	struct importance importance;
	uint32_t gang; /* whose quorum counts; ID_NONE: a lone pod */
	bool whole;
	uint8_t decision;
	node_id node;     /* of one that is not whole ... */
	class_id class;   /* ... and its pod's */
	uint32_t pods, n; /* q->pods[pods .. pods + n) */
	uint32_t senior;  /* a twin that stays longer: goes only after this one; NO_UNIT */
};

/* Before a unit was decided. */
struct gang_undo {
	struct objective objective;
	enum plan_answer answer;
};

/* Members of a gang in mode `quorum` that are decided one by one. */
struct tally {
	uint32_t goes, stays;
};

struct gang_question {
	struct search s;
	struct gang *g;
	struct gang_search *out;
	bool monotone; /* releasing pods never hurts */
	bool seeding;  /* the first set is wanted, as if that held */
	struct gang_unit *units;
	uint32_t units_n;
	size_t units_cap;
	struct gang_undo *before; /* by unit */
	pod_id *pods;
	uint32_t pods_n;
	uint32_t *singles; /* units that are not whole: by node, then twins together, senior first */
	uint32_t singles_n;
	uint32_t *ranks;        /* by pod: its place by name; NULL: gang_rank_names() */
	struct gang_room *room; /* NULL: gang_room_add() knows nothing */
	struct tally *tallies;  /* by gang */
	uint32_t *used;         /* by budget: pods that go */

	struct objective objective; /* of the units that go */
	bool offered;               /* the best set is of gangs alone, and from gang_blocks() */
	bool unsure;                /* the planner gave up on a set that might have been better */
};

/* search_gang.c: can the members that have to start together be placed as things are? */
enum plan_answer gang_ask(struct gang_question *q);

/* gang_units.c: candidates, the most important first, and their twins. */
void gang_units_find(struct gang_question *q);

/* gang_units.c: ranks names, once, for a search that compares many. */
void gang_rank_names(struct gang_question *q);

/* True if the first pod's name is before the other's. */
bool gang_name_before(const struct gang_question *q, pod_id a, pod_id b);

/* gang_room.c: that of the members that are missing, if sums are exact and it is one; else NULL. */
const struct shape *gang_shape(const struct gang_question *q);

/* gang_room.c: true if the members that are missing would not have room without all that ends, is
 * nominated or a candidate. */
bool gang_is_hopeless(struct gang_question *q);

/* gang_room.c: what is free now; then with units [first, end) away too: false if that is not
 * enough, whatever the rules are. */
void gang_room_begin(struct gang_question *q);
bool gang_room_add(struct gang_question *q, uint32_t first, uint32_t end);
void gang_room_free(struct gang_room *room);

/* gang_branch.c: all sets of units from `first` on, which are away; those before stay.  `answer`:
 * of the planner with all of them away.  The best set is kept in the answer. */
void gang_branch(struct gang_question *q, uint32_t first, enum plan_answer answer);

/* gang_branch.c: of the units from `first` on those with goes[unit] go, the others stay.  True, and
 * the set is kept, if it is closed and enough, breaks no gang and exceeds no budget. */
bool gang_try(struct gang_question *q, uint32_t first, const bool *goes);

/* gang_branch.c: likewise, but gangs may break, and budgets be exceeded if they may; it is kept if
 * no better set is. */
bool gang_offer(struct gang_question *q, uint32_t first, const bool *goes);

/* gang_blocks.c: offers a good set of a level.  True if it is kept and consists of whole gangs, in
 * addition to which no single member of a gang may be evicted.  Changes the decisions of the
 * units. */
bool gang_blocks(struct gang_question *q, uint32_t first);

/* gang_counts.c: the best set of a level for members of one class.  True if the set is proved to be
 * the best, and kept; false proves nothing.  Changes the decisions of the units. */
bool gang_counts(struct gang_question *q, uint32_t first);

/* Of two pod ids, for qsort_r() with the search as context. */
int gang_names_compare(const void *a, const void *b, void *context);

static inline int numbers_compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

#endif
