/* SPDX-License-Identifier: Apache-2.0 */
/* The gangs: their members, counts and order.
 *
 * Indexes below limits.gangs are groups, numbered by the frontend; a pod without a group is a gang
 * of one (a lone pod), with index limits.gangs + its pod id. */
#ifndef MUSTER_CORE_GANGS_H
#define MUSTER_CORE_GANGS_H

#include "core/base/names.h"
#include "core/classes/pod_classes.h"
#include "core/shm/ledger.h"
#include "core/cluster/pods.h"
#include "core/shm/records.h"
#include "core/classes/topologies.h"
#include "ipc/order.h"

/* Which queue a gang is in. */
enum gang_queue {
	QUEUE_NONE,          /* nothing to do until the gang changes */
	QUEUE_ACTIVE,        /* the gang changed: to be planned */
	QUEUE_UNSCHEDULABLE, /* was planned; waits for capacity */
};

/* What only some groups have, in one allocation. */
struct gang_parts {
	struct amount *amounts;                  /* minResources */
	struct gang_role *roles;                 /* sorted */
	uint32_t (*counts)[READINESS_N];         /* of each role */
	struct gang_level *levels;               /* widest first */
	topology_id topologies[GANG_LEVELS_MAX]; /* of the levels; referenced */
	uint32_t amounts_n, roles_n, levels_n;
	int32_t priority; /* with GANG_PRIORITY */
};

struct gang {
	/* The fields that each change of a member reads come first, in two cache lines. */
	uint32_t generation; /* 0: no such gang; of a lone pod: its pod's */
	uint32_t flags;      /* enum gang_flags */
	uint32_t quorum;     /* 1 or more; without the succeeded members that count */
	uint32_t counts[READINESS_N];
	uint32_t members;         /* on the list */
	uint32_t retained;        /* of them: reservation_is_retained() */
	pod_id first, last;       /* its members */
	struct gang_parts *parts; /* of a group; NULL: none */
	uint64_t created_ns;      /* 0: its age is that of the oldest member */

	/* Order in the queues; see gang_key(). */
	uint64_t age_ns;
	int32_t priority;    /* highest of the pending members */
	uint32_t priority_n; /* pending members that have it */
	bool key_old;        /* priority or age may have become lower */
	bool promoted;       /* out of BAND_LAST by --reserve-after; core/cycle/backfill.c */
	uint8_t turns;       /* of its reservations that ended by time; core/cycle/backfill.c */
	bool unpromised;     /* struct reason; core/cycle/backfill.c */
	bool whole;          /* its quorum was bound at some time since it has members */
	uint8_t queue;       /* enum gang_queue */
	uint8_t disruption;  /* enum gang_disruption */
	uint32_t name_bytes;
	/* gang_total() when its first placement began; 0: no first placement is in progress
	 * (core/lifecycle/precedence.h) */
	uint32_t begun;
	uint32_t first_plan_n;  /* members of the plan that began it which still count */
	const char *name;       /* "namespace/name": in the arena, or the lone pod's */
	struct gang_key queued; /* its key when it was inserted into its queue */
	/* feasibility_version() for which it can't ever fit; core/cycle/backfill.c */
	uint64_t infeasible_version;

	uint32_t dialect;
	uint32_t age_n;     /* members of that age, with created_ns 0 */
	uint32_t declared;  /* its quorum as it is declared; 1 or more */
	uint32_t succeeded; /* members that ended and still exist */
	uint32_t failed;
	struct name stored; /* of a group: its name in the arena */
	uint64_t timeout_ns;
	uint32_t spec_id;     /* of struct event_gang */
	class_id ready_class; /* of all members that are ready; CLASS_NONE: ask each */

	/* In QUEUE_UNSCHEDULABLE: infeasible as of freed_version, and as long as fewer than hint_need
	 * pods of hint_kind fit (CLASS_NONE: only a plan can tell); core/queue/hints.h. */
	uint64_t freed_version;
	uint32_t hint_kind; /* class_id */
	uint32_t hint_need;
	uint32_t hint;             /* index into hints.slots, or HINT_ANY */
	uint32_t refresh;          /* round of its reason; core/queue/refresh.h */
	uint64_t searched_ns;      /* when a search last gave up; 0: never */
	uint64_t waiting_since_ns; /* for capacity, in this turn of backfill; 0: it does not wait */
	uint64_t lacks_since_ns;   /* for capacity, in all turns; 0: it does not wait */

	/* Its first placement; core/lifecycle/precedence.h. */
	uint32_t listed_s;           /* when the first of the members listed was bound; 0: none */
	uint64_t precedence_ends_ns; /* 0: it was not needed yet */

	/* What was published last. */
	uint8_t state; /* enum gang_state */
	uint8_t published_state;
	uint8_t published_why;
	uint32_t planned_spec_id; /* of the last plan that was reserved */
	uint64_t published_hash;  /* of the reason, 0: none */
	uint64_t published_ns;
};

