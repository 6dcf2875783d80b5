/* SPDX-License-Identifier: Apache-2.0 */
/* Evictions of an offline core.  Searches, answers, nominations and evictions are those of the
 * daemons (ipc/abi_victims.h); what differs is that a search takes no time, and that an evicted pod
 * is gone at once and for good.
 *
 *   core_step() ── ticket ──► evictions_search() ── EVENT_ANSWER ──► core_step()
 *               └─ CMD_EVICT ─► evictions_due(), evictions_make() ── EVENT_POD_DROP ──► core_step()
 *
 * Pods that were placed here have no facts, so they are spared. */
#ifndef MUSTER_CTL_EVICTIONS_H
#define MUSTER_CTL_EVICTIONS_H

#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

struct evictions;
struct offline;

/* What the flags say, to struct offline_config.evicts; all NULL: no pod is evicted. */
struct evictions_flags {
	const char *preemption, *reclaim;
};
#define FLAGS_EVICTIONS(type, field)                                                               \
	{ "preemption",                                                                                \
	  0,                                                                                           \
	  "--preemption MODE",                                                                         \
	  "on: what waits evicts pods of lower priority, as with muster-frontend's\n"                  \
	  "--preemption on (default off)",                                                             \
	  "off|on",                                                                                    \
	  option_text,                                                                                 \
	  offsetof(type, field.preemption) },                                                          \
	{                                                                                              \
		"reclaim", 0, "--reclaim MODE",                                                            \
			"with --queues and --preemption on: pods of other queues are evicted\n"                \
			"as with muster-frontend's --reclaim (default off)",                                   \
			"off|guarantee|fair", option_text, offsetof(type, field.reclaim)                       \
	}

/* False and a message. */
bool evictions_read(const struct evictions_flags *f, bool queues, const char *command,
                    uint32_t *out);

/* One pod that went.  Names are of the evictions. */
struct eviction {
	char *pod;         /* "ns/name" */
	char *gang;        /* NULL: it was alone */
	char *taker;       /* the gang, or the pod alone, that starts in its place */
	const char *node;  /* where it ran */
	const char *queue; /* NULL: without queues */
	bool reclaimed;    /* of another queue than the taker's, by its right; else by priority */
};

struct evictions *evictions_new(const struct limits *limits);
void evictions_free(struct evictions *e);

/* The core applied the record, with this result. */
void evictions_follow(struct evictions *e, const struct record *record, int rc);

/* The core wants the pod gone. */
void evictions_due(struct evictions *e, const struct cmd_evict *c);
/* Evicts all that is due. */
void evictions_make(struct evictions *e, struct offline *o);

/* Searches for who waits, evicts and places, until an eviction helps none that waits. */
void evictions_search(struct evictions *e, struct offline *o);

const struct eviction *evictions_all(const struct evictions *e, size_t *n);

#endif
