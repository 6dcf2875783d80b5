/* SPDX-License-Identifier: Apache-2.0 */
/* Checks an answer with victims against the present state, and nominates its gang:
 * core/cycle/answered.h. */
#ifndef MUSTER_CORE_VICTIMS_H
#define MUSTER_CORE_VICTIMS_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* Of the gang in the cycle, for which there is no plan as things are; c->need is set.  False: the
 * answer does not hold, and nothing has changed.  `behind`: as in plan_gang(). */
bool victims_commit(struct core *c, uint32_t index, bool behind, const struct answer_record *a);

/* Nominates the gang to these places, if it fits there with what ends gone, and not as things
 * are; c->need is set. */
void victims_renominate(struct core *c, uint32_t index, const struct answer_pod *places,
                        uint32_t places_n);

#endif
