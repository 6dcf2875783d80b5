/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by core/timeline/. */
#ifndef MUSTER_CORE_TIMELINE_IMPL_H
#define MUSTER_CORE_TIMELINE_IMPL_H

#include "core/timeline/timeline.h"
#include "ipc/units.h"

/* With what a sweep of all ends needs of the stay, one after the other in memory. */
struct known_end {
	uint64_t end_ns;
	pod_id pod;
	node_id node;
	shape_id shape;
};

/* Of a pod, by id. */
struct stay {
	uint64_t end_ns; /* as planned with; TIME_NEVER: not known */
	uint64_t due_ns; /* as first known */
	node_id node;    /* ID_NONE: it has none */
	shape_id shape;
	uint32_t gang;              /* by which it is named */
	uint32_t run_s, expected_s; /* hard and soft */
	uint64_t since_ns;          /* 0: not known yet */
	bool bound;                 /* since_ns is of its record, else when it was planned */
	uint64_t hard_ns;           /* the enforced end; TIME_NEVER: none */
	bool soft;                  /* end_ns is an expected one */
	uint64_t evicted_ns;        /* it is evicted, and gone by then; 0: it is not */
};

/* Free capacity over time: row i holds from times[i] to times[i + 1], the last for ever. */
struct profile {
	uint64_t *times;
	wide *free; /* [i * stride + resource] */
	uint32_t n, room, stride;
};

/* A search for the earliest start, which may go on in a later cycle with the next picture. */
struct search {
	uint64_t from_ns; /* no start before it */
	uint64_t at_ns;   /* SEARCH_FOUND: the start */
	uint32_t tries;   /* pictures so far */
};
enum searched { SEARCH_FOUND, SEARCH_NONE, SEARCH_MORE };

/* A promise in the order of a look; gone when its gang has none of that serial any more. */
struct trial {
	uint64_t serial;
	uint32_t gang;
};

#define ROOMY_SHAPES 4u

/* A promise, or the gang that asks, in a picture. */
struct start {
	const struct timeline_ask *ask;
	uint64_t at_ns;
	uint32_t promise;  /* its index; ID_NONE: the gang that asks */
	uint32_t first, n; /* of timeline.places */
};

struct timeline {
	const struct nodes *nodes;
	const struct shapes *shapes;
	struct budget *budget;
	uint64_t grain_ns;
	uint64_t window_ns;
	uint32_t depth;
	bool by_soft;
	uint32_t untold; /* promises that changed */

	struct stay *stays; /* by pod */
	uint32_t pods;      /* limit */
	struct known_end *ends;
	uint32_t ends_n, ends_room;

	uint64_t *marks; /* a bit for each node: of promise_show(), else 0 */

	struct promise *promises;
	uint32_t promises_n, promises_room;
	uint32_t *slots; /* by gang: index + 1 of its promise */
	struct timeline_counts counts;
	uint64_t serial;
	uint64_t overran_ns; /* until when ends_overrun() has passed; and those of earlier epochs: */
	uint64_t counted_ns;

	struct profile profile;
	bool profile_old;
	uint64_t profile_ns;              /* for which it was made */
	wide profile_free[RESOURCES_MAX]; /* nodes.free_sum then; a plan that is undone leaves it */
	int64_t profile_rank;             /* of which promises and above are in it */
	bool profile_whole;               /* all ends are */
	uint64_t window_due_ns; /* when more comes into the window of a gang that has no time in it */

	bool changed;
	bool edited;               /* a known end of a pod that stands */
	bool queues_edited;        /* ranks changed by that since the last look */
	enum promise_move suspect; /* promises may no longer hold, for this reason */
	uint32_t suspect_who;
	/* Of the gangs for which promises_repair() is called: the highest priority, is one firm, and
	 * the queue of those that are; QUEUE_MISSING: several. */
	struct {
		int32_t priority;
		bool firm;
		uint32_t queue;
	} outranks;
	uint64_t facts_version; /* of the nodes at the last look */
	/* The look under way: from order[order_at] on promises are still to be tried. */
	struct trial *order;
	uint32_t order_n, order_at, order_room;
	struct search search; /* of order[order_at] */

	/* Scratch of the picture. */
	int64_t *free;
	size_t free_room;
	struct start *starts;
	uint32_t starts_n, starts_room;
	struct timeline_place *places; /* of all starts, one after the other */
	uint32_t places_n, places_room;
	struct {
		uint64_t end_ns;
		uint32_t first, n;
	} * standing;
	uint32_t standing_room;
	/* Nodes on which a pod of a shape may fit, as bits: of the first shapes that a picture places.
	 * A node without room is left out until something is released there. */
	struct {
		const struct shape *shape;
		uint64_t *nodes;
	} roomy[ROOMY_SHAPES];
	uint32_t roomy_n, roomy_room;  /* words of each */
	uint32_t asked_first, asked_n; /* of places: of the gang that asked */
	uint32_t late;                 /* the gang without a place in the last picture of first nodes */

	const struct timeline_ask *fits_of; /* of picture_next(); else NULL, and the others are old */
	uint32_t *fits; /* [node * wants_n + k]: how many members of want k the node takes */
	size_t fits_room;
	uint64_t fits_sum[PROMISE_SHAPES_MAX];
};

static inline uint64_t time_add(uint64_t at_ns, uint64_t length_ns)
{
	return length_ns > TIME_NEVER - at_ns ? TIME_NEVER : at_ns + length_ns;
}

static inline uint64_t time_grain(const struct timeline *t, uint64_t at_ns)
{
	const uint64_t rest = at_ns % t->grain_ns;

	return rest == 0 ? at_ns : time_add(at_ns - rest, t->grain_ns);
}

/* By how much a pod may be bound after its time without moving anybody: the tick in which its gang
 * is planned, and the requests until it is bound. */
