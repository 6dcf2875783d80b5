/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that describe groups: PodGroups of several APIs, ConfigMaps. */
#ifndef MUSTER_FRONTEND_MODEL_GROUP_OBJECTS_H
#define MUSTER_FRONTEND_MODEL_GROUP_OBJECTS_H

#include "frontend/model/groups/gangs.h"

int gang_put(struct model *m, int resource, const char *json, size_t bytes,
             struct decode_error *error);
void gang_remove(struct model *m, int resource, const struct meta *meta);
/* As if no object described the gang, until the next list; without members it is gone. */
void gang_forget_objects(struct model *m, uint32_t gang);
/* A list of that dialect's resource is complete. */
void gangs_replaced(struct model *m, uint32_t dialect, uint32_t round);

#endif
