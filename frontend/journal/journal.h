/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of intents: what may be in flight at the API server, in one ConfigMap that outlives
 * both processes.
 *
 *   CLOSED ──claim──► GET ──► PUT with our epoch ──► OPEN ──another writer's epoch──► LOST
 *                      ▲             │ 409            │ ▲
 *                      └─────────────┘                └─┘ a PUT for all intents that wait
 *
 * Each write names the version that was read, so the first write of a new instance makes every
 * later one of an earlier instance fail: the journal is the fencing token that the lease is not.
 * An earlier instance that still runs ends then (LOST).
 *
 *   WAITING ──PUT begins──► WRITTEN ──PUT accepted──► DURABLE ──removed──► gone with the next PUT
 *
 * What an intent permits (a Binding, an answer of the extender) may happen once it is durable, and
 * not before.  An intent is removed when what it permitted is over: it has taken effect, or can't
 * any more.
 *
 * Group commit: while a PUT is in flight the following intents wait, then one PUT has all of them.
 * One that comes alone is written at once; otherwise two PUTs begin 20 ms apart, or with at least
 * 20 intents, so that at full rate a twentieth of the writes are these.  INTENT_ASSUME goes first
 * and never waits for others: a scheduler that asks for one pod after another waits for it.
 *
 * Why, and what was measured: docs/decisions/044. */
#ifndef MUSTER_FRONTEND_JOURNAL_H
#define MUSTER_FRONTEND_JOURNAL_H

#include "frontend/base/env.h"
#include "frontend/journal/intents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal_config {
	const struct env *env;
	const char *namespace, *name; /* outlive it, as does identity */
	const char *identity;         /* unique among all processes that ever write it */
	/* For tests, which make the rare common; 0: as in production. */
	uint64_t gather_ns;  /* between two PUTs */
	uint64_t remove_ns;  /* until a PUT that only removes intents */
	size_t intents_most; /* but for those of refused members */
};

struct journal_counts {
	uint64_t writes; /* accepted */
	uint64_t failures;
	uint64_t conflicts; /* answered 409 */
	uint64_t intents;   /* that became durable */
	uint64_t full;      /* times that intents waited for others to end */
	uint64_t unreadable;
	uint64_t wait_ns_sum, wait_ns_max; /* until an intent was durable */
};

struct journal;
struct intent;

struct journal *journal_new(const struct journal_config *config);
/* Frees all intents. */
void journal_free(struct journal *j);

/* This instance leads: read the journal and write our epoch into it. */
void journal_claim(struct journal *j);

/* Performs due work, if this instance may write.  Returns the monotonic time of the next call. */
uint64_t journal_poll(struct journal *j);

/* Our epoch was accepted: the intents of earlier instances are all in journal_first(). */
bool journal_is_open(const struct journal *j);
/* Another instance wrote its epoch: nothing may be written from now on. */
bool journal_is_lost(const struct journal *j);
/* Why it can't be read or written; NULL if it can. */
const char *journal_fault(const struct journal *j);

/* Intents of earlier instances, until they are removed; in no order.  The caller removes what is
 * over, and owns what it keeps. */
struct intent *journal_first(struct journal *j);
struct intent *journal_next(const struct intent *after);
/* What else of earlier instances may be in flight. */
enum intents_fence journal_fence(const struct journal *j);
/* ... and no longer is. */
void journal_fenced(struct journal *j);

/* Another INTENT_ASSUME would be written at once: the journal is open, the last write was accepted,
 * and there is space for it.  Its bound is its own, so that bindings never wait for these. */
bool journal_takes_assumed(const struct journal *j);

/* Valid until it is removed; the texts are copied. */
struct intent *journal_add(struct journal *j, const struct intent_line *line);
/* The ConfigMap has it, with its current version. */
bool intent_is_durable(const struct journal *j, const struct intent *i);
/* A Binding is to name another version of the pod: not durable until the next PUT.  An instance
 * that no longer leads can't learn the version after a fence and use it. */
void intent_renew(struct journal *j, struct intent *i, const char *version);
const struct intent_line *intent_line(const struct intent *i);

/* It is over.  The next PUT is without it. */
void journal_remove(struct journal *j, struct intent *i);
/* The Binding was refused for good, and the capacity is retained: false, and it is removed, if
 * there are too many of these. */
bool journal_retain(struct journal *j, struct intent *i);

/* True if the ConfigMap has what was asked for: nothing waits. */
bool journal_is_idle(const struct journal *j);
size_t journal_size(const struct journal *j); /* intents, durable or not */
size_t journal_most(const struct journal *j); /* bindings that it has at once */
const struct journal_counts *journal_counts(const struct journal *j);

#endif
