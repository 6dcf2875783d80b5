/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ipc/abi.h: queues, by which gangs share the cluster (docs/fairness.md).
 *
 * Queue 0 is the root.  As long as it is not defined there are no queues, and pods' are not read.
 * A gang's queue is that of its members. */
#ifndef MUSTER_IPC_ABI_QUEUE_H
#define MUSTER_IPC_ABI_QUEUE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define QUEUES_MAX 16384u
#define QUEUE_ROOT 0u
#define QUEUE_DEPTH_MAX 32u      /* queues on the way to the root, without it */
#define QUEUE_MISSING UINT32_MAX /* the queue of a pod, or the parent of a queue, is not there */
#define QUEUE_NO_LIMIT INT64_MAX
#define QUEUE_ALL (-1)             /* a guarantee: all that the cluster has */
#define QUEUE_WEIGHT_OF_LIMIT (-1) /* a weight: the limit, at most what the cluster has */
#define QUEUE_NAME_MAX 256u        /* bytes, with a NUL */
#define QUEUE_FIRST_MAX 512u

enum queue_state {
	QUEUE_OPEN,
	QUEUE_CLOSING, /* no gang starts; a partially bound one is completed */
	QUEUE_CLOSED,
	QUEUE_STATES
};

enum queue_flags {
	QUEUE_FIFO = 1u << 0,          /* no gang passes the first */
	QUEUE_GONE = 1u << 1,          /* it isn't there any more; nothing else of the record is read */
	QUEUE_UNRECLAIMABLE = 1u << 2, /* others reclaim nothing from it and from queues below it */
};

/* Whose object a queue is; the core only publishes it. */
enum queue_source { QUEUES_CONFIG, QUEUES_VOLCANO, QUEUES_KOORDINATOR, QUEUES_KAI, QUEUE_SOURCES };

/* Why a gang may not start because of its queue. */
enum queue_by {
	QUEUE_BY_NONE,
	QUEUE_BY_LIMIT,
	QUEUE_BY_NEVER, /* more than the limit: not even when nothing is used */
	QUEUE_BY_KEPT,  /* capacity is reserved for the guarantees of others */
	QUEUE_BY_STATE, /* it is closing or closed */
	QUEUE_BY_MISSING,
	QUEUE_BY_TWO,      /* members of the gang name two */
	QUEUE_BY_CHILDREN, /* the queue has children */
	QUEUE_BY_FIFO,     /* waits behind another gang */
	QUEUE_BY_PARKED,   /* its parent isn't there, or is below it, or the tree is too deep */
	QUEUE_BY_RUN,      /* it states a longer run time than the queue allows */
	QUEUE_BYS
};

/* EVENT_QUEUE: the definition of a queue, which replaces the previous one. */
struct event_queue {
	uint32_t queue;  /* below QUEUES_MAX */
	uint32_t parent; /* a queue, or QUEUE_MISSING; of the root: 0 */
	uint32_t flags;  /* enum queue_flags */
	int32_t priority;
	uint32_t state;      /* enum queue_state */
	uint32_t source;     /* enum queue_source */
	uint32_t amounts_n;  /* struct queue_amount, sorted by resource */
	uint32_t name_bytes; /* 1 to QUEUE_NAME_MAX - 1 */
	int64_t weight;      /* of resources that are not listed: 0 or more, QUEUE_WEIGHT_OF_LIMIT */
	uint32_t min_run_s;  /* what has run for less is not reclaimed: core/share/share.h */
	uint32_t max_run_s;  /* the most that a gang may state: event_pod.stated_s; 0: any */
	uint64_t unshared;   /* of the root: bit r: resource r does not count in the order of turns */
};

/* Of a resource that is not listed: no guarantee, no limit. */
struct queue_amount {
	uint32_t resource;
	uint32_t padding;
	int64_t guarantee; /* or QUEUE_ALL */
	int64_t reserved;  /* the part of it that is never lent */
	int64_t limit;     /* or QUEUE_NO_LIMIT */
	int64_t weight;    /* or QUEUE_WEIGHT_OF_LIMIT; 0: only what is left */
};

