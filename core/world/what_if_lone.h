/* SPDX-License-Identifier: Apache-2.0 */
/* Pods without a gang in the core of a question: each is a gang of one, whose reason is in no row
 * of the ledger but in the commands of that core. */
#ifndef MUSTER_CORE_WHAT_IF_LONE_H
#define MUSTER_CORE_WHAT_IF_LONE_H

#include "core/world/live_gang.h"

struct lone_pods {
	struct live_put put;
	struct reason reasons[LIVE_GANG_PODS]; /* the latest ones, by index of the pod */
};

/* Takes the reason if it is of one of the pods. */
void lone_reason(struct lone_pods *l, const struct cmd_reason *command);

/* True if each pod has a node or a reason. */
bool lone_tried(const struct lone_pods *l, const struct core *c);

/* Pods with a node, and adds how many there are on each. */
uint32_t lone_count(const struct lone_pods *l, const struct core *c, uint32_t *on);

/* A pod has no node: why the first of them waits, and who would have to go for it. */
void lone_waits_fill(const struct lone_pods *l, struct kept *kept, bool budgets_unknown,
                     struct live_answer *out);

#endif
