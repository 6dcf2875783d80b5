/* SPDX-License-Identifier: Apache-2.0 */
/* All that a core knows. */
#ifndef MUSTER_CORE_STATE_H
#define MUSTER_CORE_STATE_H

#include "core/classes/census.h"
#include "core/cluster/nodes.h"
#include "core/cluster/pods.h"
#include "core/cluster/shapes.h"
#include "core/index/views.h"
#include "core/lifecycle/claims.h"
#include "core/plan/plan.h"
#include "core/queue/gangs.h"
#include "core/queue/queue.h"
#include "core/queue/waits.h"
#include "core/shm/ledger.h"
#include "core/step/core.h"

#include <errno.h>

/* A command that found no room; nothing is planned before it did. */
struct say {
	bool gang_waits;
	bool reason_waits;
	struct cmd_gang gang;
	struct cmd_reason reason;
};

/* A binding that was in flight when the frontend went away, or room that a refused member kept. */
struct carried {
	uint64_t uid[2];
	bool kept;
	uint32_t node_bytes;
	char node[NAME_BYTES_MAX];
};

struct core {
	struct core_config config;
	struct ledger_view ledger;
	struct nodes nodes;
	struct shapes shapes;
	struct census census;
	struct views views;
	struct pods pods;
	struct gangs gangs;
	struct queue_links *links;
	struct queue changed;    /* gangs to be looked at */
	struct queue waiting;    /* gangs that wait for room */
	struct waits waits;      /* what for */
	uint32_t cursor;         /* in waiting: from here on the walk goes; ID_NONE: no walk */
	uint64_t walked_version; /* of room, for which a walk was begun or found to be of no use */
	uint32_t walk_refresh;   /* round of reasons for which one was begun last */
	bool walk_refreshes;     /* the one under way has to come to the end */
	bool walking;            /* it isn't known yet that it did */
	uint32_t walk_restarts;  /* since the cursor last came to the end */

	uint64_t epoch;  /* 0: none yet */
	uint64_t now_ns; /* the latest time of any record */
	bool synced;

	struct pod_queue sends;   /* reserved, their command not sent yet */
	struct pod_queue backoff; /* refused, tried again at retry_ns */
	uint64_t backoff_due_ns;  /* none is due before */
	struct claims claims;
	struct say say;

	uint32_t held;            /* the gang that room is held for, ID_NONE; core/cycle/hold.h */
	uint64_t held_ns;         /* since */
	struct gang_key held_key; /* as it was when the gang was last looked at */
	uint32_t hold_next;       /* the search for one that may hold goes on here, if it still waits;
	                             ID_NONE: at the first */
	uint64_t *drain;          /* bits by node: to be emptied for it; core/cycle/hold_drain.c */

	uint32_t refresh; /* round in which all reasons are worked out anew */
	uint64_t refreshed_ns;
	uint64_t refreshed_log; /* changes of nodes until then */
	uint64_t undone_log;    /* of nodes.log_n: plans that were tried and taken back */
	bool unsearched;        /* the planner gave up since without a search */
	uint32_t *stale;        /* gangs whose reason changed and was held back, each once */
	uint32_t stale_n;
	bool *stale_known;  /* by gang: it is among them */
	uint32_t looked_at; /* the gang at hand, kept out of the queues; ID_NONE */

	struct carried *carried;
	size_t carried_n;

	struct plan plan;
	struct gang_need need; /* of the gang at hand */
	struct tally *tally;
	wide *own;         /* scratch of minimum_met() */
	uint32_t names_n;  /* in use */
	const char *fault; /* what was wrong with the last record refused */
	uint64_t saturated_told;
};

/* A record is malformed: say how. */
static inline int refuse(struct core *c, const char *fault)
{
	c->fault = fault;
	return -EPROTO;
}

static inline struct core_stats *core_stats(struct core *c)
{
	return &c->ledger.ledger->stats;
}

#endif
