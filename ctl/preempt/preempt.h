/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl explain --preempt: which pods would have to be evicted so that pods, or a gang, can
 * start.  Offline; no pod is evicted. */
#ifndef MUSTER_CTL_PREEMPT_H
#define MUSTER_CTL_PREEMPT_H

#include "ctl/preempt/facts.h"
#include "ctl/term/ctl.h"
#include "ctl/term/options.h"

#include <cjson/cJSON.h>

struct preempt_options {
	bool on;
	struct arguments pods; /* NS/NAME */
	const char *gang;      /* NS/NAME; NULL: pods are asked about */
	const char *victims, *budgets, *steps;
};

/* Answers for the objects of these files and prints.  Returns the exit code: EXIT_DONE if they can
 * start, with victims or without. */
int preempt_explain(const char *command, const struct preempt_options *options,
                    const struct arguments *paths, enum output output, enum score_policy score);

/* preempt_print.c: the answer about a pod and about a gang.  `nodes` as of verdict_nodes(). */
struct verdict_node;
struct pod_answered {
	struct offline *offline;
	const struct pod_view *pod;
	const struct pod_search *search;
	const struct verdict_node *nodes;
	size_t nodes_n;
};
void preempt_print_pod(const struct pod_answered *a, enum output output);
/* Adds the object "objective". */
void preempt_objective_json(cJSON *answer, const struct objective *v);
void preempt_print_gang(struct offline *offline, const char *gang, const struct gang_search *search,
                        enum output output);

#endif
