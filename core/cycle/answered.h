/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of gangs whose ticket was answered (core/lifecycle/tickets.h): the answer is checked
 * against the present state, since the search saw an earlier one. */
#ifndef MUSTER_CORE_ANSWERED_H
#define MUSTER_CORE_ANSWERED_H

#include "core/lifecycle/state.h"

/* plan_gang() of the gang in the cycle; c->need is set.  If there is an answer with places, and all
 * rules allow them now, they are the plan. */
enum plan_answer plan_answered(struct core *c, uint32_t index, bool behind);

#endif