struct gangs {
	struct gang *slots; /* groups, then lone pods */
	struct pods *pods;
	uint32_t groups; /* limits.gangs */
	uint32_t n;      /* slots */
	uint32_t used;   /* groups below this were used at least once */
	uint32_t count;  /* groups in use */
	uint32_t states[GANG_STATES];
};

void gangs_init(struct gangs *gs, const struct limits *limits, struct pods *pods);
void gangs_free(struct gangs *gs);
void gangs_clear(struct gangs *gs);

/* A group begins or ends to be in use; its slot is written by the caller, with state GANG_NONE
 * first. */
void gangs_note_new(struct gangs *gs, gang_id id);
void gangs_note_gone(struct gangs *gs, const struct gang *g);

/* True if both are of one namespace; not if one is gone. */
bool gang_same_namespace(const struct gang *a, const struct gang *b);

/* The group's state, and the count of each. */
void gangs_set_state(struct gangs *gs, struct gang *g, enum gang_state state);

static inline struct gang *gangs_group(const struct gangs *gs, gang_id id)
{
	return id < gs->groups && gs->slots[id].generation ? &gs->slots[id] : NULL;
}

static inline uint32_t gangs_index(const struct gangs *gs, const struct gang *g)
{
	return (uint32_t)(g - gs->slots);
}

static inline bool gang_is_group(const struct gangs *gs, uint32_t index)
{
	return index < gs->groups;
}

static inline pod_id gang_lone_pod(const struct gangs *gs, uint32_t index)
{
	return index - gs->groups;
}

/* Of a gang or one of its roles: members without a node. */
static inline uint32_t counts_pending(const uint32_t counts[READINESS_N])
{
	return counts[MEMBER_GATED] + counts[MEMBER_REFUSED] + counts[MEMBER_BACKOFF] +
	       counts[MEMBER_READY];
}

/* ... with a node. */
static inline uint32_t counts_have(const uint32_t counts[READINESS_N])
{
	return counts[MEMBER_BINDING] + counts[MEMBER_BOUND];
}

static inline uint32_t gang_pending(const struct gang *g)
{
	return counts_pending(g->counts);
}

static inline uint32_t gang_have(const struct gang *g)
{
	return counts_have(g->counts);
}

static inline uint32_t gang_members(const struct gang *g)
{
	return gang_pending(g) + gang_have(g);
}

static inline uint32_t gang_roles_n(const struct gang *g)
{
	return g->parts ? g->parts->roles_n : 0;
}

/* True if minResources apply: only before the first member has a node. */
static inline bool gang_asks_minimum(const struct gang *g)
{
	return g->parts && g->parts->amounts_n > 0 && gang_have(g) == 0;
}

/* True if of each role as many members have a node as its quorum. */
bool gang_roles_met(const struct gang *g);

/* The quorum is met: as many members have a node, of each role as well. */
static inline bool gang_quorum_met(const struct gang *g)
{
	return gang_have(g) >= g->quorum && (gang_roles_n(g) == 0 || gang_roles_met(g));
}

/* Sum of the quorums of its roles. */
uint32_t gang_roles_total(const struct gang *g);

/* Members that have to start together. */
static inline uint32_t gang_total(const struct gang *g)
{
	const uint32_t of_roles = gang_roles_n(g) > 0 ? gang_roles_total(g) : 0;

	return g->quorum > of_roles ? g->quorum : of_roles;
}

/* Some members have a node, fewer than the quorum with which its first placement began.  Not a gang
 * that was complete once, or whose quorum was raised since: its pending members wait as those of
 * any other gang do. */
static inline bool gang_partially_bound(const struct gang *g)
{
	return g->begun > 0 && gang_have(g) > 0 && !gang_quorum_met(g) && g->begun >= gang_total(g);
}

static inline uint64_t counts_from(const uint32_t counts[READINESS_N], enum readiness least)
{
	uint64_t sum = 0;

	for (uint32_t readiness = READINESS_N; readiness-- > least;)
		sum += counts[readiness];
	return sum;
}

bool gang_roles_reach(const struct gang *g, enum readiness least);

/* True if members of class `least` and above are as many as the quorum, of each role as well. */
static inline bool gang_enough(const struct gang *g, enum readiness least)
{
	return counts_from(g->counts, least) >= g->quorum &&
	       (gang_roles_n(g) == 0 || gang_roles_reach(g, least));
}

/* How many more members have to start together; 1 once the quorum is met. */
uint32_t gang_missing(const struct gang *g);

/* The members that have to start together: so many, and so many of each of these roles among
 * them. */
struct gang_need {
	uint32_t total; /* 1 or more */
	uint32_t roles_n;
	struct gang_role roles[GANG_ROLES_MAX]; /* sorted; quorum: how many */
};

/* What is missing to the quorum; one member once it is met. */
void gang_need_find(const struct gang *g, struct gang_need *need);

