/* SPDX-License-Identifier: Apache-2.0 */
/* Takes entries from namespaces above their share when a table of the model is nearly full.  The
 * shares, and who has to give something up: frontend/model/pods/shares.h. */
#ifndef MUSTER_FRONTEND_MODEL_SHARES_REFRESH_H
#define MUSTER_FRONTEND_MODEL_SHARES_REFRESH_H

struct model;

/* At the begin of a flush.  While the last eighth of a table is in use, or a namespace found no
 * entry: withdraws entries that waiting pods alone use, the latest first, from a bounded number of
 * namespaces a call.  These pods are refused with the limit's text until a list puts them again. */
void shares_refresh(struct model *m);

#endif
