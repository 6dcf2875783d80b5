/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of core/lifecycle/members.h: members.c has room and counts, members_reserve.c makes,
 * gives up and answers reservations, members_event.c takes records of pods. */
#ifndef MUSTER_CORE_MEMBERS_IMPL_H
#define MUSTER_CORE_MEMBERS_IMPL_H

#include "core/lifecycle/members.h"

/* Around every change of a pod that its gang's numbers depend on.  In between a queue has the gang
 * as it was. */
void member_out(struct core *c, struct pod *p);
void member_in(struct core *c, struct pod *p);

/* The pod takes its room on the node, ID_NONE: nowhere; or gives back what it has. */
void room_take(struct core *c, struct pod *p, node_id node);
void room_give(struct core *c, struct pod *p);
/* Where one pod is, others that want to be near it or evenly spread may find room now. */
void room_eased(struct core *c, const struct pod *p);

/* Of a member that was refused: it keeps its room from now on, or no longer. */
void keep_begin(struct core *c, const struct pod *p);
void keep_end(struct core *c, struct pod *p);

/* From whichever list it is on. */
void list_leave(struct core *c, struct pod *p);

#endif