/* The group's own priority, or the highest of its pending members. */
static inline int32_t gang_priority(const struct gang *g)
{
	return g->flags & GANG_PRIORITY ? g->parts->priority : g->priority;
}

/* BAND_LAST: behind all gangs of the other bands. */
static inline bool gang_in_last_band(const struct gang *g)
{
	return (g->flags & GANG_AFTER_OTHERS) && !g->promoted && !gang_partially_bound(g);
}

static inline struct gang_key gang_key(const struct gang *g)
{
	return (struct gang_key){ .age_ns = g->age_ns,
		                      .priority = gang_priority(g),
		                      .band = gang_partially_bound(g) ? BAND_STARTED
		                              : gang_in_last_band(g)  ? BAND_LAST
		                                                      : BAND_NORMAL };
}

/* True if a comes before b in the queue: by band, since capacity of a partially bound gang is of no
 * use until its quorum is met; then by priority, age and name (queuesort.PrioritySort: Less).  In
 * BAND_LAST age comes before priority. */
bool gang_before(const struct gangs *gs, uint32_t a, uint32_t b);

/* Of gangs with equal keys. */
static inline bool gangs_name_before(const struct gangs *gs, uint32_t a, uint32_t b)
{
	const struct gang *left = &gs->slots[a], *right = &gs->slots[b];
	const int order = names_compare(left->name, left->name_bytes, right->name, right->name_bytes);

	return order != 0 ? order < 0 : a < b;
}

/* The same by the keys with which they were inserted.  Inline: a walk of the queue calls it for
 * each gang. */
static inline bool gang_queued_before(const struct gangs *gs, uint32_t a, uint32_t b)
{
	const int order = gang_key_compare(&gs->slots[a].queued, &gs->slots[b].queued);

	return order != 0 ? order < 0 : gangs_name_before(gs, a, b);
}

static inline bool gang_key_is(const struct gang *g, const struct gang_key *key)
{
	const struct gang_key now = gang_key(g);

	return now.age_ns == key->age_ns && now.priority == key->priority && now.band == key->band;
}

/* True if its key has not changed since it was inserted. */
static inline bool gang_queued_right(const struct gang *g)
{
	return gang_key_is(g, &g->queued);
}

/* Members that ended and are part of its declared quorum. */
static inline uint32_t gang_ended_count(const struct gang *g)
{
	return g->flags & GANG_ENDED_COUNT ? g->succeeded : 0;
}

/* The state that people see; `g->state` is that of its placement. */
enum gang_state gang_life(const struct gang *g);

/* Puts a pod on the list of members, or takes it off; gang_count() counts it. */
void gang_link(struct gangs *gs, uint32_t index, pod_id pod);
void gang_unlink(struct gangs *gs, uint32_t index, pod_id pod);

static inline bool readiness_is_pending(uint8_t readiness)
{
	return readiness >= MEMBER_REFUSED && readiness <= MEMBER_READY;
}

/* Counts of the role with that number; NULL if it has no quorum. */
uint32_t *gang_role_counts(const struct gang *g, uint32_t number);

/* Count one member more, or less, of its class.  One more can raise the key at once; one less
 * lowers it only in gang_rekey(). */
static inline void gang_count(struct gang *g, const struct pod *p)
{
	uint32_t *of_role = g->parts ? gang_role_counts(g, p->role) : NULL;

	g->counts[p->readiness]++;
	if (of_role)
		of_role[p->readiness]++;
	if (p->readiness == MEMBER_READY &&
	    (g->counts[MEMBER_READY] == 1 || p->class != g->ready_class))
		g->ready_class = g->counts[MEMBER_READY] == 1 ? p->class : CLASS_NONE;
	if (!readiness_is_pending(p->readiness))
		return;
	/* Without another pending member the priority is a left-over. */
	if (gang_pending(g) == 1 || p->priority > g->priority) {
		g->priority = p->priority;
		g->priority_n = 0;
	}
	if (p->priority == g->priority)
		g->priority_n++;
}

static inline void gang_uncount(struct gang *g, const struct pod *p)
{
	uint32_t *of_role = g->parts ? gang_role_counts(g, p->role) : NULL;

	assert(g->counts[p->readiness] > 0);
	g->counts[p->readiness]--;
	if (of_role)
		of_role[p->readiness]--;
	if (readiness_is_pending(p->readiness) && p->priority == g->priority && --g->priority_n == 0)
		g->key_old = true;
}

/* Recounts the members of each role. */
void gang_count_roles(const struct gangs *gs, struct gang *g);

/* Finds ready_class, if it is not known, where all ready members are of one class again. */
void gang_ready_class_look(const struct gangs *gs, struct gang *g);
static inline void gang_ready_class_find(const struct gangs *gs, struct gang *g)
{
	if (g->ready_class == CLASS_NONE)
		gang_ready_class_look(gs, g);
}

/* Recomputes the key from all members; true when it changed. */
bool gang_rekey(const struct gangs *gs, struct gang *g);

#endif
