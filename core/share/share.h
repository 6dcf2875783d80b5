/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the tree of them, what each may have, and whose turn it is.
 *
 *   share_set    how the queues are defined: constant, owned by the caller
 *   shares       what they use now, and what follows from that: guarantees as far as there is
 *                capacity for them, rooms that are kept
 *
 * A leaf takes gangs, an inner queue doesn't; queue 0 is the root, and holds what names no queue.
 * Amounts are those of the ledger (milli of cpu, bytes, pieces) by resource id; sums are in 128
 * bits, and nothing is a float.  docs/fairness.md has the formulas and a worked example.
 *
 * Pure: no gang, pod or node is known here. */
#ifndef MUSTER_CORE_SHARE_H
#define MUSTER_CORE_SHARE_H

#include "core/base/amount.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stdint.h>

/* Queues that are none. */
#define SHARE_MISSING (UINT32_MAX - 1) /* what the pod names isn't there */
#define SHARE_TWO (UINT32_MAX - 2)     /* members of one gang name two */

/* A queue as it is defined. */
struct share_def {
	const char *name;   /* unique; owned by the set */
	uint32_t parent;    /* an index below its own; of the root: 0 */
	int32_t priority;   /* among siblings */
	bool fifo;          /* no gang passes the first */
	bool parked;        /* its place in the tree is not known: it counts below the root */
	bool kept;          /* QUEUE_UNRECLAIMABLE */
	uint8_t state;      /* enum queue_state */
	uint32_t min_run_s; /* what has run for less is not reclaimed */
	uint32_t max_run_s; /* the most that a gang may state; 0: any */
	int64_t guarantee[RESOURCES_MAX];
	int64_t reserved[RESOURCES_MAX]; /* the part of it that is never lent */
	int64_t limit[RESOURCES_MAX];    /* QUEUE_NO_LIMIT: none */
	int64_t weight[RESOURCES_MAX];   /* 0: only what is left; QUEUE_WEIGHT_OF_LIMIT */
};

struct share_set {
	const struct share_def *defs; /* [0] is the root */
	uint32_t n;                   /* 1 to QUEUES_MAX */
	uint32_t resources;           /* resources below are looked at; at most RESOURCES_MAX */
	uint64_t unshared;            /* bit r: no part of the order of turns */
	/* The queue of a pod, an index or SHARE_MISSING; NULL: its record has it. */
	uint32_t (*of_pod)(void *context, uint32_t pod);
	void *context;
};

/* What the quorum of a gang asks for, each resource once and above 0. */
struct share_ask {
	uint32_t n;
	struct share_want {
		uint32_t resource;
		wide value;
	} wants[RESOURCES_MAX];
};

/* Adds to it; what is beyond RESOURCES_MAX or not above 0 is passed over. */
void share_ask_add(struct share_ask *ask, uint32_t resource, wide value);

/* Why a gang may not start. */
struct share_block {
	enum queue_by by;
	uint32_t at; /* the queue that refuses */
	uint32_t resource;
	wide need, have; /* QUEUE_BY_NEVER: the limit; QUEUE_BY_RUN: seconds */
	uint32_t behind; /* a gang; core/cycle/turns.c */
};

struct shares;

/* `set` outlives it. Nothing is used, and there is no capacity. */
struct shares *shares_new(const struct share_set *set);
void shares_free(struct shares *s);

const struct share_set *shares_set(const struct shares *s);

/* Capacity of all nodes that may be used, by resource; shares_set()->resources of them. */
void shares_capacity(struct shares *s, const wide *total);

/* The queue and all above it use `delta` more; never less than 0 in the end.  SHARE_MISSING and
 * SHARE_TWO count at the root alone. */
void shares_use(struct shares *s, uint32_t queue, uint32_t resource, wide delta);

/* The same for a question, to be undone with -delta after it: nothing eases. */
void shares_suppose(struct shares *s, uint32_t queue, uint32_t resource, wide delta);

/* A gang of the queue is promised so much more: it counts in the order of turns, as if it were
 * used, and nowhere else.  And for none of the queue, or of those above it, any more. */
void shares_promise(struct shares *s, uint32_t queue, uint32_t resource, wide value);
void shares_promise_none(struct shares *s, uint32_t queue);

bool shares_is_leaf(const struct shares *s, uint32_t queue);

/* What a queue has. */
wide shares_used(const struct shares *s, uint32_t queue, uint32_t resource);
/* ... is guaranteed: scaled down when siblings are promised more than there is. */
int64_t shares_guarantee(const struct shares *s, uint32_t queue, uint32_t resource);
bool shares_scaled(const struct shares *s, uint32_t queue);
int64_t shares_reserved(const struct shares *s, uint32_t queue, uint32_t resource);
/* The least limit on the way to the root. */
int64_t shares_limit(const struct shares *s, uint32_t queue, uint32_t resource);
wide shares_total(const struct shares *s, uint32_t resource);

/* True if a gang of the leaf queue may start that requests `ask`, by guarantees and limits.  False:
 * *out has the reason.  Not called for a gang that is partially bound. */
