/* SPDX-License-Identifier: Apache-2.0 */
/* Evictor: evicts the victims that the core names, and keeps who is nominated in their place.
 *
 *             ticket whole,              POST eviction         201
 *             line durable   QUEUED ───► or PATCH, DELETE ───────────► SENT
 *   CMD_EVICT ───────────►     │                 │ ▲ 5xx, timeout, 404, 409, 422
 *                              │                 ▼ │
 *             CMD_CANCEL_EVICT │              READING ── ending, gone, another uid ──► SENT
 *                              ▼                 │ 429 by a budget: REFUSED
 *                          NOT_SENT ◄────────────┘ 403, invalid, or cancelled: NOT_SENT
 *
 * Each command gets exactly one result while its core lives (ipc/abi_victims.h).  Commands of a
 * ticket are sent when all are there: first those of pods that a budget matches, which may be
 * refused, and the others when these have gone, so that a refusal costs as few pods as possible:
 * after it none of the ticket is sent, and the core withdraws them.  Except for a gang that goes
 * whole and has lost its quorum by then: the rest of it is sent, whatever the core withdraws.
 *
 * Sending is paced by a token bucket, and waits for bindings.  Nothing is sent whose line is not in
 * the journal.  The lease is checked right before each request by the transport.
 *
 * The core dies: what was not sent is forgotten and never sent for another core; requests in flight
 * end without a result.  This process dies: the pods' objects show who ends, the journal who was
 * nominated; a line of a pod that runs on is void, since the next core decides again. */
#ifndef MUSTER_FRONTEND_EVICTOR_H
#define MUSTER_FRONTEND_EVICTOR_H

#include "frontend/base/env.h"
#include "frontend/journal/journal.h"
#include "frontend/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pod that was evicted; the texts are valid during the call. */
struct evict_notice {
	const char *namespace;
	const char *name;
	const char *uid;
	const char *node;
	const char *scheduler; /* of the preemptor */
	gang_id giver;         /* the victim's gang as of the command, ID_NONE: none */
	uint32_t giver_generation;
	const struct cmd_evict *cmd;
};

struct evictor_config {
	const struct env *env;
	struct model *model;
	struct journal *journal; /* NULL: none is kept */
	uint32_t per_second;     /* evictions; five times as many at once */
	uint32_t deadline_ms;    /* of a request at the API server; 0: none */
	bool best_effort;        /* budgets may be exceeded: no Eviction API */
	const char *scheduler;   /* name of one of ours, if a preemptor's is not known; outlives it */
	void (*result)(void *context, enum record_kind kind, const struct evict_result *r);
	void (*notice)(void *context, const struct evict_notice *n);
	void (*forbidden)(void *context); /* 403: the rights may have changed */
	/* A nomination of an earlier core, which the present one did not make again, has ended. */
	void (*lapsed)(void *context, pod_id pod, uint32_t generation);
	void *context;
};

struct evictor_counts {
	uint64_t evicted;   /* accepted by the API server */
	uint64_t refused;   /* by a budget */
	uint64_t withdrawn; /* cancelled before they were sent */
	uint64_t failed;    /* no right, or invalid */
	uint64_t gone;      /* ending or gone when they were to be sent, or read */
	uint64_t unknown;   /* answers that did not say */
	uint64_t nominated; /* members */
	/* Of `evicted`, by enum evict_rule; and gangs for which some were. */
	uint64_t pods_by[EVICT_RULES], gangs_by[EVICT_RULES];
	uint64_t extras; /* members beyond a quorum */
};

struct evictor;

struct evictor *evictor_new(const struct evictor_config *config);
void evictor_free(struct evictor *e);

/* The caller has checked the ids.  -EPROTO: the same pod and ticket once more */
int evictor_evict(struct evictor *e, const struct cmd_evict *cmd);
void evictor_cancel(struct evictor *e, const struct cmd_cancel_evict *cmd);

/* A member is nominated, or is no longer; the model tells the next core. */
void evictor_nominate(struct evictor *e, const struct cmd_nominate *cmd);
/* A nomination of an earlier instance, from the journal; takes the intent over. */
void evictor_adopt(struct evictor *e, struct intent *i, pod_id pod, uint32_t generation);

/* Sends what may be sent.  Returns the time of the next call. */
uint64_t evictor_poll(struct evictor *e, bool binds_waiting);

/* The core went away, or nothing more is to be sent. */
void evictor_core_down(struct evictor *e);

size_t evictor_queued(const struct evictor *e);
size_t evictor_flying(const struct evictor *e);
const struct evictor_counts *evictor_counts(const struct evictor *e);

#endif
