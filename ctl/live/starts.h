/* SPDX-License-Identifier: Apache-2.0 */
/* The promised start in a gang's row of the ledger.  Names come from the ledger, which has none of
 * lone pods: they are "a pod". */
#ifndef MUSTER_CTL_STARTS_H
#define MUSTER_CTL_STARTS_H

#include "ctl/term/print.h"
#include "ipc/observe.h"

/* {"at", "kind", "firm", "ends", "first", "moves", "nodes", "nodes_count", "after"}. */
cJSON *start_json(const struct observer *o, const struct promised *p);

/* The same as text, for explain. */
void start_print(const struct observer *o, const struct promised *p);

#endif
