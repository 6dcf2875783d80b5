/* SPDX-License-Identifier: Apache-2.0 */
/* Searches for victims: which bound pods have to be evicted so that a pod or a gang that waits for
 * capacity can start.  docs/decisions/053 has the rules.
 *
 *   core + facts ──► search_pod()    one pod: kube-scheduler's DefaultPreemption on each node
 *                └─► search_gang()   a gang: the best set of victims of the whole cluster
 *
 * "Does it fit without these pods?" is answered by the core's own filters and planner: the pods are
 * released from the pod counts, asked about, and allocated again.  So a search changes the core
 * while it runs and leaves it as it was, and nothing else may use the core meanwhile.
 *
 * What only searches need (starts, budgets, modes, nominations) is not kept by the core: the caller
 * has it in struct search_facts.  A search is a function of the core, the facts and the question;
 * its work is counted in steps (core/base/budget.h), not by a clock.
 *
 * Priority of a unit: of a lone pod, or one in mode `pod`, the pod's; of a gang its own, else the
 * highest of its bound members.
 *
 * Candidate: bound, not being deleted, not spared, and the priority of its unit is lower, or it may
 * be reclaimed; with `respect` matched by one budget at most.  A gang that is not seen whole, since
 * a member runs on a node that the core does not have, has candidates in mode `pod` only.
 *
 * Stale gang: fewer bound members than its quorum.  It goes whole, and does not count as broken. */
#ifndef MUSTER_CORE_SEARCH_H
#define MUSTER_CORE_SEARCH_H

#include "core/filter/evaluation.h"

#include <stdbool.h>
#include <stdint.h>

struct core;
struct gang;

enum disruption_mode {
	DISRUPT_QUORUM, /* any members as long as the others make the quorum; else all */
	DISRUPT_POD,    /* each member alone */
	DISRUPT_WHOLE,  /* all or none */
};

#define START_NONE UINT32_MAX /* it has not started: later than all that have */

struct search_pod {
	uint32_t start_s;    /* status.startTime, since 1970; START_NONE: none */
	node_id nominated;   /* of a pending pod: status.nominatedNodeName; ID_NONE: none */
	uint32_t items;      /* its budgets: items[items .. items + items_n) of the facts */
	uint32_t items_n;    /* without those that list it as disrupted */
	uint32_t budgets_n;  /* with them */
	bool spared;         /* no candidate, whatever its priority */
	bool never;          /* preemptionPolicy: Never */
	bool preempted;      /* evicted by kube-scheduler, if it is being deleted */
	bool stuck;          /* it is being deleted, and its room counts as never coming */
	bool soon;           /* it ends by itself within the patience of reclaim */
	bool nominated_room; /* it runs not: its capacity is free for gangs of higher priority */
	bool leads;          /* no member beyond the quorum */
	/* As in struct event_pod_facts. */
	int32_t deletion_cost, completion_index;
};

/* Of pods that are of another queue than the gang's (core/cycle/reclaim.h). */
enum search_reclaim {
	RECLAIM_BY_PRIORITY, /* it is not: the priority of its unit decides */
	RECLAIM_MAY,         /* a candidate, whatever its priority */
	RECLAIM_SPARED,      /* no candidate */
};

struct search_gang {
	enum disruption_mode mode;
	uint32_t succeeded; /* members that have ended well: they count for the quorum */
};

/* Memory of the caller, constant during a search. */
struct search_facts {
	const struct search_pod *pods;   /* by pod id, limits.pods of them */
	const struct search_gang *gangs; /* by gang id, limits.gangs of them */
	const uint32_t *items;           /* indexes of budgets */
	const int32_t *allowed;          /* by budget: status.disruptionsAllowed */
	uint32_t budgets_n;
	const uint8_t *reclaim; /* by pod: enum search_reclaim, for one gang; NULL: all by priority */
	const uint32_t *ranks;  /* by pod, with `reclaim`: the lower ones are given back first */
	bool reclaims;          /* pods that end soon are waited for */
	bool respect;           /* no budget may be exceeded; else violations are the first criterion */
	uint64_t steps_most;    /* then the search gives up */
	/* Asked every SEARCH_ASKS steps: true ends the search as if its steps were spent.  NULL: never.
	 */
	bool (*ends)(void *context);
	void *context;
};

