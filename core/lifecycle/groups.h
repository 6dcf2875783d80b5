/* SPDX-License-Identifier: Apache-2.0 */
/* The groups that the cluster names; their members come and go in core/lifecycle/members.h. */
#ifndef MUSTER_CORE_GROUPS_H
#define MUSTER_CORE_GROUPS_H

#include "core/lifecycle/state.h"
#include "core/shm/records.h"

/* Set a group, anew or as it is now.
 *
 *   -EPROTO   its slot belongs to another that has pods, or its name changed;
 *             c->fault says which
 *   -ENOSPC   no room for the name
 *   -ENOMEM */
int group_event(struct core *c, const struct gang_record *record);

/* Forget a group that no pod names any more; -EPROTO else. */
int group_drop(struct core *c, const struct event_drop *drop);

#endif
