/* SPDX-License-Identifier: Apache-2.0 */
/* A group's minResources: is that much free in the whole cluster, wherever it
 * lies?  Free is allocatable minus what is used, summed over all nodes without a
 * look at rules; what members that leave have counts as free, and a node that is
 * overdrawn counts as 0. */
#ifndef MUSTER_CORE_MINIMUM_H
#define MUSTER_CORE_MINIMUM_H

#include "core/base/amount.h"
#include "core/cluster/nodes.h"
#include "core/plan/reason.h"
#include "core/queue/gangs.h"

/* True when it is, of a gang that asks for a minimum; else r says what is short.  `own` is scratch,
 * one for each node, zero before and after. */
bool minimum_met(const struct gang *g, const struct pods *ps, const struct shapes *ss,
                 const struct nodes *ns, wide *own, struct reason *r);

/* Is there so much of everything when nobody is there? */
bool minimum_could_be_met(const struct gang *g, const struct nodes *ns);

#endif
