/* SPDX-License-Identifier: Apache-2.0 */
/* An overview of the cluster as JSON for the page at /: GET /state.json.
 *
 * Bounded: beyond STATE_CELLS nodes a cell stands for several, beyond STATE_GANGS gangs only counts
 * are given, omitting placed ones first. */
#ifndef MUSTER_FRONTEND_STATE_H
#define MUSTER_FRONTEND_STATE_H

#include "frontend/json/jsonout.h"
#include "frontend/serve/metrics.h"
#include "frontend/model/model.h"
#include "ipc/observe.h"

#include <stdint.h>

#define STATE_BYTES_MAX ((size_t)2 << 20)
#define STATE_CELLS 8192u
#define STATE_GANGS 200u

/* ledger is NULL without a core. Replaces the content of `out`. */
void state_write(const struct observer *ledger, const struct model *model, const struct metrics *m,
                 uint64_t wall_ns, struct jsonout *out);

#endif
