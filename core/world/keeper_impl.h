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
	KEPT_NAMESPACES,  /* by the ids of `namespaces` */
	KEPT_QUEUE_TERMS, /* of one record.  Applied only with keeper_hooks.whole, as queues */
	KEPT_QUEUES,
	KEPT_GANGS, /* pods follow them */
	KEPT_BUDGETS,
	KEPT_TABLES
};

struct record_table {
	struct record **at; /* NULL: no such object */
	uint32_t cap;
	uint32_t used; /* ids below were used */
};

/* Of the latest record of a pod what its world does not have as it came.  The rest, most of the
 * record, is read from the world, which has applied that record: kept_pod_record(). */
struct kept_pod {
	uint32_t generation; /* 0: no such pod */
	uint32_t flags;
	uint32_t gang;
	uint32_t scheduled_s;
	uint32_t run_s, expected_s;
	/* Of its facts, which are these two for nearly all pods: */
	uint32_t start_s;
	uint32_t facts; /* enum kept_flags, and enum fact_flags */
};

enum kept_flags {
	KEPT_FACTS = 1u << 31, /* they came since the pod did */
	KEPT_MORE = 1u << 30,  /* with others than their defaults: keeper.more has all */
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
	/* By pod, as many as the limit: slots that are never used take no memory.  NULL: none came. */
	struct kept_pod *pods;
	struct kept_facts *more; /* by pod, with KEPT_MORE; NULL: none had it */
	uint32_t pods_used;      /* ids below were used */
	uint32_t flags;
	struct event_preemption terms;
	struct refused_pod refused[REFUSED_MAX]; /* the latest ones, a ring */
	uint32_t refused_n;
	bool begun; /* EVENT_BEGIN has come, and nothing after it */
	bool on;
	uint64_t changes;
	uint64_t bytes;
};

/* Generation 0: none came since the pod did, or there is no such pod. */
struct kept_facts keeper_facts(const struct keeper *k, uint32_t pod);

#endif
