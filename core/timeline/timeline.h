/* SPDX-License-Identifier: Apache-2.0 */
/* Known ends of pods, the free capacity that follows from them, and promises: start times of
 * waiting gangs.  Decision 058.
 *
 *   ends      pods with a node whose end is known, by time                           ends.c
 *   profile   free capacity over time, summed over all nodes: an upper bound, so
 *             that a start before its answer is impossible                          profile.c
 *   picture   the nodes as they will be: every promise is placed, in order of
 *             the times, on nodes with the room; proves a set of times              picture.c
 *   promises  (gang, time); who may start beside them                               promises.c
 *   moves     of them: earlier only, but for the named reasons                      moves.c
 *
 * What is free later can only grow by early ends, so places that were proved stay a proof; they are
 * kept with each promise, for when first nodes with room, chosen again, are none.
 *
 * A promise is kept when the picture of all promises holds.  It is never moved by a gang that
 * starts or is promised later with the same rank: such a gang is accepted only if the picture
 * holds with it.  When pods end early each promise is tried again alone, with all others fixed, so
 * it can always fall back to its own time; planning all of them again in the order of the queue
 * would let one take the room into which another had moved.
 *
 * Pure: no clock, ids only.  Amounts are those of nodes and shapes, times ns of the records.  All
 * functions take `now`, which does not decrease.
 *
 * With E known ends, P promises, N nodes, R resources, M members of a gang:
 *
 *   a pod comes or goes   O(E) moves of 24 bytes, O(log E) compares
 *   profile               O((E + P) R) once after such a change; E: those in the window
 *   earliest start        O((E + P) R), and a picture for each start that the profile allows, at
 *                         most PICTURES_MOST; after the first that fails each is found by the
 *                         members that fit on single nodes, O(E P + (E + P M + N) R)
 *   picture               O(E + P (N / 64 + P + M)) and a copy of the free capacity, O(N R), where
 *                         promises are of ROOMY_SHAPES shapes at most; else O(P N) more
 *   memory                24 E, 40 bytes for each pod, 4 for each pod and gang, 8 N R, a bit and 4
 *                         bytes for each kind of member for each node, 144 P and the places; the
 *                         profile 16 (E + P) R; arrays that grow up to twice that
 */
#ifndef MUSTER_CORE_TIMELINE_H
#define MUSTER_CORE_TIMELINE_H

#include "core/base/budget.h"
#include "core/cluster/nodes.h"
#include "core/cluster/shapes.h"
#include "ipc/promises.h"

#define TIME_NEVER UINT64_MAX
#define PROMISE_SHAPES_MAX 8u
#define PICTURES_MOST 11u
#define PICTURES_NEAR 3u /* the first of these: each at the next time that is not ruled out */

/* What a gang asks for: members of some shapes, together, for a time. */
struct timeline_ask {
	uint32_t gang;
	uint32_t queue; /* its id; QUEUE_MISSING: none */
	int32_t priority;
	bool firm; /* it takes back what others borrow, whatever the priorities: its rank is above */
	uint64_t length_ns; /* TIME_NEVER: not known */
	bool some_suffice;  /* it may start with fewer members than it asks for */
	uint32_t wants_n;
	struct {
		shape_id shape;
		uint32_t members;
	} wants[PROMISE_SHAPES_MAX];
};

/* Who yields to whom: a promise moves later for gangs of a higher rank.  Firm ones first, then by
 * priority. */
static inline int64_t ask_rank(const struct timeline_ask *ask)
{
	return ask->priority + (ask->firm ? INT64_C(1) << 32 : 0);
}

/* Where members go. */
struct timeline_place {
	node_id node;
	shape_id shape;
	uint32_t members;
};

struct promise {
	struct timeline_ask ask;
	uint64_t at_ns;
	uint64_t first_ns;       /* as first published */
	uint32_t earlier, later; /* moves */
	/* Its last moves to later, the oldest first. */
	struct promised_moved moves[PROMISE_MOVES_MAX];
	uint32_t moves_n;
	bool told;      /* published since it changed: promise_told() */
	bool nominated; /* its capacity is counted as allocated: no picture contains it */
	bool stale; /* a shape of it was dropped: no picture contains it until its gang is planned */
	uint64_t serial; /* order in which they were made */
	/* Its nodes in the last picture that held: still a proof when more becomes free, where the
	 * first nodes with room may not be. */
	struct timeline_place *places;
	uint32_t places_n, places_room;
};