/* The past use of queues counts in their order, in addition to the present (docs/fairness.md).
 * Without the record, or with factor 0, it does not. */
#define QUEUE_FACTOR_MAX 1000000u
#define QUEUE_HALF_LIFE_MAX_S 7776000u /* 90 days: a second more is 383 parts of decays[0] */
#define QUEUE_DECAYS 32u

/* EVENT_QUEUE_TERMS. */
struct event_queue_terms {
	uint32_t factor; /* of the history, in thousandths of what is used; at most QUEUE_FACTOR_MAX */
	uint32_t reserved;
	/* [i]: what is left of 2^32 after 2^i seconds.  The sender computes it: no decision depends on
	 * a library's exp2(). */
	uint32_t decays[QUEUE_DECAYS];
};

#define QUEUE_PAST_ONE (INT64_C(1) << 30)

/* EVENT_QUEUE_PAST: the history of a queue at a time; it replaces what is known. */
struct event_queue_past {
	uint32_t queue;     /* below QUEUES_MAX */
	uint32_t amounts_n; /* struct queue_past, sorted by resource; of others it is 0 */
	uint64_t at_s;      /* since 1970 */
};

struct queue_past {
	uint32_t resource;
	uint32_t part; /* of QUEUE_PAST_ONE */
	int64_t value; /* 0 or more */
};

enum queue_row_flags {
	QUEUE_ROW_FIFO = 1u << 0,
	QUEUE_ROW_SCALED = 1u << 1, /* siblings are guaranteed more than there is */
	QUEUE_ROW_PARKED = 1u << 2,
	QUEUE_ROW_INNER = 1u << 3, /* it has children */
};

#define QUEUE_SHARE_ONE (UINT64_C(1) << 32)
#define QUEUE_SHARE_INFINITE UINT64_MAX /* it has weight 0 and uses any */

/* What a queue and all below it have, at most a second old; struct queue_amounts follow, one for
 * each of limits.resources. */
struct queue_row {
	_Atomic uint32_t version;
	uint32_t there; /* 0: no such queue */
	uint32_t parent;
	uint32_t flags; /* enum queue_row_flags */
	int32_t priority;
	uint32_t state;           /* enum queue_state */
	uint32_t source;          /* enum queue_source */
	uint32_t waiting, placed; /* gangs and lone pods */
	uint32_t by;              /* enum queue_by, of the first that waits */
	uint32_t at;              /* the queue that refuses it */
	uint32_t resource;
	int64_t need, have;
	uint64_t share;                /* above its guarantee, in parts of the cluster and its weight */
	uint32_t why;                  /* enum wait_reason of the first that waits */
	uint32_t min_run_s, max_run_s; /* as in struct event_queue */
	uint32_t padding;
	char name[QUEUE_NAME_MAX];
	char first[QUEUE_FIRST_MAX]; /* "namespace/name" of the first that waits; "": none */
};

struct queue_amounts {
	int64_t guarantee, reserved, limit, used, asked;
	int64_t history;       /* what it used in the past; 0: it does not count */
	uint32_t history_part; /* of QUEUE_PAST_ONE more */
	uint32_t padding;
};

#define QUEUE_ROW_BYTES(resources)                                                                 \
	(sizeof(struct queue_row) + (uint64_t)(resources) * sizeof(struct queue_amounts))

static_assert(sizeof(struct event_queue) == 56 && sizeof(struct queue_amount) == 40, "queues");
static_assert(sizeof(struct event_queue_terms) == 8 + 4 * QUEUE_DECAYS, "terms of queues");
static_assert(sizeof(struct event_queue_past) == 16 && sizeof(struct queue_past) == 16, "history");
static_assert(sizeof(struct queue_row) == 88 + QUEUE_NAME_MAX + QUEUE_FIRST_MAX, "queues");

#endif
