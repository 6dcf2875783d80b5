/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on their way out.  A command that finds no room stays here, and
 * nothing is planned before it is gone. */
#ifndef MUSTER_CORE_SAY_H
#define MUSTER_CORE_SAY_H

#include "core/lifecycle/state.h"

/* Offer all that waits; true when nothing is left. */
bool say_all(struct core *c);
bool say_waits(const struct core *c);

/* What is the same in the commands of all members of a gang, or of a lone pod's. */
struct cmd_bind say_bind_of(const struct core *c, uint32_t index);

/* The command for a pod that has a node, in `bind`, which has its gang; false when there is no
 * room, and it has to wait in c->sends. */
bool say_bind(struct core *c, struct cmd_bind *bind, pod_id id);

/* Note a gang's state and reason for the frontend, if they are news. */
void say_gang(struct core *c, uint32_t index, enum gang_state state, const struct reason *reason);

/* Show a group in the ledger. */
void gang_publish(struct core *c, uint32_t index, const struct reason *reason);

#endif
