/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pods: what the frontend's records state, and where each pod's reservation is
 * (core/lifecycle/reservation.h). */
#ifndef MUSTER_CORE_PODS_H
#define MUSTER_CORE_PODS_H

#include "ipc/abi.h"

#include <stdbool.h>

/* How a gang counts a member; a later class is closer to running. */
enum readiness {
	MEMBER_OUTSIDE, /* being deleted, or pending and another scheduler's: does not count */
	MEMBER_REFUSED, /* asks for what muster does not support */
	MEMBER_GATED,   /* has scheduling gates */
	MEMBER_BACKOFF, /* its binding was refused, or is being cancelled; retried later */
	MEMBER_READY,
	MEMBER_BINDING,
	MEMBER_BOUND,
	READINESS_N
};

/* Where its binding is; the states and what follows on what: core/lifecycle/reservation.h. */
enum reservation {
	RESERVATION_NONE,
	RESERVATION_RETAINED,    /* binding refused; kept until the gang's next plan */
	RESERVATION_RESERVED,    /* planned; CMD_BIND is not in the ring yet */
	RESERVATION_RETRY,       /* CMD_RETRY_BIND is not in the ring yet */
	RESERVATION_CANCEL,      /* CMD_CANCEL_BIND is not in the ring yet */
	RESERVATION_SENT,        /* the command of this attempt is in the ring */
	RESERVATION_CANCEL_SENT, /* CMD_CANCEL_BIND is in the ring */
	RESERVATION_IN_FLIGHT,   /* the frontend is binding it by a command of an earlier core */
	RESERVATION_ASSUMED,     /* another scheduler's pod, through its extender call */
	RESERVATION_BOUND,       /* the API server took the binding */
	RESERVATION_CONFIRMED,   /* the pod's record has the node */
	RESERVATION_NOMINATED,   /* planned where victims still are; no command before they are gone */
	RESERVATIONS
};

/* Two cache lines; plans and results read the first alone. */
struct pod {
	uint32_t generation; /* 0: no such pod */
	uint32_t flags;      /* enum pod_flags, of the last record */
	uint32_t gang;       /* index into gangs, ID_NONE: a foreign pod without a group */
	uint32_t class;      /* core/classes/pod_classes.h */
	node_id node;        /* holds capacity there; ID_NONE: nowhere, or the node was deleted */
	int32_t priority;
	uint32_t role; /* in its gang: a value's number, or ID_NONE */
	uint32_t attempt;
	uint8_t reservation; /* enum reservation; changed by reservation_set() alone */
	uint8_t readiness;   /* enum readiness, as its gang counts it */
	bool backoff;        /* pending until retry_ns */
	bool leaving;        /* was being deleted when it was last counted on its node */
	uint16_t name_bytes;
	bool lasting : 1;        /* counted in core/cluster/lasting.h, on `named` */
	bool first_plan : 1;     /* counted in its gang's first_plan_n */
	bool evicted;            /* for a nomination, or is to be */
	uint32_t previous, next; /* of the same gang */
	uint64_t created_ns;
	uint64_t answered_ns; /* time of the last result for it */

	shape_id shape;
	uint32_t labels;                       /* core/classes/labels.h */
	node_id named;                         /* bound to, by its last record, or ID_NONE */
	uint32_t refusals;                     /* in a row */
	uint32_t list_previous, list_next;     /* of its struct pod_list */
	uint32_t labels_previous, labels_next; /* of those with the same labels */
	char *name;                            /* "namespace/name" */
	uint64_t uid[2];
	uint64_t retry_ns; /* in backoff: not before; assumed: expires */
};
static_assert(sizeof(struct pod) == 2 * CACHE_LINE, "two cache lines");

/* The pods that were placed last: those whose bindings are in flight, but for bursts. */
#define PLACED_LOG 16384u

struct pods {
	struct pod *slots; /* aligned to cache lines */
	void *memory;      /* what is freed */
	uint64_t *ending;  /* by id: bits of pods that are being deleted */
	pod_id *placed;    /* [i % PLACED_LOG]; some hold nothing any more, some come twice */
	uint64_t placed_n; /* so far */
	uint32_t limit;
	uint32_t used;  /* slots below this were used at least once */
	uint32_t count; /* in use */
	uint64_t came;  /* so far */
	uint32_t by_readiness[READINESS_N];
	uint32_t reservations[RESERVATIONS];
};

/* First in, first out.  A pod is on one list at most: reservation_list(). */
struct pod_list {
	uint32_t first, last, n;
};

void pods_init(struct pods *ps, const struct limits *limits);
void pods_free(struct pods *ps);
void pods_clear(struct pods *ps);

/* The slot begins or ends to be in use. */
static inline void pods_note_new(struct pods *ps, pod_id id)
{
	ps->count++;
	ps->came++;
	ps->reservations[RESERVATION_NONE]++;
	ps->used = id < ps->used ? ps->used : id + 1;
}

static inline void pods_note_gone(struct pods *ps)
{
	ps->count--;
	ps->reservations[RESERVATION_NONE]--;
}

/* The pod begins or ends to be deleted; its flags are what they were. */
static inline void pods_note_flags(struct pods *ps, pod_id id, uint32_t flags)
{
	if ((ps->slots[id].flags ^ flags) & POD_DELETING)
		ps->ending[id / 64] ^= UINT64_C(1) << id % 64;
}

/* The pod got capacity before its record has a node. */
static inline void pods_note_placed(struct pods *ps, pod_id id)
{
	ps->placed[ps->placed_n++ % PLACED_LOG] = id;
}

/* The same of n pods at once. */
void pods_note_all_placed(struct pods *ps, const pod_id *ids, uint32_t n);

/* The first pod from `id` on that is being deleted; ID_NONE: none. */
pod_id pods_ending(const struct pods *ps, pod_id id);

static inline struct pod *pods_find(const struct pods *ps, pod_id id)
{
	return id < ps->limit && ps->slots[id].generation ? &ps->slots[id] : NULL;
}

static inline pod_id pods_id(const struct pods *ps, const struct pod *p)
{
	return (pod_id)(p - ps->slots);
}

void pod_list_init(struct pod_list *list);
void pod_list_push(struct pod_list *list, struct pods *ps, pod_id id);
void pod_list_remove(struct pod_list *list, struct pods *ps, pod_id id);

#endif
