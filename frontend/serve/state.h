/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster at a glance, as JSON, for the page at / and who else wants it: GET /state.json.
 *
 * Bounded whatever the cluster holds: beyond STATE_CELLS nodes a cell stands for several, beyond
 * STATE_GANGS gangs only their numbers are told, those that wait last. */
#ifndef MUSTER_FRONTEND_STATE_H
#define MUSTER_FRONTEND_STATE_H

#include "frontend/json/jsonout.h"
#include "frontend/model/model.h"
#include "frontend/serve/metrics.h"
#include "ipc/observe.h"

#include <stdint.h>

#define STATE_BYTES_MAX ((size_t)2 << 20)
#define STATE_CELLS 8192u
#define STATE_GANGS 200u

/* ledger is NULL while there is no core.  Replaces what `out` holds. */
void state_write(const struct observer *ledger, const struct model *model, const struct metrics *m,
                 uint64_t wall_ns, struct jsonout *out);

#endif
