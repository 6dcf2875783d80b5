/* SPDX-License-Identifier: Apache-2.0 */
/* What `musterctl simulate` found out, sorted and ready to be printed. */
#ifndef MUSTER_CTL_SIMULATE_H
#define MUSTER_CTL_SIMULATE_H

#include "ctl/offline/offline.h"
#include "ctl/term/ctl.h"
#include "ipc/abi.h"

struct placement {
	char *pod;        /* "ns/name" */
	char *gang;       /* "ns/name", NULL: alone */
	const char *node; /* NULL: it waits */
	char *reason;     /* NULL when it has a node */
	bool with_gang;   /* it waits for what its gang waits for */
	bool queued;      /* nothing of its own keeps it from being placed */
	int32_t priority;
	uint64_t created_ns;
};

struct gang_result {
	char *gang; /* "ns/name" */
	const char *dialect;
	enum gang_state state;
	uint32_t quorum, members, placed;
	uint32_t pending; /* members that had no node before anything was placed */
	int32_t priority;
	uint64_t created_ns; /* of its oldest member when the group tells none */
	enum gang_standing standing;
	char *reason; /* why it waits, or what is left of it; NULL when nothing does */
	struct reason why;
};

struct simulation {
	const struct model *model;
	struct placement *placements; /* sorted by pod */
	size_t placements_n, waiting_n;
	size_t leaving_n;          /* without a node and being deleted: they wait for nothing */
	struct gang_result *gangs; /* sorted by gang */
	size_t gangs_n;
};

/* Read the answers out of a placed cluster, which has to outlive them. */
struct simulation *simulation_new(const struct offline *o);
void simulation_free(struct simulation *s);

void simulation_print(const struct simulation *s, enum output output);

#endif
