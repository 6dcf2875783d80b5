/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/promises.h"

#include <time.h>

#define SECOND_NS INT64_C(1000000000)

static const char *const names[MOVES] = { "",          "NodeLost",  "EndOverrun",
	                                      "RoomTaken", "Outranked", "GangChanged",
	                                      "Restarted", "Reclaimed", "QueueChanged" };

static const int64_t bounds_s[PROMISE_ERRORS - 1] = { -3600, -600, -60, 0, 5, 60, 600, 3600 };

const char *promise_move_name(uint32_t move)
{
	return move < MOVES ? names[move] : "";
}

int64_t promise_error_bound_s(unsigned i)
{
	return bounds_s[i < PROMISE_ERRORS - 1 ? i : PROMISE_ERRORS - 2];
}

unsigned promise_error_bucket(int64_t late_ns)
{
	unsigned i = 0;

	while (i < PROMISE_ERRORS - 1 && late_ns > bounds_s[i] * SECOND_NS)
		i++;
	return i;
}

void promise_time_text(uint64_t ns, char out[PROMISE_TIME_BYTES])
{
	const time_t seconds = (time_t)(ns / (uint64_t)SECOND_NS);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	if (strftime(out, PROMISE_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
}
