/* SPDX-License-Identifier: Apache-2.0 */
/* A part of ipc/abi.h: searches for victims of gangs that wait, their facts and their answers. */
#ifndef MUSTER_IPC_ABI_VICTIMS_H
#define MUSTER_IPC_ABI_VICTIMS_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

/* What each side does when gangs may evict (PREEMPTION_ON); a lone pod is a gang of one.  C: the
 * core, F: the frontend.
 *
 *   C  a gang waits: a ticket is opened; the world's thread searches; its EVENT_ANSWER is checked
 *      by the loop against the present state; if it holds, the members are nominated: they have
 *      reservations on their nodes at once, while the victims still run.  Only then, in this order:
 *   C  CMD_NOMINATE for each member         F  PATCHes status.nominatedNodeName, best effort: no
 *                                              result, a failure is only logged
 *   C  CMD_EVICT for each victim            F  checks uid, lease and rights, evicts, paced
 *   F  one result for each CMD_EVICT        -  RESULT_EVICT_SENT: the API server has taken it, or
 *                                              the pod was ending or gone already
 *                                           -  RESULT_EVICT_REFUSED: a budget forbids it (429 with
 *                                              cause DisruptionBudget); nothing happened to it
 *                                           -  RESULT_EVICT_NOT_SENT: nothing was or will be sent:
 *                                              withdrawn, no right, another pod has the name
 *   F  then the pod's own records           -  POD_DELETING and facts.ends_s, later EVENT_POD_DROP
 *   C  CMD_BIND as usual, when the victims are gone and their capacity is free.  A nomination that
 *      ends by a binding is not cleared: the API server does that.
 *   C  CMD_CANCEL_EVICT for each victim whose result has not come, when the nomination ends
 *      otherwise                            F  what was not sent yet gets RESULT_EVICT_NOT_SENT,
 *                                              what was gets its own result; no second result.
 *                                              The rest of a gang that goes whole is evicted
 *                                              though, if it has lost its quorum (breaks_at)
 *   C  CMD_NOMINATE with ID_NONE for each member then, unless it is nominated again
 *
 * An unknown answer (5xx, timeout, another 429) is F's: it reads the pod and tries again until it
 * knows.  A victim is named by pod and generation, as in CMD_BIND: F's table has its uid, and the
 * uid is the precondition of the write.  A CMD_EVICT of a pod that is ending is RESULT_EVICT_SENT.
 * A pod may be evicted for one ticket after it was cancelled for another one: F goes by the latest
 * command of a pod, and each result returns the ticket of the command that it answers.
 *
 * Death of C: F forgets what it has not sent and sends nothing of it for the next core; requests
 * in flight end without a result.  The next core gets the lists: pods that end (POD_DELETING,
 * ends_s) and nominated ones (facts.nominated).  A gang is nominated again if all its members that
 * have to start are and fit there once those pods are gone; to others their capacity is free.
 *
 * Death of F, or the loss of its lease: nothing more is sent.  EVENT_BEGIN clears tickets and
 * nominations; the lists are the same as above.  Results of an earlier epoch are not sent. */

/* Which members of a running gang may be evicted. */
enum gang_disruption {
	GANG_DISRUPT_POD = 1u << 0,   /* each alone */
	GANG_DISRUPT_WHOLE = 1u << 1, /* all or none; neither: those above the quorum, else all */
	GANG_DISRUPT_NEVER = 1u << 2, /* none: it opts out, or is not seen whole */
};

enum preemption_flags {
	PREEMPTION_EXPLAIN = 1u << 0,         /* the world searches; no pod is evicted */
	PREEMPTION_BUDGETS_UNKNOWN = 1u << 1, /* they can't be read, or are too many */
	PREEMPTION_ON = 1u << 2,              /* with EXPLAIN: gangs evict */
	PREEMPTION_BEST_EFFORT = 1u << 3,     /* budgets may be exceeded; else they are respected */
	PREEMPTION_ALL = 1u << 4,             /* victims of every scheduler name, not FACT_OURS alone */
	PREEMPTION_PACK = 1u << 5, /* with EXPLAIN: the world packs gangs that the loop gave up */
	PREEMPTION_RECLAIM =
		1u << 6, /* with queues: what another queue has is taken by guarantee, not by priority */
	PREEMPTION_FAIR = 1u << 7, /* with RECLAIM: also by the greater share */
};
#define PREEMPTION_FLAGS                                                                           \
	((uint32_t)(PREEMPTION_EXPLAIN | PREEMPTION_BUDGETS_UNKNOWN | PREEMPTION_ON |                  \
	            PREEMPTION_BEST_EFFORT | PREEMPTION_ALL | PREEMPTION_PACK | PREEMPTION_RECLAIM |   \
	            PREEMPTION_FAIR))

