/* SPDX-License-Identifier: Apache-2.0 */
/* Promised starts of a live scheduler: what the row of a gang has of them, with the names of the
 * ledger.  Lone pods have none there. */
#ifndef MUSTER_CTL_STARTS_H
#define MUSTER_CTL_STARTS_H

#include "ctl/term/print.h"
#include "ipc/observe.h"

/* {"at", "kind", "firm", "ends", "first", "moves"}, and on which nodes and after whose ends. */
cJSON *start_json(const struct observer *o, const struct promised *p);

/* The same as lines of explain. */
void start_print(const struct observer *o, const struct promised *p);

#endif
