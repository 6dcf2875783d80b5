/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with pods whose usage could not be counted: a limit was reached, or a bound pod cannot be
 * read.  Placing more pods there could overcommit the node, so the core gets it without allocatable
 * amounts until every pod on it is counted.
 *
 *   pods   known pods with unknown usage: until the pod is gone or can be counted
 *   lost   unknown pods: until the next whole list of pods */
#ifndef MUSTER_FRONTEND_MODEL_UNACCOUNTED_H
#define MUSTER_FRONTEND_MODEL_UNACCOUNTED_H

#include "frontend/model/nodes/nodes.h"

static inline bool node_is_unaccounted(const struct node_entry *n)
{
	return n->unaccounted.pods > 0 || n->unaccounted.lost;
}

/* Usage of the node is about to be sent: its amounts follow after that. */
void unaccounted_hold(struct model *m, uint32_t node);
/* A pod of unknown usage is bound to the node, or is not any more. */
void unaccounted_begin(struct model *m, uint32_t node);
void unaccounted_end(struct model *m, uint32_t node);
/* A bound pod was left out, until the next list of pods.  `node`: SLOT_NONE if it has no entry. */
void unaccounted_lost(struct model *m, uint32_t node, struct text name, struct decode_error *error);
void unaccounted_listed(struct model *m, uint32_t round); /* that list is complete */
/* The pods that nodes waited for were sent: nodes that are accounted for again are dirty now. */
void unaccounted_refresh(struct model *m);
/* Append the consequence for the node to the text of an error. */
void unaccounted_explain(struct text node, struct decode_error *error);

#endif
