/* SPDX-License-Identifier: Apache-2.0 */
/* Capacities of a core that a test starts: those of a small one, but for what the test names. */
#ifndef MUSTER_TESTS_UNIT_SUPPORT_LIMITS_H
#define MUSTER_TESTS_UNIT_SUPPORT_LIMITS_H

#include "ipc/abi.h"

/* An initializer.  What is named replaces the default before it. */
#pragma GCC diagnostic ignored "-Woverride-init"
#define LIMITS_WITH(...)                                                                           \
	{                                                                                              \
		.nodes = 8, .pods = 32, .gangs = 4, .shapes = 16, .names = 24, .resources = 8,             \
		.name_bytes = 4096, .command_ring_bytes = 4096, __VA_ARGS__                                \
	}

#endif
