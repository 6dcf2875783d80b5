/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of each node for one pod, with kube-scheduler's texts, ready for printing. */
#ifndef MUSTER_CTL_VERDICT_H
#define MUSTER_CTL_VERDICT_H

#include "ctl/term/ctl.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/parts.h"

/* A node that exists; sorted by name. */
struct verdict_node {
	const char *name;
	node_id id;
};

struct node_verdict {
	const char *node;
	bool feasible;
	uint32_t score;       /* if feasible */
	const char **reasons; /* else: sorted, texts of verdict.parts */
	size_t reasons_n;
	struct cJSON *devices; /* of a feasible node: those that the pod gets; NULL: none */
};

struct verdict {
	char *pod;                  /* "ns/name" */
	char *message;              /* of FailedScheduling; NULL when a node is feasible */
	char *error;                /* the attempt failed: no node has a verdict; NULL */
	struct node_verdict *nodes; /* sorted by name */
	size_t nodes_n, feasible_n;
	struct parts parts;
};

/* Finds the pending pod of --pod NS/NAME.  False and a message. */
bool verdict_find_pod(const char *command, const char *asked, const struct offline *o,
                      const struct files *files, struct pod_view *pod);

/* The nodes of a started core; to be freed. */
struct verdict_node *verdict_nodes(const struct offline *o, size_t *n);

/* `j` is the evaluation of that pod, or NULL if it is refused; nodes_n nodes. */
void verdict_make(struct verdict *v, const struct offline *o, const struct pod_view *pod,
                  const struct evaluation *j, const struct verdict_node *nodes, size_t nodes_n);
void verdict_free(struct verdict *v);

/* One as an object, or all as an array if `many`. */
void verdict_print_json(const struct verdict *v, size_t n, bool many);
void verdict_print_table(const struct verdict *v);

#endif
