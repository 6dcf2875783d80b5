/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: sums, limits and shares of a queue and resource. */
#ifndef MUSTER_CORE_SHARE_IMPL_H
#define MUSTER_CORE_SHARE_IMPL_H

#include "core/share/share.h"

#include <stddef.h>

/* The order in which queues get a turn: the key of a queue, with the first gang below it. */
struct share_key {
	uint8_t class; /* by share_waiting.extra and begun, and whether it is inside the guarantee: less
	                * comes first */
	int32_t priority;
	uint32_t rank;
	uint64_t age_ns;
	share_t over;
};

struct share {
	uint32_t rank; /* by name */
	bool leaf, scaled;
	uint32_t slot;                  /* among its siblings */
	uint32_t children, children_at; /* number, and of shares.firsts */
	uint32_t first;                 /* the leaf that is first below it; UINT32_MAX: none waits */
	uint64_t eased;
	struct share_key key;
};

/* Rows of set->resources, by queue. */
struct shares {
	const struct share_set *set;
	struct share *queues;
	uint64_t eased;  /* of capacity */
	wide *total;     /* of the cluster, 0 to INT64_MAX each */
	wide *used;      /* rows */
	wide *promised;  /* rows */
	wide *kept;      /* rows: max(0, reserved - used, sum of the children's) */
	wide *below;     /* rows: sum of the children's kept */
	int64_t *has;    /* rows: the guarantee, scaled */
	int64_t *own;    /* rows: the guarantee as defined, at least the children's sum */
	int64_t *weight; /* rows: in millionths of the siblings' sum, at least 1; 0: none */
	/* Queues whose key and first leaf have to be found again, as bits; with a queue all above it.
	 */
	uint64_t *stale;
	/* A tournament tree of the n children of each queue: [children_at + n + slot] is the child, or
	 * UINT32_MAX if none waits below it; [children_at + i] the first of 2 i and 2 i + 1. */
	uint32_t *firsts;
	struct share_rest *rests;
	struct history *history; /* NULL: use in the past does not count */
};

/* history.c */
struct history {
	uint64_t now_s;
	uint64_t all_s;    /* when the history of all queues was computed last */
	uint64_t *since_s; /* by queue: when its history was computed last */
	wide *past;        /* rows, in parts of QUEUE_PAST_ONE */
	struct event_queue_terms terms;
};
/* Computes the history of a queue up to now; call before its use changes. */
void history_bring_up(struct shares *s, uint32_t queue);
/* The use of the queue and `more`, with its history. */
wide history_effective(const struct shares *s, uint32_t queue, uint32_t resource, wide more);
void history_free(struct history *h);

/* The remainder by which the share of a sibling was rounded down. */
struct share_rest {
	wide rest;
	uint32_t rank, queue;
};

static inline size_t share_at(const struct shares *s, uint32_t queue, uint32_t resource)
{
	return (size_t)queue * s->set->resources + resource;
}

/* The queue and all above it, where it is not stale yet. */
static inline void share_mark_stale(struct shares *s, uint32_t queue)
{
	while (!(s->stale[queue / 64] >> queue % 64 & 1)) {
		s->stale[queue / 64] |= UINT64_C(1) << queue % 64;
		queue = s->set->defs[queue].parent; /* the root's is the root */
	}
}

static inline bool share_counts(const struct shares *s, uint32_t resource)
{
	return resource < s->set->resources;
}

/* True if the queue has no more than its guarantee with what is wanted. */
static inline bool share_is_inside(const struct shares *s, uint32_t queue,
                                   const struct share_want *want)
{
	const size_t at = share_at(s, queue, want->resource);

	return s->used[at] + want->value <= s->has[at];
}

/* True if the resource is part of the order: others of the comparison could have it. */
bool share_is_shared(const struct shares *s, uint32_t resource);

/* shares_over() of one shared resource, with `more` of it used. */
share_t share_over(const struct shares *s, uint32_t queue, uint32_t resource, wide more);

static inline bool share_is_queue(const struct shares *s, uint32_t queue)
{
	return queue < s->set->n;
}

#endif
