/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of kube-scheduler's message for a pod that fits nowhere: texts, and how many nodes have
 * each.  "0/5 nodes are available: 2 Insufficient cpu, 3 Too many pods." */
#ifndef MUSTER_CTL_PARTS_H
#define MUSTER_CTL_PARTS_H

#include "frontend/dialect/reason.h"

struct evaluation; /* core/filter/evaluate.h */

struct parts {
	struct reason_part *at; /* each text once; owns the texts */
	size_t n;
};

/* One more node with this text, which is good until parts_free(); `whole`: it is about the pod, and
 * has no count. */
const char *parts_count(struct parts *p, const char *text, bool whole);

/* The reasons of an infeasible node; `each`, which may be NULL, is called with the text of each. */
void parts_count_node(struct parts *p, const struct reason_names *names, const struct evaluation *e,
                      node_id node, void (*each)(void *context, const char *text), void *context);

/* The whole message, to be freed; sorts the parts. */
char *parts_message(struct parts *p, size_t nodes);
void parts_free(struct parts *p);

#endif
