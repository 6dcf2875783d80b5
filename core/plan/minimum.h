/* SPDX-License-Identifier: Apache-2.0 */
/* minResources of a group (scheduler-plugins coscheduling: CheckClusterResource): is that much free
 * in the whole cluster?  Free is allocatable minus used, summed over all nodes without regard to
 * rules; what members that are being deleted use counts as free, and an overcommitted node as 0.
 * What devices may serve in place of a resource that nodes lack is not asked for. */
#ifndef MUSTER_CORE_MINIMUM_H
#define MUSTER_CORE_MINIMUM_H

#include "core/base/amount.h"
#include "core/queue/gangs.h"
#include "core/cluster/lasting.h"
#include "core/cluster/nodes.h"
#include "core/plan/reason.h"

/* For a gang with gang_asks_minimum(); when false, r has the shortfalls.  `own` is scratch, by
 * node, zero before and after. */
bool minimum_met(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                 const struct nodes *ns, wide *own, struct reason *r);

/* The same for a cluster where all pods that end have ended; l NULL: an empty one. */
bool minimum_could_be_met(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                          const struct nodes *ns, const struct lasting *l);

#endif
