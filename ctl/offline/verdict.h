/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of each node for one pod, with kube-scheduler's texts, ready for printing. */
#ifndef MUSTER_CTL_VERDICT_H
#define MUSTER_CTL_VERDICT_H

#include "ctl/term/options.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/parts.h"

/* A node that exists; sorted by name. */
struct verdict_node {
	const char *name;
	node_id id;
	const char *held;            /* why the capacity is not for the pod; NULL: it is, or a filter
	                              * rejects the node */
	uint32_t binding, nominated; /* pods there: with a binding in flight, with room of victims */
};

struct node_verdict {
	const char *node;
	bool feasible;
	uint32_t score;       /* if feasible */
	const char **reasons; /* else: sorted, texts of verdict.parts */
	size_t reasons_n;
	struct cJSON *devices; /* of a feasible node: those that the pod gets; NULL: none */
	uint32_t binding, nominated;
};

struct verdict {
	char *pod;                  /* "ns/name" */
	char *message;              /* of FailedScheduling; NULL when a node is feasible */
	char *error;                /* the attempt failed: no node has a verdict; NULL */
	struct node_verdict *nodes; /* sorted by name */
	size_t nodes_n, feasible_n;
	bool queue_waits; /* its queue does not let it start, whatever the nodes have */
	struct parts parts;
};

struct verdict_options {
	struct arguments files, pods;
	enum output output;
	enum score_policy score;
};

/* The command on files; the exit code. */
int verdict_files(const struct verdict_options *o, const char *command);

/* Prints them; the exit code. */
int verdict_print(const struct verdict *v, size_t n, enum output output);

/* Finds the pending pod of --pod NS/NAME.  False and a message. */
bool verdict_find_pod(const char *command, const char *asked, const struct offline *o,
                      const struct files *files, struct pod_view *pod);

/* By name. */
void verdict_nodes_sort(struct verdict_node *nodes, size_t n);
/* The nodes of a started core, by name; to be freed. */
struct verdict_node *verdict_nodes(const struct offline *o, size_t *n);

/* `j` is the evaluation of that pod, or NULL if it is refused; nodes_n nodes. */
void verdict_make(struct verdict *v, const struct offline *o, const struct pod_view *pod,
                  const struct evaluation *j, const struct verdict_node *nodes, size_t nodes_n);
/* The same for `pod`, "ns/name" and its own, of any core: names of resources and taints, and the
 * devices (NULL: none are named); `refusal` is the text if `j` is NULL. */
void verdict_fill(struct verdict *v, char *pod, const struct reason_names *names,
                  struct claims *claims, const char *refusal, const struct evaluation *j,
                  const struct verdict_node *nodes, size_t nodes_n);
void verdict_free(struct verdict *v);

#endif
