/* SPDX-License-Identifier: Apache-2.0 */
/* Nominations of an earlier epoch, made again from what the API has of them
 * (event_pod_facts.nominated).
 *
 * A gang (a lone pod, too) whose members that have to start are all nominated, and fit there with
 * what ends gone, is nominated again: no pod is evicted for it.  Members of other gangs lose their
 * node in the API. */
#ifndef MUSTER_CORE_RENOMINATE_H
#define MUSTER_CORE_RENOMINATE_H

#include "core/lifecycle/state.h"

/* After EVENT_SYNCED, before the first plan. */
void renominate(struct core *c);

#endif
