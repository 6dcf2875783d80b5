/* SPDX-License-Identifier: Apache-2.0 */
/* The pods: what the frontend says of them, and where each one stands.
 *
 *   PENDING --reserve--> RESERVED --bound--> BOUND
 *      ^                    |
 *      +------refused-------+
 *
 * A pod that is RESERVED or BOUND takes its shape's requests from its node, and so does one that
 * was refused while its gang has begun, until the gang is planned again. */
#ifndef MUSTER_CORE_PODS_H
#define MUSTER_CORE_PODS_H

#include "ipc/abi.h"

#include <stdbool.h>

enum pod_state {
	POD_PENDING,
	POD_RESERVED, /* a Binding is on its way, or its command waits for room in the ring */
	POD_BOUND,
};

/* How a gang counts a member; who is nearer to a node comes later. */
enum member_class {
	MEMBER_OUTSIDE, /* leaving, or pending and not ours: does not count */
	MEMBER_REFUSED, /* muster can't judge it */
	MEMBER_GATED,
	MEMBER_BACKOFF, /* a binding was refused, or is being taken back; tried again later */
	MEMBER_READY,
	MEMBER_BINDING,
	MEMBER_BOUND,
	MEMBER_CLASSES
};

/* A pod is on one list at most. */
enum pod_list {
	LIST_NONE,
	LIST_SEND,
	LIST_BACKOFF,
	LIST_CLAIM, /* reserved for another scheduler, until retry_ns */
};

/* Two cache lines; the first is what plans and answers ask. */
struct pod {
	uint32_t generation; /* 0: no such pod */
	uint32_t flags;      /* enum pod_flags, as last told */
	uint32_t gang;       /* index into gangs, ID_NONE: a foreign pod without a group */
	uint32_t kind;       /* core/classes/kinds.h */
	node_id node;        /* takes room there; ID_NONE also when that node is gone */
	int32_t priority;
	uint32_t role; /* in its gang: a value's number, or ID_NONE */
	uint32_t attempt;
	uint8_t state;      /* enum pod_state */
	uint8_t class;      /* enum member_class */
	uint8_t list;       /* enum pod_list */
	bool any_attempt;   /* a result answers a binding of an earlier life */
	bool leaving;       /* it was being deleted when it was last counted on its node */
	bool confirmed : 1; /* BOUND, and its record says so as well */
	bool carried : 1;   /* RESERVED: an earlier frontend may have sent its Binding;
	                       core/lifecycle/carry.h */
	bool withdrawn : 1; /* RESERVED and carried: only until that can't land any more */
	uint16_t name_bytes;
	uint32_t previous, next; /* of the same gang */
	uint64_t created_ns;
	uint64_t answered_ns; /* time of the last result for it */

	shape_id shape;
	uint32_t labels;                       /* core/classes/labels.h */
	node_id named;                         /* bound to, by its last record, or ID_NONE */
	uint32_t refusals;                     /* in a row */
	uint32_t list_previous, list_next;     /* of the list it is on */
	uint32_t labels_previous, labels_next; /* of those with the same labels */
	char *name;                            /* "namespace/name" */
	uint64_t uid[2];
	uint64_t retry_ns; /* in backoff: not before; claimed: no longer */
};
static_assert(sizeof(struct pod) == 2 * CACHE_LINE, "two cache lines");

struct pods {
	struct pod *slots; /* on cache lines */
	void *memory;      /* that they lie in */
	uint32_t limit;
	uint32_t used;  /* slots below this were used at least once */
	uint32_t count; /* in use */
	uint32_t bound; /* state POD_BOUND */
	uint32_t classes[MEMBER_CLASSES];
};

/* Pods in a row, first come first. */
struct pod_queue {
	uint32_t first, last, n;
	enum pod_list list;
};

/* -ENOMEM */
int pods_init(struct pods *ps, const struct limits *limits);
void pods_free(struct pods *ps);
void pods_clear(struct pods *ps);

static inline struct pod *pods_find(const struct pods *ps, pod_id id)
{
	return id < ps->limit && ps->slots[id].generation ? &ps->slots[id] : NULL;
}

static inline pod_id pods_id(const struct pods *ps, const struct pod *p)
{
	return (pod_id)(p - ps->slots);
}

/* Was its command said, and the answer is to come? */
static inline bool pod_is_sent(const struct pod *p)
{
	return p->state == POD_RESERVED && p->list == LIST_NONE;
}

/* Was it refused, and keeps its room for the gang's next plan? */
static inline bool pod_keeps_room(const struct pod *p)
{
	return p->state == POD_PENDING && p->node != ID_NONE;
}

/* How a pod counts, by its flags, state and backoff. */
static inline enum member_class pod_class(const struct pod *p)
{
	if (p->flags & POD_DELETING)
		return MEMBER_OUTSIDE;
	if (p->state == POD_BOUND)
		return MEMBER_BOUND;
	if (p->state == POD_RESERVED && !p->withdrawn)
		return MEMBER_BINDING;
	if (!(p->flags & POD_OURS))
		return MEMBER_OUTSIDE;
	if (p->flags & POD_GATED)
		return MEMBER_GATED;
	if (p->flags & POD_REFUSED)
		return MEMBER_REFUSED;
	return p->list == LIST_BACKOFF || p->withdrawn ? MEMBER_BACKOFF : MEMBER_READY;
}

void pod_queue_init(struct pod_queue *q, enum pod_list list);
void pod_queue_push(struct pod_queue *q, struct pods *ps, pod_id id);
void pod_queue_remove(struct pod_queue *q, struct pods *ps, pod_id id);

#endif
