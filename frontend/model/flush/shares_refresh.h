/* SPDX-License-Identifier: Apache-2.0 */
/* How namespaces above their share give way (frontend/model/pods/shares.h). */
#ifndef MUSTER_FRONTEND_MODEL_SHARES_REFRESH_H
#define MUSTER_FRONTEND_MODEL_SHARES_REFRESH_H

struct model;

/* Withdraws entries of namespaces above their share while a table lacks its last eighth. */
void shares_refresh(struct model *m);

#endif
