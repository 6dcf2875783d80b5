/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of `musterctl explain`: the result for one gang, which explain.c fills in and hands to
 * the parts of the answer. */
#ifndef MUSTER_CTL_EXPLAIN_IMPL_H
#define MUSTER_CTL_EXPLAIN_IMPL_H

#include "ctl/term/options.h"
#include "ctl/offline/trial.h"
#include "frontend/dialect/reason.h"
#include "frontend/trace/usage.h"
#include "ipc/observe.h"

#include <cjson/cJSON.h>

#define HELPS_MAX 3  /* classes of nodes that are printed */
#define KINDS_MAX 12 /* ... and that are tried */

/* With that many more nodes like this one the gang starts; with half as many, or one less, it does
 * not. */
struct help_nodes {
	const struct object *like;
	uint32_t nodes;
	uint32_t there; /* nodes of that class */
};

/* Capacity that a live scheduler has reserved in addition to bound pods. */
struct reservations {
	uint64_t pods_binding; /* bindings in flight */
	uint64_t pods_assumed; /* assumed pods of other schedulers */
	const char *held;      /* owner of the backfill reservation; NULL: none */
};

/* The answer to the last search for victims, and the names of its gangs. */
struct explain_victims {
	struct victims_row row;
	char names[VICTIMS_GANGS][OBSERVE_NAME_MAX];
	bool evicted; /* the gang is nominated: they are */
};

struct explanation {
	const char *gang;
	const struct gang_result *result; /* of the live scheduler, or of `now` */
	const struct gang_result *gangs;  /* all gangs */
	size_t gangs_n;
	struct reason_names names;               /* of resources and taints in their reasons */
	const struct reservations *reservations; /* NULL: not of a live scheduler */
	const struct observer *observer;         /* likewise */
	const struct explain_victims *victims;   /* NULL: there was no search */
	const struct usage_figures *usage;       /* of nodes; NULL: not known */
	uint64_t
		reclaimed_ns; /* when it last lost its quorum to a gang of another queue; 0: not known */
	const char *reclaimed_by; /* that queue; NULL: it isn't there any more */

	/* Where objects come from; NULL: nothing is tried. */
	const struct trial_config *config;
	struct world now;            /* placement of the objects, with the change */
	const struct change *change; /* --add-node, --priority; NULL: neither */
	bool starts_without;         /* it starts without the change as well */
	bool conditions_only;        /* of pods: no queue is known, and nothing was tried */

	bool helps_tried; /* the fields below are set */
	bool starts_now;  /* placed from these objects it starts, though the live one waits: for a
	                   * reservation, or capacity that was just released */
	struct help_nodes helps[HELPS_MAX];
	size_t helps_n;
	bool kinds_cut;       /* there were more than KINDS_MAX */
	uint32_t nodes_tried; /* so many of each class at most; one for each pending pod */
	bool starts_first;    /* it would start if it were first in the queue */
	struct world first;   /* the placement in that case */
	int64_t starts_by_s;  /* then enough pods with a known end have ended; 0: never */
	uint32_t ended;       /* such pods */
	/* Pods that may end, in the order in which they started.  When the first ends_n of them have
	 * ended it starts, and with one less it does not; 0: not even when all have. To be freed. */
	const struct object **ends;
	size_t ends_n, ends_all;
};

/* explain_print.c: true if the gang waits for capacity in the queue. A gang that lacks members or
 * is refused is in no queue: nodes, its position or the end of others would not start it. */
bool explain_is_queued(const struct gang_result *g);

/* The exit code for a gang that nothing was changed for. */
int explain_exit(const struct gang_result *g);

/* explain_help.c: fills in what would help. Progress goes to a terminal. */
void explain_help(struct explanation *x);

/* explain_nodes.c: what is free on nodes and of no use to the members, for each shortfall. */
void explain_pieces_print(const struct explanation *x);
void explain_pieces_json(cJSON *o, const struct explanation *x);
/* Labels that the first waiting member selects nodes by and that no node has, with those that there
 * are; nothing without objects. */
void explain_selector_print(const struct explanation *x);
/* What nodes have, from a ledger of this process; to be freed. */
struct usage_figures *explain_usage(const struct ledger *l);

struct access_options; /* ctl/offline/fetch.h */

/* explain_pod.c: explains a pod without a gang, whose name is x->gang, from the objects, with
 * x->change.  Returns the exit code; -1: there is none of that name. */
int explain_pod(struct explanation *x, enum output output);

/* What is asked of one namespace of the API server. */
struct conditions_question {
	const char *command, *name; /* the latter "ns/name" */
	const struct access_options *access;
	const struct arguments *schedulers;
	enum output output;
};

/* The same from the conditions of the pod in the API server.  -1: there is no such pod, or *gang is
 * its gang, to be freed. */
int explain_pod_asked(const struct conditions_question *q, char **gang);
/* A gang or a pod by the conditions of the pods in its namespace alone; returns the exit code. */
int explain_conditions(const struct conditions_question *q);

/* explain_change.c: whether the gang starts with x->change, and where. */
void explain_change_print(const struct explanation *x);
void explain_change_json(cJSON *o, const struct explanation *x);
/* The answer without the nodes of members, as of a pod. */
void explain_answer_print(const struct explanation *x, bool starts);
void explain_answer_json(cJSON *o, const struct explanation *x, bool starts);

/* explain_print.c */
void explain_print(const struct explanation *x, enum output output);

/* explain_live.c: the state of the scheduler behind a socket, read from its ledger; no request is
 * sent. */
struct live;
struct explain_live;

/* Copies its gangs and fills in x, which the result has to outlive. x->result is NULL when there is
 * no such gang. */
struct explain_live *explain_live_take(const struct live *l, struct explanation *x);
void explain_live_free(struct explain_live *picture);

/* what_if.c: asks the running core whether the gang would start with these changes; the exit code.
 */
int explain_what_if(const struct live *l, const char *gang, const struct arguments *changes);
/* ... of the gang of these files, which the cluster does not have. */
int explain_what_if_created(const struct live *l, const struct arguments *files,
                            const char *listen);

/* explain_victims.c: the names of the gangs in v->row. */
void explain_victims_names(const struct observer *o, struct explain_victims *v);

/* False if there was no search for that gang. */
bool explain_victims_take(const struct live *l, const char *gang, struct explain_victims *out);
void explain_victims_json(cJSON *o, const struct explain_victims *v);
void explain_victims_print(const struct explain_victims *v);

#endif
