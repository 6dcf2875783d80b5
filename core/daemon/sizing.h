/* SPDX-License-Identifier: Apache-2.0 */
/* Default limits of nodes and pods, from a bound on the memory of muster-core (--max-memory).
 *
 * Arrays as long as a limit have no pages before they are used, so that the limits cost nothing by
 * themselves: they bound what a cluster, or a tenant who fills it, can make the core allocate.  A
 * core can't refuse by measuring: core_step() is a function of its records. */
#ifndef MUSTER_CORE_SIZING_H
#define MUSTER_CORE_SIZING_H

#include "ipc/abi.h"

#define SIZING_NODES (1u << 17)
#define SIZING_PODS (1u << 20)

/* Memory that a core takes with its limits in use, as measured (docs/decisions/106-*.md). */
uint64_t sizing_bytes(const struct limits *limits, uint32_t searchers);

/* The same with one node and its pods. */
uint64_t sizing_least(uint32_t searchers);

/* Sets limits->nodes and limits->pods where they are 0: SIZING_NODES and SIZING_PODS, or in the
 * same relation as many as max_memory has space for; 0: any memory.
 *   -ENOSPC  it has space for none */
int sizing_complete(struct limits *limits, uint32_t searchers, uint64_t max_memory);

#endif
