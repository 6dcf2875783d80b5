/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/sizing.h"

#include <errno.h>

/* Of one core, and once of the ledger. */
#define NODE_BYTES 560u
#define NODE_LEDGER_BYTES 256u
#define POD_BYTES 410u /* with labels that no other pod has: tenants choose them */
/* The world follows the core, a search for victims has a third one, and their latest records are
 * kept. */
#define CORES(searchers) ((searchers) > 0 ? 3u : 1u)
#define NODE_KEPT_BYTES(searchers) ((searchers) > 0 ? 400u : 0u)
#define POD_KEPT_BYTES(searchers) ((searchers) > 0 ? 350u : 0u)
/* The program, rings, views, and gangs and shapes up to their default limits. */
#define FIXED_BYTES (UINT64_C(48) << 20)
/* Records that the world has not applied. */
#define WORLD_BYTES (UINT64_C(64) << 20)

#define PODS_EACH (SIZING_PODS / SIZING_NODES)

static uint64_t fixed_bytes(uint32_t searchers)
{
	return FIXED_BYTES + (searchers > 0 ? WORLD_BYTES : 0);
}

static uint64_t bytes_of(uint64_t nodes, uint64_t pods, uint32_t searchers)
{
	const uint64_t node = CORES(searchers) * NODE_BYTES + NODE_LEDGER_BYTES,
				   pod = CORES(searchers) * POD_BYTES;

	return nodes * (node + NODE_KEPT_BYTES(searchers)) + pods * (pod + POD_KEPT_BYTES(searchers));
}

uint64_t sizing_bytes(const struct limits *l, uint32_t searchers)
{
	return fixed_bytes(searchers) + bytes_of(l->nodes, l->pods, searchers);
}

uint64_t sizing_least(uint32_t searchers)
{
	return sizing_bytes(&(struct limits){ .nodes = 1, .pods = PODS_EACH }, searchers);
}

int sizing_complete(struct limits *l, uint32_t searchers, uint64_t max_memory)
{
	const uint64_t fixed = fixed_bytes(searchers), each = bytes_of(1, PODS_EACH, searchers);
	uint64_t nodes = SIZING_NODES;

	if (l->nodes > 0 && l->pods > 0)
		return 0;
	if (max_memory > 0 && max_memory < sizing_least(searchers))
		return -ENOSPC;
	if (max_memory > 0 && (max_memory - fixed) / each < nodes)
		nodes = (max_memory - fixed) / each;
	if (l->nodes == 0)
		l->nodes = (uint32_t)nodes;
	if (l->pods == 0)
		l->pods = (uint32_t)nodes * PODS_EACH;
	return 0;
}
