/* SPDX-License-Identifier: Apache-2.0 */
/* Queueing hints: maps a class to the unschedulable gangs that need capacity for it
 * (kube-scheduler: QueueingHintFn of a plugin's EventsToRegister).
 *
 * A gang whose members are of one class can't start before a certain number of its pods fit.  All
 * gangs that wait for one class share a hint, which keeps an upper bound of how many fit: the exact
 * number when the view was last read, plus what each node that changed since takes by itself.  A
 * node change that cannot make any of the gangs feasible costs a few divisions per class; no gang
 * is retried and no view is rebuilt.
 *
 * A gang for which no number exists (several classes that do not fit together, minResources) is
 * retried after any change: HINT_ANY.  So is a gang for which no hint is free. */
#ifndef MUSTER_CORE_HINTS_H
#define MUSTER_CORE_HINTS_H

#include "core/index/views.h"
#include "core/queue/gangs.h"

#define HINTS_MAX 16384u
#define HINT_ANY UINT32_MAX

struct hint {
	class_id class;
	uint32_t gangs; /* that wait for the class; 0: the slot is free */
	uint32_t least; /* lower bound of their needs */
	uint32_t seen;  /* least need of the gangs that the current walk has passed */
	uint64_t bound; /* upper bound of how many pods of the class fit */
	/* State of the nodes for which `bound` is right; without a new freed_version capacity only
	 * shrinks. */
	uint64_t log_n, freed_version, only_rules;
	uint64_t read_log_n, read_freed_version; /* when the view was read */
	bool plain;                              /* VIEW_PLAIN: each node can be counted by itself */
	uint32_t next;                           /* of the free slots */
};

struct hints {
	struct hint *slots;
	uint32_t limit;
	uint32_t used;    /* slots below this were used */
	uint32_t free;    /* first free slot below `used`; HINT_ANY: none */
	uint32_t classes; /* slots in use */
	uint32_t any;     /* gangs with HINT_ANY */
	bool ask;         /* for tests: read the view each time */
};

void hints_init(struct hints *hs, const struct limits *limits, bool ask);
void hints_free(struct hints *hs);
void hints_clear(struct hints *hs);

/* The gang begins to wait for hint_need pods of hint_kind (CLASS_NONE: HINT_ANY), or ends to. */
void hints_add(struct hints *hs, struct views *vs, struct gang *g);
void hints_remove(struct hints *hs, struct gang *g);

/* False if it is certain that the gang is still infeasible. */
bool hints_may_fit(struct hints *hs, struct views *vs, const struct gang *g);

/* False if that is certain for all gangs; true also if the answer would take too much work. */
bool hints_any_may_fit(struct hints *hs, struct views *vs);

/* Around a walk over all waiting gangs, first to last: computes each hint's least need. */
void hints_walk_begin(struct hints *hs);
void hints_walk_pass(struct hints *hs, const struct gang *g);
void hints_walk_end(struct hints *hs);

#endif
