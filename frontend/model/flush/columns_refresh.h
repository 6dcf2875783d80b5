/* SPDX-License-Identifier: Apache-2.0 */
/* What follows when a resource gets or loses its column (frontend/model/base/columns.h). */
#ifndef MUSTER_FRONTEND_MODEL_COLUMNS_REFRESH_H
#define MUSTER_FRONTEND_MODEL_COLUMNS_REFRESH_H

struct model;

/* Brings shapes, pods and groups up to date with the names that nodes have. */
void columns_refresh(struct model *m);

#endif