struct timeline_counts {
	uint64_t made;
	uint64_t earlier;
	uint64_t later[MOVES];
	uint64_t lost; /* of them no new time was found */
	/* Of gangs that started with a promise: as in struct core_starts. */
	uint64_t errors[PROMISE_ERRORS], late_s, early_s;
	uint64_t backfilled, overruns[OVERRUNS];
};

struct timeline;

/* The nodes and shapes outlive it.  depth: promises that stand at most, 1 or more; ends are rounded
 * up to multiples of grain_ns, 1 or more.  A promise is made for a start at most window_ns ahead, 1
 * or more; one that stands may move past it.  by_soft: an expected end counts for the length of a
 * gang that waits, else only one that is enforced does. */
struct timeline *timeline_new(const struct limits *limits, const struct nodes *nodes,
                              const struct shapes *shapes, struct budget *budget, uint32_t depth,
                              uint64_t grain_ns, uint64_t window_ns, bool by_soft);
void timeline_free(struct timeline *t);
/* A new epoch, which began at now_ns: forgets everything but its counts. */
void timeline_clear(struct timeline *t, uint64_t now_ns);

/* The pod's record: it runs run_s seconds at most (hard), and is expected to run expected_s (soft),
 * since since_s (0: since it gets its node); 0: not known.  The earlier end is planned with. */
void timeline_pod_set(struct timeline *t, pod_id pod, uint32_t run_s, uint32_t expected_s,
                      uint32_t since_s);
/* The length with which a gang of the pod is planned, in seconds; 0: not known. */
uint32_t timeline_run_s(const struct timeline *t, pod_id pod);
/* The same of a pod whose record has these. */
uint32_t timeline_length_s(const struct timeline *t, uint32_t run_s, uint32_t expected_s);

/* The pod of a gang takes capacity on a node.  `ours`: the gang was accepted by promises_hold(). */
struct timeline_entry {
	pod_id pod;
	uint32_t gang; /* by which it is named */
	node_id node;
	shape_id shape;
	bool ours;
};
void timeline_pod_enter(struct timeline *t, const struct timeline_entry *entry, uint64_t now_ns);
/* It releases it, or will not run there; without effect for one that is not there. */
void timeline_pod_leave(struct timeline *t, pod_id pod);
/* Its capacity stays allocated for an unknown time: it has no known end any more. */
void timeline_pod_retain(struct timeline *t, pod_id pod);
/* What was retained is free. */
void timeline_retained_end(struct timeline *t);

/* When a pod began and by when it is gone, of one that leaves and enters again on its node. */
struct timeline_begun {
	uint64_t since_ns, evicted_ns;
	uint64_t end_ns, due_ns; /* as planned with, and as first known */
	bool bound;              /* since_ns is of its record */
};
struct timeline_begun timeline_pod_begun(const struct timeline *t, pod_id pod);
/* It goes on as it began; without effect for one that has no node. */
void timeline_pod_goes_on(struct timeline *t, pod_id pod, const struct timeline_begun *begun);

/* The pod, which has a node, is being evicted, and will be gone by then: a known end.  0: it is not
 * evicted after all. */
void timeline_pod_evict(struct timeline *t, pod_id pod, uint64_t by_ns);
/* The gang ends later than promises_hold_from() assumed: promises that no longer hold are moved by
 * the next promises_look(). */
void timeline_overran(struct timeline *t, uint32_t gang);

/* True if something changed since the last promises_look(), or a known end or promise is due, or an
 * end comes into the window that a gang waits for. */
bool timeline_changed(const struct timeline *t, uint64_t now_ns);

/* True if a known end of a pod that stands became another one since then. */
bool timeline_edited(const struct timeline *t);

/* The earliest of these; TIME_NEVER: none.  O(promises). */
uint64_t timeline_due_ns(const struct timeline *t);

/* At the start of a cycle: ends that have passed are moved, promises that no longer hold move later
 * with their reason, and each promise is tried at an earlier time, alone.  The last goes on in the
 * next look when `steps` of the budget are spent, between two pictures; what changes until all have
 * been tried is for a look after that.  A promise that is not tried yet keeps its time and its
 * proof. */
void promises_look(struct timeline *t, uint64_t steps, uint64_t now_ns);

/* True if promises are left to be tried. */
bool promises_look_unfinished(const struct timeline *t);

/* The gang's promise, or NULL; good until the next call that is not const. */
const struct promise *promise_of(const struct timeline *t, uint32_t gang);
uint32_t promises_n(const struct timeline *t);
const struct promise *promise_at(const struct timeline *t, uint32_t i);
const struct timeline_counts *promises_counts(const struct timeline *t);