struct event_preemption {
	uint32_t flags; /* enum preemption_flags */
	uint32_t
		min_run_s; /* a pod that has run for less is no victim; of a gang its youngest member */
	uint32_t cooldown_s; /* nor is one whose owner lost a pod less long ago: facts.evicted_s */
	uint32_t patience_s; /* beyond facts.grace_s: then a victim counts as stuck */
	/* With RECLAIM: what would start by hard ends within that time evicts no pod; 0: none. */
	uint32_t reclaim_patience_s;
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
	FACT_LEADS = 1u << 3,  /* with PREEMPTION_RECLAIM: the leader or master of its gang */
};

struct event_pod_facts {
	uint32_t pod;
	uint32_t generation; /* as in its record */
	uint32_t start_s;    /* status.startTime, since 1970; 0: none */
	uint32_t flags;      /* enum fact_flags */
	/* With PREEMPTION_ON, else 0 and ID_NONE; seconds since 1970. */
	uint32_t evicted_s; /* when this instance last evicted a pod of its owner; 0: not known */
	uint32_t ends_s;    /* metadata.deletionTimestamp, of the API server's clock; 0: it has none */
	uint32_t nominated; /* of a pending pod: node of status.nominatedNodeName; ID_NONE: none */
	uint32_t grace_s;   /* with ends_s: metadata.deletionGracePeriodSeconds; in seconds, 0: none */
	/* With PREEMPTION_RECLAIM, else 0 and -1. */
	int32_t deletion_cost;    /* controller.kubernetes.io/pod-deletion-cost; 0: none */
	int32_t completion_index; /* batch.kubernetes.io/job-completion-index; -1: none */
};

enum answer_verdict {
	ANSWER_VICTIMS,    /* without these pods the gang starts; `gap`: 0 if they are the best set */
	ANSWER_FREE,       /* no eviction is needed: it fits now, or when pods that end are gone */
	ANSWER_IMPOSSIBLE, /* evicting every candidate would not suffice */
	ANSWER_NEVER,      /* a member may not preempt */
	ANSWER_GAVE_UP,    /* no set was found, or none that fits into a record */
	ANSWER_PACKED,     /* no eviction is needed: the places are a placement of unlike members */
	ANSWER_UNASKED,    /* the gang does not wait for capacity */
	ANSWER_VERDICTS
};

/* The answer of the world's thread to a ticket: a record of the loop's input that no
 * process sends.  Followed by struct answer_pod[victims_n], then [places_n]. */
struct event_answer {
	uint64_t ticket;
	uint64_t position;   /* records that the core which was searched had applied */
	uint32_t gang;       /* of a lone pod: limits.gangs + the pod */
	uint32_t generation; /* of the gang, or the lone pod */
	uint32_t verdict;    /* enum answer_verdict */
	uint32_t gap;        /* 0: proved; else the search ended early: a better set is not excluded */
	uint32_t victims_n;
	uint32_t places_n; /* members that start; only ANSWER_PACKED has them */
	uint64_t steps;
};

/* A victim where it runs, or a member where it is to start. */
struct answer_pod {
	uint32_t pod;
	uint32_t generation;
	uint32_t node;
	uint32_t node_generation;
};

/* Victims of a ticket and places of an answer, together: a record takes no more. */
#define ANSWER_PODS_MAX 4080u

/* By which rule a pod is evicted. */
enum evict_rule {
	EVICT_PRIORITY,  /* preemption, and what a gang of its own queue has beyond its quorum */
	EVICT_GUARANTEE, /* reclaim: the taker stays inside its guarantee (docs/fairness.md) */
	EVICT_FAIR,      /* reclaim: the giver has more than its share */
	EVICT_RULES
};

/* Why a pod of another queue is evicted: amounts of one resource that the gang asks for and the pod
 * frees, of the branches below the lowest queue above both, when it was decided. */
struct evict_cause {
	uint32_t rule;         /* enum evict_rule; EVICT_PRIORITY: up to `extra` none is set */
	uint32_t resource;     /* a column */
	uint32_t taker, giver; /* queues: the gang's and the pod's */
	uint32_t taker_branch, giver_branch; /* queues */
	int64_t taker_used, taker_guarantee; /* with the gang */
	int64_t giver_used, giver_guarantee; /* without all that goes */
	uint32_t extra; /* 1: with reclaim, a member beyond the quorum of a gang that keeps its own */
	/* All of the pod's gang go, which is below its quorum when so many have; 0: not all do. */
	uint32_t breaks_at;
};

