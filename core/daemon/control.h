/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that answers the socket: lets one frontend and any number of
 * observers in, sees them go, and stops everything on SIGTERM or SIGINT. */
#ifndef MUSTER_CORE_CONTROL_H
#define MUSTER_CORE_CONTROL_H

#include "core/step/core.h"

#include <stdbool.h>

struct control_config {
	const char *socket;
	struct limits limits;
	enum score_policy score;
	uint64_t hold_after_ns; /* as in struct core_config */
	uint64_t spin_us;
	int cpu;                /* -1: any */
	const char *record;     /* a file; NULL: none */
	uint64_t record_bytes;  /* it gets no larger */
	bool seccomp;           /* give up system calls that are not needed once it serves */
	bool no_new_privileges; /* those were given up already: for the log */
};

/* Serve until a signal comes.  Returns the exit code. */
int control_run(const struct control_config *config);

#endif
