/* SPDX-License-Identifier: Apache-2.0 */
/* From cause to gang: which kinds waiting gangs need room for.
 *
 * A gang whose members are of one kind starts no sooner than so many of the kind have room.  All
 * gangs that wait for a kind share a wait, which keeps an upper bound of its room: the exact number
 * when the view was last asked, and for each node that changed since, what it takes by itself.  So
 * a change that lets nobody in costs a few divisions for each kind that is waited for: no gang is
 * looked at, and no view is worked out anew.
 *
 * Gangs that no number tells about (several kinds that do not fit together, minResources) wait for
 * anything: WAIT_ANY.  Whoever finds no wait free does so as well. */
#ifndef MUSTER_CORE_WAITS_H
#define MUSTER_CORE_WAITS_H

#include "core/index/views.h"
#include "core/queue/gangs.h"

#define WAITS_MOST 16384u
#define WAIT_ANY UINT32_MAX

struct wait {
	kind_id kind;
	uint32_t gangs; /* that wait; 0: free */
	uint32_t least; /* none of them needs fewer ... */
	uint32_t seen;  /* ... and as far as the walk under way saw */
	uint64_t bound; /* no more than so many have room */
	/* The nodes as they were then; within one room version there is only less room. */
	uint64_t log_n, room_version, order_version, rules_version;
	uint64_t asked_log_n, asked_room_version; /* when the view was asked */
	bool plain;                               /* each node by itself */
	uint32_t next;                            /* free ones */
};

struct waits {
	struct wait *slots;
	uint32_t limit;
	uint32_t used;  /* slots below this were used */
	uint32_t free;  /* the first, WAIT_ANY: none below `used` */
	uint32_t kinds; /* in use */
	uint32_t any;   /* gangs that wait for anything */
	bool ask;       /* the views, always: for tests */
};

/* -ENOMEM */
int waits_init(struct waits *ws, const struct limits *limits, bool ask);
void waits_free(struct waits *ws);
void waits_clear(struct waits *ws);

/* The gang begins to wait, for wait_need of wait_kind (KIND_NONE: for anything), or ends to. */
void waits_enter(struct waits *ws, struct views *vs, struct gang *g);
void waits_leave(struct waits *ws, struct gang *g);

/* May the gang have room by now? */
bool waits_open(struct waits *ws, struct views *vs, const struct gang *g);

/* May any?  True as well when to find out is too much work. */
bool waits_any_open(struct waits *ws, struct views *vs);

/* Around a walk over all who wait, from the first to the last: what the least need is. */
void waits_walk_begin(struct waits *ws);
void waits_walk_pass(struct waits *ws, const struct gang *g);
void waits_walk_end(struct waits *ws);

#endif
