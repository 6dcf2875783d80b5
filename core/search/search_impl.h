/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of core/search/. */
#ifndef MUSTER_CORE_SEARCH_IMPL_H
#define MUSTER_CORE_SEARCH_IMPL_H

#include "core/base/names.h"
#include "core/lifecycle/state.h"
#include "core/search/search.h"

/* What a search needs to know of a gang with bound members, by gang id. */
struct gang_facts {
	bool known;
	bool stale;
	bool goes_whole; /* no member is spared, so that all may go */
	bool unseen;     /* a member runs on a node that is not there: another instance's, or gone */
	uint32_t bound;
	uint32_t surplus; /* members that may go while the others make the quorum; without regard to
	                   * roles: gang_lives() */
	int32_t priority;
	uint32_t start_s; /* of the member that started first */
};

struct search {
	struct core *c;
	const struct search_facts *facts;
	int32_t priority; /* of the preemptor */
	bool *away;       /* by pod: released */
	uint32_t away_n;
	struct gang_facts *gangs;
	uint64_t steps;
	uint64_t asked; /* `steps` at the last call of facts->ends() */
	bool ended;     /* facts->ends() returned true */
};

void search_begin(struct search *s, struct core *c, const struct search_facts *facts,
                  int32_t priority);
/* Every pod is back where it was. */
void search_end(struct search *s);

static inline bool search_spent(struct search *s)
{
	if (s->facts->ends && s->steps - s->asked >= SEARCH_ASKS) {
		s->asked = s->steps;
		s->ended = s->ended || s->facts->ends(s->facts->context);
	}
	return s->ended || s->steps > s->facts->steps_most;
}

static inline const struct pod *search_at(const struct search *s, pod_id id)
{
	return &s->c->pods.slots[id];
}

static inline const struct search_pod *search_facts_of(const struct search *s, pod_id id)
{
	return &s->facts->pods[id];
}

static inline uint32_t search_rank_of(const struct search *s, pod_id id)
{
	return s->facts->ranks ? s->facts->ranks[id] : 0;
}

/* The pod's capacity is released, or allocated again; nothing if it is so already. */
void search_remove(struct search *s, pod_id id);
void search_restore(struct search *s, pod_id id);

/* Releases all pods that are being deleted; returns how many. */
uint32_t search_remove_ending(struct search *s);

/* Those that end soon by themselves, or puts them back; how many there are. */
uint32_t search_remove_soon(struct search *s, bool remove);

/* Releases what is nominated for gangs of lower priority than the preemptor's; returns how
 * many. */
uint32_t search_remove_nominated(struct search *s);

/* Index of the group of which the pod goes as a member, by its mode; ID_NONE: the pod is a unit. */
uint32_t search_group(const struct search *s, const struct pod *p);

const struct gang_facts *search_gang_facts(struct search *s, uint32_t gang);

/* True if the pod may be evicted; *priority: of its unit. */
bool search_is_candidate(struct search *s, pod_id id, int32_t *priority);

/* True if of each role of the group enough bound members are left without those that are away. */
bool search_roles_live(const struct search *s, uint32_t gang);

/* A unit as it is compared by importance. */
struct importance {
	int32_t priority;
	uint32_t members; /* of a gang; 0 of a pod */
	uint32_t start_s;
	const char *name; /* not terminated */
	uint32_t name_bytes;
};

/* Negative if `a` is more important: priority, a gang before a pod, a bigger gang, an earlier
 * start, the name. */
int importance_compare(const struct importance *a, const struct importance *b);

/* Of a pod by itself. */
struct importance search_importance(const struct search *s, pod_id id);
struct importance search_importance_of_gang(struct search *s, uint32_t gang);

/* Sorts pods, the most important one first. */
void search_sort(const struct search *s, pod_id *pods, uint32_t n);

/* Adds what a placed pod of the shape takes to a row, of what `of` requests, by request. */
void search_row_add(const struct shape *of, int64_t *row, const struct shape *placed);

/* Adds a pod, of a unit of that priority, to the sums of an objective; violations and broken gangs
 * are the caller's. */
void objective_add(struct objective *o, const struct search *s, pod_id id, int32_t priority);

#endif