bool shares_allow(const struct shares *s, uint32_t queue, const struct share_ask *ask,
                  struct share_block *out);

/* True if a gang of the leaf queue may state a run time of `stated_s`.  False: *out has the queue
 * that allows less. */
bool shares_allow_run(const struct shares *s, uint32_t queue, uint32_t stated_s,
                      struct share_block *out);
/* The least maxRunSeconds on the way to the root; UINT32_MAX: there is none. */
uint32_t shares_max_run(const struct shares *s, uint32_t queue);

/* What a queue uses above its guarantee, relative to capacity and weight: the most of the resources
 * asked for, SHARE_ONE is all of it; SHARE_INFINITE: it has weight 0 and uses any. */
typedef unsigned __int128 share_t;
#define SHARE_INFINITE (~(share_t)0)
#define SHARE_ONE ((share_t)1 << 40)
share_t shares_over(const struct shares *s, uint32_t queue, const struct share_ask *ask);

/* True if the queue with the gang is inside its guarantee, in all resources that are shared. */
bool shares_inside(const struct shares *s, uint32_t queue, const struct share_ask *ask);

/* True if a gang of the leaf `queue` that asks for so much may have what a pod of `victim` frees
 * (decisions 086, 090).  All that goes for the gang is supposed away.
 *
 * A and B: the branches of both just below the lowest queue above both.  Taken: what is asked and
 * freed, at least one resource.
 *
 *   by guarantee   of what is taken and guaranteed to any queue at all, A with the gang is inside
 *                  its guarantee, and no queue from `victim` to B has less than its own
 *   `fair`: also   of each shared resource that is taken, A with the gang is inside its guarantee,
 *   by share       or its shares_over() is at most B's, and less than B's with the pod; no queue
 *                  from `victim` to B has less than its guarantee of anything that is freed */
bool shares_reclaim(const struct shares *s, uint32_t queue, uint32_t victim,
                    const struct share_ask *ask, const struct share_ask *frees, bool fair);

/* For how long a victim that shares_reclaim() allows has to have run: the greatest min_run_s of the
 * queues from its own up to B.  0 where nothing is reclaimed. */
uint32_t shares_min_run(const struct shares *s, uint32_t queue, uint32_t victim);

/* What shares_reclaim() allowed: by which rule, and of what is taken one resource, the first that
 * counts by guarantee, by share the one of which B has most. */
struct share_taking {
	bool fair; /* else by guarantee */
	uint32_t resource;
	uint32_t a, b;
};
struct share_taking shares_taking(const struct shares *s, uint32_t queue, uint32_t victim,
                                  const struct share_ask *ask, const struct share_ask *frees);

/* True if a gang of the leaf that asks for so much takes it back of any other queue by guarantee:
 * all on the way to the root stay inside theirs, of what any queue is guaranteed, and at least one
 * resource is. */
bool shares_owed(const struct shares *s, uint32_t queue, const struct share_ask *ask);

/* The first gang of a leaf. */
struct share_waiting {
	bool waits; /* else the leaf has none, and nothing below is read */
	bool extra; /* its quorum has started; comes after all others */
	bool begun; /* partially bound: members are bound, fewer than its quorum */
	uint64_t age_ns;
	const struct share_ask *ask;
};

/* Call after waiting[queue] of shares_next() changed, also when no gang waits any more. */
void shares_waits_anew(struct shares *s, uint32_t queue);

/* The leaf queue whose gang is planned next, by what queues use and are promised; `waiting` is by
 * queue.  UINT32_MAX: no gang waits.  For each queue below or at which something changed its key is
 * computed again, and it is compared with O(log siblings) others. */
uint32_t shares_next(struct shares *s, const struct share_waiting *waiting);

/* History: a mean of what a queue used, in which older use counts less; shares_over() adds
 * `factor` thousandths of it to the present use (decision 101).  Without it nothing is stored.
 *
 *   history += (used - history) * (1 - 2^(-dt / half-life))   dt since the last time, in seconds
 *
 * before a queue's use changes, and for all every SHARE_HISTORY_S.  Time is that of records, and
 * never goes back. */
#define SHARE_HISTORY_S 60u
void shares_history_begin(struct shares *s, const struct event_queue_terms *terms, uint64_t now_s);
bool shares_has_history(const struct shares *s);
/* What changes from now on changes at this time. */
void shares_history_time(struct shares *s, uint64_t now_s);
/* From which time on that has something to do by itself. */
uint64_t shares_history_due_s(const struct shares *s);
/* In parts of QUEUE_PAST_ONE, as of the last time. */
wide shares_history(const struct shares *s, uint32_t queue, uint32_t resource);
/* ... of all resources of the queue is that of another tree; as of now. */
void shares_history_copy(struct shares *s, uint32_t queue, struct shares *from, uint32_t of);
/* ... was `past` of a time, since when the queue used what it uses. */
void shares_history_restore(struct shares *s, uint32_t queue, const struct queue_past *past,
                            uint32_t n, uint64_t at_s);

/* Counts up whenever one of these fell: what the queue uses; capacity (of all queues). */
uint64_t shares_eased(const struct shares *s, uint32_t queue);

#endif
