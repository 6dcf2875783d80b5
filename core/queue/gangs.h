/* SPDX-License-Identifier: Apache-2.0 */
/* The gangs, and how far each one is.
 *
 * Indexes below limits.gangs are groups, as the frontend numbers them; a pod
 * without a group is a gang of one, with index limits.gangs + its pod id. */
#ifndef MUSTER_CORE_GANGS_H
#define MUSTER_CORE_GANGS_H

#include "core/classes/kinds.h"
#include "core/classes/topologies.h"
#include "core/cluster/pods.h"
#include "core/shm/ledger.h"
#include "core/shm/records.h"
#include "ipc/order.h"

/* Which queue a gang is in. */
enum gang_place {
	PLACE_NONE,    /* nothing to do until something of its own changes */
	PLACE_CHANGED, /* something of its own changed: to be looked at */
	PLACE_WAITING, /* looked at; waits for room */
};

/* What only some groups have, in one piece of memory. */
struct gang_parts {
	struct amount *amounts;                  /* minResources */
	struct gang_role *roles;                 /* sorted */
	uint32_t (*counts)[MEMBER_CLASSES];      /* of each role */
	struct gang_level *levels;               /* the widest first */
	topology_id topologies[GANG_LEVELS_MAX]; /* of the levels; held */
	uint32_t amounts_n, roles_n, levels_n;
	int32_t priority; /* with GANG_PRIORITY */
};

struct gang {
	/* What every change of a member asks comes first, in two cache lines. */
	uint32_t generation; /* 0: no such gang; of a lone pod: its pod's */
	uint32_t flags;      /* enum gang_flags */
	uint32_t quorum;     /* 1 or more */
	uint32_t counts[MEMBER_CLASSES];
	uint32_t members;         /* on the list */
	uint32_t kept;            /* of them: pod_keeps_room() */
	pod_id first, last;       /* its members */
	struct gang_parts *parts; /* of a group; NULL: none */
	uint64_t created_ns;      /* 0: the age of its oldest member */

	/* Its place in the queues; see also gang_key(). */
	uint64_t age_ns;
	int32_t priority;    /* the highest of pending members */
	uint32_t priority_n; /* so many pending members have it */
	bool key_old;        /* priority or age may be lower by now */
	bool lifted;         /* with GANG_AFTER_OTHERS: it waited so long that it counts as others do;
	                        core/cycle/hold.c */
	bool had_turn;       /* it held room until its time was over; core/cycle/hold.c */
	uint8_t place;       /* enum gang_place */
	uint32_t name_bytes;
	const char *name;       /* "namespace/name": in the arena, or the lone pod's */
	struct gang_key queued; /* as it was when it came into its queue */
	uint64_t hopeless;      /* versions of nodes and rules with which it could never fit as it is;
	                           core/cycle/hold.c */

	uint32_t dialect;
	uint32_t age_n;     /* so many members are that old, with created_ns 0 */
	struct name stored; /* of a group */
	uint64_t timeout_ns;
	uint32_t terms;     /* of struct event_gang */
	kind_id ready_kind; /* of all members that are ready; KIND_NONE: ask each */

	/* Waiting for room: as of room_version it has none, and has none as long as
	 * fewer than wait_need of wait_kind fit (KIND_NONE: a full look tells); core/queue/waits.h. */
	uint64_t room_version;
	uint32_t wait_kind; /* kind_id */
	uint32_t wait_need;
	uint32_t wait;        /* which of core/queue/waits.h */
	uint32_t refresh;     /* round of reasons it was last part of */
	uint64_t searched_ns; /* when the planner last gave up on it */
	uint64_t waits_ns;    /* for room, since then; 0: it doesn't */