struct cmd_evict {
	uint64_t ticket; /* counted by the core, from 1 in an epoch */
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t node; /* where it runs */
	uint32_t node_generation;
	uint32_t gang; /* for which it is evicted; of a lone pod: limits.gangs + the pod */
	uint32_t gang_generation;
	uint32_t victims; /* of the ticket: so many commands */
	uint32_t members; /* that start in their place */
	struct evict_cause cause;
};

struct cmd_cancel_evict {
	uint64_t ticket; /* of its CMD_EVICT */
	uint32_t pod;
	uint32_t pod_generation;
};

struct cmd_nominate {
	uint64_t ticket;
	uint32_t pod;
	uint32_t pod_generation;
	uint32_t node; /* ID_NONE: the nomination ends otherwise than by a binding */
	uint32_t node_generation;
};

struct evict_result {
	uint64_t ticket; /* of the CMD_EVICT */
	uint32_t pod;
	uint32_t generation;
	uint32_t node; /* of the CMD_EVICT */
	uint32_t reserved;
};

#define VICTIMS_BOUNDS 14u /* of a histogram of counts: ipc/plans.h */

/* A histogram of counts. */
struct victims_counts {
	_Atomic uint64_t n[VICTIMS_BOUNDS + 1]; /* by bucket; the last one: above all bounds */
	_Atomic uint64_t sum;
};

/* Preemption so far, of the core's own loop. */
struct core_preemption {
	_Atomic uint64_t tickets;     /* opened */
	_Atomic uint64_t answers;     /* of open tickets */
	_Atomic uint64_t stale;       /* of them: no longer true when they came */
	_Atomic uint64_t expired;     /* tickets without an answer */
	_Atomic uint64_t packed;      /* gangs placed by an ANSWER_PACKED */
	_Atomic uint64_t nominations; /* made; each ends as one of the following seven */
	_Atomic uint64_t placed;      /* on the capacity of the victims */
	_Atomic uint64_t elsewhere;   /* capacity became free elsewhere first */
	_Atomic uint64_t changed;     /* the gang went or changed, or a node of the plan did */
	_Atomic uint64_t refused;     /* a budget refused a victim, or it could not be evicted */
	_Atomic uint64_t stuck;       /* a victim did not go */
	_Atomic uint64_t taken_over;  /* by a gang of higher priority */
	_Atomic uint64_t lost;        /* others took the capacity */
	_Atomic uint64_t evictions;   /* CMD_EVICT */
	_Atomic uint64_t wasted;      /* victims that went, or may have, for a nomination not placed */
	_Atomic uint64_t open;        /* nominations now */
	/* Of each answer with victims that was nominated: its victims, and the gangs among them that
	 * had their quorum and lose it. */
	struct victims_counts victims;
	struct victims_counts broken;
};

/* The outcome of a search for victims (core/world/lookout.h). */
enum victims_answer {
	VICTIMS_ROW_EMPTY,
	VICTIMS_ROW_PROVED,     /* there is no better set */
	VICTIMS_ROW_GAVE_UP,    /* its steps were spent: `found` says if there is a set */
	VICTIMS_ROW_IMPOSSIBLE, /* evicting every candidate would not suffice */
	VICTIMS_ROW_NEVER,      /* a member may not preempt */
	VICTIMS_ROW_FITS,       /* by free capacity alone, or when pods that end have gone */
	VICTIMS_ROW_DEVICES,    /* not searched: members ask for devices */
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
	_Atomic uint64_t reserved[4];
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

/* The pods to evict so that a gang that waits can start: the answer to the last search. */
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
	uint32_t young;           /* pods that reclaim would take if they had run for long enough */
	uint32_t young_until_s;   /* the first of them has by then, since 1970; 0: none has started */
	struct victims_gang gangs[VICTIMS_GANGS];
	char text[VICTIMS_TEXT];
};

static_assert(sizeof(struct event_preemption) == 24 && sizeof(struct event_budget) == 32 &&
                  sizeof(struct event_pod_facts) == 40,
              "facts");
static_assert(sizeof(struct event_answer) == 48 && sizeof(struct answer_pod) == 16, "answers");
static_assert(sizeof(struct cmd_evict) == 104 && sizeof(struct cmd_cancel_evict) == 16 &&
                  sizeof(struct cmd_nominate) == 24 && sizeof(struct evict_result) == 24,
              "evictions");
static_assert(sizeof(struct victims_counts) == 128 && sizeof(struct core_preemption) == 384,
              "six cache lines");
static_assert(sizeof(struct core_searches) == 128, "two cache lines");
static_assert(sizeof(struct victims_gang) == 32 &&
                  sizeof(struct victims_row) == 104 + 32 * VICTIMS_GANGS + VICTIMS_TEXT,
              "victims");

#endif
