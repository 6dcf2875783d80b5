/* SPDX-License-Identifier: Apache-2.0 */
/* What gangs ask of their queues. */
#ifndef MUSTER_CORE_CYCLE_TURN_ASKS_H
#define MUSTER_CORE_CYCLE_TURN_ASKS_H

#include "core/lifecycle/state.h"

/* Adds what the pod requests. */
void ask_add(const struct core *c, const struct pod *p, struct share_ask *ask);

/* What the pod requests of one resource. */
wide ask_of(const struct core *c, const struct pod *p, uint32_t resource);

/* Takes one member of what is needed: true if it is part of it.  The roles' members first. */
bool need_take(struct gang_need *need, uint32_t role, bool of_role);
uint32_t need_of_roles(const struct gang_need *need);

/* What those members ask for that have to start together.  Members are not alike in some gangs, and
 * which of them start is the plan's choice: the least that it can be, for each resource. */
void ask_find(const struct core *c, uint32_t index, struct share_ask *ask);

/* Adds what a gang is promised. */
void ask_promised(const struct core *c, const struct timeline_ask *of, struct share_ask *ask);

/* The gang as the first that waits in its leaf; extra: for a member beyond its quorum.  `ask` is
 * filled, and kept by the caller for as long as it waits. */
struct share_waiting ask_waiting(const struct core *c, uint32_t index, bool extra,
                                 struct share_ask *ask);

#endif
