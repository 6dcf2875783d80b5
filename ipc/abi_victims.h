/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ipc/abi.h: searches for victims of gangs that wait, their facts and their answers. */
#ifndef MUSTER_IPC_ABI_VICTIMS_H
#define MUSTER_IPC_ABI_VICTIMS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

/* Which members of a running gang may be evicted. */
enum gang_disruption {
	GANG_DISRUPT_POD = 1u << 0,   /* each alone */
	GANG_DISRUPT_WHOLE = 1u << 1, /* all or none; neither: those above the quorum, else all */
	GANG_DISRUPT_NEVER = 1u << 2, /* none: it opts out */
};

enum preemption_flags {
	PREEMPTION_EXPLAIN = 1u << 0,         /* the world searches; no pod is evicted */
	PREEMPTION_BUDGETS_UNKNOWN = 1u << 1, /* they can't be read, or are too many */
};

struct event_preemption {
	uint32_t flags; /* enum preemption_flags */
	uint32_t reserved;
};

enum budget_flags {
	BUDGET_GONE = 1u << 0, /* deleted, or it matches no pod */
};

#define BUDGETS_MAX 65536u

/* A PodDisruptionBudget.  A pod of its namespace with labels that satisfy every requirement is in
 * it; without requirements every pod with labels. */
struct event_budget {
	uint32_t budget; /* below BUDGETS_MAX */
	uint32_t flags;  /* enum budget_flags */
	uint32_t namespace;
	int32_t allowed;      /* status.disruptionsAllowed */
	uint32_t clauses_n;   /* struct requirement, term 0 */
	uint32_t values_n;    /* uint32_t each, padded */
	uint32_t names_bytes; /* of status.disruptedPods, with a slash between them */
	uint32_t reserved;
};

enum fact_flags {
	FACT_OURS = 1u << 0,   /* of a scheduler name of this instance */
	FACT_SPARED = 1u << 1, /* of a DaemonSet, a mirror pod, or opts out */
	FACT_NEVER = 1u << 2,  /* preemptionPolicy: Never */
};

struct event_pod_facts {
	uint32_t pod;
	uint32_t generation; /* as in its record */
	uint32_t start_s;    /* status.startTime, since 1970; 0: none */
	uint32_t flags;      /* enum fact_flags */
};

/* What became of a search for victims (core/world/lookout.h). */
enum victims_answer {
	VICTIMS_ROW_EMPTY,
	VICTIMS_ROW_PROVED,     /* there is no better set */
	VICTIMS_ROW_GAVE_UP,    /* its steps were spent: `found` says if there is a set */
	VICTIMS_ROW_IMPOSSIBLE, /* evicting every candidate would not do */
	VICTIMS_ROW_NEVER,      /* a member may not preempt */
	VICTIMS_ROW_FITS,       /* by free capacity alone, or when pods that end have gone */
	VICTIMS_ROW_ANSWERS
};

/* Searches for victims so far. */
struct core_searches {
	_Atomic uint64_t answers[VICTIMS_ROW_ANSWERS];
	_Atomic uint64_t steps;      /* of work, about 10 ns each */
	_Atomic uint64_t ns;         /* that they took */
	_Atomic uint64_t made_ns;    /* ... and making the core that they search */
	_Atomic uint64_t cut;        /* ended early: the world fell behind */
	_Atomic uint64_t kept_bytes; /* of records that are kept for them */
	_Atomic uint64_t reserved[5];
};

#define VICTIMS_ROWS 16u   /* gangs that are searched for */
#define VICTIMS_GANGS 16u  /* of a row */
#define VICTIMS_TEXT 3072u /* bytes of names of a row */

/* A gang of which members would go. */
struct victims_gang {
	uint32_t gang;
	uint32_t generation;
	uint32_t goes;  /* members */
	uint32_t bound; /* of so many that run */
	uint32_t quorum;
	int32_t priority;
	uint32_t start_s; /* of the one that started first; UINT32_MAX: none has */
	uint32_t broken;  /* 1: it had its quorum and would lose it */
};

/* Who would have to go so that a gang that waits can start: the answer to the last search. */
struct victims_row {
	_Atomic uint32_t version; /* a seqlock, as in other rows */
	uint32_t generation;      /* of the gang; 0: the row is empty */
	uint32_t gang;
	uint32_t answer;      /* enum victims_answer */
	uint64_t searched_ns; /* by the clock of the records */
	uint64_t steps;
	uint64_t violations;
	uint64_t sum; /* of priority + 2^31 */
	uint64_t start_sum;
	uint32_t found; /* 1: the fields below are of a set that is enough */
	int32_t highest;
	uint32_t broken;
	uint32_t pods;
	uint32_t lone;            /* of them: of no gang */
	uint32_t gangs_all;       /* with members that go */
	uint32_t gangs_n;         /* that are listed below */
	uint32_t listed;          /* pods, in `text` */
	uint32_t text_bytes;      /* "namespace/name", each ended by a line feed, sorted */
	uint32_t budgets_unknown; /* 1: no budget was looked at */
	struct victims_gang gangs[VICTIMS_GANGS];
	char text[VICTIMS_TEXT];
};

static_assert(sizeof(struct event_preemption) == 8 && sizeof(struct event_budget) == 32 &&
                  sizeof(struct event_pod_facts) == 16,
              "facts");
static_assert(sizeof(struct core_searches) == 128, "two cache lines");
static_assert(sizeof(struct victims_gang) == 32 &&
                  sizeof(struct victims_row) == 96 + 32 * VICTIMS_GANGS + VICTIMS_TEXT,
              "victims");

#endif