#define SEARCH_ASKS 10000u

/* How much evicting a set of pods costs, by importance; less is better but for start_sum.  Of two
 * equal sets the one is better that has the first name which is not in both. */
struct objective {
	uint64_t violations; /* budgets exceeded */
	int32_t highest;     /* priority of a unit; INT32_MIN of the empty set */
	uint32_t broken;     /* gangs that had their quorum and lose it */
	uint64_t sum;        /* of priority + 2^31 of each pod */
	uint32_t pods;
	uint64_t rank_sum;  /* 0 without reclaim */
	uint64_t start_sum; /* seconds; START_NONE counts as such */
};

/* Of one pod. */
enum pod_answer {
	POD_FITS,        /* on some node as things are */
	POD_NEVER,       /* preemptionPolicy: Never */
	POD_TERMINATING, /* its victims on the node it is nominated to have not gone yet */
	POD_WAITS,       /* it will fit when pods that are being deleted have gone */
	POD_VICTIMS,     /* there are candidate nodes */
	POD_NONE,        /* no node becomes feasible by evicting */
	POD_GAVE_UP,     /* steps_most; the nodes that were looked at are there */
};

enum node_try {
	TRY_UNHELPFUL,  /* kube-scheduler: UnschedulableAndUnresolvable, or no node */
	TRY_NO_VICTIMS, /* no candidate runs there */
	TRY_NO_ROOM,    /* infeasible without all candidates too: the evaluation `after` has why */
	TRY_VICTIMS,
};

struct node_victims {
	node_id node;
	const pod_id *pods;         /* the most important one first; memory of the answer */
	struct objective objective; /* violations as kube-scheduler counts them, of its split */
	uint32_t start_s;           /* the earliest start of a victim of the highest priority */
};

struct pod_search {
	enum pod_answer answer;
	struct evaluation first, after;
	uint8_t *tries;             /* enum node_try, by node id */
	struct node_victims *nodes; /* by rank; the candidates */
	uint32_t nodes_n;
	pod_id *pods;  /* victims of all nodes */
	uint32_t best; /* index of the node that is chosen; nodes_n: none */
	uint64_t steps;
};

/* Looks for victims of a pending pod on each node.
 *
 *   -ENOENT   no such pod
 *   -EBUSY    it has a node */
int search_pod(struct core *core, const struct search_facts *facts, pod_id pod,
               struct pod_search *out);
/* The nth best of the nodes, 0: `best`; NULL: there is none that costs as much as the best, but for
 * when the victims started. */
const struct node_victims *pod_search_nth(const struct pod_search *s, uint32_t nth);
void pod_search_free(struct pod_search *s);

/* True if the pod may not go, whatever its priority: facts and budgets. */
bool search_spares(const struct search_facts *facts, pod_id pod);

/* "namespace/name" of a pod of the core, not terminated. */
const char *search_pod_name(const struct core *core, pod_id pod, uint32_t *bytes);

/* Of a gang. */
enum gang_answer {
	VICTIMS_UNASKED,    /* it does not wait for capacity: it lacks members, or is complete */
	VICTIMS_NEVER,      /* a ready member has preemptionPolicy: Never */
	VICTIMS_NEEDLESS,   /* it fits as things are */
	VICTIMS_WAITS,      /* it will fit when pods that are being deleted, or end soon, have gone */
	VICTIMS_PROVED,     /* there is no better set */
	VICTIMS_IMPOSSIBLE, /* evicting every candidate would not do */
	VICTIMS_GAVE_UP,    /* steps_most; `found`: a set that is enough, maybe not the best one */
	VICTIMS_DEVICES,    /* not searched: search_asks_for_devices() */
};

/* True if a member asks for devices.  A core knows which are taken, and not by which pod: it can't
 * say whose eviction would free them. */
bool search_asks_for_devices(const struct core *core, const struct gang *g);

struct gang_search {
	enum gang_answer answer;
	bool found;
	struct objective objective;
	pod_id *pods; /* sorted by name; objective.pods of them */
	uint64_t steps;
};

/* Looks for the best set of victims for the members of a group that have to start together.
 *
 *   -ENOENT   no such gang */
int search_gang(struct core *core, const struct search_facts *facts, gang_id gang,
                struct gang_search *out);
void gang_search_free(struct gang_search *s);

#endif
