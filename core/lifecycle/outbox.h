/* SPDX-License-Identifier: Apache-2.0 */
/* Commands to the frontend.  One for which the ring is full waits here, and nothing is planned
 * until it is sent. */
#ifndef MUSTER_CORE_OUTBOX_H
#define MUSTER_CORE_OUTBOX_H

#include "core/lifecycle/state.h"

/* Sends what waits; true when nothing is left. */
bool outbox_flush(struct core *c);
bool outbox_waits(const struct core *c);

/* The fields that the commands of all members of a gang share. */
struct cmd_bind outbox_bind_of(const struct core *c, uint32_t index);

/* Sends CMD_BIND, CMD_RETRY_BIND or CMD_CANCEL_BIND for a pod that has a node.  `bind` is of
 * outbox_bind_of(); this fills in the pod.  False when the ring is full. */
bool outbox_bind(struct core *c, enum record_kind command, struct cmd_bind *bind, pod_id id);

/* Publishes the state and reason of a gang in the ledger, and as commands if they changed. */
void outbox_gang(struct core *c, uint32_t index, enum gang_state state,
                 const struct reason *reason);

/* Writes a group's row in the ledger. */
void gang_publish(struct core *c, uint32_t index, const struct reason *reason);

#endif
