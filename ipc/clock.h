/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the system in nanoseconds.  For main programs and their threads: core_step() gets
 * the time with its records, and what the simulator runs of the frontend from struct env. */
#ifndef MUSTER_IPC_CLOCK_H
#define MUSTER_IPC_CLOCK_H

#include "ipc/units.h"

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* It stands still while the machine is suspended. */
static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