/* True if the gang has a promise, of what it asks for. */
bool promise_suits(const struct timeline *t, const struct timeline_ask *ask);

/* The promise as it is shown.  O(ends before it + its nodes). */
void promise_show(struct timeline *t, const struct promise *p, struct promised *out);

/* The gang of promise i, by promise_at(), is of that queue, and firm or not, from here on; true if
 * it was otherwise firm.  `edited`: because queues were; then the next promises_look() moves
 * promises later for others of a higher rank with MOVE_QUEUE_CHANGED. */
bool promise_set_firm(struct timeline *t, uint32_t i, uint32_t queue, bool firm, bool edited);

/* The gang's promise, if it has one, counts as published. */
void promise_mark_told(struct timeline *t, uint32_t gang);

/* A promise that changed since it was published, which counts as published now; NULL: none. */
const struct promise *promise_next_untold(struct timeline *t);

/* True unless it is certain that the gang can't start now: what is free, less what promises of its
 * rank and above need before it ends, is too little.  Its promise is another one, or none, when
 * it asks for something else than it was promised: then timeline_changed(), for the others. */
bool promises_may_start(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns);

/* The gang has been placed on nodes, whose capacity it has taken there: true if all promises of its
 * rank and above but its own still hold.  places: n, as placed. */
bool promises_hold(struct timeline *t, const struct timeline_ask *ask,
                   const struct timeline_place *places, uint32_t n, uint64_t now_ns);

/* The same of a gang that starts there when the pods in its way have gone. */
bool promises_hold_from(struct timeline *t, const struct timeline_ask *ask,
                        const struct timeline_place *places, uint32_t n, uint64_t start_ns,
                        uint64_t now_ns);

/* Why the gang can't start now, though it fits: of promises_may_start(), the gang whose promise
 * starts when free capacity would first be too little; of promises_hold(), the gang whose promise
 * had no place left.  ID_NONE: no single promise is known to bar it.  O(profile) and O(1). */
uint32_t promises_barred_by(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns);
uint32_t promises_late(const struct timeline *t);

/* promises_hold() of a pod on a node that it has not taken, and nothing changes but scratch:
 * neither what is kept with a promise nor the budget.  No table needs to have the shape; ask->gang
 * is any without a promise for a pod that is in none. */
bool promises_would_hold(struct timeline *t, const struct timeline_ask *ask, node_id node,
                         const struct shape *shape, uint64_t now_ns);

/* No pod has the shape any more, and its slot may get another one.  The gangs that were promised
 * room for such pods have lost them, so they are planned in the next cycle. */
void timeline_shape_drop(struct timeline *t, shape_id shape);

/* The gang is nominated and its members are entered, or it is not any more and they have left: its
 * promise, if it has one, keeps its time, and is moved if that can't be kept. */
void promise_nominate(struct timeline *t, uint32_t gang, bool nominated);

/* The gang was accepted: promises of lower rank that no longer hold move later. */
void promises_outranked(struct timeline *t, const struct timeline_ask *ask, uint64_t now_ns);

/* Places on which the gang can start now and all those promises hold; good until the next call.
 * `kept`: those that were proved with its own promise.  0: none was found. */
uint32_t promises_places(struct timeline *t, const struct timeline_ask *ask, bool kept,
                         uint64_t now_ns, const struct timeline_place **out);

/* Promises the gang the earliest time, unless `depth` stand already or none is in the window; one
 * that has a promise and asks for the same keeps it.  `later`: not now.  True if it has one then.
 */
bool promise_make(struct timeline *t, const struct timeline_ask *ask, bool later, uint64_t now_ns);

/* A promise of an earlier core or frontend: as promise_make(), at at_ns or the first time after it,
 * which is then a move with MOVE_RESTARTED. */
bool promise_restore(struct timeline *t, const struct timeline_ask *ask, uint64_t at_ns,
                     uint64_t now_ns);

/* Ends the gang's promise, if it has one; true if it had.  `lost`: it is counted as a promise that
 * found no new time.  `first_ns` of a promise that is made again for the gang starts over. */
bool promise_drop(struct timeline *t, uint32_t gang, bool lost);

/* The gang has started: promises of lower rank that no longer hold move later.  `begins`: its
 * quorum has, not a further member; then it is counted as backfilled if it came before a gang of
 * its rank or above that was promised a start before it. */
void promises_started(struct timeline *t, const struct timeline_ask *ask, bool begins,
                      uint64_t now_ns);

/* Recomputes what is derived, and places all promises; for tests.  False: something differs. */
bool timeline_valid(struct timeline *t, uint64_t now_ns);

#endif
