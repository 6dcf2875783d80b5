/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and claims as the frontend keeps them, without a model: objects in, records out. */
#ifndef MUSTER_BENCH_DEVICES_LIVE_H
#define MUSTER_BENCH_DEVICES_LIVE_H

#include "frontend/devices/live.h"

/* A ResourceSlice of 8 GPUs for each node, a DeviceClass with a selector, and claims that are
 * allocated on these nodes, a GPU each, made by templates.  Records are not written yet. */
struct live *devices_live(uint32_t nodes, uint32_t claims);

/* A pod whose claim has a selector that was never seen comes, and goes: ns from its object until
 * all records of its question are written.  Another `turn` is another selector; `regex`: with a
 * regular expression.  *ok false: the records are not those expected. */
uint64_t devices_live_ask(struct live *l, uint32_t turn, bool regex, bool *ok);

#endif