	/* What was told last. */
	uint8_t state; /* enum gang_state */
	uint8_t told_state;
	uint8_t told_why;
	uint32_t planned_terms; /* of the last plan that was reserved */
	uint64_t told_hash;     /* of the reason, 0: none */
	uint64_t told_ns;
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

/* -ENOMEM */
int gangs_init(struct gangs *gs, const struct limits *limits, struct pods *pods);
void gangs_free(struct gangs *gs);
void gangs_clear(struct gangs *gs);

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

/* Of a gang or one of its roles: members that wait, for whatever reason. */
static inline uint32_t counts_pending(const uint32_t counts[MEMBER_CLASSES])
{
	return counts[MEMBER_GATED] + counts[MEMBER_REFUSED] + counts[MEMBER_BACKOFF] +
	       counts[MEMBER_READY];
}

/* ... that have a node. */
static inline uint32_t counts_have(const uint32_t counts[MEMBER_CLASSES])
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

/* Does it wait until so much is free: minResources?  That is asked of the beginning alone. */
static inline bool gang_asks_minimum(const struct gang *g)
{
	return g->parts && g->parts->amounts_n > 0 && gang_have(g) == 0;
}

/* Have so many of each role a node as have to start together? */
bool gang_roles_whole(const struct gang *g);

/* Have as many a node as have to start together, of each role as well? */
static inline bool gang_is_whole(const struct gang *g)
{
	return gang_have(g) >= g->quorum && (gang_roles_n(g) == 0 || gang_roles_whole(g));
}

/* Have some of those that have to start together a node, and others none? */
static inline bool gang_has_begun(const struct gang *g)
{
	return gang_have(g) > 0 && !gang_is_whole(g);
}

static inline uint64_t counts_from(const uint32_t counts[MEMBER_CLASSES], enum member_class least)
{
	uint64_t sum = 0;

	for (uint32_t class = MEMBER_CLASSES; class -- > least;)
		sum += counts[class];
	return sum;
}

bool gang_roles_enough(const struct gang *g, enum member_class least);

/* Are members of this class and those nearer to a node as many as have to start, of each role as
 * well? */
static inline bool gang_enough(const struct gang *g, enum member_class least)
{
	return counts_from(g->counts, least) >= g->quorum &&
	       (gang_roles_n(g) == 0 || gang_roles_enough(g, least));
}

/* How many members have to start together; 1 of a gang that is whole. */
uint32_t gang_missing(const struct gang *g);

/* What has to start together: so many members, and among them so many of each of these roles. */
struct gang_need {
	uint32_t total; /* 1 or more */
	uint32_t roles_n;
	struct gang_role roles[GANG_ROLES_MAX]; /* sorted; quorum: how many */
};

/* What is missing; of a gang that is whole, one member. */
void gang_need_find(const struct gang *g, struct gang_need *need);

/* The group's own, or the highest of its pending members. */
static inline int32_t gang_priority(const struct gang *g)
{
	return g->flags & GANG_PRIORITY ? g->parts->priority : g->priority;
}

/* Does it stand behind all that do not? */
static inline bool gang_is_behind(const struct gang *g)
{
	return (g->flags & GANG_AFTER_OTHERS) && !g->lifted && !gang_has_begun(g);
}

static inline struct gang_key gang_key(const struct gang *g)
{
	return (struct gang_key){ .age_ns = g->age_ns,
		                      .priority = gang_priority(g),
		                      .standing = gang_has_begun(g)   ? GANG_STANDS_FIRST
		                                  : gang_is_behind(g) ? GANG_STANDS_LAST
		                                                      : GANG_STANDS_ORDINARY };
}

/* Earlier in the queue: those that have begun, since what they have is of no use to anybody until
 * the rest has room as well; then priority, then age, then name.  Those that stand behind come
 * after all others; among them age goes before priority. */
bool gang_before(const struct gangs *gs, uint32_t a, uint32_t b);

/* The same, as they were when they came into their queue. */
bool gang_queued_before(const struct gangs *gs, uint32_t a, uint32_t b);

/* Is its key that one? */
static inline bool gang_key_is(const struct gang *g, const struct gang_key *key)
{
	const struct gang_key now = gang_key(g);

	return now.age_ns == key->age_ns && now.priority == key->priority &&
	       now.standing == key->standing;
}

/* Is it as it was when it came into its queue? */
static inline bool gang_queued_right(const struct gang *g)
{
	return gang_key_is(g, &g->queued);
}

/* A member comes or goes; its class is counted. */
void gang_link(struct gangs *gs, uint32_t index, pod_id pod);
void gang_unlink(struct gangs *gs, uint32_t index, pod_id pod);

static inline bool class_is_pending(uint8_t class)
{
	return class >= MEMBER_REFUSED && class <= MEMBER_READY;
}

/* Counts of the role that has this number; NULL without a quorum for it. */
uint32_t *gang_role_counts(const struct gang *g, uint32_t number);

/* Count one member more or less of its class.  The key may rise with the first; it falls at the
 * next gang_rekey() only. */
static inline void gang_count(struct gang *g, const struct pod *p)
{
	uint32_t *of_role = g->parts ? gang_role_counts(g, p->role) : NULL;

	g->counts[p->class]++;
	if (of_role)
		of_role[p->class]++;
	if (p->class == MEMBER_READY && (g->counts[MEMBER_READY] == 1 || p->kind != g->ready_kind))
		g->ready_kind = g->counts[MEMBER_READY] == 1 ? p->kind : KIND_NONE;
	if (!class_is_pending(p->class))
		return;
	/* With nothing else pending the priority was left over and means nothing. */
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

	assert(g->counts[p->class] > 0);
	g->counts[p->class]--;
	if (of_role)
		of_role[p->class]--;
	if (class_is_pending(p->class) && p->priority == g->priority && --g->priority_n == 0)
		g->key_old = true;
}

/* The gang has other roles: count its members in each anew. */
void gang_count_roles(const struct gangs *gs, struct gang *g);

/* Members may have become alike since ready_kind was lost. */
void gang_ready_kind_find(const struct gangs *gs, struct gang *g);

/* Work the key out anew from all members; true when it changed. */
bool gang_rekey(const struct gangs *gs, struct gang *g);

#endif
