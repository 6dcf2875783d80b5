/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/states.h"

#include <strings.h>

static const struct {
	const char *text, *placement;
	uint32_t rank;
} states[GANG_STATES] = {
	[GANG_NONE] = { "Unknown", "Unknown", 7 },
	[GANG_INCOMPLETE] = { "Pending", "Incomplete", 3 },
	[GANG_WAITING] = { "Waiting", "Waiting", 0 },
	[GANG_BINDING] = { "Binding", "Binding", 2 },
	[GANG_PLACED] = { "Running", "Placed", 4 },
	[GANG_FINISHED] = { "Finished", "Finished", 6 },
	[GANG_FAILED] = { "Failed", "Failed", 5 },
	[GANG_DEGRADED] = { "Degraded", "Degraded", 1 },
};

const char *gang_state_text(uint32_t state)
{
	return states[state < GANG_STATES ? state : GANG_NONE].text;
}

const char *gang_placement_text(uint32_t state)
{
	return states[state < GANG_STATES ? state : GANG_NONE].placement;
}

const char *gang_state_former(uint32_t state, uint32_t placement)
{
	return gang_placement_text(state == GANG_FINISHED || state == GANG_FAILED ? GANG_INCOMPLETE
	                                                                          : placement);
}

uint32_t gang_state_find(const char *text)
{
	for (uint32_t i = GANG_NONE + 1; i < GANG_STATES; i++)
		if (strcasecmp(text, states[i].text) == 0 || strcasecmp(text, states[i].placement) == 0)
			return i;
	return GANG_STATES;
}

uint32_t gang_state_rank(uint32_t state)
{
	return states[state < GANG_STATES ? state : GANG_NONE].rank;
}