static inline uint64_t late_start_ns(const struct timeline *t)
{
	return t->grain_ns >= 10 * NS_PER_S ? t->grain_ns / 6 : 0;
}

/* It has a place of its own in pictures. */
static inline bool promise_in_pictures(const struct promise *p)
{
	return !p->nominated && !p->stale;
}

/* When it starts; it is due if its time has passed. */
static inline uint64_t promise_begins(const struct promise *p, uint64_t now_ns)
{
	return p->at_ns > now_ns ? p->at_ns : now_ns;
}

/* When a gang that starts at that time has ended, rounded as the ends of its pods will be. */
static inline uint64_t ask_end(const struct timeline *t, const struct timeline_ask *ask,
                               uint64_t at_ns)
{
	return time_grain(t, time_add(time_add(at_ns, late_start_ns(t)), ask->length_ns));
}

/* ends.c: the number of ends at that time or before. */
uint32_t ends_until(const struct timeline *t, uint64_t at_ns);
/* Moves ends that have passed to a later time: their pods still run. */
void ends_overrun(struct timeline *t, uint64_t now_ns);

/* profile.c: computes the profile again if it is out of date, with the promises of that rank and
 * above.  It serves starts up to the end of the window, or up to the last of these promises if that
 * is later; `whole`: any start.  Ends of pods after that are left out: no promise begins after it,
 * so free capacity only grows, and a gang that started before keeps its capacity. */
void profile_make(struct timeline *t, int64_t rank, bool whole, uint64_t now_ns);
/* The first time after the window at which capacity is released; TIME_NEVER: none.  The profile is
 * that of now. */
uint64_t profile_beyond(const struct timeline *t, uint64_t now_ns);
/* Adds (sign 1) or subtracts (-1) what the ask takes from `from` to `to`. */
void profile_change(struct timeline *t, const struct timeline_ask *ask, uint64_t from_ns,
                    uint64_t to_ns, int sign);
/* The first time from row *i on at which the sums suffice for the whole length; TIME_NEVER: none.
 * *i: where to go on for a later one. */
uint64_t profile_find(const struct timeline *t, const struct timeline_ask *ask, uint32_t *i);
/* The row of a time. */
uint32_t profile_row(const struct timeline *t, uint64_t at_ns);

/* A row begins at the time. */
void profile_begin(struct timeline *t, uint64_t at_ns);
/* When the sums first are too little, from the first row on until then; TIME_NEVER: they suffice.
 */
uint64_t profile_lacks(const struct timeline *t, const struct timeline_ask *ask, uint64_t until_ns);

/* picture.c: places all promises of the rank and above, but `without` (ID_NONE: none), and the
 * gang that asks (NULL: none) at at_ns.  True if each has nodes.
 * more: places that are taken already and released at more_end_ns. */
struct picture {
	int64_t rank;
	uint32_t without; /* index of a promise */
	const struct timeline_ask *ask;
	uint64_t at_ns;
	const struct timeline_place *more;
	const struct shape *more_shape; /* of all of them; NULL: by their ids */
	uint32_t more_n;
	bool more_free; /* they are not taken yet */
	uint64_t more_end_ns;
	uint64_t now_ns;
};
bool picture_holds(struct timeline *t, const struct picture *p);
/* The same with the places that were kept with each promise; without a gang that asks. */
bool picture_kept_holds(struct timeline *t, const struct picture *p);
/* The first time from `from_ns` on, before `until_ns`, at which the members of the gang that asks
 * fit on single nodes, each kind for itself, beside the promises that are placed before it, on
 * first nodes: no picture of an earlier start holds.  TIME_NEVER: none.  The picture has no `more`.
 */
uint64_t picture_next(struct timeline *t, const struct picture *p, uint64_t from_ns,
                      uint64_t until_ns);
/* Keeps the places of the last picture, which held; those of the gang that asked with promise
 * `asked` (ID_NONE: nowhere). */
void picture_keep(struct timeline *t, uint32_t asked);

#define RANK_ALL INT64_MIN

/* moves.c: promises_repair() is called for none yet; and for the gang, too. */
void outranks_none(struct timeline *t);
void outranks_add(struct timeline *t, const struct timeline_ask *ask);
/* Promises may no longer hold until the next promises_look(), or one is due. */
bool timeline_may_fail(const struct timeline *t, uint64_t now_ns);
/* Some promise has a lower rank. */
bool promises_some_lower(const struct timeline *t, int64_t rank);
/* The rank from which on promises bind a gang of `rank`: the same for all gangs where it
 * makes no difference, so that one profile serves them. */
int64_t promise_binding(const struct timeline *t, int64_t rank);
/* The earliest start at or after `from_ns` with all binding promises but index `without` fixed;
 * before `until_ns`, else TIME_NEVER. */
uint64_t promise_earliest(struct timeline *t, const struct timeline_ask *ask, uint32_t without,
                          uint64_t from_ns, uint64_t until_ns, uint64_t now_ns);
/* Takes the promise out of the profile (sign 1), or puts it back (-1). */
void profile_promise(struct timeline *t, const struct promise *p, int sign, uint64_t now_ns);
void promise_later(struct timeline *t, struct promise *p, uint64_t at_ns, enum promise_move why,
                   uint32_t who);
/* True if the picture holds, with first nodes that have room or with those that were kept. */
bool picture_some_hold(struct timeline *t, const struct picture *p);
/* Promises that no longer hold move later, those of low rank first: each is placed with those
 * before it alone, by rank, then time.  With MOVE_OUTRANKED for t->outranks: what
 * has that priority or above, and is of another queue than the firm ones, was reclaimed. */
void promises_repair(struct timeline *t, enum promise_move why, uint32_t who, uint64_t now_ns);

#endif
