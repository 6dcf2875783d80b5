/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/states.h"

const char *gang_state_text(uint32_t state)
{
	switch ((enum gang_state)state) {
	case GANG_INCOMPLETE:
		return "Incomplete";
	case GANG_WAITING:
		return "Waiting";
	case GANG_BINDING:
		return "Binding";
	case GANG_PLACED:
		return "Placed";
	case GANG_NONE:
	case GANG_STATES:
		break;
	}
	return "Unknown";
}
