/* SPDX-License-Identifier: Apache-2.0 */
/* The control thread: accepts one frontend and up to 64 observers on the socket, passes questions
 * of observers on (ipc/question.h), closes them when they hang up, and stops the process on SIGTERM
 * or SIGINT. */
#ifndef MUSTER_CORE_CONTROL_H
#define MUSTER_CORE_CONTROL_H

#include "core/step/core.h"

#include <stdbool.h>
#include <sys/types.h>

struct control_config {
	const char *socket;
	const char *socket_group; /* whose members may observe, as it was given; NULL: none */
	gid_t socket_gid;         /* of it */
	struct core_config core;  /* its callbacks are not used */
	uint64_t spin_us;
	int cpu;                /* -1: any */
	uint64_t max_memory;    /* of this process, by which the limits were chosen; 0: any */
	uint32_t searchers;     /* 0: no world follows the loop */
	const char *record;     /* a file; NULL: none */
	uint64_t record_bytes;  /* its limit */
	bool seccomp;           /* filter system calls once it serves */
	bool no_new_privileges; /* set already; for the log */
};

/* Serves until a signal comes; returns the exit code. */
int control_run(const struct control_config *config);

#endif
