/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by keeper.c, which keeps records, keeper_make.c, which replays them, and what_if.c. */
#ifndef MUSTER_CORE_KEEPER_IMPL_H
#define MUSTER_CORE_KEEPER_IMPL_H

#include "core/base/id_table.h"
#include "core/lifecycle/facts.h"
#include "core/shm/records.h"
#include "core/world/keeper.h"

/* Tables of records by id, in the order in which they are replayed. */
enum kept_table {
	KEPT_NAMES,
	KEPT_SHAPES,
	KEPT_NODES,
	KEPT_NAMESPACES, /* by the ids of `namespaces` */
	KEPT_GANGS,
	KEPT_PODS,
	KEPT_BUDGETS,
	KEPT_TABLES
};

struct record_table {
	struct record **at; /* NULL: no such object */
	uint32_t cap;
	uint32_t used; /* ids below were used */
};

/* A victim that a budget refused: its budgets count as spent for some time. */
struct refused_pod {
	uint32_t pod;
	uint32_t generation;
	uint64_t until_ns;
};
#define REFUSED_MAX 64u
#define REFUSED_NS UINT64_C(60000000000)

struct keeper {
	struct limits limits;
	struct record_table tables[KEPT_TABLES];
	struct id_table namespaces; /* of numbers of names */
	struct kept_facts *facts;   /* by pod; generation 0: none */
	uint32_t facts_cap;
	uint32_t flags;
	struct event_preemption terms;
	struct refused_pod refused[REFUSED_MAX]; /* the latest ones, a ring */
	uint32_t refused_n;
	bool begun; /* EVENT_BEGIN has come, and nothing after it */
	bool on;
	uint64_t changes;
	uint64_t bytes;
};

#endif
