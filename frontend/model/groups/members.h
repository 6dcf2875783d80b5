/* SPDX-License-Identifier: Apache-2.0 */
/* Members of gangs, and the conflicts between what they declare. */
#ifndef MUSTER_FRONTEND_MODEL_MEMBERS_H
#define MUSTER_FRONTEND_MODEL_MEMBERS_H

#include "frontend/model/base/state.h"

/* The specs that members declare, or their schedulers, have changed. */
void gang_refresh(struct model *m, uint32_t gang);
/* Make the pod a member of that gang (ID_NONE: of none), by a mark of that dialect, with the spec
 * that it declares. */
void gang_place(struct model *m, uint32_t pod, uint32_t gang, uint32_t dialect, uint32_t spec);

#endif
