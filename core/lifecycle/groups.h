/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that records define (groups); their members: core/lifecycle/members.h. */
#ifndef MUSTER_CORE_GROUPS_H
#define MUSTER_CORE_GROUPS_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* Adds or changes a group; on an error nothing has changed.
 *
 *   -EPROTO  its slot belongs to another group that has pods, or its name changed; c->fault has
 *            the reason
 *   -ENOSPC  limits.name_bytes is reached */
int group_event(struct core *c, const struct gang_record *record);

/* Deletes a group; -EPROTO if it does not exist or has pods. */
int group_drop(struct core *c, const struct event_drop *drop);

#endif
