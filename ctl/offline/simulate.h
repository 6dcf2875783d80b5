/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `musterctl simulate`, sorted for printing. */
#ifndef MUSTER_CTL_SIMULATE_H
#define MUSTER_CTL_SIMULATE_H

#include "ctl/term/ctl.h"
#include "ctl/offline/offline.h"
#include "ipc/abi.h"

struct placement {
	char *pod;         /* "ns/name" */
	char *gang;        /* "ns/name", NULL: alone */
	const char *node;  /* NULL: it waits */
	char *reason;      /* NULL when it has a node */
	const char *queue; /* NULL: without --queues */
	bool with_gang;    /* it waits for the same as its gang */
	bool queued;       /* no reason of its own keeps it from being placed */
	int32_t priority;
	uint64_t created_ns;
	const struct claim_devices *devices; /* ctl/offline/claims.h; NULL: none */
};

struct gang_result {
	char *gang; /* "ns/name" */
	const char *dialect;
	enum gang_state state; /* of its placement; GANG_FINISHED, GANG_FAILED without members */
	uint32_t life;         /* enum gang_state: as people see a live one */
	const char *queue;     /* NULL: without --queues, or it has no pods */
	uint32_t quorum, members, placed;
	uint32_t succeeded, failed; /* members that ended and still exist */
	uint32_t pending;           /* members without a node before placement */
	int32_t priority;
	uint64_t created_ns;       /* of its oldest member when the group has none */
	uint64_t waiting_since_ns; /* of a live one: for capacity; 0: it does not wait, or offline */
	enum queue_band band;
	char *reason; /* why it, or the rest of its members, waits; NULL: nothing waits */
	struct reason why;
};

struct eviction; /* ctl/offline/evictions.h */

struct simulation {
	const struct model *model;
	const struct claims *claims;  /* NULL: not read */
	struct placement *placements; /* sorted by pod */
	size_t placements_n, waiting_n;
	size_t leaving_n;          /* without a node and being deleted: not counted as waiting */
	struct gang_result *gangs; /* sorted by gang */
	size_t gangs_n;
	const struct eviction *evictions; /* in their order */
	size_t evictions_n;
	bool evicts; /* gangs may evict */
};

/* Reads the results out of a placed cluster, which has to outlive them. */
struct simulation *simulation_new(const struct offline *o);
void simulation_free(struct simulation *s);

void simulation_print(const struct simulation *s, enum output output);

#endif
