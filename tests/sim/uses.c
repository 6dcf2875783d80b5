/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/uses.h"

#include "core/lifecycle/state.h"

bool uses_queue(const struct core *c, uint32_t i, struct uses_queue *out)
{
	const struct shares *s = c->turns.shares;

	if (!s || i >= shares_set(s)->n)
		return false;
	*out = (struct uses_queue){
		.name = shares_set(s)->defs[i].name,
		.parent = shares_set(s)->defs[i].parent,
		.cpu_milli = (int64_t)shares_used(s, i, RESOURCE_CPU),
	};
	return true;
}
