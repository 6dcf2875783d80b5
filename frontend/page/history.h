/* SPDX-License-Identifier: Apache-2.0 */
/* A day of use and of waiting, for the page: a sample each minute, and one each 10 s of the last
 * hour.
 *
 * A fixed size, 230 KiB: the first HISTORY_RESOURCES names of resources are kept.  Time without a
 * core is a gap.  It is the process's: another core does not clear it, another process begins with
 * none. */
#ifndef MUSTER_FRONTEND_HISTORY_H
#define MUSTER_FRONTEND_HISTORY_H

#include "frontend/json/jsonout.h"
#include "frontend/serve/metrics.h"

#include <stdint.h>

#define HISTORY_RESOURCES 8u
#define HISTORY_FINE_S 10u
#define HISTORY_COARSE_S 60u
#define HISTORY_SAMPLES (24u * 60u)
#define HISTORY_FINE_SAMPLES 360u

struct history;

struct history *history_new(void);
void history_free(struct history *h);

/* True if a sample is due. */
bool history_is_due(const struct history *h, uint64_t wall_ns);

/* Takes one if the core has all objects: usage and gangs of `m` have to be of now. */
void history_take(struct history *h, const struct metrics *m, uint64_t wall_ns);

/* {"step_s":..,"names":[..],"t":[..],"waiting":[..],..}; span "day", else the last hour.  Resource
 * "": cpu. `h` is NULL: nothing is kept. */
void history_write(const struct history *h, const char *resource, const char *span,
                   uint64_t wall_ns, struct jsonout *out);

#endif
